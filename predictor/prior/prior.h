/*
 * What a launch takes by the experience of other machines: the first guess for kernels of the libraries that most
 * programs use, before anything was measured here. Boosted trees over what is known at a launch (launch_traits.h),
 * trained by scripts/train-prior on recorded traces; README.md is their model card. `kerncast learn` trains a few more,
 * which go on from them (store/past/knowledge.h).
 *
 *   kc_prior_trees   trees as prior_table.h describes them, here or in a file
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

struct kc_prior_trees {
	const uint16_t *limits_at; /* KC_TRAITS + 1 */
	const float *limits;
	const uint32_t *nodes; /* KC_PRIOR_NODES of each tree */
	const int16_t *leaves; /* KC_PRIOR_LEAVES of each tree, in units of leaf */
	uint32_t count;
	float base, leaf;
};
extern const struct kc_prior_trees kc_prior_builtin;

/* What trees say of the time in units of the device, log. */
float kc_prior_ask(const struct kc_prior_trees *trees, const float traits[KC_TRAITS], uint64_t words);

/* What trees that go on from the built-in ones add to kc_prior_log_ns(). 1 µs; allocates nothing. */
float kc_prior_more(const struct kc_prior_trees *trees, const struct kc_device *device, const struct kc_work *work,
		    const struct kc_shape *shape, const struct kc_name_traits *name);

/* A number for the built-in trees and their words: others that go on from them are of no use with any other ones. */
uint64_t kc_prior_identity(void);

#endif
