/*
 * The GPU code in a file or in an image that is loaded as a module: PTX and cubins.
 *
 *   kc_image        one piece of code for one architecture
 *   kc_images       all that was found
 *   kc_image_piece  a part of an image of which only the address is known, to be
 *                   copied and read later
 *
 * Accepted are fatbins (plain, LZ4, zstd), PTX text, cubins, and x86-64 or aarch64
 * executables, shared objects and object files that contain fatbins. A program
 * compiled with -rdc=true has its PTX in other fatbins than the cubin that it
 * loads: one for each source file.
 */
#ifndef KC_IMAGE_H
#define KC_IMAGE_H

#include "arena.h"
#include "bytes.h"
#include "refusal.h"
#include "stream.h"

#include <stdint.h>

enum kc_image_kind { KC_IMAGE_PTX, KC_IMAGE_CUBIN };

struct kc_image {
	uint8_t kind;
	uint8_t compressed;     /* enum kc_packing in the file: 0 plain, 1 LZ4, 2 zstd */
	char suffix;            /* 'a' of sm_90a, 'f' of sm_100f, or 0; 0 also for a cubin outside of a fatbin */
	uint32_t sm;            /* 90 for sm_90 and compute_90 */
	uint32_t fatbin;        /* images of one fatbin are variants of the same code */
	size_t offset;          /* of its entry, in the bytes that were given */
	const char *bytes;      /* unpacked, PTX without trailing NULs; NULL: not unpacked yet */
	size_t length;          /* of those */
	struct kc_bytes packed; /* of a compressed one */
};

struct kc_images {
	struct kc_arena arena;
	struct kc_image *images;
	uint32_t count, fatbin_count;
	struct kc_refusal skipped; /* the first entry that could not be read, if skipped_count > 0 */
	uint32_t skipped_count;
};

/* Finds all images, without unpacking them. They point into `bytes`, which must
 * stay. memory_bytes limits the memory of *images, unpacked ones included. Returns
 * 0; -ENOENT if there is no GPU code; or -EBADMSG or -ENOMEM, then *refusal says
 * where and why and nothing is kept. */
int kc_images_list(struct kc_images *images, const void *bytes, size_t length, size_t memory_bytes,
		   struct kc_refusal *refusal);
void kc_images_free(struct kc_images *images);
/* Unpacks one image, if it is compressed, into memory of `arena`, until that is freed. 0; -EBADMSG, -ENOMEM: *refusal
 * says where and why. */
int kc_image_unpack(struct kc_image *image, struct kc_arena *arena, struct kc_refusal *refusal);

/* Unpacks one image part by part and gives each part to `take`, in the order of the text; a plain one as a whole. A
 * compressed one is refused if unpacking it takes more than memory_bytes: 192 KiB for LZ4; for zstd the frame's window
 * and some 0.6 MiB. 0; what `take` returned, if negative; -EBADMSG, -ENOMEM: *refusal says where and why. */
size_t kc_image_stream_bytes(const struct kc_image *image); /* the memory that this takes */
int kc_image_stream(const struct kc_image *image, size_t memory_bytes, kc_stream_take *take, void *arg,
		    struct kc_refusal *refusal);

/* The image of this fatbin that the driver would choose for a device: the cubin of
 * the same major version with the highest minor version not above the device's,
 * otherwise the PTX of the highest version not above it. kinds: only these,
 * 1 << enum kc_image_kind. NULL: there is none. */
const struct kc_image *kc_images_choose(const struct kc_images *images, uint32_t fatbin, uint32_t cc_major,
					uint32_t cc_minor, unsigned kinds);
/* PTX of this fatbin that the driver could not compile for the device, where there is none that it could: for the
 * nearest architecture below, otherwise for the nearest above. It comes from the same source, which may have been
 * compiled to other code there (__CUDA_ARCH__). NULL: there is none. */
const struct kc_image *kc_images_choose_other(const struct kc_images *images, uint32_t fatbin, uint32_t cc_major,
					      uint32_t cc_minor);

/* Whether the bytes begin like a cubin by itself. */
int kc_image_is_cubin(const void *bytes, size_t length);
/* Whether they are a fatbin without any PTX. */
int kc_image_lacks_ptx(const void *bytes, size_t length);

struct kc_image_piece {
	const void *bytes;
	size_t length;
};

/* Parts of an image that is loaded as a module: itself, or all fatbins of a fatbin
 * wrapper. Stores at most `max` and returns how many. The length is found by the
 * headers, or up to and including the NUL of PTX; 0 if it is more than limit_bytes
 * or unknown. Headers are trusted: only for images that the driver has accepted. */
uint32_t kc_image_pieces(const void *image, size_t limit_bytes, struct kc_image_piece *pieces, uint32_t max);

#endif
