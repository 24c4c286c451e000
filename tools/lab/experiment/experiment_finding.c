#include "experiment.h"

#include "predictor/math/median.h"
#include "store/common/growing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double kc_error_of(double predicted, double measured)
{
	return fabs(predicted - measured) / measured;
}

uint32_t kc_observed_round(const struct kc_observed *observed)
{
	uint32_t rounds = observed->step->repeat;

	return rounds && observed->launch_count % rounds == 0 ? observed->launch_count / rounds : 0;
}

double kc_observed_median_ns(const struct kc_observed *observed, uint32_t k)
{
	uint32_t each = kc_observed_round(observed), count = 0;
	double *values, median;

	if (k >= each)
		return NAN;
	values = malloc(observed->step->repeat * sizeof(*values));
	for (uint32_t i = k; values && i < observed->launch_count; i += each)
		if (!isnan(observed->launches[i].measured_ns))
			values[count++] = observed->launches[i].measured_ns;
	median = kc_median(values, count);
	free(values);
	return median;
}

double kc_observed_round_ns(const struct kc_observed *observed)
{
	uint32_t each = kc_observed_round(observed);
	double sum = 0;

	for (uint32_t k = 0; k < each; k++)
		sum += kc_observed_median_ns(observed, k);
	return each ? sum : NAN;
}

/* --- points and claims */

struct kc_point *kc_finding_point(struct kc_finding *finding, const char *series)
{
	static struct kc_point nowhere; /* written, never read: the finding has failed */
	struct kc_point *point = &nowhere;

	if (KC_ROOM(finding->points, finding->point_capacity, finding->point_count)) {
		finding->failed = 1;
		return point;
	}
	point = &finding->points[finding->point_count++];
	*point = (struct kc_point){.x = NAN, .measured = NAN, .predicted = NAN, .low = NAN, .high = NAN};
	snprintf(point->series, sizeof(point->series), "%s", series);
	return point;
}

struct kc_claim *kc_finding_claim(struct kc_finding *finding, const char *text, const char *source, const char *paper)
{
	struct kc_claim *claim =
	    &finding->claims[finding->claim_count < KC_CLAIMS - 1 ? finding->claim_count++ : KC_CLAIMS - 1];

	*claim = (struct kc_claim){.value = NAN, .high = NAN, .verdict = KC_NOT_MEASURED, .here = "-"};
	snprintf(claim->text, sizeof(claim->text), "%s", text);
	snprintf(claim->source, sizeof(claim->source), "%s", source);
	snprintf(claim->paper, sizeof(claim->paper), "%s", paper);
	return claim;
}

void kc_finding_free(struct kc_finding *finding)
{
	free(finding->points);
}

static int is_judged(const struct kc_point *point)
{
	return !point->known && point->measured > 0 && !isnan(point->predicted);
}

/* "matmul_coalesced at 256" */
static void say_where(const struct kc_point *point, char *out, size_t size)
{
	snprintf(out, size, "%s%s%.6g", point->series, isnan(point->x) ? "" : " at ", isnan(point->x) ? 0 : point->x);
	if (isnan(point->x))
		snprintf(out, size, "%s", point->series);
}

void kc_claim_ratios(struct kc_claim *claim, const struct kc_finding *finding, double low, double high)
{
	const struct kc_point *worst = NULL;
	double furthest = 0;
	uint32_t outside = 0;
	char where[64];

	claim->points = 0;
	for (uint32_t i = 0; i < finding->point_count; i++) {
		const struct kc_point *point = &finding->points[i];
		double ratio = point->predicted / point->measured;

		if (!is_judged(point))
			continue;
		claim->value = claim->points ? fmin(claim->value, ratio) : ratio;
		claim->high = claim->points ? fmax(claim->high, ratio) : ratio;
		claim->points++;
		outside += ratio < low || ratio > high;
		if (fabs(log(ratio)) >= furthest) {
			furthest = fabs(log(ratio));
			worst = point;
		}
	}
	if (!claim->points)
		return;
	claim->verdict = outside ? KC_FAILS : KC_HOLDS;
	snprintf(claim->here, sizeof(claim->here), "%.2f to %.2f", claim->value, claim->high);
	if (!outside)
		return;
	say_where(worst, where, sizeof(where));
	snprintf(claim->why, sizeof(claim->why), "%u of %u outside; furthest: %s, %.2f", outside, claim->points, where,
		 worst->predicted / worst->measured);
}

void kc_claim_within(struct kc_claim *claim, const struct kc_finding *finding)
{
	uint32_t within = 0, below = 0;

	claim->points = 0;
	for (uint32_t i = 0; i < finding->point_count; i++) {
		const struct kc_point *point = &finding->points[i];

		if (!(point->measured > 0) || isnan(point->low) || isnan(point->high))
			continue;
		claim->points++;
		within += point->measured >= point->low && point->measured <= point->high;
		below += point->measured < point->low;
	}
	if (!claim->points)
		return;
	claim->value = (double)within / claim->points;
	claim->verdict = within == claim->points ? KC_HOLDS : KC_FAILS;
	snprintf(claim->here, sizeof(claim->here), "%u of %u", within, claim->points);
	if (within < claim->points)
		snprintf(claim->why, sizeof(claim->why), "%u faster than the lower bound, %u slower than the upper",
			 below, claim->points - within - below);
}

void kc_claim_at_most(struct kc_claim *claim, double value, double limit, uint32_t points)
{
	claim->points = points;
	if (!points || isnan(value))
		return;
	claim->value = value;
	claim->verdict = value <= limit ? KC_HOLDS : KC_FAILS;
	snprintf(claim->here, sizeof(claim->here), "%.3g %%", 100 * value);
}
