/* Why a GPU was idle. In each case work ran until 1000, and what ran next began at 2000. */
#include "gaps.h"
#include "time_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { HERE = 1, ELSEWHERE = 2 }; /* places */

static struct kc_interval work(int64_t start_ns, int64_t end_ns, int64_t launched_ns, uint32_t stream, uint32_t place)
{
	return (struct kc_interval){.start_ns = start_ns,
				    .end_ns = end_ns,
				    .launched_ns = launched_ns,
				    .stream = stream,
				    .device = 1,
				    .place = place};
}

static struct kc_gap gap_of(const struct kc_interval *before, const struct kc_interval *after, int is_first,
			    const struct kc_host_wait *waits, size_t wait_count)
{
	struct kc_gaps gaps = {.waits = waits, .wait_count = wait_count};

	kc_gaps_add(&gaps, before, after, is_first);
	assert_int_equal(gaps.kept, 1);
	assert_int_equal(gaps.count[gaps.longest[0].cause], 1);
	assert_int_equal(gaps.ns[gaps.longest[0].cause], 1000);
	return gaps.longest[0];
}

static void check(struct kc_gap gap, enum kc_gap_cause cause, int64_t late_ns, int64_t waited_ns)
{
	assert_string_equal(kc_gap_cause_name(gap.cause), kc_gap_cause_name(cause));
	assert_int_equal(gap.late_ns, late_ns);
	assert_int_equal(gap.waited_ns, waited_ns);
}

static void the_larger_part_is_the_cause(void **state)
{
	const struct kc_interval before = work(0, 1000, -10, 1, HERE);
	struct kc_interval after = work(2000, 3000, 1500, 1, HERE);

	(void)state;
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_HOST, 500, -1);
	after.launched_ns = 1499;
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_LAUNCH, 499, -1);
	after.stream = 2;
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_STREAM, 499, -1);
	after.stream = 0; /* not known which */
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_LAUNCH, 499, -1);
}

static void calls_before_the_gap_and_after_it(void **state)
{
	const struct kc_interval before = work(0, 1000, -10, 1, HERE);
	struct kc_interval after = work(2000, 3000, -5, 1, HERE);

	(void)state;
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_LAUNCH, 0, -1);
	after.launched_ns = 2005; /* by a clock that is a little off */
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_HOST, 1000, -1);
	after.launched_ns = KC_LAUNCH_UNKNOWN;
	check(gap_of(&before, &after, 1, NULL, 0), KC_GAP_UNKNOWN, -1, -1);
}

static void a_host_that_waits(void **state)
{
	const struct kc_interval before = work(0, 1000, -10, 1, HERE), after = work(2000, 3000, 1800, 1, HERE);
	const struct kc_host_wait late[] = {{900, 999, HERE},
					    {10, 1400, HERE},
					    {1000, 1500, ELSEWHERE},
					    {1100, 1801, HERE}},
				  early[] = {{10, 1399, HERE}}, other[] = {{10, 1500, ELSEWHERE}},
				  first[] = {{10, 1000, HERE}}, at_last[] = {{1790, 1800, HERE}},
				  two[] = {
				      {900, 1200, HERE}, {1100, 1250, HERE}, {1600, 1750, HERE}, {1740, 1790, HERE}};

	(void)state;
	check(gap_of(&before, &after, 0, late, 4), KC_GAP_SYNC, 800, 400); /* from 1000 to 1400 */
	check(gap_of(&before, &after, 0, early, 1), KC_GAP_HOST, 800, 399);
	check(gap_of(&before, &after, 0, other, 1), KC_GAP_HOST, 800, -1);
	check(gap_of(&before, &after, 0, first, 1), KC_GAP_HOST, 800, -1);
	check(gap_of(&before, &after, 0, at_last, 1), KC_GAP_HOST, 800, 10);    /* it was busy before */
	check(gap_of(&before, &after, 0, two, 4), KC_GAP_SYNC, 800, 250 + 190); /* to 1250, and from 1600 to 1790 */
}

/* The longest gap that there can be, 2^63 - 2 ns. */
static void the_longest_gap_does_not_overflow(void **state)
{
	const struct kc_interval before = work(KC_INTERVAL_FIRST_NS, KC_INTERVAL_FIRST_NS, 0, 1, HERE);
	const struct kc_interval after = work(KC_INTERVAL_LAST_NS, KC_INTERVAL_LAST_NS, KC_INTERVAL_LAST_NS, 1, HERE);
	const struct kc_host_wait wait = {INT64_MIN, KC_INTERVAL_LAST_NS, HERE};
	struct kc_gaps gaps = {.waits = &wait, .wait_count = 1};

	(void)state;
	kc_gaps_add(&gaps, &before, &after, 0);
	check(gaps.longest[0], KC_GAP_SYNC, 2 * KC_INTERVAL_LAST_NS, 2 * KC_INTERVAL_LAST_NS);
}

static void copies_of_the_host_and_new_processes(void **state)
{
	struct kc_interval before = work(0, 1000, -10, 1, HERE), after = work(2000, 3000, 1900, 1, HERE);

	(void)state;
	before.is_copy = before.of_host = 1;
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_COPY, 900, -1);
	check(gap_of(&before, &after, 1, NULL, 0), KC_GAP_NOTHING, 900, -1);
	after.place = ELSEWHERE; /* which did not wait for that copy */
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_HOST, 900, -1);
	after = work(2000, 3000, 900, 1, HERE);
	after.is_copy = after.of_host = 1;
	check(gap_of(&before, &after, 0, NULL, 0), KC_GAP_COPY, 0, -1);
}

/* 150 gaps of 1, 3, 5, … and 2, 4, 6, … ns, and one as long as another, but earlier. */
static void the_longest_are_kept_in_order(void **state)
{
	struct kc_gaps gaps = {.clock = 1};

	(void)state;
	for (int i = 0; i < 150; i++) {
		int64_t ns = i < 75 ? 2 * i + 1 : 2 * (i - 74), at = 1000 * i;
		const struct kc_interval before = work(at, at + 10, at, 1, HERE),
					 after = work(at + 10 + ns, at + 900, at + 5, 1, HERE);

		kc_gaps_add(&gaps, &before, &after, 0);
	}
	assert_int_equal(gaps.kept, KC_GAPS_KEPT);
	assert_int_equal(gaps.count[KC_GAP_LAUNCH], 150);
	assert_int_equal(gaps.ns[KC_GAP_LAUNCH], 150 * 151 / 2);
	for (unsigned i = 0; i < KC_GAPS_KEPT; i++)
		assert_int_equal(gaps.longest[i].end_ns - gaps.longest[i].start_ns, 150 - i);
	{
		const struct kc_interval before = work(-50, -40, -60, 1, HERE), after = work(110, 120, -55, 1, HERE);

		kc_gaps_add(&gaps, &before, &after, 0); /* 150 ns */
		assert_int_equal(gaps.longest[0].start_ns, -40);
		assert_int_equal(gaps.longest[1].end_ns - gaps.longest[1].start_ns, 150);
		assert_int_equal(gaps.longest[99].end_ns - gaps.longest[99].start_ns, 52);
	}
}

/* On one GPU, in ns: a kernel computes from 0 to 100 and from 160 to 200; one communicates from 50 to 180, as does
 * another from 90 to 120; a copy from 120 to 150 and from 190 to 230. Communication is hidden from 50 to 100 and from
 * 160 to 180. */
static void a_copy_hides_no_communication(void **state)
{
	struct kc_interval at[] = {work(0, 100, -1, 1, HERE),   work(160, 200, -1, 1, HERE),
				   work(50, 180, -1, 2, HERE),  work(90, 120, -1, 3, HERE),
				   work(120, 150, -1, 4, HERE), work(190, 230, -1, 4, HERE)};
	struct kc_time_sums sums = {0};
	struct kc_time_use use;

	(void)state;
	at[2].communicates = at[3].communicates = at[4].is_copy = at[5].is_copy = 1;
	assert_int_equal(kc_time_sums_add(&sums, at, 6), 0);
	use = kc_time_use_of_place(&sums, HERE);
	assert_int_equal(use.compute_ns, 140);
	assert_int_equal(use.communication_ns, 130);
	assert_int_equal(use.hidden_ns, 70);
	assert_int_equal(use.exposed_ns, 60);
	assert_int_equal(use.copies_only_ns, 30);
	assert_int_equal(use.span_ns, 230);
	kc_time_sums_free(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_larger_part_is_the_cause),
	    cmocka_unit_test(calls_before_the_gap_and_after_it),
	    cmocka_unit_test(a_host_that_waits),
	    cmocka_unit_test(the_longest_gap_does_not_overflow),
	    cmocka_unit_test(copies_of_the_host_and_new_processes),
	    cmocka_unit_test(the_longest_are_kept_in_order),
	    cmocka_unit_test(a_copy_hides_no_communication),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
