#include "scope_fields.h"
#include "tools/command.h"
#include "tools/output/fields.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2u

#define FIELD(...) KC_FIELD_OF(struct kc_scope_use, __VA_ARGS__)
static const struct kc_field scope_fields[] = {
    FIELD("name", "name", TITLE, name),
    FIELD("launches", "launches", COUNT64, launches),
    FIELD("self_launches", NULL, COUNT64, own_launches),
    FIELD("measured", NULL, COUNT64, measured),
    FIELD("total_ns", "total", NS, total_ns, .about = "sum over the kernels launched in it and in what it held"),
    FIELD("self_ns", "self", NS, own_ns, .about = "likewise, without what it held"),
    FIELD("time_share", "share", PERCENT, share, .about = "of the time of all kernels"),
};
#undef FIELD
static const struct kc_fields fields = KC_FIELDS(scope_fields, struct kc_scope_use);

KC_ORDER(more_launches_first, struct kc_scope_use, KC_DOWN(launches) ?: KC_DOWN(total_ns) ?: strcmp(x->name, y->name))

/* What is in none stays the last. NULL: no memory. */
static struct kc_scope_use *in_order(const struct kc_scopes_report *scopes, enum kc_sort by)
{
	struct kc_scope_use *rows = calloc(scopes->count + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < scopes->count; i++)
		rows[i] = scopes->at[i];
	if (rows && by == KC_SORT_COUNT)
		qsort(rows, scopes->count - (scopes->has_outside != 0), sizeof(*rows), more_launches_first);
	return rows;
}

int kc_scopes_check(const struct kc_report_view *view)
{
	const struct kc_scopes_report *scopes = view->scopes[view->by == KC_BY_OPERATOR];

	if (scopes->too_many) {
		kc_error("--by %s needs all launches: add --exact, which reads all of them",
			 kc_report_by_text(view->by));
		return KC_EXIT_FAILED;
	}
	if (!scopes->has_names) {
		kc_error("%s: no %ss are known; an imported trace of torch.profiler has them, with the calls that "
			 "launched kernels in them%s",
			 view->database, kc_report_by_text(view->by),
			 view->by == KC_BY_RANGE ? ", and a run of a program that marks them with NVTX" : "");
		return KC_EXIT_FAILED;
	}
	return 0;
}

int kc_scopes_by(const struct kc_report_view *view, size_t most, int csv)
{
	const struct kc_scopes_report *scopes = view->scopes[view->by == KC_BY_OPERATOR];
	size_t n = scopes->count < most ? scopes->count : most;
	struct kc_scope_use *rows;
	int rc = kc_scopes_check(view);

	if (rc)
		return rc;
	rows = in_order(scopes, view->sorting.by);
	if (!rows)
		return -ENOMEM;
	rc = kc_fields_put(&fields, 0, rows, n, (struct kc_fields_form){csv, view->data->simulated, INDENT});
	free(rows);
	return rc;
}

json_t *kc_json_scopes(const struct kc_scopes_report *scopes)
{
	return scopes->too_many ? json_null() : kc_fields_json_list(&fields, scopes->at, scopes->count);
}
