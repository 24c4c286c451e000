/* Shared by the files of the page. */
#ifndef KC_HTML_INTERNAL_H
#define KC_HTML_INTERNAL_H

#include "html.h"
#include "store/query/sample/sample.h"

#include <jansson.h>
#include <stdio.h>

/* What a page holds at most, so that it stays below 5 MB. */
#define KC__HTML_KERNELS 1000u
#define KC__HTML_STREAMS 100u
#define KC__HTML_DEVICES 20u
#define KC__HTML_PROCESSES 50u
#define KC__HTML_MESSAGES 50u
#define KC__HTML_STEPS 1000u /* of all processes */
#define KC__HTML_GAPS 10u
#define KC__HTML_LAUNCHES 12000u
#define KC__HTML_WINDOW 700u /* launches of a part of the timeline */
#define KC__HTML_WINDOWS 3u

struct kc__html_window {
	const char *title;
	struct kc_sample sample;
};

struct kc__html {
	const struct kc_html_request *request;
	struct kc_store *store;
	const struct kc_selection *selection;
	struct kc_report *data;
	struct kc_activity *activity;
	struct kc_filter *filter;
	struct kc__html_kernel *kernels; /* by row */
	size_t kernel_count;
	struct kc_sample drawn;
	struct kc__html_window windows[KC__HTML_WINDOWS];
	size_t window_count;
	int64_t lost_process, lost_sequence; /* the launch that lost most time; 0: not known */
};

/* html_names.c */
/* Replaces a name by what the page shows of it: shortened, with control characters spelled out, or hashed. 0 or
 * -ENOMEM. */
int kc__html_name(const struct kc__html *page, char **name);
/* Leaves so many of the kernels as the page has room for, and replaces their names. 0 or -ENOMEM. */
int kc__html_groups(const struct kc__html *page, struct kc_groups *kernels);
/* Leaves of the report and of the activity what the page has room for, and makes what others wrote safe to show. Sets
 * *counts to an object that says how many there were. 0 or -ENOMEM. */
int kc__html_trim(struct kc__html *page, json_t **counts);
/* The place of the row of a kernel in the page's list; -1: it is not there. */
int64_t kc__html_place(const struct kc__html *page, int64_t kernel);

/* html_samples.c */
/* Fills drawn and windows: parts of the timeline from the beginning, the middle and around the launch that lost most
 * time. 0 or -errno. */
int kc__html_samples(struct kc__html *page);
void kc__html_samples_free(struct kc__html *page);

/* html_replay.c: predicts the launches of a trace, so that drawn and windows have predictions, and puts the figures
 * into the document. Does nothing for other runs. 0 or -errno. */
int kc__html_replay(struct kc__html *page, json_t *document);

/* html_launches.c: each sets *out, or returns -errno. */
int kc__html_drawn_json(const struct kc__html *page, json_t **out);
int kc__html_windows_json(const struct kc__html *page, json_t **out);
int kc__html_slowdowns_json(const struct kc__html *page, json_t **out);

/* html_lambdas.c: likewise. */
int kc__html_lambdas_json(const struct kc__html *page, json_t **out);

/* html_steps.c: what steps took, told or found; null: there are none, or too many launches. */
int kc__html_steps_json(const struct kc__html *page, json_t **out);

/* html_compared.c: puts what was slow and what changed into the document, and keeps the launch that lost most. Returns
 * an exit status, KC_EXIT_OK or that after a message. */
int kc__html_compared(struct kc__html *page, json_t *document);

/* html_document.c: the whole document, to be released either way. Returns an exit status likewise. */
int kc__html_document(struct kc__html *page, json_t **out);

/* html_fields.c: the columns of the page's tables, by the name of the table (kc_fields_of_page()). NULL: no memory. */
json_t *kc__html_fields(void);

/* html_page.c */
/* Writes a document so that nothing in it is taken for markup inside an element <script>. */
void kc__html_put_json(const json_t *document, FILE *to);
/* The page around the document and the fields of its tables. */
void kc__html_put(const json_t *document, FILE *to);

#endif
