/* When measurements become known, for ends chosen by hand. */
#include "replay_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define OPS 8u
#define NEVER INT64_MAX

/* In the order of their calls; one was never measured, and two ended at once. */
static const int64_t ends_ns[OPS] = {100, 400, 0, 200, 300, 700, 700, 600};

static void expect(uint64_t batch, int64_t delay_ns, const int64_t wanted_ns[OPS])
{
	const struct kc_replay_delay delay = {.ns = delay_ns, .batch = batch};
	struct kc__op at[OPS] = {0};
	struct kc__ops ops = {.at = at, .count = OPS, .capacity = OPS};

	for (size_t i = 0; i < OPS; i++)
		at[i].end_ns = ends_ns[i];
	assert_int_equal(kc__delays_set(&ops, &delay), 0);
	for (size_t i = 0; i < OPS; i++)
		if (ends_ns[i])
			assert_int_equal(kc__known_ns(&ops, i, &delay), wanted_ns[i]);
	free(ops.known_ns);
}

static void without_delay_each_is_known_when_it_has_ended(void **state)
{
	(void)state;
	expect(0, 0, ends_ns);
	expect(1, 0, ends_ns);
}

static void each_is_known_as_long_after_its_end(void **state)
{
	static const int64_t wanted_ns[OPS] = {10000100, 10000400, 0, 10000200, 10000300, 10000700, 10000700, 10000600};

	(void)state;
	expect(1, 10000000, wanted_ns);
}

/* Ends in order: 100 200 300, 400 600 700, and 700 of the later call alone. */
static void a_batch_is_known_after_its_last_end(void **state)
{
	static const int64_t at_once_ns[OPS] = {300, 700, 0, 300, 300, 700, NEVER, 700};
	static const int64_t later_ns[OPS] = {350, 750, 0, 350, 350, 750, NEVER, 750};

	(void)state;
	expect(3, 0, at_once_ns);
	expect(3, 50, later_ns);
}

/* Seven were measured. */
static void a_batch_that_never_fills_is_never_known(void **state)
{
	static const int64_t never_ns[OPS] = {NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER};
	static const int64_t all_ns[OPS] = {705, 705, 0, 705, 705, 705, 705, 705};

	(void)state;
	expect(8, 5, never_ns);
	expect(7, 5, all_ns);
}

static void a_delay_beyond_all_time_is_never(void **state)
{
	static const int64_t never_ns[OPS] = {NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER};

	(void)state;
	expect(1, INT64_MAX, never_ns);
	expect(7, INT64_MAX, never_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_delay_each_is_known_when_it_has_ended),
	    cmocka_unit_test(each_is_known_as_long_after_its_end),
	    cmocka_unit_test(a_batch_is_known_after_its_last_end),
	    cmocka_unit_test(a_batch_that_never_fills_is_never_known),
	    cmocka_unit_test(a_delay_beyond_all_time_is_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
