#include "report_internal.h"
#include "predictor/math/order.h"
#include "store/common/growing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int add_part(struct kc__group *group, const struct kc__rollup *rollup)
{
	if (KC_ROOM(group->parts, group->part_capacity, group->part_count))
		return -ENOMEM;
	group->parts[group->part_count++] = rollup;
	return 0;
}

int kc__group_add(struct kc__group *group, const struct kc__rollup *rollup, const uint64_t *counts)
{
	const struct kc__sums *sums = &rollup->sums;

	kc__sums_add(&group->sums, sums);
	if (rollup->key.overlap >= KC_OVERLAP_BEHIND)
		group->overlapped_error_ns += sums->error_ns;
	if (rollup->key.novelty != KC_REPEATED)
		group->unfamiliar += sums->matched;
	else if (rollup->key.overlap == KC_OVERLAP_NONE)
		kc__sums_add(&group->repeated, sums);
	if (!counts)
		return rollup->error_count ? add_part(group, rollup) : 0;
	for (uint32_t i = 0; i < KC_SKETCH_BUCKETS; i++)
		group->counts[i] += counts[i];
	return 0;
}

KC_ORDER(compare, float, KC_BY(*x, *y))

/* The n errors of all parts, sorted. NULL: n is 0, or no memory. */
static float *sorted_errors(const struct kc__group *group, size_t n)
{
	float *errors = n ? malloc(n * sizeof(*errors)) : NULL;
	size_t at = 0;

	if (!errors)
		return NULL;
	for (size_t i = 0; i < group->part_count; i++) {
		for (size_t k = 0; k < group->parts[i]->error_count; k++)
			errors[at++] = group->parts[i]->errors[k];
	}
	qsort(errors, n, sizeof(*errors), compare);
	return errors;
}

static double at_rank(const float *sorted, size_t n, double q)
{
	return (double)sorted[kc_quantile_rank(q, n) - 1];
}

static void quantiles(const struct kc__group *group, struct kc_accuracy *accuracy)
{
	float *sorted = group->part_count ? sorted_errors(group, accuracy->n) : NULL;

	if (sorted) {
		accuracy->median = at_rank(sorted, accuracy->n, 0.5);
		accuracy->p90 = at_rank(sorted, accuracy->n, 0.9);
	} else if (!group->part_count) {
		accuracy->median = kc_sketch_quantile(group->counts, 0.5);
		accuracy->p90 = kc_sketch_quantile(group->counts, 0.9);
	}
	free(sorted);
}

struct kc_accuracy kc__group_accuracy(const struct kc__group *group)
{
	const struct kc__sums *sums = &group->sums;
	struct kc_accuracy a = {.n = sums->matched,
				.mape = NAN,
				.mape_time_weighted = NAN,
				.median = NAN,
				.p90 = NAN,
				.within_20 = NAN,
				.bias = NAN};

	if (a.n == 0)
		return a;
	a.mape = sums->error_sum / (double)a.n;
	a.mape_time_weighted = sums->error_ns / sums->matched_ns;
	a.within_20 = (double)sums->within_20 / (double)a.n;
	a.bias = exp(sums->log_sum / (double)a.n);
	quantiles(group, &a);
	return a;
}

/* Standard deviation of log(predicted / measured) over repeated solo launches. */
static double deviation(const struct kc__sums *sums)
{
	double n = (double)sums->matched, mean, variance;

	if (sums->matched < 2)
		return 0;
	mean = sums->log_sum / n;
	variance = sums->log_square_sum / n - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}

#define BIAS_LOW 0.8
#define BIAS_HIGH 1.2

uint32_t kc__group_hints(const struct kc__group *group, const struct kc_accuracy *accuracy)
{
	const struct kc__sums *sums = &group->sums;
	uint32_t hints = 0;

	if (accuracy->n == 0)
		return 0;
	if (accuracy->n < KC_HINT_FEW_BELOW)
		hints |= KC_HINT_FEW;
	if (group->unfamiliar * 2 > sums->matched)
		hints |= KC_HINT_NEW_SIZES;
	if (group->overlapped_error_ns * 2 > sums->error_ns)
		hints |= KC_HINT_OVERLAPPED;
	if (deviation(&group->repeated) > KC_HINT_VARYING_ABOVE)
		hints |= KC_HINT_VARYING;
	if (sums->matched_ns / (double)accuracy->n < KC_HINT_SHORT_NS)
		hints |= KC_HINT_SHORT;
	if (accuracy->bias < BIAS_LOW)
		hints |= KC_HINT_LOW;
	if (accuracy->bias > BIAS_HIGH)
		hints |= KC_HINT_HIGH;
	return hints;
}

const char *kc_hint_text(uint32_t bit)
{
	switch (bit) {
	case KC_HINT_FEW:
		return "few measurements";
	case KC_HINT_NEW_SIZES:
		return "new sizes";
	case KC_HINT_OVERLAPPED:
		return "overlapped";
	case KC_HINT_VARYING:
		return "varying durations";
	case KC_HINT_SHORT:
		return "very short";
	case KC_HINT_LOW:
		return "predicted too short";
	case KC_HINT_HIGH:
		return "predicted too long";
	case KC_HINT_NO_CODE:
		return "code not read";
	default:
		return "";
	}
}

void kc__group_clear(struct kc__group *group)
{
	free(group->parts);
	group->parts = NULL;
	group->part_count = group->part_capacity = 0;
}
