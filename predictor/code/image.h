/*
 * The code that a file or a module load brings: PTX and cubins, unpacked.
 *
 *   kc_image    one piece of code for one architecture
 *   kc_images   all that was found
 *
 * Taken: a fatbin (plain, LZ4, zstd), the array of fatbins of a -rdc program,
 * PTX text, a cubin, an x86-64 or aarch64 executable or shared object with
 * fatbins in it.
 */
#ifndef KC_IMAGE_H
#define KC_IMAGE_H

#include "arena.h"
#include "refusal.h"

#include <stdint.h>

enum kc_image_kind { KC_IMAGE_PTX, KC_IMAGE_CUBIN };

struct kc_image {
	uint8_t kind;
	uint8_t compressed; /* as it was found: 0 plain, 1 LZ4, 2 zstd */
	uint32_t sm;        /* 90 for sm_90 and compute_90 */
	uint32_t fatbin;    /* images of one fatbin are variants of the same code */
	size_t offset;      /* of its entry, in what was handed in */
	const char *bytes;  /* unpacked */
	size_t length;
};

struct kc_images {
	struct kc_arena arena;
	struct kc_image *images;
	uint32_t count, fatbin_count;
	struct kc_refusal skipped; /* the first entry that could not be taken, where skipped_count > 0 */
	uint32_t skipped_count;
};

/* Bytes are read during the call only, but plain images point into them.
 * memory_bytes bounds what is unpacked. 0; -ENOENT: no GPU code in it;
 * -EBADMSG, -ENOMEM: *refusal says where and why. */
int kc_images_read(struct kc_images *images, const void *bytes, size_t length, size_t memory_bytes,
		   struct kc_refusal *refusal);
void kc_images_free(struct kc_images *images);

/* The one of this fatbin that a device would take: the cubin of its own major
 * version with the highest minor not above its own, else the PTX of the highest
 * version not above; kind: of these kinds only (1 << enum). NULL: none. */
const struct kc_image *kc_images_choose(const struct kc_images *images, uint32_t fatbin, uint32_t cc_major,
					uint32_t cc_minor, unsigned kinds);

#endif
