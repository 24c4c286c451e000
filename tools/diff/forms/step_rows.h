/* What steps took on both sides, as rows, and the one list of their fields: in text, Markdown, JSON and on the page. */
#ifndef KC_DIFF_STEP_ROWS_H
#define KC_DIFF_STEP_ROWS_H

#include "diff_forms.h"
#include "tools/output/fields.h"

struct kc_diff_step_row {
	const char *of; /* what of a step */
	double ns[KC_SIDES], difference_ns, change;
};

enum { KC_DIFF_STEP_ROWS = 5 };

extern const struct kc_fields kc_diff_step_fields;

/* Of a view whose sums are per step. Returns how many: without those that neither side knows, or that are 0 on both. */
size_t kc_diff_step_rows(const struct kc_diff_view *view, struct kc_diff_step_row out[KC_DIFF_STEP_ROWS]);

#endif
