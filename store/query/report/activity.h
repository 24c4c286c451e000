/*
 * Where the time of GPUs and streams went in the runs of a report: time_use.h.
 *
 * Processes of a run on one clock (boot_id) share their GPUs, and their kernels
 * and copies are taken together. Imported processes may each have a clock of
 * their own. Times of several runs, or of several clocks, are added up.
 *
 * It is made from the rows, which takes about half a second for each million;
 * the rows of one clock are in memory at once, 48 bytes each.
 */
#ifndef KC_ACTIVITY_H
#define KC_ACTIVITY_H

#include "store/query/names.h"
#include "store/query/query.h"
#include "time_use.h"

/* Launches and copies that are read unless the report is exact. */
#define KC_ACTIVITY_MOST UINT64_C(2000000)

struct kc_device_activity {
	int64_t device; /* device.id; 0: not known */
	struct kc_time_use use;
};

struct kc_stream_activity {
	int64_t stream, device;
	char *name; /* as in kc_group */
	struct kc_time_use use;
};

/* A process on a GPU. */
struct kc_place_activity {
	int64_t process, device;
	char *name; /* kc_process_name() */
	struct kc_time_use use;
};

/* What ended last before a gap, or what ended it. */
struct kc_gap_side {
	char *name;   /* of the kernel; of a copy "HtoD", of a memset "memset", of a graph measured as one "graph" */
	char *stream; /* as in kc_group */
	const char *call; /* kc_api_name(); NULL: of a transfer */
	int64_t thread;   /* that made the call; -1: not known */
};

struct kc_gap_activity {
	struct kc_gap gap;
	int64_t at_ns; /* its start, since the run's first process started; of a trace since the trace's zero */
	int64_t device, process; /* of what ended it */
	char *process_name;
	struct kc_gap_side before, after;
};

/* Measured copies or memsets of one kind. */
struct kc_copy_activity {
	const char *kind; /* kc_transfer_kind_name() */
	double count, bytes, ns;
	double bytes_per_s; /* while they ran; NAN where ns is 0 */
};

struct kc_activity {
	int too_many;                       /* more than KC_ACTIVITY_MOST: nothing was made */
	int in_windows;                     /* --measure=adaptive left out launches: nothing was made */
	int copies_measured;                /* 0: all processes recorded with --measure=kernels */
	struct kc_device_activity *devices; /* these and the streams by time busy, longest first */
	size_t device_count;
	struct kc_stream_activity *streams;
	size_t stream_count;
	struct kc_place_activity *places; /* likewise */
	size_t place_count;
	uint64_t gap_counts[KC_GAP_CAUSES]; /* of GPUs */
	int64_t gap_ns[KC_GAP_CAUSES];
	struct kc_gap_activity *gaps; /* the longest KC_GAPS_KEPT of them, longest first */
	size_t gap_count;
	struct kc_copy_activity copies[KC_TRANSFER_KINDS]; /* by time, longest first */
	size_t copy_count;
};

/* Of the runs of the report. Nothing is in it if nothing was measured. 0 or negative errno. Free *out with
 * kc_activity_free(). */
int kc_query_activity(struct kc_store *s, const struct kc_report *report, struct kc_activity **out);
/* Frees the gaps after so many. */
void kc_activity_keep_gaps(struct kc_activity *activity, size_t most);
void kc_activity_free(struct kc_activity *activity);

#endif
