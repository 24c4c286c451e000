/* Written by scripts/train-prior. */
#ifndef KC_PRIOR_SIZES_H
#define KC_PRIOR_SIZES_H

#define KC_PRIOR_WORDS 16u
#define KC_PRIOR_LIMITS 487u
#define KC_PRIOR_TREES 200u
#define KC_PRIOR_LEAVES 16u
#define KC_PRIOR_BASE 15.8670206f
#define KC_PRIOR_LEAF 1.48418405e-06f

#endif
