/*
 * Parts of recorded runs that are small however large the runs are, for figures.
 *
 *   kc_sample            launches and, in a window, copies too
 *   kc_sample_lambdas    how λ settled
 *   kc_sample_slowdowns  predicted beside measured slowdown, from roll-ups
 *
 * Time and memory are bounded by what is asked for, and by the number of processes.
 */
#ifndef KC_SAMPLE_H
#define KC_SAMPLE_H

#include "store/query/filter.h"
#include "store/query/query.h"
#include "store/query/rows.h"

#include <stdint.h>

enum kc_sample_kind { KC_SAMPLE_PREDICTED, KC_SAMPLE_MEASURED, KC_SAMPLE_KINDS };

/* Times are from the start of the first process of the run; those of an imported process on its trace's clock. */
struct kc_sample_launch {
	int64_t process, sequence, stream, kernel; /* rows; 0: not known */
	int64_t launched_ns;
	int64_t start_ns[KC_SAMPLE_KINDS], end_ns[KC_SAMPLE_KINDS]; /* where has[] is set */
	int has[KC_SAMPLE_KINDS];
	int64_t low_ns, high_ns;   /* 90 % interval of the predicted duration */
	double slowdown;           /* predicted */
	double measured_slowdown;  /* 0: not known here */
	uint32_t novelty, overlap; /* enum kc_novelty, where it was predicted; enum kc_overlap */
	int64_t copy_bytes;        /* of a copy or memset */
	int is_copy;
};

/* Zeros at first; its launches (struct kc_sample_launch) are in the order of processes and calls. Freed by the caller:
 * free(launches.at). */
struct kc_sample {
	struct kc__list launches;
};

/*
 * Draws at most `most` launches that match: the numbers of the launches of the
 * selection, process after process, are divided into so many ranges of the same
 * length, and of each the first launch that matches is taken. So with no more
 * launches than that, all of them are. filter: NULL: every launch matches; then no
 * more rows are read than drawn. 0 or -errno.
 */
int kc_sample_draw(struct kc_store *s, const struct kc_selection *selection, struct kc_filter *filter, size_t most,
		   struct kc_sample *out);

/* Launches of a process from a sequence number on, `most` of them, and at most as many copies between the first and
 * the last of them. 0 or -errno. */
int kc_sample_window(struct kc_store *s, int64_t process, int64_t first_sequence, size_t most, struct kc_sample *out);

struct kc_sample_lambda {
	int64_t process;
	int64_t kernel, shape; /* rows; 0: of the device, or not by launch shape */
	uint32_t level;        /* enum kc_model */
	int64_t time_ns;       /* as above */
	uint64_t count;        /* measurements behind it */
	double value;
};

/* The first `most` values of λ that the selection's processes published, process after process, as struct
 * kc_sample_lambda. 0 or -errno. */
int kc_sample_lambdas(struct kc_store *s, const struct kc_selection *selection, size_t most, struct kc__list *out);

struct kc_sample_slowdown {
	int64_t kernel;
	uint32_t concurrency_case, overlap;
	uint64_t launches;
	double predicted, measured; /* means */
};

/* Launches that were overlapped and have a measured slowdown, by kernel, stream, case and overlap: the `most` groups
 * with most launches, as struct kc_sample_slowdown. 0 or -errno. */
int kc_sample_slowdowns(struct kc_store *s, const struct kc_selection *selection, size_t most, struct kc__list *out);

#endif
