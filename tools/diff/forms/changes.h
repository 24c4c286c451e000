/* A kernel of both runs as a row, and the one list of what is told of it: in text, Markdown, JSON and on the page. */
#ifndef KC_DIFF_CHANGES_H
#define KC_DIFF_CHANGES_H

#include "diff_forms.h"
#include "tools/output/fields.h"

/* The tables that show some of these fields. */
enum { KC_DIFF_CHANGES_TEXT = 1, KC_DIFF_CHANGES_PAGE = 2 };

struct kc_diff_change_row {
	const char *name, *what;
	/* Of the launches that were compared; NAN: too few were */
	double launches, ns[KC_SIDES], change, error, lost_ns, p, q;
	double detectable;
	double all_launches[KC_SIDES], total_ns[KC_SIDES]; /* launches: of OLD, the mean of its runs */
	double more_launches_ns, overlap_ns, alone_change, overlapped_change;
	const char *replaced; /* NULL: there is none */
	const char *note;     /* kc_diff_text() */
};

extern const struct kc_fields kc_diff_change_fields;

struct kc_diff_change_row kc_diff_change_row(const struct kc_diff_view *view, const struct kc_diff_kernel *kernel);

#endif
