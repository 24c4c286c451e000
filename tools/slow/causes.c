#include "causes.h"
#include "series.h"
#include "tools/slow/processes/waits.h"

#include "store/common/ids/intern.h"
#include "store/database/schema.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judging {
	const struct kc_slow_runs *runs;
	const struct kc_diff_limits *limits;
	double over; /* of the logarithm */
	struct kc_slow_launch *launches;
	size_t count;
	struct kc_slow_all_series all;
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

static double took_of(const struct judging *j, const struct kc_slow_launch *launch)
{
	return (double)((const struct kc_measured_launch *)j->runs->run->launches.at)[launch->place].ns;
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
	double most = fmax(kc_slow_series_of(&j->all, i)->trend.most, log);

	if (log > 0 && is_past_limits(j, most, *at_ns))
		add_part(found, KC_SLOW_DRIFT, log, at_ns);
	else
		*at_ns *= exp(log);
}

/* A launch that lost less than half of what its shape did at the time lost nothing, but by its process, whose launches
 * lose all alike. */
static void drop_if_fast(struct kc_slow_found *found, double should_ns)
{
	double lost_ns = 0;

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		lost_ns += found->parts_ns[cause];
	if (found->took_ns - should_ns < lost_ns / 2)
		for (int cause = 0; cause < KC_SLOW_PROCESS; cause++)
			found->parts_ns[cause] = 0;
}

static void divide(const struct judging *j, size_t i, struct kc_slow_found *found)
{
	const struct kc_slow_launch *launch = j->launches + i;
	double at_ns, should_ns, log_known = launch->known_log, rest;
	struct kc_slow_expected e;

	if (launch->from == KC_FROM_NOTHING) {
		at_ns = exp(log_known);
		add_if_past(j, found, KC_SLOW_SIZE, launch->log - log_known, &at_ns);
		return;
	}
	e = kc_slow_expect(&j->all, i);
	should_ns = at_ns = exp(e.peers);
	if (!isnan(log_known) && is_past_limits(j, e.peers - log_known, exp(log_known))) {
		should_ns = at_ns = exp(log_known);
		add_part(found, KC_SLOW_SIZE, e.peers - log_known, &at_ns);
	}
	rest = launch->log - e.peers - e.slower - e.drift;
	if ((launch->company && kc_slow_series_of(&j->all, i)->company_costs) || rest > e.far)
		add_if_past(j, found, cause_of_rest(launch), rest, &at_ns);
	add_drift(j, i, found, e.drift, &at_ns);
	if (is_past_limits(j, e.slower, at_ns))
		add_part(found, KC_SLOW_SLOWER, e.slower, &at_ns);
	if (launch->process_log > 0) /* which is past the limits */
		add_part(found, KC_SLOW_PROCESS, launch->process_log, &at_ns);
	if (rest < 0)
		drop_if_fast(found, should_ns);
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
	kc_slow_sum_add(&j->out->causes[cause], found->parts_ns[cause]);
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

static int add_process(struct judging *j, uint32_t kernel, const struct kc_slow_launch *launch,
		       const struct kc_slow_found *found)
{
	struct kc_slow_process one = {
	    .process = (uint32_t)(moment_of(j, launch)->id >> KC_SEQUENCE_BITS),
	    .device = moment_of(j, launch)->device,
	    .launch = moment_of(j, launch)->id,
	    .others = launch->others,
	    .is_whole = launch->is_whole,
	    .since_ns = launch->is_late ? moment_of(j, launch)->start_ns : INT64_MAX,
	    .launches = 1,
	    .took_ns = found->took_ns,
	    .lost_ns = found->parts_ns[KC_SLOW_PROCESS],
	};
	int rc = kc_slow_pair_add(&j->out->processes, kernel, one.process, one.lost_ns);

	return rc == 0 ? kc_slow_straggler_add(&j->out->stragglers, kernel, &one) : rc;
}

static int keep(struct judging *j, const struct kc_slow_launch *launch, struct kc_slow_place *place,
		struct kc_slow_found *found, const struct kc_slow_beside *beside)
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
	kc_slow_sum_add(&j->out->lost, found->lost_ns);
	kc_slow_sum_add(&place->lost, found->lost_ns);
	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		place->causes_ns[cause] += found->parts_ns[cause];
	for (int cause = 0; rc == 0 && cause < KC_SLOW_CAUSES; cause++)
		if (found->parts_ns[cause] > 0)
			rc = add_to_row(j, found, (enum kc_slow_cause)cause, kernel);
	if (rc == 0 && found->parts_ns[KC_SLOW_OVERLAP] > 0)
		rc = add_pairs(j, kernel, found->parts_ns[KC_SLOW_OVERLAP], beside);
	if (rc == 0 && found->parts_ns[KC_SLOW_PROCESS] > 0)
		rc = add_process(j, kernel, launch, found);
	kept = rc == 0 ? kc__list_add(&j->found, sizeof(*kept)) : NULL;
	if (!kept)
		return -ENOMEM;
	*kept = *found;
	return 0;
}

/* instead: counts those that cannot be judged, for their reason; NULL: it is judged. */
static void count_judged(struct judging *j, struct kc_slow_place *place, struct kc_slow_sum *instead, double took_ns)
{
	kc_slow_sum_add(instead ? instead : &j->out->judged, took_ns);
	if (!instead)
		kc_slow_sum_add(&place->judged, took_ns);
}

static int judge(struct judging *j, size_t i)
{
	const struct kc_slow_launch *launch = j->launches + i;
	struct kc_slow_found found = {.place = launch->place, .shape = launch->shape, .took_ns = took_of(j, launch)};
	struct kc_slow_place *place = kc_slow_place_of(&j->out->places, moment_of(j, launch));
	struct kc_slow_beside beside = {0};
	int never_alone, rc;

	if (!place)
		return -ENOMEM;
	kc_slow_sum_add(&j->out->measured, found.took_ns);
	kc_slow_sum_add(&place->measured, found.took_ns);
	if (launch->from == KC_FROM_NOTHING && isnan(launch->known_log)) {
		count_judged(j, place, launch->process_log > 0 ? NULL : &j->out->unknown, found.took_ns);
		found.parts_ns[KC_SLOW_PROCESS] = found.took_ns * -expm1(-launch->process_log);
		return keep(j, launch, place, &found, &beside);
	}
	divide(j, i, &found);
	if (found.parts_ns[KC_SLOW_OVERLAP] > 0) {
		kc_slow_find_beside(&j->out->intervals, launch->place, &beside);
		bound_company(j, &found, &beside);
	}
	rc = keep(j, launch, place, &found, &beside);
	never_alone = launch->company && launch->from != KC_FROM_NOTHING && !launch->alone && found.lost_ns <= 0;
	count_judged(j, place, never_alone ? &j->out->never_alone : NULL, found.took_ns);
	return rc;
}

/* --- all of them */

KC_ORDER(found_by_loss, struct kc_slow_found, KC_DOWN(lost_ns) ?: KC_UP(place))

KC_ORDER(rows_by_loss, struct kc_slow_row, KC_DOWN(lost_ns))

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
	kc_slow_stragglers_sort(&out->stragglers);
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
		rc = kc_slow_all_series(runs, diff, j.launches, j.count, j.over, &j.all);
	if (rc == 0)
		rc = kc_slow_intervals(runs->names, runs->run, &out->intervals);
	for (size_t i = 0; rc == 0 && i < j.count; i++)
		if (moment_of(&j, j.launches + i)->matches)
			rc = judge(&j, i);
	if (rc == 0)
		rc = kc_slow_waits(runs->names, runs->run, out->stragglers.list.at, out->stragglers.list.count);
	give_out(&j);
	kc_intern_free(&j.row_ids);
	free(j.launches);
	kc_slow_all_series_free(&j.all);
	return rc;
}

void kc_slow_free(struct kc_slow *slow)
{
	free(slow->found);
	free(slow->rows);
	kc_slow_stragglers_free(&slow->stragglers);
	kc_slow_pairs_free(&slow->beside);
	kc_slow_pairs_free(&slow->processes);
	kc_slow_places_free(&slow->places);
	kc_slow_intervals_free(&slow->intervals);
	*slow = (struct kc_slow){0};
}
