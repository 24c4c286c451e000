/* The forms in which a struct kc_slow is printed. */
#ifndef KC_SLOW_FORMS_H
#define KC_SLOW_FORMS_H

#include "tools/slow/gpu_states.h"

#include "store/query/filter.h"
#include "tools/input/filter_options.h"

#include <jansson.h>

#define KC_SLOW_ALIKE 3u /* launches of a kernel and cause that are shown to people */

struct kc_slow_where {
	const struct kc_slow_found *found;
	struct kc_measured_origin origin;
	const struct kc_slow_straggler_names *names; /* of its process and GPU */
	int64_t after_ns;                            /* from the start of the run's first measured launch to its own */
	struct kc_slow_beside beside;
};

enum kc_slow_by { KC_SLOW_BY_NONE, KC_SLOW_BY_RANK, KC_SLOW_BY_GPU, KC_SLOW_BY_STEP };

struct kc_slow_steps;

struct kc_slow_view {
	const struct kc_slow_runs *runs;
	const struct kc_slow *slow;
	const struct kc_slow_gpu_states *gpu_states; /* of drift */
	struct kc_store *store;                      /* that has runs->run */
	struct kc_diff_limits limits;
	const char *path;                  /* of the database, as the user named it */
	const struct kc_slow_where *worst; /* of slow->found, in its order */
	size_t worst_count;
	const struct kc_filter *filter;    /* NULL: every launch is judged */
	size_t top;                        /* rows of a table */
	enum kc_slow_by by;                /* the table in place of those of kernels and launches */
	enum kc_sort order;                /* of its rows */
	const struct kc_slow_steps *steps; /* slow_steps.h; NULL: they are not asked for */
	int other_devices;                 /* earlier runs that were left out: they ran on other devices */
};

/* A share in percent, as all outputs have it. */
double kc_slow_percent(double ns, double of_ns);
/* The measured launches that could not be judged. */
struct kc_slow_sum kc_slow_not_judged(const struct kc_slow *slow);

/* Sorts the rows; KC_SORT_NONE: by time lost, as they are. */
void kc_slow_sort(struct kc_slow *slow, enum kc_sort by);

/* Each returns an exit status. */
int kc_slow_text(const struct kc_slow_view *view);
int kc_slow_json(const struct kc_slow_view *view);
/* What kc_slow_json() prints. NULL: out of memory. */
json_t *kc_slow_document(const struct kc_slow_view *view);

#endif
