#include "slow_fields.h"
#include "predictor/math/order.h"

#include <stdlib.h>

#define FIELD(...) KC_FIELD_OF(struct kc_slow_place_row, __VA_ARGS__)
static const struct kc_field fields[] = {
    FIELD("lost_ns", "lost", NS, lost.ns),
    FIELD("others_waited_ns", "others waited", NS, waited_ns),
    FIELD("lost_share", "share", PERCENT, lost_share),
    FIELD("launches", "launches", COUNT64, lost.launches),
    FIELD("judged_launches", NULL, COUNT64, judged.launches),
    FIELD("judged_ns", NULL, NS, judged.ns),
    FIELD("cause_ns", NULL, NS, cause_ns),
    FIELD("why", "cause", TEXT, why),
    FIELD("name", "rank or process", TITLE, shown),
    FIELD("cause", NULL, TEXT, cause),
    FIELD("measured_launches", NULL, COUNT64, measured.launches),
    FIELD("measured_ns", NULL, NS, measured.ns),
    FIELD("process", NULL, ID, process),
    FIELD("pid", NULL, ID, pid),
    FIELD("gpu", NULL, ID, gpu),
};
#undef FIELD

struct kc_fields kc_slow_place_fields(enum kc_slow_by by)
{
	return (struct kc_fields)KC_FIELDS(fields, struct kc_slow_place_row,
					   .name = by == KC_SLOW_BY_GPU ? "GPU" : "rank or process");
}

/* Which row the place is counted in. */
static struct kc_slow_place_row key_of(const struct kc_slow_view *view, enum kc_slow_by by,
				       const struct kc_slow_place *place)
{
	struct kc_slow_place_row row = {.process = -1, .pid = -1, .gpu = -1};
	struct kc_measured_origin origin;

	if (by == KC_SLOW_BY_RANK)
		row.process = place->process;
	else if (kc_measured_origin(view->store, place->launch, &origin) == 0 && origin.device)
		row.gpu = origin.device;
	return row;
}

/* "": not known */
static void name_row(const struct kc_slow_view *view, struct kc_slow_place_row *row)
{
	const struct kc_selection this = {view->runs->run->id, view->runs->run->id};

	if (row->process >= 0 && kc_process_name(view->store, row->process, &row->pid, row->name) != 0)
		row->pid = -1;
	if (row->gpu >= 0 && kc_gpu_name(view->store, &this, row->gpu, row->name) != 0)
		*row->name = '\0';
}

static void add_sum(struct kc_slow_sum *sum, const struct kc_slow_sum *more)
{
	sum->launches += more->launches;
	sum->ns += more->ns;
}

static void add_place(const struct kc_slow_view *view, const struct kc_slow_place *place, struct kc_slow_place_row *row)
{
	const struct kc_slow_process *stragglers = view->slow->stragglers.list.at;

	add_sum(&row->measured, &place->measured);
	add_sum(&row->judged, &place->judged);
	add_sum(&row->lost, &place->lost);
	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		row->causes_ns[cause] += place->causes_ns[cause];
	for (size_t i = 0; i < view->slow->stragglers.list.count; i++)
		if (stragglers[i].process == place->process && stragglers[i].device == place->device)
			row->waited_ns += stragglers[i].waited_ns;
}

/* Once the row stays where it is. */
static void finish(const struct kc_slow_view *view, struct kc_slow_place_row *row)
{
	int most = 0;

	name_row(view, row);
	for (int cause = 1; cause < KC_SLOW_CAUSES; cause++)
		if (row->causes_ns[cause] > row->causes_ns[most])
			most = cause;
	row->shown = *row->name ? row->name : NULL;
	row->lost_share = row->lost.ns / row->judged.ns;
	row->cause_ns = row->causes_ns[most];
	if (!(row->cause_ns > 0))
		return;
	row->cause = kc_slow_cause_name((enum kc_slow_cause)most);
	row->why = kc_slow_cause_words((enum kc_slow_cause)most);
}

KC_ORDER(by_loss, struct kc_slow_place_row, KC_BY(y->lost.ns + y->waited_ns, x->lost.ns + x->waited_ns))

KC_ORDER(by_time, struct kc_slow_place_row, KC_DOWN(judged.ns))

KC_ORDER(by_count, struct kc_slow_place_row, KC_DOWN(lost.launches))

struct kc_slow_place_row *kc_slow_place_rows(const struct kc_slow_view *view, enum kc_slow_by by, enum kc_sort order,
					     size_t *count)
{
	const struct kc__list *places = &view->slow->places.list;
	struct kc_slow_place_row *rows = calloc(places->count + 1, sizeof(*rows));

	*count = 0;
	for (size_t i = 0; rows && i < places->count; i++) {
		const struct kc_slow_place *place = (const struct kc_slow_place *)places->at + i;
		size_t at = 0;

		rows[*count] = key_of(view, by, place);
		while (rows[at].process != rows[*count].process || rows[at].gpu != rows[*count].gpu)
			at++;
		*count += at == *count;
		add_place(view, place, rows + at);
	}
	if (*count)
		qsort(rows, *count, sizeof(*rows),
		      order == KC_SORT_TIME    ? by_time
		      : order == KC_SORT_COUNT ? by_count
					       : by_loss);
	for (size_t i = 0; i < *count && i < view->top; i++)
		finish(view, rows + i);
	return rows;
}
