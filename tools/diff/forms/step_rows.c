#include "step_rows.h"

#include <math.h>

#define FIELD(key, head, unit, member) KC_FIELD_OF(struct kc_diff_step_row, key, head, unit, member)

static const struct kc_field fields[] = {
    FIELD("difference_ns", "difference", SIGNED_NS, difference_ns),
    FIELD("change", "change", SIGNED_PERCENT, change),
    FIELD("old_ns", "OLD", NS, ns[KC_OLD]),
    FIELD("new_ns", "NEW", NS, ns[KC_NEW]),
    FIELD("of", "of a step", TITLE, of),
};
const struct kc_fields kc_diff_step_fields = KC_FIELDS(fields, struct kc_diff_step_row);

int kc_diff_is_per_step(const struct kc_diff_view *view)
{
	return view->steps && view->steps->verdict == KC_STEPS_COMPARED;
}

size_t kc_diff_step_rows(const struct kc_diff_view *view, struct kc_diff_step_row out[KC_DIFF_STEP_ROWS])
{
	const struct kc_diff_step_side *old = view->steps->of + KC_OLD, *new = view->steps->of + KC_NEW;
	const double *kernels = view->diff->total_ns;
	const struct kc_diff_step_row all[KC_DIFF_STEP_ROWS] = {
	    {.of = "its time on the host", .ns = {old->time_ns, new->time_ns}},
	    {.of = "kernels, added up", .ns = {kernels[KC_OLD], kernels[KC_NEW]}},
	    {.of = "GPU busy", .ns = {old->busy_ns, new->busy_ns}},
	    {.of = "GPU idle", .ns = {old->idle_ns, new->idle_ns}},
	    {.of = "communication exposed", .ns = {old->exposed_ns, new->exposed_ns}},
	};
	size_t n = 0;

	for (size_t i = 0; i < KC_DIFF_STEP_ROWS; i++) {
		const double *ns = all[i].ns;

		if ((isnan(ns[KC_OLD]) && isnan(ns[KC_NEW])) || (ns[KC_OLD] == 0 && ns[KC_NEW] == 0))
			continue;
		out[n] = all[i];
		out[n].difference_ns = ns[KC_NEW] - ns[KC_OLD];
		out[n].change = ns[KC_OLD] > 0 ? ns[KC_NEW] / ns[KC_OLD] - 1 : NAN;
		n++;
	}
	return n;
}
