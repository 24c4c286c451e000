/* Written by scripts/train-prior. */
#ifndef KC_PRIOR_SIZES_H
#define KC_PRIOR_SIZES_H

#define KC_PRIOR_WORDS 60u
#define KC_PRIOR_LIMITS 501u
#define KC_PRIOR_TREES 200u
#define KC_PRIOR_LEAVES 16u
#define KC_PRIOR_BASE 16.3864822f
#define KC_PRIOR_LEAF 2.30155069e-06f

#endif
