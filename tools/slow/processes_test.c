#include "processes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST 1000u

/* Launches of one run, with the limits of the command. */
struct trial {
	struct kc_slow_timed timed[MOST];
	double out[MOST];
	size_t count;
};

static void add(struct trial *t, uint32_t alike, uint32_t process, int count, double us)
{
	for (int i = 0; i < count; i++)
		t->timed[t->count++] = (struct kc_slow_timed){log(us * 1000), alike, process, 1};
}

/* Every launch of a process is so many times as slow as the others; 1: it is not slower. */
static void is_slower(struct trial *t, uint32_t alike, uint32_t process, double times)
{
	const struct kc_diff_limits limits = {0.05, 1000};
	int met = 0;

	assert_int_equal(kc_slow_processes(t->timed, t->count, &limits, t->out), 0);
	for (size_t i = 0; i < t->count; i++)
		if (t->timed[i].alike == alike && t->timed[i].process == process) {
			assert_true(fabs(exp(t->out[i]) - times) < 1e-9);
			met++;
		}
	assert_true(met > 0);
}

static void one_of_four(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 1; process <= 4; process++)
		add(&t, 1, process, 60, process == 2 ? 130 : 100);
	for (uint32_t process = 1; process <= 4; process++)
		is_slower(&t, 1, process, process == 2 ? 1.3 : 1);
}

static void one_of_two(void **state)
{
	struct trial t = {0};

	(void)state;
	add(&t, 1, 1, 8, 130);
	add(&t, 1, 2, 8, 100);
	is_slower(&t, 1, 1, 1.3);
	is_slower(&t, 1, 2, 1);
}

/* Half of the others are faster than two of four, or of three, but not than three of four. */
static void several_of_them(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 1; process <= 4; process++) {
		add(&t, 1, process, 20, process <= 2 ? 150 : 100);
		add(&t, 2, process, 20, process <= 3 ? 150 : 100);
		if (process <= 3)
			add(&t, 3, process, 20, process <= 2 ? 150 : 100);
	}
	is_slower(&t, 1, 1, 1.5);
	is_slower(&t, 1, 2, 1.5);
	is_slower(&t, 1, 3, 1);
	is_slower(&t, 2, 1, 1);
	is_slower(&t, 3, 2, 1.5);
	is_slower(&t, 3, 3, 1);
}

/* Sizes, models of GPU and runs have other numbers. */
static void what_is_not_alike_is_not_compared(void **state)
{
	struct trial t = {0};

	(void)state;
	add(&t, 1, 1, 20, 100);
	add(&t, 2, 2, 20, 130);
	is_slower(&t, 1, 1, 1);
	is_slower(&t, 2, 2, 1);
}

/* 60 % of it slow: a drift. All of it slow, some more than the rest: the process. */
static void a_process_is_slower_throughout(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 1; process <= 3; process++) {
		add(&t, 1, process, 40, 100);
		add(&t, 1, process, 60, process == 2 ? 130 : 100);
		add(&t, 2, process, 40, process == 2 ? 130 : 100);
		add(&t, 2, process, 60, process == 2 ? 160 : 100);
	}
	is_slower(&t, 1, 2, 1);
	is_slower(&t, 2, 2, 1.3);
}

/* From 100 us on, by as much with each launch, to 200: the first launches are as fast as the others. */
static void a_process_that_becomes_slow_has_drifted(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 1; process <= 3; process++)
		for (int i = 0; i < 100; i++) {
			add(&t, 1, process, 1, process == 2 ? 100 + i : 100);
			if (i < 30)
				add(&t, 2, process, 1, process == 2 ? 100 + 100.0 * i / 30 : 100);
		}
	is_slower(&t, 1, 2, 1);
	is_slower(&t, 2, 2, 1);
}

/* 4 % of 100 us, and 0.9 us of 3 us. */
static void what_is_within_the_limits(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 1; process <= 3; process++) {
		add(&t, 1, process, 20, process == 2 ? 104 : 100);
		add(&t, 2, process, 20, process == 2 ? 3.9 : 3);
	}
	is_slower(&t, 1, 2, 1);
	is_slower(&t, 2, 2, 1);
}

/* Quartiles of 100 and 200 us: the standard error of the median of 10 is 20 %. */
static void chance(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 1; process <= 2; process++)
		for (int i = 0; i < 5; i++) {
			add(&t, 1, process, 1, process == 2 ? 130 : 100);
			add(&t, 1, process, 1, process == 2 ? 260 : 200);
		}
	is_slower(&t, 1, 2, 1);
}

static void too_few_tell_nothing(void **state)
{
	struct trial t = {0};

	(void)state;
	add(&t, 1, 1, 7, 130);
	add(&t, 1, 2, 60, 100);
	add(&t, 1, 3, 60, 130);
	is_slower(&t, 1, 1, 1);
	is_slower(&t, 1, 3, 1.3);
	for (size_t i = 7 + 60; i < t.count; i++)
		t.timed[i].tells = i % 10 == 0;
	is_slower(&t, 1, 3, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_of_four),
	    cmocka_unit_test(one_of_two),
	    cmocka_unit_test(several_of_them),
	    cmocka_unit_test(what_is_not_alike_is_not_compared),
	    cmocka_unit_test(a_process_is_slower_throughout),
	    cmocka_unit_test(a_process_that_becomes_slow_has_drifted),
	    cmocka_unit_test(what_is_within_the_limits),
	    cmocka_unit_test(chance),
	    cmocka_unit_test(too_few_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
