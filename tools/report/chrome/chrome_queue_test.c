#include "tools/report/chrome/chrome_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define COUNT 5000u

static void put(struct kc__queue *queue, int64_t time_ns)
{
	assert_int_equal(kc__queue_put(queue, (struct kc__happening){time_ns, -time_ns}), 0);
}

static void check_taken(struct kc__queue *queue, int64_t time_ns)
{
	struct kc__happening taken;

	assert_int_equal(kc__queue_first(queue)->time_ns, time_ns);
	taken = kc__queue_take(queue);
	assert_int_equal(taken.time_ns, time_ns);
	assert_int_equal(taken.change, -time_ns);
}

/* In order, backwards, and some places from their order. 1 and 4999 have no common divisor with COUNT, nor has 1003:
 * each time from 0 to COUNT - 1 comes once. */
static void the_earliest_is_taken_first_however_they_came(void **state)
{
	static const unsigned steps[] = {1, COUNT - 1, 1003};
	struct kc__queue queue = {0};

	(void)state;
	for (size_t of = 0; of < sizeof(steps) / sizeof(*steps); of++) {
		for (unsigned i = 0; i < COUNT; i++)
			put(&queue, (int64_t)i * steps[of] % COUNT);
		assert_int_equal(kc__queue_count(&queue), COUNT);
		for (unsigned i = 0; i < COUNT; i++)
			check_taken(&queue, i);
		assert_int_equal(kc__queue_count(&queue), 0);
	}
	for (unsigned i = 0; i < COUNT; i++) /* in blocks of 10, backwards in each */
		put(&queue, i / 10 * 10 + 9 - i % 10);
	for (unsigned i = 0; i < COUNT; i++)
		check_taken(&queue, i);
	kc__queue_free(&queue);
}

/* Every other one comes 2,000 late, while a window of 100 waits: what comes too late is taken next. */
static void what_comes_late_is_taken_when_it_is_there(void **state)
{
	struct kc__queue queue = {0};

	(void)state;
	for (int64_t i = 0; i < 100; i++)
		put(&queue, 10000 + i);
	for (int64_t i = 100; i < COUNT; i++) {
		put(&queue, 10000 + i);
		put(&queue, i);
		check_taken(&queue, i);
		check_taken(&queue, 10000 + i - 100);
	}
	assert_int_equal(kc__queue_count(&queue), 100);
	kc__queue_clear(&queue);
	assert_int_equal(kc__queue_count(&queue), 0);
	put(&queue, 3);
	put(&queue, 2);
	check_taken(&queue, 2);
	check_taken(&queue, 3);
	kc__queue_free(&queue);
}

static void happenings_of_one_time_are_all_taken(void **state)
{
	struct kc__queue queue = {0};

	(void)state;
	for (unsigned i = 0; i < COUNT; i++)
		put(&queue, i % 2 ? 5 : 700);
	for (unsigned i = 0; i < COUNT; i++)
		check_taken(&queue, i < COUNT / 2 ? 5 : 700);
	kc__queue_free(&queue);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_earliest_is_taken_first_however_they_came),
	    cmocka_unit_test(what_comes_late_is_taken_when_it_is_there),
	    cmocka_unit_test(happenings_of_one_time_are_all_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
