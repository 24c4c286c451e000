/* The peers of a launch: the launches with which its time is compared. */
#include "slow_testing.h"

/* 10 us on one model, 20 us on the other, which has one of 40 us. */
static void launches_on_another_model_are_no_peers(void **state)
{
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 100; i++) {
		add_on(&t, 2, 1, 1, 10000);
		if (i % 4 == 0)
			add_on(&t, 2, 2, 1, i == 60 ? 40000 : 20000);
	}
	find(&t);
	found(&t, KC_SLOW_UNEXPLAINED, 1, 20000);
	nothing_else(&t, 1, 20000);
	assert_int_equal(t.slow.unknown.launches, 0);
	end(&t);
}

/* What the known sizes take on the faster model says nothing about the new one on the slower: 30 us in place of 20. */
static void a_new_size_on_one_of_two_models(void **state)
{
	struct trial t = {.earlier = 1};

	(void)state;
	for (int run = 1; run < RUNS; run++)
		for (int i = 0; i < 60; i++) {
			add_on(&t, run, 1, 1, 10000);
			if (i % 3 == 0)
				add_on(&t, run, 2, 1, 20000);
		}
	for (int i = 0; i < 20; i++)
		add_on(&t, 2, 2, 2, 30000);
	find(&t);
	found(&t, KC_SLOW_SIZE, 20, 20 * 10000);
	nothing_else(&t, 20, 20 * 10000);
	end(&t);
}

static void a_new_launch_shape(void **state)
{
	struct trial t = {.earlier = 1};

	(void)state;
	add_many(&t, 1, "a", 40, 10000);
	add_many(&t, 2, "a", 20, 10000);
	for (int i = 0; i < 5; i++)
		add(&t, 2, "a", 25000)->shape = shape_of(&t.made, "a", 2);
	for (int i = 0; i < 12; i++) /* smaller ones lose nothing, and those within the limits */
		add(&t, 2, "a", i % 2 ? 5000 : 10300)->shape = shape_of(&t.made, "a", i % 2 ? 3 : 4);
	find(&t);
	found(&t, KC_SLOW_SIZE, 5, 5 * 15000);
	nothing_else(&t, 5, 5 * 15000);
	end(&t);
}

/* 30 % slower than before in the known size, so in the new one, too: 10 us, 20 for the size, 26 as it is slower. */
static void a_new_size_of_a_slower_kernel(void **state)
{
	struct trial t = {.earlier = 1};

	(void)state;
	add_many(&t, 1, "a", 40, 10000);
	add_many(&t, 2, "a", 40, 13000);
	for (int i = 0; i < 10; i++)
		add(&t, 2, "a", 26000)->shape = shape_of(&t.made, "a", 2);
	find(&t);
	found(&t, KC_SLOW_SIZE, 10, 10 * 10000);
	found(&t, KC_SLOW_SLOWER, 50, 40 * 3000 + 10 * 6000);
	end(&t);
}

static void new_arguments(void **state)
{
	struct trial t = {.earlier = 1};

	(void)state;
	for (int run = 1; run < 3; run++)
		for (int i = 0; i < 40; i++)
			add(&t, run, "a", 10000)->arguments = 1;
	for (int i = 0; i < 5; i++)
		add(&t, 2, "a", 25000)->arguments = 2;
	find(&t);
	found(&t, KC_SLOW_SIZE, 5, 5 * 15000);
	nothing_else(&t, 5, 5 * 15000);
	end(&t);
}

/* Without earlier runs: after 64 launches of one size it is a new one, after 20 it is not. */
static void a_size_that_comes_late(void **state)
{
	for (int early = 0; early < 2; early++) {
		struct trial t = {0};

		(void)state;
		add_many(&t, 2, "a", early ? 20 : 64, 10000);
		for (int i = 0; i < 20; i++)
			add(&t, 2, "a", 20000)->shape = shape_of(&t.made, "a", 2);
		find(&t);
		if (early)
			nothing_else(&t, 0, 0);
		else
			found(&t, KC_SLOW_SIZE, 20, 200000);
		end(&t);
	}
}

/* After 40 of 400 launches others are as usual as the first. */
static void a_size_of_the_first_quarter_is_no_new_one(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 40, 10000);
	for (int i = 0; i < 20; i++)
		add(&t, 2, "a", 20000)->shape = shape_of(&t.made, "a", 2);
	add_many(&t, 2, "a", 340, 10000);
	find(&t);
	nothing_else(&t, 0, 0);
	end(&t);
}

/* Every twelfth launch has other arguments and takes twice the time: each as it should. */
static void arguments_have_peers_of_their_own(void **state)
{
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 120; i++)
		add(&t, 2, "a", i % 12 ? 10000 : 20000)->arguments = i % 12 ? 1 : 2;
	find(&t);
	nothing_else(&t, 0, 0);
	end(&t);
}

/* Of two slow launches, one matches the filter, and all others are its peers. */
static void only_what_matches_is_judged(void **state)
{
	struct trial t = {0};
	struct kc_measured_moment *moments;

	(void)state;
	add_many(&t, 2, "a", 20, 10000);
	add_many(&t, 2, "a", 2, 30000);
	moments = t.made.runs[2].moments.at;
	for (int i = 0; i < 21; i++)
		moments[i].matches = 0;
	find(&t);
	found(&t, KC_SLOW_UNEXPLAINED, 1, 20000);
	nothing_else(&t, 1, 20000);
	assert_int_equal(t.slow.measured.launches, 1);
	end(&t);
}

/* Each after another kernel, so that there are seven peers and the first launch, which is none. */
static void the_first_launch_is_nobodys_peer(void **state)
{
	static const char *const others[] = {"s", "t", "u", "v", "w", "x", "y", "z"};
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 8; i++) {
		add(&t, 2, others[i], 5000);
		add(&t, 2, "a", 10000);
	}
	find(&t);
	assert_int_equal(t.slow.unknown.launches, 16);
	end(&t);
}

/* Three that can be each other's peers are too few; the fourth is the first launch. */
static void few_peers_tell_nothing(void **state)
{
	struct trial t = {0};

	(void)state;
	add_many(&t, 2, "a", 3, 10000);
	add(&t, 2, "a", 90000);
	find(&t);
	nothing_else(&t, 0, 0);
	assert_int_equal(t.slow.unknown.launches, 4);
	assert_true(near(t.slow.unknown.ns, 120000, 0.1));
	end(&t);
}

/* 10 us after one kernel, 20 us after another, five times in all: each as it should. */
static void positions_have_peers_of_their_own(void **state)
{
	struct trial t = {0};

	(void)state;
	for (int i = 0; i < 50; i++) {
		add(&t, 2, i % 10 ? "one" : "two", 5000);
		add(&t, 2, "a", i % 10 ? 10000 : 20000);
	}
	find(&t);
	nothing_else(&t, 0, 0);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launches_on_another_model_are_no_peers),
	    cmocka_unit_test(a_new_size_on_one_of_two_models),
	    cmocka_unit_test(a_new_launch_shape),
	    cmocka_unit_test(a_new_size_of_a_slower_kernel),
	    cmocka_unit_test(new_arguments),
	    cmocka_unit_test(a_size_that_comes_late),
	    cmocka_unit_test(a_size_of_the_first_quarter_is_no_new_one),
	    cmocka_unit_test(arguments_have_peers_of_their_own),
	    cmocka_unit_test(only_what_matches_is_judged),
	    cmocka_unit_test(the_first_launch_is_nobodys_peer),
	    cmocka_unit_test(few_peers_tell_nothing),
	    cmocka_unit_test(positions_have_peers_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
