/* The forms in which a struct kc_report is printed. */
#ifndef KC_TOOLS_REPORT_H
#define KC_TOOLS_REPORT_H

#include "store/query/report/activity.h"
#include "store/query/query.h"
#include "store/query/steps/scope_use.h"
#include "store/query/steps/step_use.h"
#include "tools/input/filter_options.h"

#include <jansson.h>

enum kc_report_by {
	KC_BY_KERNEL,
	KC_BY_MODEL,
	KC_BY_STREAM,
	KC_BY_CASE,
	KC_BY_RANK,
	KC_BY_GPU,
	KC_BY_CLASS,
	KC_BY_TIME,
	KC_BY_GAP,
	KC_BY_COPY,
	KC_BY_STEP,
	KC_BY_RANGE,
	KC_BY_OPERATOR
};

struct kc_report_view {
	const char *database; /* as the user named it */
	const struct kc_report *data;
	const struct kc_activity *activity;  /* for text and JSON */
	const struct kc_steps_report *steps; /* for JSON, and where --by asks for them; NULL on the page */
	const struct kc_scopes_report *scopes[KC_SCOPE_KINDS]; /* likewise */
	int by_given;                                          /* 0: the worst kernels only */
	enum kc_report_by by;
	const struct kc_filter *filter; /* NULL: none */
	struct kc_sorting sorting;      /* of the kernels, or what --by asks for */
	unsigned width;                 /* columns of the page */
};

/* "kernel", "model", "stream", "case", "rank" or "process", "gpu", "class", "time", "gap", "copy", "step",
 * "range", "operator": 0 or -EINVAL. */
int kc_report_by_name(const char *name, enum kc_report_by *by);
const char *kc_report_by_text(enum kc_report_by by);

/* Whether --by asks for what is in the activity: kc_activity_by(). */
int kc_report_is_activity(enum kc_report_by by);
/* The groups that --by asks for, else. */
const struct kc_groups *kc_report_groups(const struct kc_report *data, enum kc_report_by by);

/* Indices of groups in order of mispredicted time (error weighted by time, times
 * time), most first. NULL: out of memory; freed with free(). */
size_t *kc_report_worst_first(const struct kc_groups *groups, double measured_ns);
/* The same in another order; KC_SORT_NONE: the above. Those without a value come last. */
size_t *kc_report_order(const struct kc_groups *groups, double measured_ns, enum kc_sort by);

/* One phrase per hint, separated by commas; "" if there is none. */
char *kc_report_why(uint32_t hints, char *out, size_t size);

/* The reasons with a count other than 0, in their order: "3 call failed, 1 no CUPTI". */
char *kc_report_reasons(const uint64_t *counts, unsigned n, const char *(*name)(uint32_t), char *out, size_t size);

/* Why there is no accuracy and what to do about it; "" if there is one, or nothing was launched. database: NULL: no
 * replay can help (kc_report_replayable()). */
char *kc_report_nothing(const struct kc_ledger *ledger, const char *database, char *out, size_t size);
/* The database, or NULL: all of it ran on GPUs of others than NVIDIA. */
const char *kc_report_replayable(const struct kc_report *data, const char *database);

/* 0 or -ENOMEM. */
int kc_report_text(const struct kc_report_view *view);
/* The part that replay prints as well: accuracy, models and worst kernels (or what --by asks for), concurrency. */
int kc_report_text_figures(const struct kc_report_view *view);
/* Where the time of GPUs and streams went; nothing if nothing was measured. */
int kc_report_text_activity(const struct kc_report_view *view);
int kc_report_csv(const struct kc_report_view *view);
/* NULL: out of memory. */
json_t *kc_report_json(const struct kc_report_view *view);
/* null: too many launches to be read. */
json_t *kc_json_activity(const struct kc_report *data, const struct kc_activity *activity);
/* Predicted cases beside what was measured. */
json_t *kc_json_concurrency(const struct kc_report *data);
json_t *kc_json_accuracy(const struct kc_accuracy *accuracy);
json_t *kc_json_groups(const struct kc_report *data, enum kc_report_by by);

#endif
