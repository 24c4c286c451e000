#include "variant_rank.h"

#include "predictor/math/dense.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard deviations of the logarithm of measured over estimated. All that follows was chosen on Kernel Tuner's spaces
 * of a 2080 Ti and an A4000 (gemm, pnpoly, convolution, dedispersion); predictor/README.md has the figures of the
 * other GPUs. */
#define COMMON 1.0 /* of what all variants of a kernel have in common */
#define SHARED 0.3 /* of what variants that are alike have in common */
#define OWN 0.1    /* of one variant around those that are like it */
#define APART 0.21 /* of one variant around all of its kernel's */

/* Differences at which two variants are e^-1/2 times as alike: of a parameter, its whole range, and of a resource's
 * share of the time. */
#define PARAMETERS_REACH 1.0
#define SHARES_REACH 0.6

/* Of more timed variants so many teach, the fastest to the slowest, evenly: the time that it takes grows with n^3. */
#define TEACHERS 256u
#define SIDE 1.645 /* standard deviations from the middle of a 90 % interval to its ends */
#define SURE 1.282 /* standard deviations apart, from which nine of ten pairs are in the order that is expected */

/* What likeness is told by. */
struct place {
	double parameters[KC_VARIANT_PARAMETERS]; /* 0 to 1: from the least to the largest */
	double shares[KC_RESOURCE_COUNT];
};

struct teaching {
	const struct kc_variants *variants;
	struct place *places; /* of each variant */
	int is_text[KC_VARIANT_PARAMETERS];
	uint32_t taught[TEACHERS], count;
	double like[TEACHERS * TEACHERS], pull[TEACHERS];
};

static double own_ns(const struct kc_variant *variant)
{
	return isnan(variant->measured_ns) ? variant->ns : variant->measured_ns;
}

static int is_estimated(const struct kc_variant *variant)
{
	return variant->times.resources.total_ns > 0;
}

/* --- likeness */

static int is_number_everywhere(const struct kc_variants *v, uint32_t parameter, int *is_positive)
{
	double number;

	*is_positive = 1;
	for (uint32_t i = 0; i < v->count; i++) {
		if (!kc_variant_number(v->at[i].values[parameter], &number))
			return 0;
		*is_positive &= number > 0;
	}
	return 1;
}

/* A tile of 8 is as far from one of 4 as that is from one of 2. */
static void place_parameter(struct teaching *t, uint32_t parameter)
{
	const struct kc_variants *v = t->variants;
	double least = INFINITY, most = -INFINITY;
	int is_positive;

	t->is_text[parameter] = !is_number_everywhere(v, parameter, &is_positive);
	for (uint32_t i = 0; !t->is_text[parameter] && i < v->count; i++) {
		double *at = &t->places[i].parameters[parameter];

		kc_variant_number(v->at[i].values[parameter], at);
		if (is_positive)
			*at = log(*at);
		least = fmin(least, *at);
		most = fmax(most, *at);
	}
	for (uint32_t i = 0; most > least && i < v->count; i++)
		t->places[i].parameters[parameter] = (t->places[i].parameters[parameter] - least) / (most - least);
	for (uint32_t i = 0; !(most > least) && i < v->count; i++)
		t->places[i].parameters[parameter] = 0;
}

static void place_all(struct teaching *t)
{
	for (uint32_t p = 0; p < t->variants->parameters; p++)
		place_parameter(t, p);
	for (uint32_t i = 0; i < t->variants->count; i++) {
		const struct kc_resource_times *times = &t->variants->at[i].times.resources;

		for (uint32_t r = 0; times->total_ns > 0 && r < KC_RESOURCE_COUNT; r++)
			t->places[i].shares[r] = times->ns[r] / times->total_ns;
	}
}

/* 0 to 1 */
static double alike(const struct teaching *t, uint32_t a, uint32_t b)
{
	const struct place *x = &t->places[a], *y = &t->places[b];
	double sum = 0;

	for (uint32_t p = 0; p < t->variants->parameters; p++) {
		double apart = t->is_text[p] ? strcmp(t->variants->at[a].values[p], t->variants->at[b].values[p]) != 0
					     : x->parameters[p] - y->parameters[p];

		sum += apart * apart / (PARAMETERS_REACH * PARAMETERS_REACH);
	}
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		sum += (x->shares[r] - y->shares[r]) * (x->shares[r] - y->shares[r]) / (SHARES_REACH * SHARES_REACH);
	return exp(-sum / 2);
}

static double covariance(const struct teaching *t, uint32_t a, uint32_t b)
{
	return COMMON * COMMON + SHARED * SHARED * alike(t, a, b);
}

/* --- what was timed */

static int by_measured(const void *a, const void *b, void *variants)
{
	const struct kc_variants *v = variants;
	double x = v->at[*(const uint32_t *)a].measured_ns, y = v->at[*(const uint32_t *)b].measured_ns;

	return (x > y) - (x < y);
}

static int choose_teachers(struct teaching *t, struct kc_variants *v)
{
	uint32_t *timed = malloc((v->count ? v->count : 1) * sizeof(*timed)), n = 0;

	if (!timed)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->count; i++)
		if (!isnan(v->at[i].measured_ns) && is_estimated(&v->at[i]))
			timed[n++] = i;
	qsort_r(timed, n, sizeof(*timed), by_measured, v);
	t->count = n < TEACHERS ? n : TEACHERS;
	for (uint32_t i = 0; i < t->count; i++)
		t->taught[i] = timed[(uint64_t)i * n / t->count];
	free(timed);
	return 0;
}

static void learn(struct teaching *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct kc_variant *variant = &t->variants->at[t->taught[i]];

		for (uint32_t j = 0; j <= i; j++)
			t->like[i * t->count + j] = covariance(t, t->taught[i], t->taught[j]);
		t->like[i * t->count + i] += OWN * OWN;
		t->pull[i] = log(variant->measured_ns / variant->times.resources.total_ns);
	}
	if (kc__cholesky(t->like, t->count)) { /* not with OWN above 0 */
		t->count = 0;
		return;
	}
	kc__solve_lower(t->like, t->count, t->pull);
}

static void expect(const struct teaching *t, uint32_t i, struct kc_variant *variant)
{
	double with[TEACHERS], mean, deviation;

	for (uint32_t k = 0; k < t->count; k++)
		with[k] = covariance(t, i, t->taught[k]);
	kc__solve_lower(t->like, t->count, with);
	mean = kc__dot(with, t->pull, t->count);
	deviation =
	    sqrt(fmax(COMMON * COMMON + SHARED * SHARED + OWN * OWN - kc__dot(with, with, t->count), OWN * OWN));
	variant->deviation = deviation;
	variant->ns = variant->times.resources.total_ns * exp(mean);
	variant->low_ns = variant->ns * exp(-SIDE * deviation);
	variant->high_ns = variant->ns * exp(SIDE * deviation);
}

static void expect_all(const struct teaching *t, struct kc_variants *v)
{
	for (uint32_t i = 0; i < v->count; i++) {
		struct kc_variant *variant = &v->at[i];

		variant->ns = variant->low_ns = variant->high_ns = NAN;
		if (!is_estimated(variant))
			continue;
		if (t->count) {
			expect(t, i, variant);
			continue;
		}
		variant->deviation = APART;
		variant->ns = variant->times.resources.total_ns;
		variant->low_ns = variant->times.low_ns;
		variant->high_ns = variant->times.high_ns;
	}
}

static int correct(struct kc_variants *v)
{
	struct teaching *t = calloc(1, sizeof(*t));
	int rc = -ENOMEM;

	if (t) {
		t->variants = v;
		t->places = calloc(v->count ? v->count : 1, sizeof(*t->places));
	}
	if (t && t->places) {
		place_all(t);
		rc = choose_teachers(t, v);
	}
	if (rc == 0) {
		learn(t);
		expect_all(t, v);
	}
	if (t)
		free(t->places);
	free(t);
	return rc;
}

/* --- the order */

static int by_time(const void *a, const void *b, void *variants)
{
	const struct kc_variants *v = variants;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	double x = own_ns(&v->at[i]), y = own_ns(&v->at[k]);

	return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

static void count(const struct kc_variants *v, struct kc_variant_ranking *r)
{
	for (uint32_t i = 0; i < v->count; i++) {
		const struct kc_variant *variant = &v->at[i];

		r->timed += !isnan(variant->measured_ns);
		r->estimated += is_estimated(variant);
		r->cannot_run += variant->state == KC_VARIANT_CANNOT_RUN;
		r->unknown += variant->state == KC_VARIANT_UNKNOWN;
		r->failed += variant->state == KC_VARIANT_FAILED;
		r->local += variant->local_bytes > 0;
	}
}

static int may_be_timed(const struct kc_variant *variant)
{
	return isnan(variant->measured_ns) && variant->state == KC_VARIANT_ESTIMATED;
}

int kc_variant_is_as_good(const struct kc_variant *variant, const struct kc_variant *first)
{
	return log(variant->ns / first->ns) <= SURE * hypot(variant->deviation, first->deviation);
}

static double below(double deviations)
{
	return erfc(-deviations / sqrt(2)) / 2;
}

/* E max(0, 1 - x / best), a share of the best time, for log x normal around log ns: the expected improvement of Jones,
 * Schonlau and Welch 1998, equation 15, of a time whose logarithm is what is known. */
static double expected_gain(const struct kc_variant *variant, double best_ns)
{
	double s = variant->deviation, z = log(best_ns / variant->ns) / s;

	return below(z) - variant->ns / best_ns * exp(s * s / 2) * below(z - s);
}

static void compare_with_best(const struct kc_variant *variant, const struct kc_variant *best,
			      struct kc_variant_ranking *r)
{
	if (!(variant->low_ns < best->measured_ns))
		return;
	r->may_be_better++;
	r->gain = fmax(r->gain, expected_gain(variant, best->measured_ns));
	r->most_gain = fmax(r->most_gain, 1 - variant->low_ns / best->measured_ns);
}

/* In the order of time. */
static void choose(const struct kc_variants *v, struct kc_variant_ranking *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct kc_variant *variant = &v->at[r->order[i]];

		if (!isnan(variant->measured_ns) && r->best == v->count)
			r->best = r->order[i];
		if (!may_be_timed(variant))
			continue;
		if (r->next_count < KC_VARIANTS_NAMED)
			r->next[r->next_count++] = r->order[i];
		r->as_good += kc_variant_is_as_good(variant, &v->at[r->next[0]]);
	}
	for (uint32_t i = 0; r->best < v->count && i < r->count; i++)
		if (may_be_timed(&v->at[r->order[i]]))
			compare_with_best(&v->at[r->order[i]], &v->at[r->best], r);
}

int kc_variants_rank(struct kc_variants *v, struct kc_variant_ranking *r)
{
	int rc = correct(v);

	*r = (struct kc_variant_ranking){.best = v->count};
	r->order = malloc((v->count ? v->count : 1) * sizeof(*r->order));
	if (rc < 0 || !r->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->count; i++)
		if (!isnan(own_ns(&v->at[i])) &&
		    (v->at[i].state == KC_VARIANT_ESTIMATED || !isnan(v->at[i].measured_ns)))
			r->order[r->count++] = i;
	qsort_r(r->order, r->count, sizeof(*r->order), by_time, v);
	count(v, r);
	choose(v, r);
	return 0;
}

void kc_variant_ranking_free(struct kc_variant_ranking *r)
{
	free(r->order);
}
