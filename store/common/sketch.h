/*
 * Quantiles of many values in little room: counts in log-spaced buckets. A
 * bucket spans a factor of KC_SKETCH_GAMMA and answers with its geometric
 * middle, so a quantile is within 1 % of a value at that rank (the principle of
 * DDSketch, Masson, Rim and Lee, VLDB 2019). Bucket 0 holds all below
 * KC_SKETCH_LEAST, the last one all above the range (about 1e6).
 */
#ifndef KC_SKETCH_H
#define KC_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#define KC_SKETCH_GAMMA 1.02
#define KC_SKETCH_LEAST 1e-6
#define KC_SKETCH_BUCKETS 1400u

/* Bucket of a value; a value that is not a number counts as the largest. */
uint32_t kc_sketch_bucket(double value);
double kc_sketch_value(uint32_t bucket);

/* ceil(q * n), 1..n: which of n values in order is the q-quantile. n >= 1. */
uint64_t kc_quantile_rank(double q, uint64_t n);
/* The value at that rank of n values, q in 0..1; NAN where n is 0. */
double kc_sketch_quantile(const uint64_t counts[KC_SKETCH_BUCKETS], double q);

/* Non-empty buckets as pairs (step from the bucket before, count), each a
 * little-endian base-128 number. Returns bytes written; at most
 * KC_SKETCH_ENCODED_MAX. */
#define KC_SKETCH_ENCODED_MAX (KC_SKETCH_BUCKETS * 12u)
size_t kc_sketch_encode(const uint32_t counts[KC_SKETCH_BUCKETS], uint8_t *out);
/* Adds an encoded sketch to counts. 0; -EINVAL: cut off or out of range. */
int kc_sketch_add(uint64_t counts[KC_SKETCH_BUCKETS], const uint8_t *encoded, size_t bytes);

#endif
