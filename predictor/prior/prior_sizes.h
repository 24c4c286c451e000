/* Written by scripts/train-prior. */
#ifndef KC_PRIOR_SIZES_H
#define KC_PRIOR_SIZES_H

#define KC_PRIOR_WORDS 30u
#define KC_PRIOR_LIMITS 503u
#define KC_PRIOR_TREES 200u
#define KC_PRIOR_LEAVES 16u
#define KC_PRIOR_BASE 16.4048061f
#define KC_PRIOR_LEAF 2.39499605e-06f

#endif
