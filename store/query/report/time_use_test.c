/* Kernels (K) and copies (C) of two streams on one GPU, in ns, "|" at the launch call of the next:
 *
 *              0         10        20        30        40        50        60        70        80        90
 *   stream 1   KKKKKKKKKK     |              KKKKKKKKKKKKKKKKKKKK             |      CCCCCCCCCCCCCCCCCCCC
 *   stream 2             CCCCCCCCCCCCCCCCCCCC          CCCCCCCCCCCCCCCCCCCC
 *
 * The first work of each stream is called before 0, and the second copy at 44, after its start.
 */
#include "time_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct kc_interval kernel(int64_t start_ns, int64_t end_ns, int64_t launched_ns, uint32_t stream)
{
	return (struct kc_interval){
	    .start_ns = start_ns, .end_ns = end_ns, .launched_ns = launched_ns, .stream = stream, .device = 1};
}

static struct kc_interval copy(int64_t start_ns, int64_t end_ns, int64_t launched_ns, uint32_t stream)
{
	struct kc_interval out = kernel(start_ns, end_ns, launched_ns, stream);

	out.is_copy = 1;
	return out;
}

static void check(const struct kc_time_use *got, const struct kc_time_use *wanted)
{
	assert_int_equal(got->kernels, wanted->kernels);
	assert_int_equal(got->copies, wanted->copies);
	assert_int_equal(got->span_ns, wanted->span_ns);
	assert_int_equal(got->busy_ns, wanted->busy_ns);
	assert_int_equal(got->kernels_ns, wanted->kernels_ns);
	assert_int_equal(got->copies_only_ns, wanted->copies_only_ns);
	assert_int_equal(got->idle_ns, wanted->idle_ns);
	assert_int_equal(got->idle_launch_bound_ns, wanted->idle_launch_bound_ns);
	assert_int_equal(got->idle_launched_ns, wanted->idle_launched_ns);
	assert_int_equal(got->idle_unknown_ns, wanted->idle_unknown_ns);
}

static void check_device(const struct kc_time_sums *sums, const struct kc_time_use *wanted)
{
	struct kc_time_use got = kc_time_use_of_device(sums, 1);

	check(&got, wanted);
}

static void check_stream(const struct kc_time_sums *sums, uint32_t number, const struct kc_time_use *wanted)
{
	struct kc_time_use got = kc_time_use_of_stream(sums, number);

	check(&got, wanted);
}

static void add(struct kc_time_sums *sums, struct kc_interval *at, size_t count)
{
	assert_int_equal(kc_time_sums_add(sums, at, count), 0);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void the_timeline_above(void **state)
{
	struct kc_interval at[] = {
	    copy(70, 90, 63, 1), kernel(30, 50, 15, 1), copy(40, 60, 44, 2), copy(10, 30, -5, 2), kernel(0, 10, -9, 1),
	};
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, at, COUNT(at));
	/* Idle from 60 to 70; the copy that ended it was called at 63. */
	check_device(&sums, &(struct kc_time_use){.kernels = 2,
						  .copies = 3,
						  .span_ns = 90,
						  .busy_ns = 80,
						  .kernels_ns = 30,
						  .copies_only_ns = 50,
						  .idle_ns = 10,
						  .idle_launch_bound_ns = 3,
						  .idle_launched_ns = 7});
	/* Idle from 10 to 30, called at 15, and from 50 to 70, called at 63. */
	check_stream(&sums, 1,
		     &(struct kc_time_use){.kernels = 2,
					   .copies = 1,
					   .span_ns = 90,
					   .busy_ns = 50,
					   .kernels_ns = 30,
					   .copies_only_ns = 20,
					   .idle_ns = 40,
					   .idle_launch_bound_ns = 5 + 13,
					   .idle_launched_ns = 15 + 7});
	/* Idle from 30 to 40; the call seems to come after the start, as clocks may differ. */
	check_stream(&sums, 2,
		     &(struct kc_time_use){.copies = 2,
					   .span_ns = 50,
					   .busy_ns = 40,
					   .copies_only_ns = 40,
					   .idle_ns = 10,
					   .idle_launch_bound_ns = 10});
	kc_time_sums_free(&sums);
}

static void what_lies_within_counts_once(void **state)
{
	/* A kernel around a shorter one, a copy around both, and a second kernel that outlasts the first. */
	struct kc_interval at[] = {copy(0, 100, 0, 1), kernel(10, 60, 0, 2), kernel(20, 30, 0, 2),
				   kernel(50, 70, 0, 2)};
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, at, COUNT(at));
	check_device(
	    &sums,
	    &(struct kc_time_use){
		.kernels = 3, .copies = 1, .span_ns = 100, .busy_ns = 100, .kernels_ns = 60, .copies_only_ns = 40});
	kc_time_sums_free(&sums);
}

static void a_launch_time_that_is_not_known_is_no_launch_bound_time(void **state)
{
	struct kc_interval at[] = {kernel(0, 10, KC_LAUNCH_UNKNOWN, 1), kernel(30, 40, KC_LAUNCH_UNKNOWN, 1),
				   kernel(100, 110, 60, 1)};
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, at, COUNT(at));
	check_device(&sums, &(struct kc_time_use){.kernels = 3,
						  .span_ns = 110,
						  .busy_ns = 30,
						  .kernels_ns = 30,
						  .idle_ns = 80,
						  .idle_launch_bound_ns = 20,
						  .idle_launched_ns = 40,
						  .idle_unknown_ns = 20});
	kc_time_sums_free(&sums);
}

/* Two kernels begin at once: the GPU had something to do from the first call on. */
static void of_kernels_that_begin_at_once_the_first_call_counts(void **state)
{
	struct kc_interval at[] = {kernel(0, 10, 0, 1), kernel(50, 60, 45, 1), kernel(50, 60, 20, 2)};
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, at, COUNT(at));
	check_device(&sums, &(struct kc_time_use){.kernels = 3,
						  .span_ns = 60,
						  .busy_ns = 20,
						  .kernels_ns = 20,
						  .idle_ns = 40,
						  .idle_launch_bound_ns = 10,
						  .idle_launched_ns = 30});
	kc_time_sums_free(&sums);
}

static void the_time_between_two_groups_is_not_idle(void **state)
{
	struct kc_interval first[] = {kernel(0, 10, 0, 1), kernel(20, 30, 15, 1)};
	struct kc_interval second[] = {kernel(5000, 5007, 4000, 1)};
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, first, COUNT(first));
	add(&sums, second, COUNT(second));
	check_stream(&sums, 1,
		     &(struct kc_time_use){.kernels = 3,
					   .span_ns = 37,
					   .busy_ns = 27,
					   .kernels_ns = 27,
					   .idle_ns = 10,
					   .idle_launch_bound_ns = 5,
					   .idle_launched_ns = 5});
	kc_time_sums_free(&sums);
}

static void a_stream_that_is_not_known_counts_for_its_device_alone(void **state)
{
	struct kc_interval at[] = {kernel(0, 10, 0, 0), kernel(5, 20, 0, 2)};
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, at, COUNT(at));
	check_device(&sums, &(struct kc_time_use){.kernels = 2, .span_ns = 20, .busy_ns = 20, .kernels_ns = 20});
	check_stream(&sums, 1, &(struct kc_time_use){0});
	check_stream(&sums, 2, &(struct kc_time_use){.kernels = 1, .span_ns = 15, .busy_ns = 15, .kernels_ns = 15});
	check_stream(&sums, 3, &(struct kc_time_use){0});
	kc_time_sums_free(&sums);
}

/* The longest span twice: the second does not fit into the sum. */
static void the_largest_times_do_not_overflow(void **state)
{
	struct kc_time_sums sums = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct kc_interval at[] = {kernel(KC_INTERVAL_LAST_NS, KC_INTERVAL_LAST_NS, INT64_MAX, 1),
					   kernel(KC_INTERVAL_FIRST_NS, KC_INTERVAL_FIRST_NS, INT64_MAX, 1)};

		add(&sums, at, COUNT(at));
	}
	check_device(&sums, &(struct kc_time_use){.kernels = 2,
						  .span_ns = 2 * KC_INTERVAL_LAST_NS,
						  .idle_ns = 2 * KC_INTERVAL_LAST_NS,
						  .idle_launch_bound_ns = 2 * KC_INTERVAL_LAST_NS});
	kc_time_sums_free(&sums);
}

static void nothing_takes_no_time(void **state)
{
	struct kc_time_sums sums = {0};

	(void)state;
	add(&sums, NULL, 0);
	check_device(&sums, &(struct kc_time_use){0});
	kc_time_sums_free(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_timeline_above),
	    cmocka_unit_test(what_lies_within_counts_once),
	    cmocka_unit_test(a_launch_time_that_is_not_known_is_no_launch_bound_time),
	    cmocka_unit_test(of_kernels_that_begin_at_once_the_first_call_counts),
	    cmocka_unit_test(the_time_between_two_groups_is_not_idle),
	    cmocka_unit_test(a_stream_that_is_not_known_counts_for_its_device_alone),
	    cmocka_unit_test(the_largest_times_do_not_overflow),
	    cmocka_unit_test(nothing_takes_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
