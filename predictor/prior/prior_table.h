/*
 * The prior's trees, written by scripts/train-prior.
 */
#ifndef KC_PRIOR_TABLE_H
#define KC_PRIOR_TABLE_H

#include "launch_traits.h"

#include "prior_sizes.h"

/* kc_word_hash() of the words that the trees ask for, ascending; a bit of kc_name_traits.words each. */
extern const uint32_t kc_prior_words[KC_PRIOR_WORDS];

/* Between the bins of each trait, ascending: those of trait i are from kc_prior_limits_at[i] on. */
extern const uint16_t kc_prior_limits_at[KC_TRAITS + 1];
extern const float kc_prior_limits[KC_PRIOR_LIMITS];

extern const uint32_t kc_prior_nodes[KC_PRIOR_TREES * (KC_PRIOR_LEAVES - 1)];
extern const int16_t kc_prior_leaves[KC_PRIOR_TREES * KC_PRIOR_LEAVES]; /* in units of KC_PRIOR_LEAF */

#endif
