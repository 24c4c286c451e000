/*
 * Where the time of GPUs and streams went in the runs of a report: time_use.h.
 *
 * Processes of a run on one clock (boot_id) share their GPUs, and their kernels
 * and copies are taken together. Imported processes may each have a clock of
 * their own. Times of several runs, or of several clocks, are added up.
 *
 * It is made from the rows, which takes about half a second for each million;
 * the rows of one clock are in memory at once, 32 bytes each.
 */
#ifndef KC_ACTIVITY_H
#define KC_ACTIVITY_H

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

struct kc_activity {
	int too_many;                       /* more than KC_ACTIVITY_MOST: nothing was made */
	int in_windows;                     /* --measure=adaptive left out launches: nothing was made */
	int copies_measured;                /* 0: all processes recorded with --measure=kernels */
	struct kc_device_activity *devices; /* these and the streams by time busy, longest first */
	size_t device_count;
	struct kc_stream_activity *streams;
	size_t stream_count;
};

/* Of the runs of the report. Nothing is in it if nothing was measured. 0 or negative errno. Free *out with
 * kc_activity_free(). */
int kc_query_activity(struct kc_store *s, const struct kc_report *report, struct kc_activity **out);
void kc_activity_free(struct kc_activity *activity);

#endif
