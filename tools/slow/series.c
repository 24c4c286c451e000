#include "series.h"

#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "store/common/ids/intern.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEVEL_LEAST 8u      /* launches of a shape, for its level in this run to count */
#define COMPANY_LEAST 8u    /* overlapped launches, for their median to count */
#define CHANCE 3.0          /* standard errors */
#define OF_DEVIATION 1.4826 /* standard deviation of a normal distribution over its median absolute deviation */
#define OF_MEDIAN 1.2533

const struct kc_slow_series *kc_slow_series_of(const struct kc_slow_all_series *j, size_t i)
{
	return j->series_of[i] ? j->series + j->series_of[i] - 1 : NULL;
}

static int64_t start_of(const struct kc_slow_all_series *j, size_t i)
{
	return j->moments[j->launches[i].place].start_ns;
}

/* --- slower than in earlier runs */

static int note_slower(struct kc_slow_all_series *j, const struct kc_diff *diff)
{
	size_t shapes = j->names->shapes.count;

	j->slower = calloc(shapes + 1, sizeof(*j->slower));
	if (!j->slower)
		return -ENOMEM;
	for (size_t i = 0; i < shapes; i++)
		j->slower[i] = NAN;
	for (size_t i = 0; diff && i < diff->count + diff->divided_count; i++) {
		const struct kc_diff_kernel *kernel =
		    i < diff->count ? diff->kernels + i : diff->divided + (i - diff->count);

		for (uint32_t s = 0; kernel->what == KC_DIFF_SLOWER && s < kernel->shapes; s++) {
			const struct kc_diff_shape *shape = diff->shapes + kernel->first_shape + s;

			if (shape->estimate.enough)
				j->slower[shape->shape] = shape->estimate.log_change;
		}
	}
	return 0;
}

/* --- series */

static int number_series(struct kc_slow_all_series *j)
{
	struct kc_intern keys = {0};
	int rc = 0;

	j->series_of = calloc(j->launch_count + 1, sizeof(*j->series_of));
	if (!j->series_of)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < j->launch_count; i++) {
		const struct kc_slow_launch *launch = j->launches + i;
		const uint32_t key[] = {launch->shape, launch->from, launch->alone, !isnan(launch->known_log)};

		if (launch->from == KC_FROM_NOTHING)
			continue;
		j->series_of[i] = kc_intern(&keys, 's', key, sizeof(key));
		rc = j->series_of[i] ? 0 : -ENOMEM;
	}
	j->count = keys.count;
	kc_intern_free(&keys);
	j->series = calloc((size_t)j->count + 1, sizeof(*j->series));
	j->main_series =
	    calloc((j->names->kernels.count + 1) * (j->names->model_ids.count + 1), sizeof(*j->main_series));
	return j->series && j->main_series ? rc : -ENOMEM;
}

/* By kernel and model of GPU. */
static uint32_t *main_series_of(const struct kc_slow_all_series *j, uint32_t shape)
{
	const struct kc_measured_shape *of = kc_measured_shape(j->names, shape);

	return j->main_series + of->kernel * ((size_t)j->names->model_ids.count + 1) + of->model;
}

static void describe_series(struct kc_slow_all_series *j)
{
	for (uint32_t s = 0; s < j->count; s++)
		j->series[s] = (struct kc_slow_series){.trend.far = NAN, .first_ns = INT64_MAX};
	for (size_t i = 0; i < j->launch_count; i++) {
		const struct kc_slow_launch *launch = j->launches + i;
		int64_t start_ns = start_of(j, i);
		struct kc_slow_series *series;

		if (!j->series_of[i])
			continue;
		series = j->series + j->series_of[i] - 1;
		series->shape = launch->shape;
		series->from = launch->from;
		series->is_new = !isnan(launch->known_log);
		series->samples++;
		if (start_ns < series->first_ns)
			series->first_ns = start_ns;
	}
	for (uint32_t s = 0; s < j->count; s++) {
		uint32_t *main = main_series_of(j, j->series[s].shape);

		if (!j->series[s].is_new && (*main == 0 || j->series[*main - 1].samples < j->series[s].samples))
			*main = s + 1;
	}
}

/* Samples of all series, one series after the other: those of series s, from 1, begin at firsts[s - 1]. */
struct grouped {
	size_t *firsts;
	struct kc_slow_sample *at;
	double *values; /* room for as many */
};

static int group(const struct kc_slow_all_series *j, int (*takes)(const struct kc_slow_all_series *j, size_t i),
		 struct kc_slow_sample (*sample)(const struct kc_slow_all_series *j, size_t i), struct grouped *out)
{
	size_t *firsts = out->firsts = calloc((size_t)j->count + 2, sizeof(*firsts));

	out->at = calloc(j->launch_count + 1, sizeof(*out->at));
	out->values = calloc(j->launch_count + 1, sizeof(*out->values));
	if (!firsts || !out->at || !out->values)
		return -ENOMEM;
	for (size_t i = 0; i < j->launch_count; i++)
		if (j->series_of[i] && takes(j, i))
			firsts[j->series_of[i] + 1]++;
	for (uint32_t s = 1; s <= j->count; s++)
		firsts[s + 1] += firsts[s];
	for (size_t i = 0; i < j->launch_count; i++)
		if (j->series_of[i] && takes(j, i))
			out->at[firsts[j->series_of[i]]++] = sample(j, i);
	return 0;
}

static void grouped_free(struct grouped *grouped)
{
	free(grouped->firsts);
	free(grouped->at);
	free(grouped->values);
}

KC_ORDER(by_time, struct kc_slow_sample, KC_UP(at_ns))

/* Most are called in the order in which they run. */
static void sort_by_time(struct kc_slow_sample *samples, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (samples[i].at_ns < samples[i - 1].at_ns) {
			qsort(samples, n, sizeof(*samples), by_time);
			return;
		}
}

static int tells_the_level(const struct kc_slow_all_series *j, size_t i)
{
	const struct kc_slow_launch *launch = j->launches + i;

	return launch->alone ? launch->is_quiet : !launch->is_first;
}

static struct kc_slow_sample beyond_peers(const struct kc_slow_all_series *j, size_t i)
{
	return (struct kc_slow_sample){start_of(j, i), j->launches[i].log - j->launches[i].peers_log};
}

static int find_trends(struct kc_slow_all_series *j)
{
	struct grouped of = {0};
	int rc = group(j, tells_the_level, beyond_peers, &of);

	for (uint32_t s = 0; rc == 0 && s < j->count; s++) {
		size_t n = of.firsts[s + 1] - of.firsts[s];

		if (n < LEVEL_LEAST)
			continue;
		sort_by_time(of.at + of.firsts[s], n);
		kc_slow_trend(of.at + of.firsts[s], n, j->over, of.values, &j->series[s].trend);
	}
	grouped_free(&of);
	return rc;
}

/* --- what was expected of a launch */

/* How much slower a series is than in earlier runs; NAN: it is not, or not known. */
static double slower_of(const struct kc_slow_all_series *j, const struct kc_slow_series *series)
{
	double slower = series->from == KC_FROM_EARLIER ? j->slower[series->shape] : NAN;

	if (isnan(slower) || isnan(series->trend.far))
		return slower;
	return series->trend.level > j->over ? series->trend.level : NAN;
}

/* What the kernel's known sizes had become by the time that a new one came is not the new one's. */
static void expect_as_known(const struct kc_slow_all_series *j, const struct kc_slow_series *series,
			    struct kc_slow_expected *e)
{
	uint32_t main = *main_series_of(j, series->shape);
	double drift, slower;

	if (!main)
		return;
	drift = kc_slow_drift(&j->series[main - 1].trend, series->first_ns);
	slower = slower_of(j, j->series + main - 1);
	e->slower = isnan(slower) ? 0 : slower;
	e->drift += drift;
	e->peers -= drift + e->slower;
}

struct kc_slow_expected kc_slow_expect(const struct kc_slow_all_series *j, size_t i)
{
	const struct kc_slow_launch *launch = j->launches + i;
	const struct kc_slow_series *series = j->series + j->series_of[i] - 1;
	int has_level = !isnan(series->trend.far);
	double slower = slower_of(j, series);
	struct kc_slow_expected e = {
	    .peers = launch->peers_log,
	    .slower = isnan(slower) ? 0 : slower,
	    .drift = kc_slow_drift(&series->trend, start_of(j, i)),
	    .far = has_level ? series->trend.far : launch->far,
	};

	/* Peers of this run have its level, unless they drifted. */
	if (has_level && isnan(slower) && (series->from == KC_FROM_EARLIER || series->trend.parts))
		e.peers += series->trend.level;
	else if (has_level && isnan(slower))
		e.far = fmax(series->trend.far + series->trend.level, launch->far);
	if (series->is_new)
		expect_as_known(j, series, &e);
	return e;
}

static int in_company(const struct kc_slow_all_series *j, size_t i)
{
	const struct kc_slow_launch *launch = j->launches + i;

	return launch->alone && launch->company && !launch->is_first;
}

static struct kc_slow_sample remainder_of(const struct kc_slow_all_series *j, size_t i)
{
	struct kc_slow_expected e = kc_slow_expect(j, i);

	return (struct kc_slow_sample){0, j->launches[i].log - e.peers - e.slower - e.drift};
}

/* Whether the overlapped launches of a series, `n` samples, are slower than those that ran alone. */
static int company_costs(const struct kc_slow_all_series *j, const struct kc_slow_sample *samples, size_t n,
			 double *values)
{
	double median, deviation;

	if (n < COMPANY_LEAST)
		return 0;
	for (size_t i = 0; i < n; i++)
		values[i] = samples[i].log;
	median = kc_quantile(values, n, 0.5);
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(samples[i].log - median);
	deviation = OF_DEVIATION * kc_quantile(values, n, 0.5);
	return median > fmax(j->over / 2, CHANCE * OF_MEDIAN * deviation / sqrt((double)n));
}

static int find_company(struct kc_slow_all_series *j)
{
	struct grouped of = {0};
	int rc = group(j, in_company, remainder_of, &of);

	for (uint32_t s = 0; rc == 0 && s < j->count; s++)
		j->series[s].company_costs =
		    (uint8_t)company_costs(j, of.at + of.firsts[s], of.firsts[s + 1] - of.firsts[s], of.values);
	grouped_free(&of);
	return rc;
}

int kc_slow_all_series(const struct kc_slow_runs *runs, const struct kc_diff *diff,
		       const struct kc_slow_launch *launches, size_t launch_count, double over,
		       struct kc_slow_all_series *out)
{
	int rc;

	*out = (struct kc_slow_all_series){.names = runs->names,
					   .moments = runs->run->moments.at,
					   .launches = launches,
					   .launch_count = launch_count,
					   .over = over};
	rc = note_slower(out, diff);
	if (rc == 0)
		rc = number_series(out);
	if (rc == 0) {
		describe_series(out);
		rc = find_trends(out);
	}
	return rc == 0 ? find_company(out) : rc;
}

void kc_slow_all_series_free(struct kc_slow_all_series *all)
{
	free(all->series_of);
	free(all->series);
	free(all->main_series);
	free(all->slower);
}
