#include "slow_testing.h"

static void what_is_as_always_is_not_slow(void **state)
{
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 40; i++) {
		add(&t, 2, "a", 10000 + i % 4 * 100);
		add(&t, 2, "b", 30000);
	}
	find(&t);
	nothing_else(&t, 0, 0);
	assert_int_equal(t.slow.measured.launches, 80);
	assert_int_equal(t.slow.unknown.launches, 0);
	end(&t);
}

static void one_launch_is_not_explained(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 20, 10000);
	add(&t, 2, "a", 30000);
	add_many(&t, 2, "a", 20, 10000);
	find(&t);
	found(&t, KC_SLOW_UNEXPLAINED, 1, 20000);
	nothing_else(&t, 1, 20000);
	assert_int_equal(t.slow.found[0].place, 20);
	assert_true(near(t.slow.found[0].should_ns, 10000, 0.1));
	end(&t);
}

static void the_first_launch(void **state)
{
	struct trial t = {0};

	(void)state;
	add(&t, 2, "a", 50000);
	add_many(&t, 2, "a", 20, 10000);
	find(&t);
	found(&t, KC_SLOW_FIRST, 1, 40000);
	nothing_else(&t, 1, 40000);
	end(&t);
}

/* 5 us each, beside a kernel that ran all the time; only it is named. */
static void overlapped_launches(void **state)
{
	struct trial t = {0};
	const struct kc_slow_pair *beside;

	(void)state;
	add_many(&t, 2, "a", 40, 10000);
	add_many(&t, 2, "other", 10, 20000);
	for (int i = 0; i < 10; i++)
		add_overlapped(&t, 2, "a", 15000, "other", 20000);
	find(&t);
	found(&t, KC_SLOW_OVERLAP, 10, 50000);
	nothing_else(&t, 10, 50000);
	assert_int_equal(t.slow.beside.list.count, 1);
	beside = t.slow.beside.list.at;
	assert_string_equal(kc_measured_kernel(&t.made.names, beside->other)->name, "other");
	assert_true(near(beside->lost_ns, 50000, 10));
	end(&t);
}

/* Another kernel that ran for 2 us cannot have cost more: 2 of the 20 us. */
static void overlap_explains_no_more_than_its_time(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 40, 10000);
	add_many(&t, 2, "other", 10, 2000);
	add_overlapped(&t, 2, "a", 30000, "other", 2000);
	find(&t);
	found(&t, KC_SLOW_OVERLAP, 1, 2000);
	found(&t, KC_SLOW_UNEXPLAINED, 1, 18000);
	nothing_else(&t, 1, 20000);
	end(&t);
}

/* The other kernel had begun 5 us earlier; on another device it would have cost nothing. */
static void overlap_with_what_began_before(void **state)
{
	for (uint32_t device = 1; device <= 2; device++) {
		struct trial t = {0};
		struct kc_measured_moment *moments;

		(void)state;
		add_many(&t, 2, "a", 40, 10000);
		add_many(&t, 2, "other", 40, 30000);
		add(&t, 2, "a", 15000)->overlap = KC_OVERLAP_BEHIND;
		moments = t.made.runs[2].moments.at;
		moments[79].start_ns =
		    moments[80].start_ns - 5000; /* of "other", which lasts until 10 us after the end */
		for (size_t i = 0; i < t.made.runs[2].moments.count; i++)
			moments[i].device = 2;
		moments[79].device = 3 - device;
		find(&t);
		found(&t, device == 1 ? KC_SLOW_OVERLAP : KC_SLOW_UNEXPLAINED, 1, 5000);
		nothing_else(&t, 1, 5000);
		end(&t);
	}
}

/* 3 % slower as a whole, which is within the limits: a launch of 30 us has lost what is beyond 10.3 us. */
static void what_should_be_follows_the_level_of_the_run(void **state)
{
	struct trial t = {.earlier = 1};

	(void)state;
	add_many(&t, 1, "a", 40, 10000);
	add_many(&t, 2, "a", 40, 10300);
	add(&t, 2, "a", 30000);
	find(&t);
	found(&t, KC_SLOW_UNEXPLAINED, 1, 19700);
	nothing_else(&t, 1, 19700);
	end(&t);
}

/* 3 us each; the first launch of the process, too, which is nobody's peer. */
static void slower_than_in_earlier_runs(void **state)
{
	struct trial t = {.earlier = 2};

	(void)state;
	for (int run = 0; run < 3; run++)
		for (int i = 0; i < 41; i++) {
			add(&t, run, "a", run == 2 ? 13000 : 10000);
			add(&t, run, "b", 20000);
		}
	find(&t);
	found(&t, KC_SLOW_SLOWER, 41, 41 * 3000);
	nothing_else(&t, 41, 41 * 3000);
	end(&t);
}

/* Slower than in earlier runs by 30 %, and twice as slow where it is overlapped: 10, 20, 26 us. */
static void two_causes_in_one_launch(void **state)
{
	struct trial t = {.earlier = 1};

	(void)state;
	for (int run = 1; run < 3; run++) {
		add_many(&t, run, "a", 40, run == 2 ? 13000 : 10000);
		add_many(&t, run, "other", 10, 30000);
	}
	add_overlapped(&t, 2, "a", 26000, "other", 30000);
	find(&t);
	found(&t, KC_SLOW_SLOWER, 41, 40 * 3000 + 6000);
	found(&t, KC_SLOW_OVERLAP, 1, 10000);
	end(&t);
}

/* The second half takes a third longer; one launch in it is as before. */
static void drift_within_the_run(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 65, 30000); /* the first is not counted, so that the parts are 8 each */
	add_many(&t, 2, "a", 40, 40000);
	add(&t, 2, "a", 30000);
	add_many(&t, 2, "a", 23, 40000);
	find(&t);
	found(&t, KC_SLOW_DRIFT, 63, 630000);
	nothing_else(&t, 63, 630000);
	end(&t);
}

/* Below the limits: 4 %, and 0.9 us. */
static void small_losses_are_none(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 40, 100000);
	add(&t, 2, "a", 104000);
	add_many(&t, 2, "b", 40, 1000);
	add(&t, 2, "b", 1900);
	find(&t);
	nothing_else(&t, 0, 0);
	end(&t);
}

/* 8 and 12 us in turns are what the kernel takes. */
static void scatter_is_not_slow(void **state)
{
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 40; i++)
		add(&t, 2, "a", i % 2 ? 8000 : 12000);
	find(&t);
	nothing_else(&t, 0, 0);
	end(&t);
}

/* Alone 9.5, 10 and 10.5 us in turns, overlapped 11.2 us: one such launch may be chance, 20 are not. */
static void overlapped_launches_are_judged_together(void **state)
{
	for (int count = 1; count <= 20; count += 19) {
		struct trial t = {0};

		(void)state;
		for (int i = 0; i < 60; i++)
			add(&t, 2, "a", 9500 + i % 3 * 500);
		add_many(&t, 2, "other", 40, 20000);
		for (int i = 0; i < count; i++)
			add_overlapped(&t, 2, "a", 11200, "other", 20000);
		find(&t);
		if (count == 1)
			nothing_else(&t, 0, 0);
		else
			found(&t, KC_SLOW_OVERLAP, 20, 20 * 1200);
		end(&t);
	}
}

/* 30 % more is much by the scatter, but not past a limit of 50 %. */
static void the_limit_is_what_was_asked_for(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 40, 10000);
	add(&t, 2, "a", 13000);
	find_past(&t, 0.5);
	nothing_else(&t, 0, 0);
	end(&t);
}

/* What always is overlapped has no peers that ran alone. */
static void what_never_runs_alone_is_counted(void **state)
{
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 20; i++)
		add_overlapped(&t, 2, "a", 15000, "other", 15000);
	find(&t);
	nothing_else(&t, 0, 0);
	assert_int_equal(t.slow.never_alone.launches, 40);
	end(&t);
}

/* The second of two processes takes 130 us in place of 100, in this run as in the one before. */
static void a_process_slower_than_another(void **state)
{
	struct trial t = {.earlier = 1};
	const struct kc_slow_pair *pair;

	(void)state;
	for (int run = 1; run < RUNS; run++)
		for (int i = 0; i < 120; i++) {
			add(&t, run, "a", i < 60 ? 100000 : 130000);
			((struct kc_measured_moment *)t.made.runs[run].moments.at)[i].id += (int64_t)(i / 60)
											    << KC_SEQUENCE_BITS;
		}
	find(&t);
	found(&t, KC_SLOW_PROCESS, 60, 60 * 30000);
	nothing_else(&t, 60, 60 * 30000);
	assert_int_equal(t.slow.processes.list.count, 1);
	pair = t.slow.processes.list.at;
	assert_int_equal(pair->other, 2);
	assert_true(near(pair->lost_ns, 60 * 30000, 100));
	end(&t);
}

/* The second of two processes takes 30 us longer for its work, and the first one's all-reduce waits for it as long. */
static void what_waits_for_a_slower_process(void **state)
{
	struct trial t = {.earlier = 0};

	(void)state;
	for (int i = 0; i < 240; i++) {
		int second = i >= 120;
		struct kc_measured_moment *moments;

		add(&t, 2, i % 2 ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : "a",
		    i % 2 ? 50000 - 30000 * second : 100000 + 30000 * second);
		moments = t.made.runs[2].moments.at;
		moments[i].id += (int64_t)second << KC_SEQUENCE_BITS;
		if (second)
			moments[i].start_ns = moments[i - 120].start_ns;
		moments[i].device += (uint32_t)second;
	}
	find(&t);
	found(&t, KC_SLOW_PROCESS, 60, 60 * 30000);
	nothing_else(&t, 60, 60 * 30000);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_as_always_is_not_slow),
	    cmocka_unit_test(one_launch_is_not_explained),
	    cmocka_unit_test(the_first_launch),
	    cmocka_unit_test(overlapped_launches),
	    cmocka_unit_test(overlap_explains_no_more_than_its_time),
	    cmocka_unit_test(overlap_with_what_began_before),
	    cmocka_unit_test(what_should_be_follows_the_level_of_the_run),
	    cmocka_unit_test(scatter_is_not_slow),
	    cmocka_unit_test(overlapped_launches_are_judged_together),
	    cmocka_unit_test(the_limit_is_what_was_asked_for),
	    cmocka_unit_test(slower_than_in_earlier_runs),
	    cmocka_unit_test(two_causes_in_one_launch),
	    cmocka_unit_test(drift_within_the_run),
	    cmocka_unit_test(small_losses_are_none),
	    cmocka_unit_test(what_never_runs_alone_is_counted),
	    cmocka_unit_test(a_process_slower_than_another),
	    cmocka_unit_test(what_waits_for_a_slower_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
