/*
 * Fatbins: code for several architectures behind one header. Entries are read
 * one by one, and unpacked only on request.
 *
 * Layout: as written by CUDA 13.0's nvcc, see README.md.
 */
#ifndef KC_FATBIN_H
#define KC_FATBIN_H

#include "bytes.h"
#include "refusal.h"

#define KC_FATBIN_MAGIC 0xba55ed50u
#define KC_FATBIN_WRAPPER_MAGIC 0x466243b1u

#define KC_FATBIN_KIND_PTX 1u
#define KC_FATBIN_KIND_ELF 2u

enum kc_packing { KC_PACKED_NOT, KC_PACKED_LZ4, KC_PACKED_ZSTD };

struct kc_fatbin {
	struct kc_bytes entries; /* that are still to be read */
	size_t length;           /* of the whole fatbin, header included */
};

struct kc_fatbin_entry {
	size_t offset; /* of its header in the file or image that was given */
	uint16_t kind;
	uint8_t packing;
	char suffix; /* of sm_90a ('a') and sm_100f ('f'); 0 */
	uint32_t sm;
	struct kc_bytes payload;
	size_t unpacked_bytes;
};

int kc__fatbin_is(const struct kc_bytes *bytes);
/* `bytes` may continue after the fatbin. 0, -EBADMSG */
int kc__fatbin_open(struct kc_fatbin *fatbin, const struct kc_bytes *bytes, struct kc_refusal *refusal);
/* 1: *entry is the next. 0: there are no more. -EBADMSG: this entry cannot be read; the next ones may. */
int kc__fatbin_next(struct kc_fatbin *fatbin, struct kc_fatbin_entry *entry, struct kc_refusal *refusal);
/* `to` has room for unpacked_bytes. 0, -EBADMSG */
int kc__fatbin_unpack(const struct kc_fatbin_entry *entry, char *to, struct kc_refusal *refusal);

/* Headers alone, for what reads a fatbin piece by piece (thin.h). */
#define KC_FATBIN_HEADER_BYTES 16u
#define KC_FATBIN_ENTRY_BYTES 64u
uint32_t kc__fatbin_header_bytes(const void *header);
void kc__fatbin_set_length(void *header, uint64_t bytes); /* of the entries */
/* An entry's kind, architecture and suffix, from its header's first KC_FATBIN_ENTRY_BYTES. Returns the bytes of the
 * whole entry; 0: it is none. */
uint64_t kc__fatbin_entry_head(const void *header, size_t offset, struct kc_fatbin_entry *entry);

/* Length of a fatbin of which only the address is known; 0: more than limit_bytes. */
size_t kc__fatbin_length(const void *image, size_t limit_bytes);

#endif
