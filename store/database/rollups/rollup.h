/*
 * Sums that reports read instead of ten million rows.
 *
 *   kc__fact      what one launch adds to the sums
 *   kc__rollup    sums and a sketch of errors over the launches that agree in
 *                 process, kernel, stream, model, case, novelty and overlap
 *   kc__rollups   a hash table of them
 *   kc__solos     for each launch shape, the solo durations measured so far; the
 *                 measured slowdown of overlapped launches needs them
 *
 * The writer keeps the roll-ups of its process. When it commits a transaction, it
 * writes those that have changed to the table `rollup`. Each process has one
 * writer, so what it keeps is what the table holds. An exact report fills a
 * kc__rollups from all rows.
 */
#ifndef KC_ROLLUP_H
#define KC_ROLLUP_H

#include "store/common/sketch.h"

#include <stddef.h>
#include <stdint.h>

/* X(name): columns of `rollup`, integer sums and real ones */
#define KC__COUNT_SUMS(X) X(launches) X(measured) X(matched) X(within_20) X(slow_n) X(slow_without)
#define KC__REAL_SUMS(X)                                                                                               \
	X(measured_ns)                                                                                                 \
	X(matched_ns)                                                                                                  \
	X(predicted_ns)                                                                                                \
	X(error_ns)                                                                                                    \
	X(error_sum)                                                                                                   \
	X(log_sum)                                                                                                     \
	X(log_square_sum)                                                                                              \
	X(slow_error_sum)                                                                                              \
	X(slow_predicted_sum)                                                                                          \
	X(slow_measured_sum)                                                                                           \
	X(slow_waves_error_sum)                                                                                        \
	X(slow_waves_sum)

struct kc__sums {
#define KC__SUM_FIELD(name) uint64_t name;
	KC__COUNT_SUMS(KC__SUM_FIELD)
#undef KC__SUM_FIELD
#define KC__SUM_FIELD(name) double name;
	KC__REAL_SUMS(KC__SUM_FIELD)
#undef KC__SUM_FIELD
};

struct kc__rollup_key {
	int64_t run, process, kernel, stream; /* rows; 0: not known */
	uint32_t model, concurrency_case, novelty, overlap;
};

struct kc__fact {
	struct kc__rollup_key key;
	int64_t shape;
	int64_t predicted_at_ns;
	int64_t predicted_ns;    /* duration; 0: no prediction */
	int64_t measured_ns;     /* duration, at least 1; 0: not measured */
	int64_t measured_end_ns; /* same clock as predicted_at_ns */
	double slowdown;         /* predicted */
	double slowdown_waves;   /* predicted by Equation 5.1 alone */
};

struct kc__rollup {
	struct kc__rollup_key key;
	struct kc__sums sums;
	int64_t row;    /* writer only: id in `rollup`; 0: not looked up, the table may hold more */
	int is_changed; /* by the open transaction */
	struct kc_sketch sketch;
	float *errors; /* exact reports only */
	size_t error_count, error_capacity;
};

struct kc__rollups {
	struct kc__rollup **at;
	size_t count, capacity;
	uint32_t *slots; /* indexes into at, + 1 */
	size_t slot_count;
	size_t bytes; /* that they take, kept errors aside */
	int keep_errors;
};

/* 0 or -ENOMEM. solos NULL: without measured slowdown. */
struct kc__solos;
int kc__rollups_add(struct kc__rollups *rollups, struct kc__solos *solos, const struct kc__fact *fact);
/* Counts errors of one of them. 0 or -ENOMEM. */
int kc__rollup_count(struct kc__rollups *rollups, struct kc__rollup *rollup, uint32_t bucket, uint32_t count);
void kc__rollups_clear(struct kc__rollups *rollups);
void kc__sums_add(struct kc__sums *to, const struct kc__sums *from);

struct kc__solos *kc__solos_new(size_t max_bytes); /* past the bound it begins anew */
void kc__solos_free(struct kc__solos *solos);
/* Median duration of the solo launches of a process and shape that were known at at_ns; 0: there were none. */
double kc__solos_median(struct kc__solos *solos, int64_t process, int64_t shape, int64_t at_ns);
/* Adds the measurement of a launch that ran alone; of others, there is nothing to add. 0 or -ENOMEM. */
int kc__solos_add(struct kc__solos *solos, const struct kc__fact *fact);

#endif
