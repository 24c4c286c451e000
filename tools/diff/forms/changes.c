#include "changes.h"

#include <math.h>

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct kc_diff_change_row, key, head, unit, member, __VA_ARGS__)
#define IN_TEXT KC_DIFF_CHANGES_TEXT
#define IN_PAGE KC_DIFF_CHANGES_PAGE

static const struct kc_field fields[] = {
    FIELD("name", "kernel", NAME, name, 0),
    FIELD("what", NULL, TEXT, what, 0),
    FIELD("launches", "launches", MEAN, launches, 0),
    FIELD("old_ns", "OLD", NS, ns[KC_OLD], IN_TEXT),
    FIELD("new_ns", "NEW", NS, ns[KC_NEW], IN_TEXT),
    FIELD("old_ns", "before", NS, ns[KC_OLD], IN_PAGE),
    FIELD("new_ns", "now", NS, ns[KC_NEW], IN_PAGE),
    FIELD("change", "change", SIGNED_PERCENT, change, 0),
    FIELD("error", NULL, PERCENT, error, 0),
    FIELD("lost_ns", "time lost", SIGNED_NS, lost_ns, 0),
    FIELD("p", "p", P, p, 0),
    FIELD("q", NULL, P, q, 0),
    FIELD("detectable", NULL, PERCENT, detectable, 0),
    FIELD("old_launches", NULL, RATIO, all_launches[KC_OLD], 0),
    FIELD("new_launches", NULL, RATIO, all_launches[KC_NEW], 0),
    FIELD("old_total_ns", NULL, NS, total_ns[KC_OLD], 0),
    FIELD("new_total_ns", NULL, NS, total_ns[KC_NEW], 0),
    FIELD("more_launches_ns", NULL, NS, more_launches_ns, 0),
    FIELD("overlap_ns", NULL, NS, overlap_ns, 0),
    FIELD("alone_change", NULL, PERCENT, alone_change, 0),
    FIELD("overlapped_change", NULL, PERCENT, overlapped_change, 0),
    FIELD("replaced", NULL, TEXT, replaced, 0),
    FIELD(NULL, NULL, NOTE, note, 0),
};
const struct kc_fields kc_diff_change_fields = KC_FIELDS(fields, struct kc_diff_change_row);

static const char *name_of(const struct kc_diff_view *view, uint32_t kernel)
{
	return kernel == KC_DIFF_NOWHERE ? NULL : kc_measured_kernel(view->names, kernel)->name;
}

static double change_of(const struct kc_diff_kernel *kernel, enum kc_diff_company company)
{
	return kernel->company[company].launches > 0 ? expm1(kernel->company[company].log_change) : NAN;
}

struct kc_diff_change_row kc_diff_change_row(const struct kc_diff_view *view, const struct kc_diff_kernel *kernel)
{
	struct kc_diff_change_row row = {
	    .name = name_of(view, kernel->kernel),
	    .what = kc_diff_what_name(kernel->what),
	    .launches = kernel->shown_launches,
	    .ns = {kernel->shown_ns[KC_OLD], kernel->shown_ns[KC_NEW]},
	    .change = kernel->shown_ns[KC_NEW] / kernel->shown_ns[KC_OLD] - 1,
	    .error = kernel->estimate.error,
	    .lost_ns = kernel->lost_ns,
	    .p = kernel->p,
	    .q = kernel->q,
	    .detectable = kernel->detectable,
	    .all_launches = {kernel->launches[KC_OLD], kernel->launches[KC_NEW]},
	    .total_ns = {kernel->total_ns[KC_OLD], kernel->total_ns[KC_NEW]},
	    .more_launches_ns = kernel->mix_ns,
	    .overlap_ns = kernel->company_ns,
	    .alone_change = change_of(kernel, KC_COMPANY_NONE),
	    .overlapped_change = change_of(kernel, KC_COMPANY_SOME),
	    .replaced = name_of(view, kernel->replaced),
	};

	if (!kernel->estimate.enough)
		row.ns[KC_OLD] = row.ns[KC_NEW] = row.change = row.error = row.lost_ns = row.p = row.q = NAN;
	return row;
}
