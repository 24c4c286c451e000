#include "processes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST 1500u

/* Launches of one run, with the limits of the command. */
struct trial {
	struct kc_slow_timed timed[MOST];
	struct kc_slow_excess out[MOST];
	size_t count;
};

static void add(struct trial *t, uint32_t alike, uint32_t process, int count, double us)
{
	for (int i = 0; i < count; i++)
		t->timed[t->count++] = (struct kc_slow_timed){log(us * 1000), alike, process, 1, 0};
}

/* Every launch of a process is so many times as slow as the others; 1: it is not slower. */
static void is_slower(struct trial *t, uint32_t alike, uint32_t process, double times)
{
	const struct kc_diff_limits limits = {0.05, 1000};
	int met = 0;

	assert_int_equal(kc_slow_processes(t->timed, t->count, &limits, t->out), 0);
	for (size_t i = 0; i < t->count; i++)
		if (t->timed[i].alike == alike && t->timed[i].process == process) {
			assert_true(fabs(exp(t->out[i].log) - times) < 1e-9);
			met++;
		}
	assert_true(met > 0);
}

/* The same from the process's launch `from` of the shape on, as they came. */
static void becomes_slower(struct trial *t, uint32_t alike, uint32_t process, int from, double times)
{
	const struct kc_diff_limits limits = {0.05, 1000};
	int met = 0;

	assert_int_equal(kc_slow_processes(t->timed, t->count, &limits, t->out), 0);
	for (size_t i = 0; i < t->count; i++)
		if (t->timed[i].alike == alike && t->timed[i].process == process) {
			assert_true(fabs(exp(t->out[i].log) - (met < from ? 1 : times)) < 1e-9);
			assert_int_equal(t->out[i].late, met >= from);
			met++;
		}
	assert_true(met > from);
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
		add(&t, 3, process, 200, 100);
	}
	is_slower(&t, 1, 2, 1);
	is_slower(&t, 2, 2, 1.3);
}

/* All that one of two to five processes does takes 1.3 times as long from its launch 40 of 100 on. */
static void a_process_becomes_slow(void **state)
{
	(void)state;
	for (uint32_t processes = 2; processes <= 5; processes++) {
		struct trial t = {0};

		for (uint32_t process = 1; process <= processes; process++)
			for (int i = 0; i < 100; i++) {
				double us = process == 2 && i >= 40 ? 130 : 100;

				add(&t, 1, process, 1, us * (i % 2 ? 1 : 1.001));
				add(&t, 2, process, 1, us / 2);
			}
		for (uint32_t process = 1; process <= processes; process++)
			if (process == 2)
				becomes_slower(&t, 2, process, 40, 1.3);
			else
				is_slower(&t, 2, process, 1);
	}
}

/* Whatever makes all of them slow at once is no straggler; nor is what one kernel of many does. */
static void not_alone_or_not_in_all(void **state)
{
	struct trial together = {0}, one = {0};

	(void)state;
	for (uint32_t process = 1; process <= 3; process++)
		for (int i = 0; i < 100; i++) {
			add(&together, 1, process, 1, i >= 40 ? 130 : 100);
			add(&together, 2, process, 1, i >= 40 ? 65 : 50);
			add(&one, 1, process, 1, process == 2 && i >= 40 ? 130 : 100);
			add(&one, 2, process, 1, 150);
		}
	is_slower(&together, 1, 2, 1);
	is_slower(&one, 1, 2, 1);
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

/* Each of twelve launch shapes by 4 %, which is within the limits, of five launches. */
static void as_a_whole(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t alike = 1; alike <= 12; alike++)
		for (uint32_t process = 0; process < 4; process++)
			add(&t, alike, process, 5, (process == 2 ? 10.4 : 10) * alike);
	add(&t, 13, 2, 3, 50); /* too few, and no others have it */
	t.timed[t.count - 1].waits = 1;
	for (uint32_t alike = 1; alike <= 12; alike++)
		for (uint32_t process = 0; process < 4; process++)
			is_slower(&t, alike, process, process == 2 ? 1.04 : 1);
	assert_true(fabs(exp(t.out[t.count - 2].log) - 1.04) < 1e-9);
	assert_true(t.out[t.count - 1].log == 0);
	assert_int_equal(t.out[t.count - 1].others, 3);
	assert_int_equal(t.out[t.count - 1].whole, 1);
	assert_int_equal(t.out[0].whole, 0);
}

/* Not by the same for each kernel. */
static void as_a_whole_and_one_more(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t alike = 1; alike <= 20; alike++)
		for (uint32_t process = 0; process < 2; process++)
			add(&t, alike, process, 10, process ? alike == 7 ? 150 : 120 : 100);
	is_slower(&t, 7, 1, 1.5);
	is_slower(&t, 7, 0, 1);
	assert_int_equal(t.out[t.count - 1].whole, 1);
	assert_int_equal(t.out[t.count - 1].others, 1);
}

/* One launch shape of twelve: no other is slower. */
static void one_of_its_kernels(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t alike = 1; alike <= 12; alike++)
		for (uint32_t process = 0; process < 4; process++)
			add(&t, alike, process, 10, process == 2 && alike == 5 ? 200 : 100);
	for (uint32_t alike = 1; alike <= 12; alike++)
		is_slower(&t, alike, 2, alike == 5 ? 2 : 1);
	assert_int_equal(t.out[t.count - 1].whole, 0);
}

/* 20 % of 1 % of its time. */
static void what_costs_little(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 0; process < 4; process++) {
		add(&t, 1, process, 20, process == 2 ? 12 : 10);
		add(&t, 2, process, 20, 990);
	}
	is_slower(&t, 1, 2, 1);
}

/* 100 or 180 us, as a kernel takes with other arguments. Of 15, 14 and 7 take the longer one: the medians are far
 * apart, the ranks of the launches are not. */
static void several_kinds_of_launches(void **state)
{
	struct trial t = {0};

	(void)state;
	for (uint32_t process = 0; process < 2; process++)
		for (int i = 0; i < 15; i++)
			add(&t, 1, process, 1, i < (process ? 1 : 8) ? 100 : 180);
	is_slower(&t, 1, 0, 1);
	is_slower(&t, 1, 1, 1);
}

/* 10 kernels on 4 processes, each at another level, from -deviation to +deviation; one of them is 9 % slower. */
static void slower_than_usual(struct trial *t, double deviation)
{
	for (uint32_t alike = 0; alike < 10; alike++)
		for (uint32_t process = 0; process < 4; process++)
			add(t, alike, process, 10,
			    alike == 4 && process == 2
				? 109
				: 100 * (1 + deviation * ((alike * 7 + process * 5) % 11 - 5.0) / 5));
}

/* Where processes are as far from one another everywhere, it is nothing. Else by 109 over 100.02, the middle one of the
 * others: 100.02 is 0.1 % times 1/5 above 100. */
static void as_usual(void **state)
{
	static struct trial far, near;

	(void)state;
	slower_than_usual(&far, 0.04);
	is_slower(&far, 4, 2, 1);
	slower_than_usual(&near, 0.001);
	is_slower(&near, 4, 2, 109 / 100.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_of_four),
	    cmocka_unit_test(one_of_two),
	    cmocka_unit_test(several_of_them),
	    cmocka_unit_test(what_is_not_alike_is_not_compared),
	    cmocka_unit_test(a_process_is_slower_throughout),
	    cmocka_unit_test(a_process_becomes_slow),
	    cmocka_unit_test(not_alone_or_not_in_all),
	    cmocka_unit_test(what_is_within_the_limits),
	    cmocka_unit_test(chance),
	    cmocka_unit_test(too_few_tell_nothing),
	    cmocka_unit_test(as_a_whole),
	    cmocka_unit_test(as_a_whole_and_one_more),
	    cmocka_unit_test(one_of_its_kernels),
	    cmocka_unit_test(what_costs_little),
	    cmocka_unit_test(several_kinds_of_launches),
	    cmocka_unit_test(as_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
