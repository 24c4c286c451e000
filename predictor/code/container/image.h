/*
 * The code that a file or a module load brings: PTX and cubins, unpacked.
 *
 *   kc_image        one piece of code for one architecture
 *   kc_images       all that was found
 *   kc_image_piece  of what a program hands to the driver by its address only:
 *                   what to copy, to be read later
 *
 * Taken: fatbins (plain, LZ4, zstd), PTX text, a cubin, an x86-64 or aarch64
 * executable, shared object or object file with fatbins in it. A program made
 * with -rdc=true has its PTX in other fatbins than the cubin that it loads: one
 * for each source file.
 */
#ifndef KC_IMAGE_H
#define KC_IMAGE_H

#include "arena.h"
#include "bytes.h"
#include "refusal.h"

#include <stdint.h>

enum kc_image_kind { KC_IMAGE_PTX, KC_IMAGE_CUBIN };

struct kc_image {
	uint8_t kind;
	uint8_t compressed;     /* as it was found: 0 plain, 1 LZ4, 2 zstd */
	char suffix;            /* 'a' of sm_90a, 'f' of sm_100f; 0. Of a bare cubin it is not known */
	uint32_t sm;            /* 90 for sm_90 and compute_90 */
	uint32_t fatbin;        /* images of one fatbin are variants of the same code */
	size_t offset;          /* of its entry, in what was handed in */
	const char *bytes;      /* unpacked, of PTX without the NULs at its end; NULL: not unpacked yet */
	size_t length;          /* of those */
	struct kc_bytes packed; /* of a compressed one */
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
 * -EBADMSG, -ENOMEM: *refusal says where and why, nothing is kept. */
int kc_images_read(struct kc_images *images, const void *bytes, size_t length, size_t memory_bytes,
		   struct kc_refusal *refusal);
void kc_images_free(struct kc_images *images);

/* As kc_images_read, with nothing unpacked: for large libraries, of which one
 * architecture is wanted. Compressed images are then unpacked one by one, from
 * the bytes handed in, which must still be there. 0, -EBADMSG, -ENOMEM. */
int kc_images_list(struct kc_images *images, const void *bytes, size_t length, size_t memory_bytes,
		   struct kc_refusal *refusal);
int kc_image_unpack(struct kc_images *images, uint32_t index, struct kc_refusal *refusal);

/* The one of this fatbin that a device would take: the cubin of its own major
 * version with the highest minor not above its own, else the PTX of the highest
 * version not above; kind: of these kinds only (1 << enum). NULL: none. */
const struct kc_image *kc_images_choose(const struct kc_images *images, uint32_t fatbin, uint32_t cc_major,
					uint32_t cc_minor, unsigned kinds);

struct kc_image_piece {
	const void *bytes;
	size_t length;
};

/* Length of a fatbin, cubin or PTX text of which only the address is known, by
 * its headers or its closing NUL (counted); 0: longer than limit_bytes, or not
 * known. The headers are believed: for images that the driver has just taken. */
size_t kc_image_length(const void *image, size_t limit_bytes);

/* What a module load was given, a fatbin wrapper's fatbins included: how many
 * pieces, at most max of them stored. One that is longer than limit_bytes has
 * the length 0. */
uint32_t kc_image_pieces(const void *image, size_t limit_bytes, struct kc_image_piece *pieces, uint32_t max);

#endif
