/*
 * What a launch takes by the experience of other machines: the first guess for kernels of the libraries that most
 * programs use, before anything was measured here. Boosted trees over what is known at a launch (launch_traits.h),
 * trained by scripts/train-prior on recorded traces; README.md is their model card.
 */
#ifndef KC_PRIOR_H
#define KC_PRIOR_H

#include "launch_traits.h"

/* What no kernel is shorter than, by which the logarithm is taken. */
#define KC_PRIOR_LEAST_NS 1000.0

/* Logarithm of the ns that the launch takes beyond KC_PRIOR_LEAST_NS, beside what usually runs with it. 2 to 3 µs;
 * allocates nothing. */
float kc_prior_log_ns(const struct kc_device *device, const struct kc_work *work, const struct kc_shape *shape,
		      const struct kc_name_traits *name);

/* Whether it was trained on such kernels. */
static inline int kc_prior_knows(const struct kc_name_traits *name)
{
	return name->family == KC_FAMILY_FRAMEWORK || name->family == KC_FAMILY_PRODUCT;
}

/* What the trees say of the time in units of the device, log. */
float kc_prior_ask(const float traits[KC_TRAITS], uint64_t words);

#endif
