/* What makes a difference, the largest part first. */
#include "contributors.h"
#include "tools/diff/diff_testing.h"

static const struct kc_diff_limits limits = {0.05, 1000};

static void contribute(struct made *m, struct kc_diff *d, struct kc_diff_contributors *out)
{
	double sum;

	compare(m, 1, d);
	check_sums(d);
	assert_int_equal(kc_diff_contributors(&m->names, d, &limits, out), 0);
	sum = out->rest.ns;
	for (size_t i = 0; i < out->count; i++) {
		const struct kc_diff_contributor *c = out->at + i;
		double parts =
		    c->duration_ns + c->count_ns + c->sizes_ns + c->positions_ns + c->overlap_ns + c->rest_ns;

		sum += c->ns;
		assert_true(near(c->total_ns[KC_NEW] - c->total_ns[KC_OLD], c->ns, 1));
		assert_true(!strcmp(c->why, "new") || !strcmp(c->why, "gone") || !strcmp(c->why, "replaced") ||
			    near(parts, c->ns, 1));
	}
	assert_true(near(sum, d->sums.difference, 1));
}

static void done(struct made *m, struct kc_diff *d, struct kc_diff_contributors *c)
{
	kc_diff_contributors_free(c);
	kc_diff_free(d);
	made_free(m);
}

static void check(const struct kc_diff_contributors *of, size_t i, const char *name, const char *why, double ns,
		  double by)
{
	assert_true(i < of->count);
	assert_string_equal(of->at[i].name, name);
	assert_string_equal(of->at[i].why, why);
	assert_true(near(of->at[i].ns, ns, by));
}

/* "a" 40 times 10 us more, "b" 40 times 2 us longer, "c" gone and "e" new, after other launches, 40 times 10 us each;
 * "d" as before. */
static void each_reason_is_named(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int i = 0; i < 40; i++)
		launch_each(&m, 0, "dacab");
	for (int i = 0; i < 40; i++) {
		launch_each(&m, 1, "daaae");
		launch(&m, 1, "b", 12000);
	}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 4);
	check(&c, 0, "a", "more_launches", 400000, 1);
	assert_string_equal(c.at[0].shown_launches, "80 → 120");
	assert_true(near(c.at[0].count_ns, 400000, 1));
	check(&c, 1, "c", "gone", -400000, 1);
	check(&c, 2, "e", "new", 400000, 1);
	check(&c, 3, "b", "slower", 80000, 1);
	done(&m, &d, &c);
}

/* "b" of 10 us, 40 times, makes way for "c" of 30 us after the same launches. */
static void what_comes_in_place_of_another_is_one(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int i = 0; i < 40; i++) {
		launch_each(&m, 0, "dab");
		launch_each(&m, 1, "da");
		launch(&m, 1, "c", 30000);
	}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 1);
	check(&c, 0, "c", "replaced", 40 * 20000, 1);
	assert_string_equal(c.at[0].replaced, "b");
	assert_string_equal(c.at[0].note, "in place of b");
	assert_true(near(c.at[0].launches[KC_OLD], 40, 0));
	done(&m, &d, &c);
}

/* 60 launches of one block, 10 us, become 60 of four, 30 us. */
static void other_sizes_are_told_from_more_launches(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int i = 0; i < 60; i++) {
		launch_each(&m, 0, "bak");
		launch_each(&m, 1, "ba");
		launch(&m, 1, "k", 30000)->shape = shape_of(&m, "k", 4);
	}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 1);
	check(&c, 0, "k", "other_sizes", 60 * 20000, 1);
	assert_true(near(c.at[0].sizes_ns, 60 * 20000, 1) && near(c.at[0].count_ns, 0, 1));
	assert_string_equal(c.at[0].shown_launches, "60");
	assert_null(c.at[0].note);
	done(&m, &d, &c);
}

/* Half as many launches, each half as long again: 100 of 10 us become 50 of 15 us. */
static void reasons_that_cancel_are_told(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int i = 0; i < 50; i++) {
		launch_each(&m, 0, "abkabk");
		launch_each(&m, 1, "abab");
		launch(&m, 1, "k", 15000);
	}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 1);
	check(&c, 0, "k", "fewer_launches", -250000, 1);
	assert_true(near(c.at[0].count_ns, -500000, 1) && c.at[0].duration_ns > 200000);
	assert_non_null(strstr(c.at[0].note, "fewer launches -500 µs, slower +2"));
	done(&m, &d, &c);
}

/* What took twice as long is named though two launches cannot tell it from chance, and 3 % of a kernel are below the
 * limits. */
static void what_cannot_be_told_is_named_where_it_is_much(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int i = 0; i < 100; i++) {
		launch(&m, 0, "a", 10000);
		launch(&m, 1, "a", 10300);
	}
	for (int i = 0; i < 2; i++) {
		launch(&m, 0, "rare", 400000);
		launch(&m, 1, "rare", 800000);
	}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 1);
	check(&c, 0, "rare", "too_few", 800000, 1);
	assert_int_equal(c.others, 1);
	assert_true(near(c.rest.ns, 30000, 1));
	done(&m, &d, &c);
}

/* The rows of the table add up, however few are listed. */
static void rows_that_are_cut_are_one_row(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int i = 0; i < 40; i++) {
		launch_each(&m, 0, "abcd");
		launch_each(&m, 1, "aaabbcd");
		launch(&m, 1, "d", 20000);
	}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 3);
	kc_diff_contributors_cut(&c, 1);
	assert_int_equal(c.count, 3);
	check(&c, 0, "a", "more_launches", 800000, 1);
	assert_string_equal(c.at[1].words, "2 more");
	assert_null(c.at[1].name);
	assert_null(c.at[2].name);
	assert_true(near(c.at[1].ns, 400000 + 40 * 20000, 1));
	assert_string_equal(c.at[2].words, "1 other");
	done(&m, &d, &c);
}

/* 40 launches alone, 20 us as before; 40 beside others, 25 us in place of 20. */
static void slower_only_when_overlapped(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 40; i++) {
			launch(&m, run, "k", 20000 + i % 5);
			launch_each(&m, run, "a");
			launch(&m, run, "k", (run ? 25000 : 20000) + i % 5)->overlap = KC_OVERLAP_BEHIND;
		}
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 1);
	check(&c, 0, "k", "slower_overlapped", 40 * 5000, 100);
	assert_true(near(d.kernels[0].company[KC_COMPANY_NONE].log_change, 0, 1e-4));
	assert_true(near(d.kernels[0].company[KC_COMPANY_SOME].log_change, log(1.25), 1e-4));
	done(&m, &d, &c);
}

enum { RANKS = 4, ROUNDS = 40 };

/* Three kernels of 20, 40 and 60 us on each of four ranks, times the rank's factor, and an all-reduce after them: 10
 * us, and what the rank waits for the slowest. */
static void rounds_of_ranks(struct made *m, int run, const double factors[RANKS])
{
	static const char *const kernels[] = {"a", "b", "c"};
	double most = 0;

	for (int r = 0; r < RANKS; r++)
		most = fmax(most, factors[r]);
	for (uint32_t r = 0; r < RANKS; r++)
		for (int i = 0; i < ROUNDS; i++) {
			for (int k = 0; k < 3; k++)
				launch_on(m, run, r, kernels[k], 20000 * (k + 1) * factors[r]);
			launch_on(m, run, r, "ncclAllReduce", 10000 + 120000 * (most - factors[r]));
		}
}

/* Rank 2 takes 1.25 times as long: 30 us a round, 1.2 ms, as long as each of the three others waits. */
static void a_slow_rank_is_one_and_those_who_wait_follow(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	rounds_of_ranks(&m, 0, (const double[]){1, 1, 1, 1});
	rounds_of_ranks(&m, 1, (const double[]){1, 1, 1.25, 1});
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 2);
	check(&c, 0, "3 kernels on rank 2", "slower_process", ROUNDS * 30000, 40000);
	assert_true(near(c.at[0].change, 0.25, 0.01));
	check(&c, 1, "ncclAllReduce", "waiting", 3 * ROUNDS * 30000, 60000);
	assert_string_equal(c.at[1].process, "rank 2");
	assert_string_equal(c.at[1].note, "of others, for rank 2");
	assert_int_equal(kernel_named(&m, &d, "a on rank 2")->what, KC_DIFF_SLOWER);
	done(&m, &d, &c);
}

/* Beside the slow rank, 40 launches of each kernel by processes without names, as before: no part of the rank. */
static void launches_of_no_rank_are_none_of_a_slow_one(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	rounds_of_ranks(&m, 0, (const double[]){1, 1, 1, 1});
	rounds_of_ranks(&m, 1, (const double[]){1, 1, 1.25, 1});
	for (int run = 0; run < 2; run++)
		launch_times(&m, run, 40, "abc");
	contribute(&m, &d, &c);
	assert_int_equal(kernel_named(&m, &d, "a on other processes")->process, 0);
	assert_int_equal(c.count, 2);
	check(&c, 0, "3 kernels on rank 2", "slower_process", ROUNDS * 30000, 40000);
	check(&c, 1, "ncclAllReduce", "waiting", 3 * ROUNDS * 30000, 60000);
	done(&m, &d, &c);
}

/* Of a rank whose name is 1,200 bytes long, the line's name has all. */
static void long_names_of_processes_are_whole(void **state)
{
	static char long_name[1201], wanted[1300];
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;
	char **name;

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	snprintf(wanted, sizeof(wanted), "3 kernels on %s", long_name);
	rounds_of_ranks(&m, 0, (const double[]){1, 1, 1, 1});
	rounds_of_ranks(&m, 1, (const double[]){1, 1, 1.25, 1});
	name = (char **)m.names.processes.at + 2;
	free(*name);
	*name = strdup(long_name);
	contribute(&m, &d, &c);
	check(&c, 0, wanted, "slower_process", ROUNDS * 30000, 40000);
	assert_string_equal(c.at[1].process, long_name);
	done(&m, &d, &c);
}

/* "c" lost 40 times 12 us on rank 1, "a", which is launched more often, 80 times 4 us on rank 2: the others wait for
 * rank 1, 12 us a round, and rank 2 waits 4 us, whatever the order of the kernels. */
static void what_lost_most_is_waited_for_in_any_order(void **state)
{
	static const double of_a[RANKS] = {20000, 20000, 24000, 20000}, of_c[RANKS] = {60000, 72000, 60000, 60000};
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (uint32_t r = 0; r < RANKS; r++)
			for (int i = 0; i < ROUNDS; i++) {
				double a = of_a[run ? r : 0], last = of_c[run ? r : 0];

				launch_on(&m, run, r, "a", a);
				launch_on(&m, run, r, "a", a);
				launch_on(&m, run, r, "c", last);
				launch_on(&m, run, r, "ncclAllReduce", 10000 + (run ? 112000 - 2 * a - last : 0));
			}
	for (enum kc_sort by = KC_SORT_TIME; by <= KC_SORT_LOST; by++) {
		compare(&m, 1, &d);
		kc_diff_sort(&d, by);
		assert_int_equal(kc_diff_contributors(&m.names, &d, &limits, &c), 0);
		assert_int_equal(c.count, 3);
		check(&c, 0, "c on rank 1", "slower", ROUNDS * 12000, 40000);
		check(&c, 1, "ncclAllReduce", "waiting", ROUNDS * (12000 + 4000 + 12000), 60000);
		assert_string_equal(c.at[1].process, "rank 1");
		check(&c, 2, "a on rank 2", "slower", ROUNDS * 8000, 30000);
		kc_diff_contributors_free(&c);
		kc_diff_free(&d);
	}
	made_free(&m);
}

/* All ranks became slower: kernels did, no rank. */
static void ranks_that_change_alike_are_none(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	rounds_of_ranks(&m, 0, (const double[]){1, 1, 1, 1});
	rounds_of_ranks(&m, 1, (const double[]){1.25, 1.25, 1.25, 1.25});
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 3);
	check(&c, 0, "c", "slower", RANKS * ROUNDS * 15000, 60000);
	check(&c, 2, "a", "slower", RANKS * ROUNDS * 5000, 30000);
	done(&m, &d, &c);
}

/* A rank that was slow before is slow now: nothing changed. */
static void a_rank_that_stays_slow_is_none(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	struct kc_diff_contributors c;

	(void)state;
	for (int run = 0; run < 2; run++)
		rounds_of_ranks(&m, run, (const double[]){1, 1, 1.25, 1});
	contribute(&m, &d, &c);
	assert_int_equal(c.count, 0);
	assert_int_equal(reported(&d), 0);
	done(&m, &d, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_reason_is_named),
	    cmocka_unit_test(what_comes_in_place_of_another_is_one),
	    cmocka_unit_test(other_sizes_are_told_from_more_launches),
	    cmocka_unit_test(reasons_that_cancel_are_told),
	    cmocka_unit_test(what_cannot_be_told_is_named_where_it_is_much),
	    cmocka_unit_test(rows_that_are_cut_are_one_row),
	    cmocka_unit_test(slower_only_when_overlapped),
	    cmocka_unit_test(a_slow_rank_is_one_and_those_who_wait_follow),
	    cmocka_unit_test(launches_of_no_rank_are_none_of_a_slow_one),
	    cmocka_unit_test(long_names_of_processes_are_whole),
	    cmocka_unit_test(what_lost_most_is_waited_for_in_any_order),
	    cmocka_unit_test(ranks_that_change_alike_are_none),
	    cmocka_unit_test(a_rank_that_stays_slow_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
