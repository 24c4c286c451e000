#include "slow_steps.h"

#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "store/database/schema.h"
#include "store/query/names.h"
#include "store/query/steps/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FIELD(...) KC_FIELD_OF(struct kc_slow_step_row, __VA_ARGS__)
static const struct kc_field fields[] = {
    FIELD("lost_ns", "lost", NS, lost.ns),
    FIELD("longer_ns", "longer", SIGNED_NS, longer_ns),
    FIELD("time_ns", "time", NS, time_ns),
    FIELD("measured_ns", "kernels", NS, measured.ns),
    FIELD("measured_launches", NULL, COUNT64, measured.launches),
    FIELD("launches", "launches", COUNT64, lost.launches),
    FIELD("cause", NULL, TEXT, cause),
    FIELD("cause_ns", NULL, NS, cause_ns),
    FIELD("why", "cause", TEXT, why),
    FIELD("name", "step", TITLE, name),
    FIELD("number", NULL, ID, number),
    FIELD("process", NULL, ID, process),
};
#undef FIELD
const struct kc_fields kc_slow_step_fields = KC_FIELDS(fields, struct kc_slow_step_row);

struct adding {
	const struct kc_slow_view *view;
	const struct kc_slow_found **found; /* of each launch of the run; NULL: it lost nothing */
	struct kc_known_steps *known;
	enum kc_step_level level;
	struct kc__list *rows;
	int64_t process; /* whose launches are added; 0: none yet */
	uint32_t processes;
	struct kc_steps_of steps;
	size_t first; /* of its rows: one for each step, then, but of inner ones, what is in none */
};

/* The median of their times; NAN: no memory, or there are none. */
static double usual_time(const struct kc_step *steps, size_t count)
{
	double *times = count ? calloc(count, sizeof(*times)) : NULL, usual = NAN;
	size_t known = 0;

	for (size_t i = 0; times && i < count; i++) {
		times[known] = kc_step_time(steps + i);
		known += !isnan(times[known]);
	}
	if (known)
		usual = kc_median(times, known);
	free(times);
	return usual;
}

static struct kc_slow_step_row *add_row(struct adding *a, int64_t number)
{
	struct kc_slow_step_row *row = kc__list_add(a->rows, sizeof(*row));

	if (row) {
		row->level = a->level;
		row->are = a->steps.are;
		row->process = a->process;
		row->number = number;
		row->time_ns = row->longer_ns = NAN;
	}
	return row;
}

static int begin_process(struct adding *a, int64_t process)
{
	int rc = kc_known_steps(a->known, process, &a->steps);
	const struct kc_step *steps = a->steps.at[a->level];
	size_t count = a->steps.count[a->level];
	double usual_ns = rc ? NAN : usual_time(steps, count);

	a->process = process;
	a->processes++;
	a->first = a->rows->count;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct kc_slow_step_row *row = add_row(a, steps[i].number);

		if (!row)
			return -ENOMEM;
		row->time_ns = kc_step_time(steps + i);
		row->longer_ns = row->time_ns - usual_ns;
	}
	if (rc == 0 && a->level == KC_STEP_OUTER && !add_row(a, -1))
		return -ENOMEM;
	return rc;
}

static void add_found(const struct kc_slow_found *found, struct kc_slow_step_row *row)
{
	kc_slow_sum_add(&row->lost, found->lost_ns);
	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		row->causes_ns[cause] += found->parts_ns[cause];
}

static int add_launch(struct adding *a, size_t i)
{
	const struct kc_measured_run *run = a->view->runs->run;
	const struct kc_measured_launch *launch = (const struct kc_measured_launch *)run->launches.at + i;
	const struct kc_measured_moment *moment = (const struct kc_measured_moment *)run->moments.at + i;
	int64_t process = moment->id >> KC_SEQUENCE_BITS;
	const struct kc_step *step;
	struct kc_slow_step_row *row;
	int rc = process == a->process ? 0 : begin_process(a, process);

	if (rc || launch->ns <= 0 || !moment->matches)
		return rc;
	step = kc_step_of_call(&a->steps, a->level, moment->launched_ns);
	if (!step && a->level == KC_STEP_INNER)
		return 0;
	row = (struct kc_slow_step_row *)a->rows->at + a->first +
	      (step ? (size_t)(step - a->steps.at[a->level]) : a->steps.count[a->level]);
	kc_slow_sum_add(&row->measured, (double)launch->ns);
	if (a->found[i])
		add_found(a->found[i], row);
	return 0;
}

static int add_level(struct adding *a, enum kc_step_level level)
{
	int rc = 0;

	a->level = level;
	a->process = 0;
	a->processes = 0;
	for (size_t i = 0; rc == 0 && i < a->view->runs->run->launches.count; i++)
		rc = add_launch(a, i);
	return rc;
}

/* --- what is told of them */

static void finish(const struct kc_slow_view *view, int with_process, struct kc_slow_step_row *row)
{
	char process[KC_PROCESS_NAME_BYTES] = "", step[48] = "outside of steps";
	int most = 0;
	int64_t pid;

	if (with_process && kc_process_name(view->store, row->process, &pid, process) != 0)
		*process = '\0';
	if (row->number >= 0)
		snprintf(step, sizeof(step), "%s %lld", kc_step_word(row->are, row->level), (long long)row->number);
	snprintf(row->text, sizeof(row->text), "%s%s%s", process, *process ? ", " : "", step);
	for (int cause = 1; cause < KC_SLOW_CAUSES; cause++)
		if (row->causes_ns[cause] > row->causes_ns[most])
			most = cause;
	row->cause_ns = row->causes_ns[most];
	if (!(row->cause_ns > 0))
		return;
	row->cause = kc_slow_cause_name((enum kc_slow_cause)most);
	row->why = kc_slow_cause_words((enum kc_slow_cause)most);
}

/* More first; then as steps are listed, what is in none last. */
static int in_order(double x, double y, const struct kc_slow_step_row *a, const struct kc_slow_step_row *b)
{
	if (x != y && !(isnan(x) && isnan(y)))
		return isnan(y) || x > y ? -1 : 1;
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (uint64_t)a->number < (uint64_t)b->number ? -1 : a->number != b->number;
}

KC_ORDER(by_loss, struct kc_slow_step_row, in_order(x->lost.ns, y->lost.ns, x, y))

KC_ORDER(by_time, struct kc_slow_step_row, in_order(x->time_ns, y->time_ns, x, y))

KC_ORDER(by_count, struct kc_slow_step_row, in_order((double)x->lost.launches, (double)y->lost.launches, x, y))

/* Without those that nothing was measured in: of steps, where there is a filter. */
static size_t drop_empty(const struct kc_slow_view *view, struct kc_slow_step_row *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].measured.launches || (rows[i].number >= 0 && !view->filter))
			rows[kept++] = rows[i];
	return kept;
}

static int make(struct adding *a, enum kc_sort order, struct kc_slow_steps *out)
{
	struct kc_slow_step_row *rows;
	int rc = add_level(a, KC_STEP_OUTER);

	out->are = kc_known_steps_are(a->known);
	if (rc == 0 && out->are == KC_STEPS_ARE_NESTED)
		rc = add_level(a, KC_STEP_INNER);
	rows = out->list.at;
	if (rc || !rows)
		return rc;
	out->list.count = drop_empty(a->view, rows, out->list.count);
	qsort(rows, out->list.count, sizeof(*rows),
	      order == KC_SORT_TIME    ? by_time
	      : order == KC_SORT_COUNT ? by_count
				       : by_loss);
	for (size_t i = 0; i < out->list.count; i++) {
		finish(a->view, a->processes > 1, rows + i);
		rows[i].name = rows[i].text;
	}
	return 0;
}

int kc_slow_steps(const struct kc_slow_view *view, struct kc_slow_steps *out)
{
	struct adding a = {.view = view, .rows = &out->list};
	int rc = kc_known_steps_new(view->store, &a.known);

	*out = (struct kc_slow_steps){.are = KC_STEPS_ARE_NONE};
	a.found = calloc(view->runs->run->launches.count + 1, sizeof(*a.found));
	if (rc == 0 && !a.found)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < view->slow->found_count; i++)
		a.found[view->slow->found[i].place] = view->slow->found + i;
	if (rc == 0)
		rc = make(&a, view->order, out);
	free(a.found);
	kc_known_steps_free(a.known);
	return rc;
}

void kc_slow_steps_free(struct kc_slow_steps *steps)
{
	free(steps->list.at);
	*steps = (struct kc_slow_steps){0};
}
