#include "cells_testing.h"

enum { EIGHT_MIB = 8 << 20 };
#define ALL_KINDS ((1u << KC_CONTEXT_ANY) - 1)

static void nothing_is_known_at_first(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(recall(&f, 1, context_of(1)).known, 0);
	assert_int_equal(learn(&f, 1, context_of(1), 1000).known, 0);
	assert_int_equal(recall(&f, 2, context_of(1)).known, 0);
	free(f.cells);
}

static void one_measurement_is_what_is_known(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, context_of(1), 1000);
	r = recall(&f, 1, context_of(1));
	assert_int_equal(r.known, ALL_KINDS);
	assert_true(is_within(ns_of(&r), 1000, 1e-4));
	assert_true(r.spread > 0 && r.spread < 1);
	/* After another launch: only of the shape, whatever context, and that it is the first of its kind. */
	r = recall(&f, 1, context_of(2));
	assert_int_equal(r.known, 1u << KC_CONTEXT_SHAPE | 1u << KC_CONTEXT_SINCE);
	assert_true(is_within(ns_of(&r), 1000, 1e-4));
	free(f.cells);
}

/* 1,000 ns after launch 1, 2,000 ns after launch 2, alternately: what came before tells them apart. */
static void durations_that_alternate(void **state)
{
	struct kc_context_estimate one, two, unknown;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 50; i++)
		learn(&f, 1, context_of(1 + i % 2), i % 2 ? 2000 : 1000);
	one = recall(&f, 1, context_of(1));
	two = recall(&f, 1, context_of(2));
	unknown = recall(&f, 1, context_of(3));
	assert_true(is_within(ns_of(&one), 1000, 0.01));
	assert_true(is_within(ns_of(&two), 2000, 0.01));
	assert_true(ns_of(&unknown) >= 999 && ns_of(&unknown) <= 2001);
	/* Nothing that is said of the shape alone is nearer than a factor of the root of 2 to both. */
	assert_true(one.spread < 0.01f && two.spread < 0.01f && unknown.spread > 0.1f);
	free(f.cells);
}

/* 2,000 ns after launch 1, but 1,000 ns where that was the very first one: once is enough to know. */
static void the_start_of_a_history(void **state)
{
	uint64_t start = context_after(1, 0);
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, start, 1000);
	for (uint32_t i = 0; i < 50; i++)
		learn(&f, 1, context_of(1), 2000);
	r = recall(&f, 1, start);
	assert_int_equal(r.known, 1u << KC_CONTEXT_LAST_32);
	assert_true(is_within(ns_of(&r), 1000, 1e-4));
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), 2000, 0.01));
	assert_int_equal(learn(&f, 1, start, 1020).known, 1u << KC_CONTEXT_LAST_32);
	/* When it is another each time, it is one context among others. */
	learn(&f, 1, start, 3000);
	for (uint32_t i = 0; i < 20; i++)
		learn(&f, 1, context_of(1), 2000);
	r = recall(&f, 1, start);
	assert_int_equal(r.known, ALL_KINDS);
	assert_true(is_within(ns_of(&r), 2000, 0.02));
	free(f.cells);
}

/* Another program's first launches are not taken for this one's, though few names tell starts apart. */
static void another_start(void **state)
{
	struct kc_history h;
	struct fixture f;

	(void)state;
	begin(&f);
	kc_history_init(&h, 0);
	for (uint64_t n = 1; n <= 5; n++)
		kc_history_add(&h, OTHERS | n, 0, 0);
	learn(&f, 1, context_in(&h, 1, 0, 0), 1000);
	for (uint64_t other = 1; other <= 1000; other++) {
		kc_history_init(&h, 0);
		for (uint64_t n = 1; n <= 5; n++)
			kc_history_add(&h, OTHERS | 100 * other | n, 0, 0);
		assert_int_not_equal(recall(&f, 1, context_in(&h, 1, 0, 0)).known, 1u << KC_CONTEXT_LAST_32);
	}
	free(f.cells);
}

/* Where the code tells the work, other arguments say nothing; what was learned without the code holds. */
static void counted_launches_know_what_was_learned_without_the_code(void **state)
{
	struct kc_context_estimate r, before;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 20; i++)
		kc_cells_learn(f.cells, &f.estimators, &(struct kc_name){1, 7}, context_of(1), logf(1000), &before);
	kc_cells_estimate(f.cells, &(struct kc_name){1, 0}, context_of(2), &r);
	assert_int_equal(r.known, 1u << KC_CONTEXT_SHAPE | 1u << KC_CONTEXT_SINCE);
	kc_cells_estimate(f.cells, &(struct kc_name){2, 0}, context_of(2), &r);
	assert_int_equal(r.known, 0);
	free(f.cells);
}

/* One shape given 1 takes 1,000 ns, given 2 takes 2,000 ns; given 3, which never was, it takes about what it took last.
 */
static void arguments(void **state)
{
	struct kc_context_estimate r, before;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 40; i++) {
		struct kc_name name = {.launch = 1 + i % 2, .shape = 7};

		kc_cells_learn(f.cells, &f.estimators, &name, context_of(1), logf(i % 2 ? 2000 : 1000), &before);
	}
	for (uint32_t given = 1; given <= 2; given++) {
		kc_cells_estimate(f.cells, &(struct kc_name){.launch = given, .shape = 7}, context_of(1), &r);
		assert_int_equal(r.known, ALL_KINDS | 1u << KC_CONTEXT_ANY);
		assert_true(is_within(ns_of(&r), 1000 * given, 0.01));
	}
	kc_cells_estimate(f.cells, &(struct kc_name){.launch = 3, .shape = 7}, context_of(1), &r);
	assert_int_equal(r.known, 1u << KC_CONTEXT_ANY);
	assert_true(ns_of(&r) > 999 && ns_of(&r) < 2001);
	/* Not known what it is given: the same. */
	r = recall(&f, 7, context_of(1));
	assert_int_equal(r.known, 1u << KC_CONTEXT_SHAPE);
	assert_true(ns_of(&r) > 999 && ns_of(&r) < 2001);
	free(f.cells);
}

/* Every 10th takes ten times as long: the median does not follow. */
static void outliers(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 200; i++)
		learn(&f, 1, context_of(1), i % 10 == 9 ? 10000 : 1000);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), 1000, 0.05));
	free(f.cells);
}

/* From 1,000 to 3,000 ns for good: a new clock. */
static void changes_for_good(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 100; i++)
		learn(&f, 1, context_of(1), 1000);
	for (uint32_t i = 0; i < 5; i++)
		learn(&f, 1, context_of(1), 3000);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), 3000, 0.1));
	free(f.cells);
}

/* Each takes 2 % longer than the one before: carried on, the next is 1.02 times the last. */
static void trends(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;
	double ns = 1000;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 100; i++, ns *= 1.02)
		learn(&f, 1, context_of(1), ns);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), ns, 0.005));
	free(f.cells);
}

static void what_learning_says_of_before_is_what_recalling_said(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 30000; i++) {
		uint64_t identity = i < 1000 ? 1 + i % 7 : i, context = context_of(1 + i * i % 5);
		struct kc_context_estimate predicted = recall(&f, identity, context), before;

		before = learn(&f, identity, context, 1000 + 37 * (i % 11));
		assert_int_equal(predicted.known, before.known);
		if (predicted.known) {
			assert_float_equal(predicted.log_ns, before.log_ns, 0);
			assert_float_equal(predicted.spread, before.spread, 0);
		}
	}
	free(f.cells);
}

static void any_duration(void **state)
{
	static const double durations[] = {1, 1e18, 1, 1e9, 1e18, 1e18, 1};
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 700; i++) {
		struct kc_context_estimate r;

		learn(&f, 1, context_of(1), durations[i % 7]);
		r = recall(&f, 1, context_of(1));
		assert_true(isfinite(r.log_ns) && r.log_ns > -42 && r.log_ns < 84);
		assert_true(isfinite(r.spread) && r.spread > 0);
	}
	free(f.cells);
}

/* A loop of 20 shapes, each in three contexts, while a million launches come each with a shape and a context of its
 * own: the table stays as large as it is, and the loop's are not forgotten. */
static void a_million_contexts(void **state)
{
	enum { ONCE = 1000000, EVERY = 20, SHAPES = 20, CONTEXTS = 3, FIRST_ONCE = 1000 };
	uint32_t repeats = 0, known = 0;
	char *guarded;
	struct fixture f;

	(void)state;
	assert_true(kc_cells_bytes() <= EIGHT_MIB);
	guarded = malloc(kc_cells_bytes() + 4096);
	assert_non_null(guarded);
	memset(guarded, 0, kc_cells_bytes());
	memset(guarded + kc_cells_bytes(), 0x5a, 4096);
	f.cells = (struct kc_cells *)guarded;
	kc_cells_init(f.cells);
	kc_estimators_init(&f.estimators);
	for (uint64_t i = 0; i < ONCE; i++) {
		uint64_t shape = 1 + repeats % SHAPES, context;

		learn(&f, FIRST_ONCE + i, context_of(FIRST_ONCE + i), 5000);
		if (i % EVERY)
			continue;
		context = context_of(1 + repeats / SHAPES % CONTEXTS);
		learn(&f, shape, context, (double)(1000 * shape) * (double)(1 + repeats / SHAPES % CONTEXTS));
		repeats++;
	}
	for (uint64_t shape = 1; shape <= SHAPES; shape++) {
		for (uint64_t c = 1; c <= CONTEXTS; c++) {
			struct kc_context_estimate r = recall(&f, shape, context_of(c));

			known += r.known == ALL_KINDS && is_within(ns_of(&r), (double)(1000 * shape * c), 0.02);
		}
	}
	assert_int_equal(known, SHAPES * CONTEXTS);
	for (uint32_t i = 0; i < 4096; i++)
		assert_int_equal(guarded[kc_cells_bytes() + i], 0x5a);
	free(guarded);
}

/* A cell met once is taken to be half as far off as 10 %: four digests in each of seven kinds of context weigh
 * 1 / (0.05 + 0.003)³, and the error to expect is the inverse cube root of their sum (which is worked out to 4 %). */
static void what_is_expected_of_a_new_cell(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, context_of(1), 1000);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(r.spread, 0.053 / cbrt(4 * 7), 0.05));
	free(f.cells);
}

/* 1,000 ns for long, then a tenth less. All four digests were 10 % off, which is a thirtieth of their error now: they
 * weigh the same. The last duration is there, the trend once as far again, the median moves by 0.3 of its error and the
 * lower quartile by half as much again. */
static void one_miss_after_many_hits(void **state)
{
	double step = log(1.1), error = 0.1 / 30;
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 1000; i++)
		learn(&f, 1, context_of(1), 1000);
	learn(&f, 1, context_of(1), 1000 / 1.1);
	r = recall(&f, 1, context_of(1));
	assert_float_equal((double)r.log_ns - log(1000), -(step + 2 * step + 0.3 * error + 0.45 * error) / 4, 2e-5);
	assert_true(is_within(r.spread, (error + 0.003) / cbrt(4 * 7), 0.05));
	free(f.cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_known_at_first),
	    cmocka_unit_test(one_measurement_is_what_is_known),
	    cmocka_unit_test(durations_that_alternate),
	    cmocka_unit_test(the_start_of_a_history),
	    cmocka_unit_test(another_start),
	    cmocka_unit_test(counted_launches_know_what_was_learned_without_the_code),
	    cmocka_unit_test(arguments),
	    cmocka_unit_test(outliers),
	    cmocka_unit_test(changes_for_good),
	    cmocka_unit_test(trends),
	    cmocka_unit_test(what_learning_says_of_before_is_what_recalling_said),
	    cmocka_unit_test(any_duration),
	    cmocka_unit_test(a_million_contexts),
	    cmocka_unit_test(what_is_expected_of_a_new_cell),
	    cmocka_unit_test(one_miss_after_many_hits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
