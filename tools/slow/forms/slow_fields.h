/* What is told of causes, stragglers, kernels and launches, as rows, and the one list of fields of each. */
#ifndef KC_SLOW_FIELDS_H
#define KC_SLOW_FIELDS_H

#include "slow_forms.h"
#include "tools/output/fields.h"

struct kc_slow_cause_row {
	const char *cause, *why, *meaning;
	uint64_t launches;
	double lost_ns;
};

struct kc_slow_straggler_row {
	struct kc_slow_straggler_names names;
	const char *name, *gpu, *shown_kernels; /* NULL: not known */
	int64_t process, pid;
	uint64_t others, kernels, launches;
	double took_ns, lost_ns, waited_ns, slower;
	const char *note;
	char text[32], note_text[192];
};

/* A rank, which is a process, or a GPU. */
struct kc_slow_place_row {
	char name[KC_PROCESS_NAME_BYTES]; /* "": not known */
	int64_t process, pid, gpu;        /* rows of their tables; -1: it is of the other kind, or not known */
	struct kc_slow_sum measured, judged, lost;
	double causes_ns[KC_SLOW_CAUSES], waited_ns;
	/* of these, as they are told */
	const char *shown, *cause, *why; /* NULL: not known; nothing was lost */
	double lost_share, cause_ns;
};

struct kc_slow_kernel_row {
	const char *name, *why, *note;
	uint64_t launches;
	double took_ns, lost_ns;
	char text[1024];
};

struct kc_slow_launch_row {
	const char *name, *cause, *why, *note;
	int64_t process, sequence, pid, stream; /* -1: not known */
	double after_ns, took_ns, should_ns, lost_ns;
	const char *process_name, *gpu; /* NULL: not known */
	char text[1024];
};

extern const struct kc_fields kc_slow_cause_fields, kc_slow_straggler_fields, kc_slow_kernel_fields,
    kc_slow_launch_fields;

/* Of the rows that kc_slow_place_rows() makes. */
struct kc_fields kc_slow_place_fields(enum kc_slow_by by);

/* In words. */
const char *kc_slow_cause_words(enum kc_slow_cause cause);

struct kc_slow_cause_row kc_slow_cause_row(const struct kc_slow *slow, enum kc_slow_cause cause);
/* Each fills *row, which holds its own texts. */
void kc_slow_straggler_row(const struct kc_slow_view *view, const struct kc_slow_process *straggler,
			   struct kc_slow_straggler_row *row);
/* All processes or GPUs of the run, in this order; KC_SORT_NONE: by time lost, and waited for them. The first view->top
 * of them are named. To be freed; NULL: out of memory. */
struct kc_slow_place_row *kc_slow_place_rows(const struct kc_slow_view *view, enum kc_slow_by by, enum kc_sort order,
					     size_t *count);
/* When it became slower, since the run's first launch began. */
int64_t kc_slow_since(const struct kc_slow_view *view, const struct kc_slow_process *straggler);
void kc_slow_kernel_row(const struct kc_slow_view *view, const struct kc_slow_row *kernel,
			struct kc_slow_kernel_row *row);
void kc_slow_launch_row(const struct kc_slow_view *view, const struct kc_slow_where *where,
			struct kc_slow_launch_row *row);

#endif
