#include "causes.h"
#include "tools/diff/diff_testing.h"

#include "store/database/schema.h"

#define RUNS 3

/* Runs of one process each. Launches follow one another, 1 us apart, unless said otherwise. */
struct trial {
	struct made made; /* runs[0] and [1]: earlier ones */
	int64_t ends_ns[RUNS];
	size_t earlier;
	struct kc_slow_runs runs;
	struct kc_diff diff;
	struct kc_slow slow;
};

static struct kc_measured_launch *add(struct trial *t, int run, const char *kernel, double ns)
{
	struct kc_measured_run *to = t->made.runs + run;
	struct kc_measured_launch *l = launch(&t->made, run, kernel, ns);
	struct kc_measured_moment *moment = kc__list_add(&to->moments, sizeof(*moment));

	assert_non_null(moment);
	*moment = (struct kc_measured_moment){.id = INT64_C(1) << KC_SEQUENCE_BITS | (int64_t)to->launches.count,
					      .start_ns = t->ends_ns[run] + 1000,
					      .matches = 1,
					      .device = 1};
	t->ends_ns[run] = moment->start_ns + llround(ns);
	return l;
}

/* On a GPU of the first or second model. */
static struct kc_measured_launch *add_on(struct trial *t, int run, uint32_t model, uint32_t blocks, double ns)
{
	struct kc_measured_launch *l = add(t, run, "a", ns);
	struct kc_measured_shape shape = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}};

	shape.model = kc_intern(&t->made.names.model_ids, 'm', &model, sizeof(model));
	assert_int_equal(kc_measured_kernel_number(&t->made.names, "a", "a", &shape.kernel), 0);
	assert_int_equal(kc_measured_shape_number(&t->made.names, &shape, &l->shape), 0);
	l->stream = model;
	return l;
}

static void add_many(struct trial *t, int run, const char *kernel, int count, double ns)
{
	for (int i = 0; i < count; i++)
		add(t, run, kernel, ns);
}

/* A launch of `kernel`, and one of `other` that begins with it. */
static void add_overlapped(struct trial *t, int run, const char *kernel, double ns, const char *other, double other_ns)
{
	struct kc_measured_moment *moments;
	size_t count;

	add(t, run, kernel, ns)->overlap = KC_OVERLAP_BEHIND;
	add(t, run, other, other_ns)->overlap = KC_OVERLAP_BEHIND;
	((struct kc_measured_launch *)t->made.runs[run].launches.at)[t->made.runs[run].launches.count - 1].stream = 2;
	moments = t->made.runs[run].moments.at;
	count = t->made.runs[run].moments.count;
	moments[count - 1].start_ns = moments[count - 2].start_ns;
}

/* Run 2 is judged by the runs before it. */
static void find_past(struct trial *t, double over)
{
	const struct kc_diff_limits limits = {over, 1000};
	const struct kc_diff_input inputs[KC_SIDES] = {{t->made.runs + 2 - t->earlier, t->earlier, NULL},
						       {t->made.runs + 2, 1, NULL}};

	t->runs = (struct kc_slow_runs){&t->made.names, inputs[KC_OLD].runs, t->earlier, t->made.runs + 2};
	if (t->earlier)
		assert_int_equal(kc_diff_compare(&t->made.names, inputs, &limits, &t->diff), 0);
	assert_int_equal(kc_slow_find(&t->runs, t->earlier ? &t->diff : NULL, &limits, &t->slow), 0);
}

static void find(struct trial *t)
{
	find_past(t, 0.05);
}

static void end(struct trial *t)
{
	kc_slow_free(&t->slow);
	kc_diff_free(&t->diff);
	made_free(&t->made);
}

static void found(const struct trial *t, enum kc_slow_cause cause, uint64_t launches, double lost_ns)
{
	assert_int_equal(t->slow.causes[cause].launches, launches);
	if (!near(t->slow.causes[cause].ns, lost_ns, lost_ns * 1e-4 + 0.1))
		fail_msg("%s lost %.1f ns, not %.1f", kc_slow_cause_name(cause), t->slow.causes[cause].ns, lost_ns);
}

static void nothing_else(const struct trial *t, uint64_t launches, double lost_ns)
{
	assert_int_equal(t->slow.lost.launches, launches);
	assert_int_equal(t->slow.found_count, launches);
	assert_true(near(t->slow.lost.ns, lost_ns, lost_ns * 1e-4 + 0.1));
}

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
	    cmocka_unit_test(launches_on_another_model_are_no_peers),
	    cmocka_unit_test(a_new_size_on_one_of_two_models),
	    cmocka_unit_test(the_first_launch),
	    cmocka_unit_test(overlapped_launches),
	    cmocka_unit_test(overlap_explains_no_more_than_its_time),
	    cmocka_unit_test(overlap_with_what_began_before),
	    cmocka_unit_test(what_should_be_follows_the_level_of_the_run),
	    cmocka_unit_test(a_size_of_the_first_quarter_is_no_new_one),
	    cmocka_unit_test(arguments_have_peers_of_their_own),
	    cmocka_unit_test(only_what_matches_is_judged),
	    cmocka_unit_test(scatter_is_not_slow),
	    cmocka_unit_test(overlapped_launches_are_judged_together),
	    cmocka_unit_test(the_limit_is_what_was_asked_for),
	    cmocka_unit_test(the_first_launch_is_nobodys_peer),
	    cmocka_unit_test(slower_than_in_earlier_runs),
	    cmocka_unit_test(two_causes_in_one_launch),
	    cmocka_unit_test(a_new_launch_shape),
	    cmocka_unit_test(a_new_size_of_a_slower_kernel),
	    cmocka_unit_test(new_arguments),
	    cmocka_unit_test(a_size_that_comes_late),
	    cmocka_unit_test(drift_within_the_run),
	    cmocka_unit_test(small_losses_are_none),
	    cmocka_unit_test(few_peers_tell_nothing),
	    cmocka_unit_test(what_never_runs_alone_is_counted),
	    cmocka_unit_test(positions_have_peers_of_their_own),
	    cmocka_unit_test(a_process_slower_than_another),
	    cmocka_unit_test(what_waits_for_a_slower_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
