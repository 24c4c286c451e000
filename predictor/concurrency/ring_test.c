#include "ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static struct kc__interval ring[KC__RING];

static struct kc__timeline_stream empty(uint32_t ticket)
{
	return (struct kc__timeline_stream){
	    .first = ticket, .next = ticket, .chain = ticket, .measured = ticket, .cursor = ticket};
}

static uint32_t append(struct kc__timeline_stream *s, int64_t start_ns, int64_t end_ns, int behind)
{
	struct kc__interval interval = {.start_ns = start_ns, .end_ns = end_ns, .sm_blocks = {.warps = 1}};

	*kc__ring_next(s, ring) = interval;
	return kc__ring_append(s, ring, behind);
}

/* n intervals [10 i, 10 i + 9) */
static void fill(struct kc__timeline_stream *s, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		append(s, 10 * i, 10 * i + 9, i > 0);
}

/* The first interval that ends after t, with real times. */
static int find(struct kc__timeline_stream *s, int64_t t, struct kc__interval *found)
{
	const struct kc__interval *interval = kc__ring_find(s, ring, t);

	if (!interval)
		return 0;
	*found = *interval;
	found->start_ns += s->shift_ns;
	found->end_ns += s->shift_ns;
	return 1;
}

/* From any cursor, also where tickets wrap around. */
static void finds_the_first_that_ends_later(void **state)
{
	static const uint32_t firsts[] = {1, 1000, UINT32_MAX - 300};

	(void)state;
	for (unsigned f = 0; f < 3; f++) {
		struct kc__timeline_stream s = empty(firsts[f]);
		struct kc__interval found;

		fill(&s, 700);
		for (int64_t t = 0; t < 6999; t += 13) {
			s.cursor = firsts[f] + (uint32_t)(t * 7919 % 900); /* some past the end */
			assert_true(find(&s, t, &found));
			assert_int_equal(found.end_ns, (t + 1) / 10 * 10 + 9);
		}
		assert_false(find(&s, 6999, &found));
	}
}

static void expires_and_clears(void **state)
{
	struct kc__timeline_stream s = empty(1);

	(void)state;
	fill(&s, 10);
	kc__ring_expire(&s, ring, 49); /* the fifth ends at 49 */
	assert_int_equal(s.first, 6);
	assert_int_equal(kc__stream_tail_ns(&s), 99);
	kc__ring_clear(&s, 60);
	assert_int_equal(s.first, s.next);
	assert_int_equal(kc__stream_tail_ns(&s), 60);
}

/* A measurement that comes late makes all that was launched since count again, until it is known to have ended. */
static void expires_what_a_late_measurement_brought_back(void **state)
{
	struct kc__timeline_stream s = empty(1);

	(void)state;
	fill(&s, 700);
	for (uint32_t m = 0; m < 400; m++) { /* each ends 1 ns later than expected by then, and so do all behind it */
		int64_t now_ns = 10 + 17 * (int64_t)m;
		uint32_t ended = (uint32_t)(now_ns - m) / 10; /* interval i ends at 10 i + 10 + m */

		kc__ring_ended(&s, ring, 1 + m, 10 + 11 * (int64_t)m, 0);
		assert_int_equal(s.first, 2 + m);
		s.cursor = m * 7919 % 900; /* some are outside */
		kc__ring_expire(&s, ring, now_ns);
		assert_int_equal(s.first, 1 + (ended < m + 1 ? m + 1 : ended < 700 ? ended : 700));
	}
}

/* Processor time of this thread for 20,000 launches, the measurement of each known `late` launches later. */
static int64_t late_measurements_ns(uint32_t late)
{
	struct kc__timeline_stream s = empty(1);
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (uint32_t i = 0; i < 20000; i++) {
		append(&s, 10 * (int64_t)i, 10 * (int64_t)i + 9, i > 0);
		if (i >= late)
			kc__ring_ended(&s, ring, 1 + i - late, 10 * (int64_t)(i - late) + 9, 0);
		kc__ring_expire(&s, ring, 10 * (int64_t)i);
		assert_int_equal(s.next - s.first, 1);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (to.tv_sec - from.tv_sec) * 1000000000 + (to.tv_nsec - from.tv_nsec);
}

/* What it costs grows with the logarithm: with one step for each of 1,000, it would be some 30 times as much. */
static void late_measurements_cost_little(void **state)
{
	int64_t soon_ns = INT64_MAX, late_ns = INT64_MAX;

	(void)state;
	for (int round = 0; round < 5; round++) {
		int64_t soon = late_measurements_ns(1), late = late_measurements_ns(1000);

		soon_ns = soon < soon_ns ? soon : soon_ns;
		late_ns = late < late_ns ? late : late_ns;
	}
	assert_in_range(late_ns, 1, 8 * soon_ns);
}

static void overflow_merges_the_oldest(void **state)
{
	struct kc__timeline_stream s = empty(1);
	struct kc__interval found;

	(void)state;
	fill(&s, KC__RING + 5);
	assert_int_equal(s.next - s.first, KC__RING);
	assert_true(find(&s, 0, &found));
	assert_int_equal(found.start_ns, 0);
	assert_int_equal(found.end_ns, 59);
	assert_int_equal(kc__stream_tail_ns(&s), 10 * (KC__RING + 4) + 9);
}

static void drift_moves_the_queue(void **state)
{
	struct kc__timeline_stream s = empty(1);
	struct kc__interval found;

	(void)state;
	fill(&s, 4);
	kc__ring_ended(&s, ring, 2, 25, 1); /* six late */
	assert_int_equal(s.first, 3);
	assert_true(find(&s, 25, &found));
	assert_int_equal(found.start_ns, 26);
	assert_int_equal(found.end_ns, 35);
	assert_int_equal(append(&s, 50, 59, 1), 5);
	assert_int_equal(kc__stream_tail_ns(&s), 59);
	kc__ring_ended(&s, ring, 1, 1000, 1); /* older news */
	kc__ring_ended(&s, ring, 77, 1000, 1);
	assert_int_equal(kc__stream_tail_ns(&s), 59);
}

static void cancelling(void **state)
{
	struct kc__timeline_stream s = empty(1);
	struct kc__interval found;

	(void)state;
	fill(&s, 3);
	kc__ring_cancel(&s, ring, 2);
	assert_true(find(&s, 10, &found));
	assert_int_equal(found.start_ns, 20);
	kc__ring_cancel(&s, ring, 3);
	assert_int_equal(kc__stream_tail_ns(&s), 10);
	kc__ring_cancel(&s, ring, 3);
	kc__ring_cancel(&s, ring, 0);
	assert_int_equal(kc__stream_tail_ns(&s), 10);
	assert_int_equal(s.next, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_the_first_that_ends_later),
	    cmocka_unit_test(expires_and_clears),
	    cmocka_unit_test(expires_what_a_late_measurement_brought_back),
	    cmocka_unit_test(late_measurements_cost_little),
	    cmocka_unit_test(overflow_merges_the_oldest),
	    cmocka_unit_test(drift_moves_the_queue),
	    cmocka_unit_test(cancelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
