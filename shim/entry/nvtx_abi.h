/*
 * What NVTX 3 and a tool agree on, as nvtx3/nvtxDetail/nvtxTypes.h and nvtx3/nvToolsExt.h of NVIDIA's say (Apache-2.0
 * with LLVM exception). It is repeated here, as far as it is used, because a CUDA toolkit can lack those headers;
 * nvtx_test.c compares it with them where they are.
 */
#ifndef KC_SHIM_ENTRY_NVTX_ABI_H
#define KC_SHIM_ENTRY_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { KC__NVTX_ETID_CALLBACKS = 1 };

enum kc__nvtx_module { KC__NVTX_CORE = 1, KC__NVTX_CORE2 = 5 };

/* Places in the table of KC__NVTX_CORE: enum NvtxCallbackIdCore. */
enum {
	KC__NVTX_RANGE_START_EX = 4,
	KC__NVTX_RANGE_START_A,
	KC__NVTX_RANGE_START_W,
	KC__NVTX_RANGE_END,
	KC__NVTX_RANGE_PUSH_EX,
	KC__NVTX_RANGE_PUSH_A,
	KC__NVTX_RANGE_PUSH_W,
	KC__NVTX_RANGE_POP,
};

/* Likewise of KC__NVTX_CORE2: enum NvtxCallbackIdCore2. */
enum {
	KC__NVTX_DOMAIN_RANGE_START_EX = 2,
	KC__NVTX_DOMAIN_RANGE_END,
	KC__NVTX_DOMAIN_RANGE_PUSH_EX,
	KC__NVTX_DOMAIN_RANGE_POP,
	KC__NVTX_DOMAIN_REGISTER_STRING_A = 10,
	KC__NVTX_DOMAIN_REGISTER_STRING_W,
	KC__NVTX_DOMAIN_CREATE_A,
	KC__NVTX_DOMAIN_CREATE_W,
};

typedef void (*kc__nvtx_function)(void);

struct kc__nvtx_callbacks { /* NvtxExportTableCallbacks */
	size_t struct_size;
	/* *table: the places of a module, each with the address of a pointer, or NULL; *size: how many there are, with
	 * the unused place 0. 1; 0: there is no such module. */
	int (*table_of)(int module, kc__nvtx_function ***table, unsigned *size);
};

typedef const void *(*kc__nvtx_export_tables)(uint32_t id); /* NvtxGetExportTableFunc_t */

enum { KC__NVTX_TEXT = 1, KC__NVTX_WIDE_TEXT = 2, KC__NVTX_REGISTERED = 3 };

struct kc__nvtx_attributes { /* nvtxEventAttributes_t of version 2 and later */
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *text;
		const wchar_t *wide_text;
		const void *registered;
	} message;
};

#endif
