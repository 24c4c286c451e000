/*
 * What a kernel's name tells of it.
 *
 *   kc_name_traits   the family of libraries that it is from, tiles, words that the
 *                    prior's trees ask for
 *
 * For the thread that makes a kernel's entry; a few µs. Nothing allocates.
 */
#ifndef KC_KERNEL_NAME_H
#define KC_KERNEL_NAME_H

#include "words.h"

enum kc_family {
	KC_FAMILY_NONE,      /* hand-written, or of a library that the prior does not know */
	KC_FAMILY_FRAMEWORK, /* PyTorch's own kernels, and those that it compiles */
	KC_FAMILY_PRODUCT, /* matrix products and convolutions of cuBLAS, cuDNN and CUTLASS, and what goes with them */
	KC_FAMILY_WAITING, /* NCCL's, and collectives of others: they wait for other devices */
	KC_FAMILIES,
};

struct kc_name_traits {
	uint64_t words; /* a bit for each of kc_prior_words (prior_table.h) that it has */
	uint64_t marks; /* a bit for each of all its words, by the word's hash: names that share words share marks */
	enum kc_family family;
	float log_tile;  /* elements of the first tile in it ("128x64"), log; 0: none */
	float log_depth; /* the first number of the second one ("64x4": what of a product's depth is done at once) */
	uint32_t count;  /* of its words */
};

void kc_name_read(struct kc_name_traits *traits, const char *name);

#endif
