/*
 * Quantiles of many values in little memory: counts in buckets with logarithmic
 * bounds. A bucket spans a factor of KC_SKETCH_GAMMA and stands for its geometric
 * mean, so a quantile is within 1 % of the value at that rank (the principle of
 * DDSketch: Masson, Rim and Lee, VLDB 2019). Bucket 0 holds all values below
 * KC_SKETCH_LEAST, the last one all values above the range (about 1e6).
 */
#ifndef KC_SKETCH_H
#define KC_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#define KC_SKETCH_GAMMA 1.02
#define KC_SKETCH_LEAST 1e-6
#define KC_SKETCH_BUCKETS 1400u

/* The bucket of a value; NAN counts as the largest value. */
uint32_t kc_sketch_bucket(double value);
double kc_sketch_value(uint32_t bucket);

/* ceil(q * n), 1..n: the rank of the q-quantile among n values. n >= 1. */
uint64_t kc_quantile_rank(double q, uint64_t n);
/* The value at that rank among n values, q in 0..1; NAN where n is 0. */
double kc_sketch_quantile(const uint64_t counts[KC_SKETCH_BUCKETS], double q);

/* Counts in memory. Values lie together, so there is memory for those groups of neighbouring buckets alone that hold
 * something. All zeros: empty. */
#define KC_SKETCH_GROUP 16u
#define KC_SKETCH_GROUPS ((KC_SKETCH_BUCKETS + KC_SKETCH_GROUP - 1) / KC_SKETCH_GROUP)
struct kc_sketch {
	uint32_t (*groups)[KC_SKETCH_GROUP];
	uint8_t count, capacity;         /* of groups */
	uint8_t place[KC_SKETCH_GROUPS]; /* in groups, + 1; 0: nothing there */
};
/* 0 or -ENOMEM. bucket < KC_SKETCH_BUCKETS. */
int kc_sketch_count(struct kc_sketch *sketch, uint32_t bucket, uint32_t count);
uint32_t kc_sketch_counted(const struct kc_sketch *sketch, uint32_t bucket);
/* Beside the struct itself. */
size_t kc_sketch_bytes(const struct kc_sketch *sketch);
void kc_sketch_free(struct kc_sketch *sketch);

/* Encodes the buckets that are not empty as pairs (step from the bucket before,
 * count), each a little-endian base-128 number. Returns the bytes written, at most
 * KC_SKETCH_ENCODED_MAX. */
#define KC_SKETCH_ENCODED_MAX (KC_SKETCH_BUCKETS * 12u)
size_t kc_sketch_encode(const struct kc_sketch *sketch, uint8_t *out);
/* Adds an encoded sketch to counts. 0; -EINVAL: it is truncated or out of range. */
int kc_sketch_add(uint64_t counts[KC_SKETCH_BUCKETS], const uint8_t *encoded, size_t bytes);

#endif
