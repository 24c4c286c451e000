#include "step_fields.h"
#include "step_searches.h"
#include "tools/command.h"
#include "tools/output/fields.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2u

enum { IN_ALL = 1, IN_PREDICTED = 2 }; /* tables: of steps, and of steps with predictions */

#define FIELD(...) KC_FIELD_OF(struct kc_step_use, __VA_ARGS__)
static const struct kc_field step_fields[] = {
    FIELD("name", "step", TITLE, name),
    FIELD("number", NULL, ID, number),
    FIELD("process", NULL, ID, process),
    FIELD("at_ns", NULL, NS, at_ns),
    FIELD("launches", "launches", COUNT64, launches),
    FIELD("measured", NULL, COUNT64, measured),
    FIELD("copies", NULL, COUNT64, copies),
    FIELD("time_ns", "time", NS, time_ns, .about = "from its start to its end, on the host"),
    FIELD("measured_ns", "kernels", NS, measured_ns, .about = "sum over the kernels launched in it"),
    FIELD("busy_ns", "busy", NS, busy_ns, .about = "of GPUs: a kernel or copy launched in it ran"),
    FIELD("communication_exposed_ns", "exposed", NS, exposed_ns,
	  .about = "likewise: a kernel communicated, and none computed"),
    FIELD("matched", NULL, COUNT64, matched),
    FIELD("matched_ns", NULL, NS, matched_ns),
    FIELD("predicted_ns", "predicted", NS, predicted_ns, .in = IN_PREDICTED,
	  .about = "of the kernels that were predicted and measured, what was predicted"),
    FIELD("predicted_off", "off", SIGNED_PERCENT, predicted_off, .in = IN_PREDICTED,
	  .about = "that, less what these took, of what they took"),
};
#undef FIELD
const struct kc_fields kc_step_fields = KC_FIELDS(step_fields, struct kc_step_use);

static double value_of(const struct kc_step_use *use, enum kc_sort by)
{
	return by == KC_SORT_COUNT ? (double)use->launches : use->measured_ns;
}

struct ranked {
	double value;
	size_t place;
};

KC_ORDER(more_first, struct ranked, KC_DOWN(value) ?: KC_UP(place))

/* A copy of the rows; NULL: no memory. */
static struct kc_step_use *in_order(const struct kc_steps_report *steps, enum kc_sort by)
{
	struct kc_step_use *rows = calloc(steps->count + 1, sizeof(*rows));
	struct ranked *ranked = calloc(steps->count + 1, sizeof(*ranked));

	for (size_t i = 0; rows && ranked && i < steps->count; i++)
		ranked[i] = (struct ranked){by ? value_of(&steps->at[i], by) : 0, i};
	if (rows && ranked)
		qsort(ranked, steps->count, sizeof(*ranked), more_first);
	for (size_t i = 0; rows && ranked && i < steps->count; i++)
		rows[i] = steps->at[ranked[i].place];
	if (!ranked) {
		free(rows);
		rows = NULL;
	}
	free(ranked);
	return rows;
}

static unsigned table_of(const struct kc_steps_report *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		if (steps->at[i].matched)
			return IN_PREDICTED;
	return IN_ALL;
}

int kc_steps_check(const struct kc_report_view *view)
{
	if (view->steps->too_many) {
		kc_error("--by step needs the times of all launches: add --exact, which reads all of them");
		return KC_EXIT_FAILED;
	}
	return view->steps->has_steps ? 0 : kc_steps_missing(view->database, view->steps);
}

int kc_steps_by(const struct kc_report_view *view, size_t most, int csv)
{
	const struct kc_steps_report *steps = view->steps;
	size_t n = steps->count < most ? steps->count : most;
	struct kc_step_use *rows;
	int rc = kc_steps_check(view);

	if (rc)
		return rc;
	rows = in_order(steps, view->sorting.by);
	if (!rows)
		return -ENOMEM;
	rc = kc_fields_put(&kc_step_fields, table_of(steps), rows, n,
			   (struct kc_fields_form){csv, view->data->simulated, INDENT});
	free(rows);
	if (rc == 0 && !csv)
		kc_step_searches_print(steps);
	return rc;
}

static json_t *list(const struct kc_steps_report *steps, int is_found)
{
	json_t *out;

	if (steps->too_many)
		return json_null();
	out = json_array();
	for (size_t i = 0; i < steps->count; i++)
		if (steps->at[i].is_found == is_found)
			json_array_append_new(out, kc_fields_json(&kc_step_fields, &steps->at[i]));
	return out;
}

json_t *kc_json_steps(const struct kc_steps_report *steps)
{
	return list(steps, 0);
}

json_t *kc_json_found_steps(const struct kc_steps_report *steps)
{
	return steps->search_count ? list(steps, 1) : json_null();
}
