#include "sketch.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void buckets_answer_within_one_percent(void **state)
{
	(void)state;
	for (double value = 1.01e-6; value < 9e5; value *= 1.0137) {
		double answer = kc_sketch_value(kc_sketch_bucket(value));

		/* Half a bucket: sqrt(1.02) - 1 = 0.995 %. */
		assert_true(fabs(answer - value) / value <= 0.00996);
	}
}

static void ends_of_the_range(void **state)
{
	(void)state;
	assert_int_equal(kc_sketch_bucket(0), 0);
	assert_true(kc_sketch_value(0) == 0);
	assert_int_equal(kc_sketch_bucket(1e-6), 1);
	assert_int_equal(kc_sketch_bucket(1e300), KC_SKETCH_BUCKETS - 1);
	assert_int_equal(kc_sketch_bucket(INFINITY), KC_SKETCH_BUCKETS - 1);
	assert_int_equal(kc_sketch_bucket(NAN), KC_SKETCH_BUCKETS - 1);
}

/* 1 … 100: the value at rank ceil(q n) is 100 q. */
static void quantiles_of_one_to_a_hundred(void **state)
{
	static uint64_t counts[KC_SKETCH_BUCKETS];

	(void)state;
	for (int i = 1; i <= 100; i++)
		counts[kc_sketch_bucket(i)]++;
	for (int q = 1; q <= 100; q++)
		assert_true(fabs(kc_sketch_quantile(counts, q / 100.0) - q) <= 0.01 * q);
}

static void no_values_no_quantile(void **state)
{
	static const uint64_t counts[KC_SKETCH_BUCKETS];

	(void)state;
	assert_true(isnan(kc_sketch_quantile(counts, 0.5)));
}

static void count(struct kc_sketch *sketch, uint32_t bucket, uint32_t by)
{
	assert_int_equal(kc_sketch_count(sketch, bucket, by), 0);
}

static void encoded_and_added_again(void **state)
{
	struct kc_sketch sketch = {0};
	static uint64_t sum[KC_SKETCH_BUCKETS];
	static uint8_t encoded[KC_SKETCH_ENCODED_MAX];
	size_t bytes;

	(void)state;
	assert_int_equal(kc_sketch_encode(&sketch, encoded), 0);
	assert_int_equal(kc_sketch_bytes(&sketch), 0);
	count(&sketch, KC_SKETCH_BUCKETS - 1, UINT32_C(1) << 31);
	count(&sketch, 5, 299);
	count(&sketch, 0, 1);
	count(&sketch, 5, 1);
	assert_int_equal(kc_sketch_counted(&sketch, 5), 300);
	assert_int_equal(kc_sketch_counted(&sketch, 6), 0);
	assert_int_equal(kc_sketch_counted(&sketch, 700), 0);
	bytes = kc_sketch_encode(&sketch, encoded);
	/* Pairs of step and count: 0 and 1 take one byte each; 5 takes one, 300 two (0xAC 0x02); 1,394 takes two
	 * (0xF2 0x0A), 2^31 five. */
	assert_int_equal(bytes, 2 + 3 + 2 + 5);
	assert_memory_equal(encoded, "\x00\x01\x05\xAC\x02\xF2\x0A", 7);
	assert_int_equal(kc_sketch_add(sum, encoded, bytes), 0);
	assert_int_equal(kc_sketch_add(sum, encoded, bytes), 0);
	assert_int_equal(sum[0], 2);
	assert_int_equal(sum[5], 600);
	assert_int_equal(sum[KC_SKETCH_BUCKETS - 1], UINT64_C(1) << 32);
	kc_sketch_free(&sketch);
}

/* 88 groups of 16 buckets of 4 bytes. */
static void every_bucket_counts(void **state)
{
	struct kc_sketch sketch = {0};

	(void)state;
	for (uint32_t i = 0; i < KC_SKETCH_BUCKETS; i++)
		count(&sketch, i * 13 % KC_SKETCH_BUCKETS, 1 + i * 13 % KC_SKETCH_BUCKETS);
	for (uint32_t i = 0; i < KC_SKETCH_BUCKETS; i++)
		assert_int_equal(kc_sketch_counted(&sketch, i), 1 + i);
	assert_int_equal(kc_sketch_bytes(&sketch), 88 * 16 * 4);
	kc_sketch_free(&sketch);
}

/* Groups without a matched launch have no sketch: SQLite gives NULL for it. */
static void no_sketch_adds_nothing(void **state)
{
	static const uint64_t none[KC_SKETCH_BUCKETS];
	static uint64_t counts[KC_SKETCH_BUCKETS];

	(void)state;
	assert_int_equal(kc_sketch_add(counts, NULL, 0), 0);
	assert_memory_equal(counts, none, sizeof(counts));
}

static void damaged_sketches_are_refused(void **state)
{
	static uint64_t counts[KC_SKETCH_BUCKETS];
	static const uint8_t cut[] = {1}, endless[] = {1, 0x80}, outside[] = {0xFF, 0xFF, 0x7F, 1};

	(void)state;
	assert_int_equal(kc_sketch_add(counts, cut, sizeof(cut)), -EINVAL);
	assert_int_equal(kc_sketch_add(counts, endless, sizeof(endless)), -EINVAL);
	assert_int_equal(kc_sketch_add(counts, outside, sizeof(outside)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(buckets_answer_within_one_percent),
	    cmocka_unit_test(ends_of_the_range),
	    cmocka_unit_test(quantiles_of_one_to_a_hundred),
	    cmocka_unit_test(no_values_no_quantile),
	    cmocka_unit_test(every_bucket_counts),
	    cmocka_unit_test(encoded_and_added_again),
	    cmocka_unit_test(no_sketch_adds_nothing),
	    cmocka_unit_test(damaged_sketches_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
