#include "overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct seen {
	uint64_t orders[16];
	unsigned count;
};

static void note(const struct kc_span *span, void *arg)
{
	struct seen *seen = arg;

	seen->orders[seen->count++] = span->order;
}

static void add(struct kc_spans *spans, uint64_t order, int64_t start_ns, int64_t end_ns, uint8_t *overlap)
{
	struct kc_span span = {
	    .start_ns = start_ns, .end_ns = end_ns, .since_ns = start_ns, .order = order, .overlap = overlap};

	assert_int_equal(kc_spans_add(spans, &span), 0);
}

/* By hand: 0 and 1 overlap, 2 touches 1 and meets nothing, 3 was launched before 4 and 4 runs inside it. */
static void what_met_what(void **state)
{
	struct kc_spans spans = {0};
	struct seen seen = {{0}, 0};
	uint8_t overlap[5] = {0};

	(void)state;
	add(&spans, 0, 0, 100, &overlap[0]);
	add(&spans, 4, 420, 430, &overlap[4]);
	add(&spans, 2, 150, 160, &overlap[2]);
	add(&spans, 3, 400, 500, &overlap[3]);
	add(&spans, 1, 90, 150, &overlap[1]);
	kc_spans_decide(&spans, 150, INT64_MIN, note, &seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(spans.count, 3);
	kc_spans_decide(&spans, INT64_MAX, INT64_MIN, note, &seen);
	assert_int_equal(seen.count, 5);
	assert_int_equal(overlap[0], KC_OVERLAP_OVERTAKEN);
	assert_int_equal(overlap[1], KC_OVERLAP_BEHIND);
	assert_int_equal(overlap[2], KC_OVERLAP_NONE);
	assert_int_equal(overlap[3], KC_OVERLAP_OVERTAKEN);
	assert_int_equal(overlap[4], KC_OVERLAP_BEHIND);
	kc_spans_free(&spans);
}

/* 0 waits too long. 1 was measured meanwhile and met it: 1 was launched later, so it is behind whatever else
 * comes. 2, which overlaps neither, is decided. 3 becomes known when 0 is gone and may have met it. */
static void what_waits_too_long_is_not_known(void **state)
{
	struct kc_spans spans = {0};
	struct seen seen = {{0}, 0};
	uint8_t overlap[4] = {0};

	(void)state;
	add(&spans, 0, 0, 1000, &overlap[0]);
	add(&spans, 1, 10, 2000, &overlap[1]);
	kc_spans_decide(&spans, 0, 5, note, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.orders[0], 0);
	assert_int_equal(overlap[0], KC_OVERLAP_UNKNOWN);
	add(&spans, 2, 3000, 4000, &overlap[2]);
	add(&spans, 3, 990, 1005, &overlap[3]);
	kc_spans_decide(&spans, INT64_MAX, INT64_MIN, note, &seen);
	assert_int_equal(overlap[1], KC_OVERLAP_BEHIND);
	assert_int_equal(overlap[2], KC_OVERLAP_NONE);
	assert_int_equal(overlap[3], KC_OVERLAP_BEHIND); /* of 1 */
	kc_spans_free(&spans);
}

/* Nothing is held any more, yet what comes now may have met what was let go until 1,000. */
static void what_may_have_met_it_is_not_known(void **state)
{
	struct kc_spans spans = {0};
	struct seen seen = {{0}, 0};
	uint8_t overlap[4] = {0};

	(void)state;
	add(&spans, 5, 0, 1000, &overlap[0]);
	kc_spans_decide(&spans, 0, 5, note, &seen);
	add(&spans, 6, 999, 1500, &overlap[1]);
	add(&spans, 7, 1400, 1600, &overlap[2]);
	add(&spans, 8, 1600, 1700, &overlap[3]);
	kc_spans_decide(&spans, INT64_MAX, INT64_MIN, note, &seen);
	assert_int_equal(overlap[1], KC_OVERLAP_UNKNOWN); /* met 7, launched later, and perhaps 5 */
	assert_int_equal(overlap[2], KC_OVERLAP_BEHIND);
	assert_int_equal(overlap[3], KC_OVERLAP_NONE);
	kc_spans_free(&spans);
}

/* 1 ran beside 0, which nothing is known of, and so did 2, which also met 1; 3 met 2 alone. */
static void beside_what_is_opaque_nothing_is_known(void **state)
{
	struct kc_spans spans = {0};
	struct seen seen = {{0}, 0};
	uint8_t overlap[4] = {0};
	struct kc_span opaque = {.start_ns = 0, .end_ns = 100, .order = 0, .overlap = &overlap[0], .opaque = 1};

	(void)state;
	add(&spans, 1, 90, 150, &overlap[1]);
	assert_int_equal(kc_spans_add(&spans, &opaque), 0);
	add(&spans, 2, 50, 200, &overlap[2]);
	add(&spans, 3, 160, 300, &overlap[3]);
	kc_spans_decide(&spans, INT64_MAX, INT64_MIN, note, &seen);
	assert_int_equal(seen.count, 4);
	assert_int_equal(overlap[1], KC_OVERLAP_UNKNOWN);
	assert_int_equal(overlap[2], KC_OVERLAP_UNKNOWN);
	assert_int_equal(overlap[3], KC_OVERLAP_BEHIND);
	kc_spans_free(&spans);
}

/* The last place has been left by another one of the same owner's. */
static void only_what_is_there_is_taken(void **state)
{
	struct kc_spans spans = {0};
	uint8_t overlap[3] = {0};
	int owners[3];
	struct kc_span span, taken = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		span =
		    (struct kc_span){.end_ns = 10, .order = (uint64_t)i, .overlap = &overlap[i], .owner = &owners[i]};
		assert_int_equal(kc_spans_add(&spans, &span), 0);
	}
	assert_int_equal(kc_spans_take(&spans, &owners[2], &taken), 1);
	assert_int_equal(taken.order, 2);
	assert_int_equal(kc_spans_take(&spans, &owners[2], &taken), 0);
	assert_int_equal(kc_spans_take(&spans, &spans, &taken), 0);
	assert_int_equal(spans.count, 2);
	assert_int_equal(kc_spans_take(&spans, &owners[0], &taken), 1);
	assert_int_equal(taken.order, 0);
	assert_int_equal(spans.count, 1);
	assert_ptr_equal(spans.at[0].owner, &owners[1]);
	assert_int_equal(kc_spans_take(&spans, &owners[1], &taken), 1);
	assert_int_equal(kc_spans_take(&spans, &owners[1], &taken), 0);
	assert_int_equal(spans.count, 0);
	kc_spans_free(&spans);
}

/* Spans leave at both ends and in the middle while others come, as batches of records do: what is left stays in order
 * of the starts, however often the room was closed up or grew. */
static void what_is_left_stays_in_order(void **state)
{
	enum { SPANS = 1000, HELD = 70 };
	struct kc_spans spans = {0};
	static uint8_t overlap[SPANS];
	struct kc_span span, taken;
	int left[SPANS], count = 0;

	(void)state;
	for (int i = 0; i < SPANS; i++) {
		span = (struct kc_span){
		    .start_ns = i, .end_ns = i + 1, .overlap = &overlap[i], .owner = &overlap[i], .order = (uint64_t)i};
		assert_int_equal(kc_spans_add(&spans, &span), 0);
		left[count++] = i;
		if (count > HELD + i / 10) {
			int place = i % 3 ? 0 : i % 2 ? count / 2 : count - 1;

			assert_int_equal(kc_spans_take(&spans, &overlap[left[place]], &taken), 1);
			assert_int_equal(taken.order, left[place]);
			count--;
			for (int k = place; k < count; k++)
				left[k] = left[k + 1];
		}
		assert_int_equal(spans.count, count);
		for (int k = 0; k < count; k++)
			assert_int_equal(spans.at[k].order, left[k]);
	}
	kc_spans_free(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_met_what),
	    cmocka_unit_test(what_waits_too_long_is_not_known),
	    cmocka_unit_test(what_may_have_met_it_is_not_known),
	    cmocka_unit_test(beside_what_is_opaque_nothing_is_known),
	    cmocka_unit_test(only_what_is_there_is_taken),
	    cmocka_unit_test(what_is_left_stays_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
