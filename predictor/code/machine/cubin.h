/*
 * What a cubin says about its kernels, and about their machine code.
 *
 *   kc_cubin          architecture, kernels
 *   kc_cubin_kernel   registers, shared memory, parameters, code
 *   kc_cubin_param    where a parameter lies in the parameter block
 *
 * A relocatable cubin, of a program compiled with -rdc=true, is not what runs:
 * nvlink links it into another one.
 */
#ifndef KC_CUBIN_H
#define KC_CUBIN_H

#include "predictor/code/container/arena.h"
#include "predictor/code/container/refusal.h"
#include "sass.h"

#include <stdint.h>

struct kc_cubin_param {
	uint32_t offset_bytes, bytes; /* of the parameter block */
};

struct kc_cubin_kernel {
	const char *name; /* mangled */
	uint32_t registers;
	uint32_t static_shared_bytes; /* without the 1,024 bytes that the system reserves from sm_90 on */
	uint32_t local_bytes;         /* stack frame of a thread */
	uint32_t max_threads[3];      /* __launch_bounds__; 0: not given */
	uint32_t barriers;            /* of a block that it and what it calls use: the highest number, plus 1 */
	struct kc_cubin_param *params;
	uint32_t param_count;
	uint32_t code_bytes;
	struct kc_sass sass;
};

struct kc_cubin {
	struct kc_arena arena;
	uint32_t sm; /* 90 for sm_90 and sm_90a */
	uint8_t relocatable;
	struct kc_cubin_kernel *kernels; /* in the order of the symbols */
	uint32_t kernel_count;
};

/* Reads a cubin; `bytes` is not used after the call. memory_bytes limits the memory
 * of *cubin. Returns 0; or -EBADMSG or -ENOMEM, then *refusal says where and why
 * and nothing is kept. */
int kc_cubin_read(struct kc_cubin *cubin, const void *bytes, size_t length, size_t memory_bytes,
		  struct kc_refusal *refusal);
void kc_cubin_free(struct kc_cubin *cubin);

/* --- for readers of a part of a cubin */

/* Head of a record of .nv.info: format, attribute, and the length of what follows or, of one byte, the value. */
#define KC__INFO_RECORD_BYTES 4u
#define KC__INFO_SIZED 4u
#define KC__INFO_BYTE 2u        /* of a record whose value is its third byte */
#define KC__INFO_BARRIERS 0x4cu /* EIATTR_NUM_BARRIERS, one byte */
/* Barriers that a record of .nv.info.KERNEL states; 0: it is about something else. */
static inline uint32_t kc__cubin_info_barriers(const uint8_t head[KC__INFO_RECORD_BYTES])
{
	return head[0] == KC__INFO_BYTE && head[1] == KC__INFO_BARRIERS ? head[2] : 0;
}

/* Those in the flags of a section with code, where nvcc before 13.0 has them; 0 in later cubins. */
static inline uint32_t kc__cubin_flag_barriers(uint64_t section_flags)
{
	return (uint32_t)(section_flags >> 20) & 0x7f;
}

#endif
