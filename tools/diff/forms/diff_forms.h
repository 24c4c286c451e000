/* The forms in which a struct kc_diff is printed. */
#ifndef KC_DIFF_FORMS_H
#define KC_DIFF_FORMS_H

#include "tools/diff/compare.h"
#include "tools/diff/steps_compared.h"

#include <jansson.h>

struct kc_diff_source {
	const char *path;                   /* of a database or a baseline, as the user named it */
	const struct kc_measured_run *runs; /* NULL: a baseline */
	size_t count;
	const char *baseline;           /* what it was made from; NULL: runs */
	const char *devices;            /* names, separated by commas, of the first run */
	const struct kc_filter *filter; /* that has looked at their launches; NULL: there is none, or a baseline */
};

struct kc_diff_view {
	const struct kc_measured_names *names;
	const struct kc_diff *diff;
	const struct kc_diff_steps *steps; /* NULL: as not wanted */
	struct kc_diff_limits limits;
	const struct kc_filter_choice *filter;
	struct kc_sorting sorting;
	struct kc_diff_source sources[KC_SIDES];
	size_t left_out;    /* kernels that had no room in the baseline */
	double left_out_ns; /* and what they took then */
	int simulated;
	int markdown; /* kc_diff_text(): in place of text for a terminal */
};

/* Kernels of which a change of KC_DIFF_TELLS would be found, and what they take of NEW's time, as a share. */
struct kc_diff_tells {
	size_t kernels;
	double share;
};
#define KC_DIFF_TELLS 0.1
struct kc_diff_tells kc_diff_tells(const struct kc_diff *diff);
/* NEW less OLD in percent of OLD, as all outputs have it. */
double kc_diff_percent(const struct kc_diff *diff);

/* Whether all sums are per step, not per run. */
int kc_diff_is_per_step(const struct kc_diff_view *view);

/* "slower", "faster", "same", "too_few", "new", "gone" */
const char *kc_diff_what_name(enum kc_diff_what what);

/* Each returns an exit status. */
int kc_diff_text(const struct kc_diff_view *view);
int kc_diff_json(const struct kc_diff_view *view);
/* What kc_diff_json() prints. NULL: out of memory. */
json_t *kc_diff_document(const struct kc_diff_view *view);

#endif
