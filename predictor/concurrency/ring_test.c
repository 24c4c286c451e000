#include "ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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
	    cmocka_unit_test(overflow_merges_the_oldest),
	    cmocka_unit_test(drift_moves_the_queue),
	    cmocka_unit_test(cancelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
