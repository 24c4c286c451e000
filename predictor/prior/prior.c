#include "prior.h"

#include "prior_table.h"

#include <math.h>

/* How many of the ascending limits the value is above. */
static uint8_t bin_of(float value, const float *limits, uint32_t count)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (value > limits[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return (uint8_t)low;
}

static uint32_t leaf_of(const uint32_t *nodes, const uint8_t bins[KC_TRAITS], uint64_t words)
{
	uint32_t at = 0;

	while (!(at & KC_PRIOR_LEAF_MARK)) {
		uint32_t node = nodes[at], asked = KC_PRIOR_ASKED(node);
		uint32_t bin = asked < KC_TRAITS ? bins[asked] : (uint32_t)(words >> (asked - KC_TRAITS) & 1);

		at = bin <= KC_PRIOR_LAST_BIN(node) ? KC_PRIOR_LEFT(node) : KC_PRIOR_RIGHT(node);
	}
	return at & ~KC_PRIOR_LEAF_MARK;
}

float kc_prior_ask(const float traits[KC_TRAITS], uint64_t words)
{
	uint8_t bins[KC_TRAITS];
	int32_t sum = 0;

	for (uint32_t i = 0; i < KC_TRAITS; i++)
		bins[i] = bin_of(traits[i], kc_prior_limits + kc_prior_limits_at[i],
				 (uint32_t)(kc_prior_limits_at[i + 1] - kc_prior_limits_at[i]));
	for (uint32_t i = 0; i < KC_PRIOR_TREES; i++)
		sum += kc_prior_leaves[i * KC_PRIOR_LEAVES +
				       leaf_of(kc_prior_nodes + (size_t)i * KC_PRIOR_NODES, bins, words)];
	return KC_PRIOR_BASE + (float)sum * KC_PRIOR_LEAF;
}

float kc_prior_log_ns(const struct kc_device *device, const struct kc_work *work, const struct kc_shape *shape,
		      const struct kc_name_traits *name)
{
	float traits[KC_TRAITS];

	kc_launch_traits(traits, device, work, shape, name);
	return kc_prior_ask(traits, name->words) - (float)log(kc_prior_speed(device));
}
