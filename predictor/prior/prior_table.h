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

/* A node: what it asks about, the last bin that goes left, and where left and right lead. What is asked about is a
 * trait, or from KC_TRAITS on a word, whose bin is 0 where the name lacks it. Children come after their parents. */
#define KC_PRIOR_ASKED(node) ((node) >> 24)
#define KC_PRIOR_LAST_BIN(node) ((node) >> 16 & 0xff)
#define KC_PRIOR_LEFT(node) ((node) >> 8 & 0xff)
#define KC_PRIOR_RIGHT(node) ((node)&0xff)
#define KC_PRIOR_LEAF_MARK 0x80u /* in place of a node: the rest is the number of a leaf */
#define KC_PRIOR_NODES (KC_PRIOR_LEAVES - 1)
#define KC_PRIOR_BINS_MAX 256u /* of a trait */
extern const uint32_t kc_prior_nodes[KC_PRIOR_TREES * KC_PRIOR_NODES];
extern const int16_t kc_prior_leaves[KC_PRIOR_TREES * KC_PRIOR_LEAVES]; /* in units of KC_PRIOR_LEAF */

#endif
