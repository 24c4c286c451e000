/*
 * Counters of one process at a time, which need what happened in the order of time:
 *
 *   SMs in use   by the launches that run on a device at a time, as predicted and as measured: each takes an SM per
 *                block, all together no more than the device has
 *   error        of the launch that was measured to begin last
 *
 * Launches come in the order of their calls. What happened is sorted among the next KC__COUNTER_WINDOW starts and ends;
 * what is further from its place is drawn late, where the counter has come to.
 */
#ifndef KC_CHROME_COUNTERS_H
#define KC_CHROME_COUNTERS_H

#include "chrome_queue.h"
#include "chrome_text.h"
#include "chrome_tracks.h"

#define KC__COUNTER_WINDOW 65536u
#define KC__COUNTER_DEVICES 16u /* of a process */

struct kc__counter {
	struct kc__queue queue; /* changes of SMs in use, or errors in thousandths of a percent */
	int64_t last_ns, value, shown;
	int is_shown; /* shown is meant */
};

struct kc__device_counters {
	int64_t device, sms;          /* row; how many it has */
	struct kc__counter in_use[2]; /* by enum kc__track_kind: predicted, measured */
};

struct kc__counters {
	struct kc__chrome_out *out;
	int64_t process, offset_ns; /* to be added to its times */
	struct kc__counter error;
	struct kc__device_counters devices[KC__COUNTER_DEVICES];
	size_t device_count;
};

/* Writes what is left of the process before, and begins another one. */
void kc__counters_of(struct kc__counters *counters, int64_t process, int64_t offset_ns);
/* A launch of that many blocks ran, or was predicted to run, from start_ns to end_ns on a device with that many SMs.
 * 0, -ENOMEM */
int kc__counters_ran(struct kc__counters *counters, enum kc__track_kind kind, int64_t device, int64_t sms,
		     int64_t blocks, int64_t start_ns, int64_t end_ns);
/* A launch that was measured to begin at start_ns had this error. 0, -ENOMEM */
int kc__counters_erred(struct kc__counters *counters, int64_t start_ns, double error_percent);
void kc__counters_free(struct kc__counters *counters);

#endif
