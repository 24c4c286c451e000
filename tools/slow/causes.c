#include "causes.h"
#include "trend.h"

#include "store/common/ids/intern.h"
#include "store/database/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_LEAST 8u      /* launches of a shape, for its level in this run to count */
#define COMPANY_LEAST 8u    /* overlapped launches, for their median to count */
#define CHANCE 3.0          /* standard errors */
#define OF_DEVIATION 1.4826 /* standard deviation of a normal distribution over its median absolute deviation */
#define OF_MEDIAN 1.2533

/* Launches of one shape that are expected in the same way. */
struct series {
	struct kc_slow_trend trend; /* far NAN: too few launches */
	uint32_t shape;
	uint32_t samples;
	int64_t first_ns;      /* start of the first */
	uint8_t from;          /* enum kc_slow_from */
	uint8_t is_new;        /* of a new size */
	uint8_t company_costs; /* its overlapped launches are slower as a whole */
};

struct judging {
	const struct kc_slow_runs *runs;
	const struct kc_diff_limits *limits;
	double over; /* of the logarithm */
	struct kc_slow_launch *launches;
	size_t count;
	struct kc_intern keys; /* of series */
	uint32_t *series_of;   /* by launch, less 1 its place in series; 0: none */
	struct series *series;
	uint32_t *main_series; /* main_series_of(), less 1 the one of a known size that has most launches; 0: none */
	double *slower;        /* by shape: by how much than in earlier runs, of the logarithm; NAN: it is not */
	struct kc_intern row_ids;
	struct kc__list found, rows;
	struct kc_slow *out;
};

const char *kc_slow_cause_name(enum kc_slow_cause cause)
{
	static const char *const names[] = {
	    [KC_SLOW_SIZE] = "new_size",
	    [KC_SLOW_SLOWER] = "slower_than_before",
	    [KC_SLOW_DRIFT] = "drift",
	    [KC_SLOW_FIRST] = "first_launch",
	    [KC_SLOW_OVERLAP] = "overlap",
	    [KC_SLOW_UNEXPLAINED] = "unexplained",
	    [KC_SLOW_PROCESS] = "slower_process",
	};

	return names[cause];
}

static const struct kc_measured_moment *moment_of(const struct judging *j, const struct kc_slow_launch *launch)
{
	return (const struct kc_measured_moment *)j->runs->run->moments.at + launch->place;
}

static int64_t start_of(const struct judging *j, const struct kc_slow_launch *launch)
{
	return moment_of(j, launch)->start_ns;
}

static double took_of(const struct judging *j, const struct kc_slow_launch *launch)
{
	return (double)((const struct kc_measured_launch *)j->runs->run->launches.at)[launch->place].ns;
}

/* --- slower than in earlier runs */

static int note_slower(struct judging *j, const struct kc_diff *diff)
{
	size_t shapes = j->runs->names->shapes.count;

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

static int number_series(struct judging *j)
{
	j->series_of = calloc(j->count + 1, sizeof(*j->series_of));
	if (!j->series_of)
		return -ENOMEM;
	for (size_t i = 0; i < j->count; i++) {
		const struct kc_slow_launch *launch = j->launches + i;
		const uint32_t key[] = {launch->shape, launch->from, launch->alone, !isnan(launch->known_log)};

		if (launch->from == KC_FROM_NOTHING)
			continue;
		j->series_of[i] = kc_intern(&j->keys, 's', key, sizeof(key));
		if (!j->series_of[i])
			return -ENOMEM;
	}
	j->series = calloc((size_t)j->keys.count + 1, sizeof(*j->series));
	j->main_series = calloc((j->runs->names->kernels.count + 1) * (j->runs->names->model_ids.count + 1),
				sizeof(*j->main_series));
	return j->series && j->main_series ? 0 : -ENOMEM;
}

/* By kernel and model of GPU. */
static uint32_t *main_series_of(const struct judging *j, uint32_t shape)
{
	const struct kc_measured_shape *of = kc_measured_shape(j->runs->names, shape);

	return j->main_series + of->kernel * ((size_t)j->runs->names->model_ids.count + 1) + of->model;
}

static void describe_series(struct judging *j)
{
	for (uint32_t s = 0; s < j->keys.count; s++)
		j->series[s] = (struct series){.trend.far = NAN, .first_ns = INT64_MAX};
	for (size_t i = 0; i < j->count; i++) {
		const struct kc_slow_launch *launch = j->launches + i;
		int64_t start_ns = start_of(j, launch);
		struct series *series;

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
	for (uint32_t s = 0; s < j->keys.count; s++) {
		uint32_t *main = main_series_of(j, j->series[s].shape);

		if (!j->series[s].is_new && (*main == 0 || j->series[*main - 1].samples < j->series[s].samples))
			*main = s + 1;
	}
}

struct numbered {
	uint32_t series;
	struct kc_slow_sample sample;
};

static int by_series_and_time(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->sample.at_ns < y->sample.at_ns ? -1 : x->sample.at_ns > y->sample.at_ns;
}

/* Samples of one series, one after the other. */
static size_t series_end(const struct numbered *at, size_t first, size_t count)
{
	size_t end = first + 1;

	while (end < count && at[end].series == at[first].series)
		end++;
	return end;
}

static int tells_the_level(const struct kc_slow_launch *launch)
{
	return launch->alone ? launch->is_quiet : !launch->is_first;
}

static int find_trends(struct judging *j)
{
	struct numbered *at = calloc(j->count + 1, sizeof(*at));
	struct kc_slow_sample *samples = calloc(j->count + 1, sizeof(*samples));
	double *values = calloc(j->count + 1, sizeof(*values));
	size_t n = 0;
	int rc = at && samples && values ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < j->count; i++)
		if (j->series_of[i] && tells_the_level(j->launches + i))
			at[n++] = (struct numbered){
			    j->series_of[i],
			    {start_of(j, j->launches + i), j->launches[i].log - j->launches[i].peers_log}};
	if (n)
		qsort(at, n, sizeof(*at), by_series_and_time);
	for (size_t first = 0, end; first < n; first = end) {
		end = series_end(at, first, n);
		for (size_t i = first; i < end; i++)
			samples[i - first] = at[i].sample;
		if (end - first >= LEVEL_LEAST)
			kc_slow_trend(samples, end - first, j->over, values, &j->series[at[first].series - 1].trend);
	}
	free(at);
	free(samples);
	free(values);
	return rc;
}

/* --- what was expected of a launch */

struct expected {
	double peers;  /* all of the logarithm of ns: what should be */
	double slower; /* than in earlier runs */
	double drift;
	double far;
};

/* How much slower a series is than in earlier runs; NAN: it is not, or not known. */
static double slower_of(const struct judging *j, const struct series *series)
{
	double slower = series->from == KC_FROM_EARLIER ? j->slower[series->shape] : NAN;

	if (isnan(slower) || isnan(series->trend.far))
		return slower;
	return series->trend.level > j->over ? series->trend.level : NAN;
}

/* What the kernel's known sizes had become by the time that a new one came is not the new one's. */
static void expect_as_known(const struct judging *j, const struct series *series, struct expected *e)
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

static struct expected expect(const struct judging *j, size_t i)
{
	const struct kc_slow_launch *launch = j->launches + i;
	const struct series *series = j->series + j->series_of[i] - 1;
	int has_level = !isnan(series->trend.far);
	double slower = slower_of(j, series);
	struct expected e = {
	    .peers = launch->peers_log,
	    .slower = isnan(slower) ? 0 : slower,
	    .drift = kc_slow_drift(&series->trend, start_of(j, launch)),
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

static double remainder_of(const struct judging *j, size_t i)
{
	struct expected e = expect(j, i);

	return j->launches[i].log - e.peers - e.slower - e.drift;
}

/* Whether the overlapped launches of a series, `n` samples, are slower than those that ran alone. */
static int company_costs(const struct judging *j, const struct numbered *at, size_t n, double *values)
{
	double median, deviation;

	if (n < COMPANY_LEAST)
		return 0;
	for (size_t i = 0; i < n; i++)
		values[i] = at[i].sample.log;
	median = kc_slow_quantile(values, n, 0.5);
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(at[i].sample.log - median);
	deviation = OF_DEVIATION * kc_slow_quantile(values, n, 0.5);
	return median > fmax(j->over / 2, CHANCE * OF_MEDIAN * deviation / sqrt((double)n));
}

static int find_company(struct judging *j)
{
	struct numbered *at = calloc(j->count + 1, sizeof(*at));
	double *values = calloc(j->count + 1, sizeof(*values));
	size_t n = 0;
	int rc = at && values ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < j->count; i++)
		if (j->series_of[i] && j->launches[i].alone && j->launches[i].company && !j->launches[i].is_first)
			at[n++] = (struct numbered){j->series_of[i], {(int64_t)i, remainder_of(j, i)}};
	if (n)
		qsort(at, n, sizeof(*at), by_series_and_time);
	for (size_t first = 0, end; first < n; first = end) {
		end = series_end(at, first, n);
		j->series[at[first].series - 1].company_costs =
		    (uint8_t)company_costs(j, at + first, end - first, values);
	}
	free(at);
	free(values);
	return rc;
}

/* --- one launch */

static int is_past_limits(const struct judging *j, double log, double at_ns)
{
	return log > j->over && at_ns * expm1(log) > j->limits->floor_ns;
}

/* Counts the time from *at_ns on that a factor explains, and goes on from its end. */
static void add_part(struct kc_slow_found *found, enum kc_slow_cause cause, double log, double *at_ns)
{
	found->parts_ns[cause] += *at_ns * expm1(log);
	*at_ns *= exp(log);
}

/* The same, if it is past the limits. */
static void add_if_past(const struct judging *j, struct kc_slow_found *found, enum kc_slow_cause cause, double log,
			double *at_ns)
{
	if (is_past_limits(j, log, *at_ns))
		add_part(found, cause, log, at_ns);
}

static enum kc_slow_cause cause_of_rest(const struct kc_slow_launch *launch)
{
	if (launch->is_first)
		return KC_SLOW_FIRST;
	return launch->company ? KC_SLOW_OVERLAP : KC_SLOW_UNEXPLAINED;
}

/* What other kernels cost is no more than the time that they ran. */
static void bound_company(const struct judging *j, struct kc_slow_found *found, const struct kc_slow_beside *beside)
{
	double rest = found->parts_ns[KC_SLOW_OVERLAP] - (double)beside->total_ns;

	if (rest <= 0)
		return;
	found->parts_ns[KC_SLOW_OVERLAP] -= rest;
	if (rest > j->limits->floor_ns && rest > j->limits->over * (found->took_ns - rest))
		found->parts_ns[KC_SLOW_UNEXPLAINED] += rest;
}

/* Where a launch shape drifts by more than the limits, all of its drift counts. */
static void add_drift(const struct judging *j, size_t i, struct kc_slow_found *found, double log, double *at_ns)
{
	double most = fmax(j->series[j->series_of[i] - 1].trend.most, log);

	if (log > 0 && is_past_limits(j, most, *at_ns))
		add_part(found, KC_SLOW_DRIFT, log, at_ns);
	else
		*at_ns *= exp(log);
}

/* A launch that lost less than half of what its shape did at the time lost nothing. */
static void drop_if_fast(struct kc_slow_found *found, double should_ns)
{
	double lost_ns = 0;

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		lost_ns += found->parts_ns[cause];
	if (found->took_ns - should_ns < lost_ns / 2)
		memset(found->parts_ns, 0, sizeof(found->parts_ns));
}

static void divide(const struct judging *j, size_t i, struct kc_slow_found *found)
{
	const struct kc_slow_launch *launch = j->launches + i;
	double at_ns, should_ns, log_known = launch->known_log, rest;
	struct expected e;

	if (launch->from == KC_FROM_NOTHING) {
		at_ns = exp(log_known);
		add_if_past(j, found, KC_SLOW_SIZE, launch->log - log_known, &at_ns);
		return;
	}
	e = expect(j, i);
	should_ns = at_ns = exp(e.peers);
	if (!isnan(log_known) && is_past_limits(j, e.peers - log_known, exp(log_known))) {
		should_ns = at_ns = exp(log_known);
		add_part(found, KC_SLOW_SIZE, e.peers - log_known, &at_ns);
	}
	rest = launch->log - e.peers - e.slower - e.drift;
	if ((launch->company && j->series[j->series_of[i] - 1].company_costs) || rest > e.far)
		add_if_past(j, found, cause_of_rest(launch), rest, &at_ns);
	add_drift(j, i, found, e.drift, &at_ns);
	if (is_past_limits(j, e.slower, at_ns))
		add_part(found, KC_SLOW_SLOWER, e.slower, &at_ns);
	if (launch->process_log > 0) /* which is past the limits */
		add_part(found, KC_SLOW_PROCESS, launch->process_log, &at_ns);
	if (rest < 0)
		drop_if_fast(found, should_ns);
}

static void count_in(struct kc_slow_sum *sum, double ns)
{
	sum->launches++;
	sum->ns += ns;
}

static int add_to_row(struct judging *j, const struct kc_slow_found *found, enum kc_slow_cause cause, uint32_t kernel)
{
	const uint32_t key[] = {cause, kernel};
	uint32_t number = kc_intern(&j->row_ids, 'r', key, sizeof(key));
	struct kc_slow_row *row;

	if (!number || (number > j->rows.count && !kc__list_add(&j->rows, sizeof(*row))))
		return -ENOMEM;
	row = (struct kc_slow_row *)j->rows.at + number - 1;
	row->cause = cause;
	row->kernel = kernel;
	row->launches++;
	row->took_ns += found->took_ns;
	row->lost_ns += found->parts_ns[cause];
	count_in(&j->out->causes[cause], found->parts_ns[cause]);
	return 0;
}

static int add_pairs(struct judging *j, uint32_t kernel, double lost_ns, const struct kc_slow_beside *beside)
{
	double named_ns = 0;
	int rc = 0;

	for (uint32_t i = 0; i < beside->count; i++)
		named_ns += (double)beside->ns[i];
	for (uint32_t i = 0; rc == 0 && i < beside->count; i++)
		rc = kc_slow_pair_add(&j->out->beside, kernel, beside->kernels[i],
				      lost_ns * (double)beside->ns[i] / named_ns);
	return rc;
}

static int add_process(struct judging *j, uint32_t kernel, const struct kc_slow_found *found)
{
	const struct kc_measured_moment *moment =
	    (const struct kc_measured_moment *)j->runs->run->moments.at + found->place;

	return kc_slow_pair_add(&j->out->processes, kernel, (uint32_t)(moment->id >> KC_SEQUENCE_BITS),
				found->parts_ns[KC_SLOW_PROCESS]);
}

static int keep(struct judging *j, struct kc_slow_found *found, const struct kc_slow_beside *beside)
{
	uint32_t kernel = kc_measured_shape(j->runs->names, found->shape)->kernel;
	struct kc_slow_found *kept;
	int rc = 0;

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++) {
		found->lost_ns += found->parts_ns[cause];
		if (found->parts_ns[cause] > found->parts_ns[found->cause])
			found->cause = (enum kc_slow_cause)cause;
	}
	if (found->lost_ns <= 0)
		return 0;
	found->should_ns = found->took_ns - found->lost_ns;
	count_in(&j->out->lost, found->lost_ns);
	for (int cause = 0; rc == 0 && cause < KC_SLOW_CAUSES; cause++)
		if (found->parts_ns[cause] > 0)
			rc = add_to_row(j, found, (enum kc_slow_cause)cause, kernel);
	if (rc == 0 && found->parts_ns[KC_SLOW_OVERLAP] > 0)
		rc = add_pairs(j, kernel, found->parts_ns[KC_SLOW_OVERLAP], beside);
	if (rc == 0 && found->parts_ns[KC_SLOW_PROCESS] > 0)
		rc = add_process(j, kernel, found);
	kept = rc == 0 ? kc__list_add(&j->found, sizeof(*kept)) : NULL;
	if (!kept)
		return -ENOMEM;
	*kept = *found;
	return 0;
}

static int judge(struct judging *j, size_t i)
{
	const struct kc_slow_launch *launch = j->launches + i;
	struct kc_slow_found found = {.place = launch->place, .shape = launch->shape, .took_ns = took_of(j, launch)};
	struct kc_slow_beside beside = {0};

	count_in(&j->out->measured, found.took_ns);
	if (launch->from == KC_FROM_NOTHING && isnan(launch->known_log)) {
		count_in(&j->out->unknown, found.took_ns);
		return 0;
	}
	if (launch->company && launch->from != KC_FROM_NOTHING && !launch->alone)
		count_in(&j->out->never_alone, found.took_ns);
	divide(j, i, &found);
	if (found.parts_ns[KC_SLOW_OVERLAP] > 0) {
		kc_slow_find_beside(&j->out->intervals, launch->place, &beside);
		bound_company(j, &found, &beside);
	}
	return keep(j, &found, &beside);
}

/* --- all of them */

static int more(double x, double y)
{
	return x > y ? -1 : x < y;
}

static int found_by_loss(const void *a, const void *b)
{
	const struct kc_slow_found *x = a, *y = b;

	return x->lost_ns != y->lost_ns ? more(x->lost_ns, y->lost_ns) : x->place < y->place ? -1 : x->place > y->place;
}

static int rows_by_loss(const void *a, const void *b)
{
	return more(((const struct kc_slow_row *)a)->lost_ns, ((const struct kc_slow_row *)b)->lost_ns);
}

static void *sorted(struct kc__list *list, size_t size, int (*compare)(const void *, const void *), size_t *count)
{
	if (list->count)
		qsort(list->at, list->count, size, compare);
	*count = list->count;
	return list->at;
}

static void give_out(struct judging *j)
{
	struct kc_slow *out = j->out;

	out->found = sorted(&j->found, sizeof(*out->found), found_by_loss, &out->found_count);
	out->rows = sorted(&j->rows, sizeof(*out->rows), rows_by_loss, &out->row_count);
	kc_slow_pairs_sort(&out->beside);
	kc_slow_pairs_sort(&out->processes);
}

int kc_slow_find(const struct kc_slow_runs *runs, const struct kc_diff *diff, const struct kc_diff_limits *limits,
		 struct kc_slow *out)
{
	struct judging j = {.runs = runs, .limits = limits, .over = log1p(limits->over), .out = out};
	int rc;

	*out = (struct kc_slow){0};
	rc = kc_slow_peers(runs, limits, &j.launches, &j.count);
	if (rc == 0)
		rc = note_slower(&j, diff);
	if (rc == 0)
		rc = number_series(&j);
	if (rc == 0) {
		describe_series(&j);
		rc = find_trends(&j);
	}
	if (rc == 0)
		rc = find_company(&j);
	if (rc == 0)
		rc = kc_slow_intervals(runs->names, runs->run, &out->intervals);
	for (size_t i = 0; rc == 0 && i < j.count; i++)
		if (moment_of(&j, j.launches + i)->matches)
			rc = judge(&j, i);
	give_out(&j);
	kc_intern_free(&j.keys);
	kc_intern_free(&j.row_ids);
	free(j.launches);
	free(j.series_of);
	free(j.series);
	free(j.main_series);
	free(j.slower);
	return rc;
}

void kc_slow_free(struct kc_slow *slow)
{
	free(slow->found);
	free(slow->rows);
	kc_slow_pairs_free(&slow->beside);
	kc_slow_pairs_free(&slow->processes);
	kc_slow_intervals_free(&slow->intervals);
	*slow = (struct kc_slow){0};
}
