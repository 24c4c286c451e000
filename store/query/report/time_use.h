/*
 * How the time of GPUs and streams divides, from measured kernels and copies.
 *
 *   kc_interval    one measured kernel or copy
 *   kc_time_use    the time of one GPU or stream
 *   kc_time_sums   that of many, by numbers which the caller gives them
 *
 * The time of a GPU, of a stream, or of a place (a process on a GPU) is that from
 * the first start to the last end, and each of its moments counts once: a kernel
 * ran; only a copy ran; or nothing ran. Of the time in which kernels ran, that in
 * which one of them computed is told from that in which all of them communicated:
 * communication is hidden while a kernel computes, else exposed. A copy hides none.
 * Of a gap in which nothing ran, the part before the launch call of the work that
 * ended it was spent waiting for the host (the GPU is launch-bound); after the
 * call, the work waited for other work, or for the launch to reach the GPU.
 *
 * HolisticTraceAnalysis calls these, of a rank: kernel_time (span), idle_time, compute_time,
 * non_compute_time (exposed communication and copies only), and its
 * comp_comm_overlap is hidden over communication.
 */
#ifndef KC_TIME_USE_H
#define KC_TIME_USE_H

#include "gaps.h"
#include "store/query/rows.h"

#include <stdint.h>

/* span = busy + idle; busy = kernels + copies_only; kernels = compute + exposed; communication = hidden + exposed; idle
 * = launch_bound + launched + unknown */
struct kc_time_use {
	uint64_t kernels, copies; /* how many */
	int64_t span_ns;
	int64_t busy_ns;
	int64_t kernels_ns; /* at least one kernel ran */
	int64_t compute_ns; /* at least one that does not communicate ran */
	int64_t communication_ns;
	int64_t hidden_ns, exposed_ns; /* communication, and a kernel computed at the same time, or none did */
	int64_t copies_only_ns;        /* a copy ran, and no kernel */
	int64_t idle_ns;
	int64_t idle_launch_bound_ns; /* what ran next had not been launched */
	int64_t idle_launched_ns;     /* it had */
	int64_t idle_unknown_ns;      /* it is not known when it was */
};

/* Starts as zeros. */
struct kc_time_sums {
	struct kc__list devices, streams, places; /* by number less 1 */
	struct kc_gaps gaps;                      /* of devices */
};

/* Adds intervals whose times are of one clock, and sorts them. What was added before is a time of its own: what lies
 * between is not idle. 0 or -ENOMEM. */
int kc_time_sums_add(struct kc_time_sums *sums, struct kc_interval *at, size_t count);
/* All zeros for a number that no interval had. */
struct kc_time_use kc_time_use_of_device(const struct kc_time_sums *sums, uint32_t number);
struct kc_time_use kc_time_use_of_stream(const struct kc_time_sums *sums, uint32_t number);
struct kc_time_use kc_time_use_of_place(const struct kc_time_sums *sums, uint32_t number);
void kc_time_sums_free(struct kc_time_sums *sums);

#endif
