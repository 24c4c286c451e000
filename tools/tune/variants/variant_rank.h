/*
 * Variants in the order in which they are worth timing.
 *
 *   kc_variant_ranking   all that may be the fastest, the fastest first; those to time next; what
 *                        is known about anything better
 *
 * Before any was timed a variant is expected to take what its code is estimated to. What was
 * timed corrects that: the logarithm of measured over estimated is a Gaussian process over the
 * variants (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equations
 * 2.25 and 2.26). Its covariance has what all variants of a kernel have in common, what is the more
 * in common the more alike two variants are, and what is a variant's own. Alike are
 * variants whose parameters are, and who need the same of the GPU.
 */
#ifndef KC_VARIANT_RANK_H
#define KC_VARIANT_RANK_H

#include "variants.h"

struct kc_variant_ranking {
	uint32_t *order; /* places in the list of those whose time is known or expected, the fastest first */
	uint32_t count;
	uint32_t next[KC_VARIANTS_NAMED], next_count;                  /* places of those to time */
	uint32_t timed, estimated, cannot_run, unknown, failed, local; /* variants; local: that use local memory */
	uint32_t best;          /* the fastest that was timed; the list's count: none was */
	uint32_t as_good;       /* not timed and, within the error, as good as the first of these */
	uint32_t may_be_better; /* not timed, and the interval begins below the best time */
	double gain, most_gain; /* of the best time: what timing the one that promises most is expected to gain, and the
				   most that the 90 % intervals hold; 0: nothing */
};

/* Fills in what each variant is expected to take. 0 or -ENOMEM; to be freed in any case. */
int kc_variants_rank(struct kc_variants *variants, struct kc_variant_ranking *ranking);
void kc_variant_ranking_free(struct kc_variant_ranking *ranking);
/* Whether a variant that was not timed is as good as `first`, within the error. */
int kc_variant_is_as_good(const struct kc_variant *variant, const struct kc_variant *first);

#endif
