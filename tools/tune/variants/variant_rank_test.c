#include "variant_rank.h"

#include "predictor/math/number_testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 8 };

/* One parameter, whose values are 1, 2, 4, …; all need FP32 units alone, so they are alike but for it. */
struct made {
	struct kc_variants variants;
	struct kc_variant at[MOST];
	const char *values[MOST];
	struct kc_variant_ranking ranking;
};

static void make(struct made *made, const double *estimated_ns, const double *measured_ns, uint32_t count)
{
	static const char *const powers[MOST] = {"1", "2", "4", "8", "16", "32", "64", "128"};

	*made = (struct made){.variants = {.names = {"tile"}, .parameters = 1, .at = made->at, .count = count}};
	for (uint32_t i = 0; i < count; i++) {
		struct kc_variant *variant = &made->at[i];

		made->values[i] = powers[i];
		variant->values = &made->values[i];
		variant->measured_ns = measured_ns[i];
		variant->times.resources.total_ns = estimated_ns[i];
		variant->times.resources.ns[KC_RESOURCE_FP32] = estimated_ns[i];
		variant->times.low_ns = estimated_ns[i] / 3;
		variant->times.high_ns = estimated_ns[i] * 3;
	}
	assert_int_equal(kc_variants_rank(&made->variants, &made->ranking), 0);
}

static void expect_places(const uint32_t *places, uint32_t count, const uint32_t *wanted, uint32_t wanted_count)
{
	assert_int_equal(count, wanted_count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(places[i], wanted[i]);
}

/* Nothing was timed: the estimates as they are. e^(1.282 · √2 · 0.21) = 1.463 is what is as good as the first. */
static void estimates_are_ranked_as_they_are(void **state)
{
	const double estimated[] = {300, 146, 100, 147, 500, 600, 700};
	const double none[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
	struct made made;

	(void)state;
	make(&made, estimated, none, 7);
	expect_places(made.ranking.order, made.ranking.count, (const uint32_t[]){2, 1, 3, 0, 4, 5, 6}, 7);
	expect_places(made.ranking.next, made.ranking.next_count, (const uint32_t[]){2, 1, 3, 0, 4}, 5);
	assert_int_equal(made.ranking.as_good, 2);
	assert_int_equal(made.ranking.best, 7);
	assert_float_equal(made.at[2].ns, 100, 1e-9);
	assert_float_equal(made.at[2].low_ns, 100 / 3.0, 1e-9);
	assert_float_equal(made.at[2].high_ns, 300, 1e-9);
	kc_variant_ranking_free(&made.ranking);
}

/*
 * One of two was timed, and took twice its estimate. They are as far apart as the parameter's whole range: e^-1/2 =
 * 0.606531. What they have in common is 1 + 0.09 · 0.606531 = 1.054588, and each has 1 + 0.09 + 0.01 = 1.1. So the
 * other one takes 2^(1.054588 / 1.1) = 1.943581 times as long as estimated, with a variance of 1.1 - 1.054588² / 1.1 =
 * 0.088950.
 */
static void one_time_corrects_what_is_like_it(void **state)
{
	const double estimated[] = {100, 100}, measured[] = {200, NAN};
	double deviation = sqrt(1.1 - 1.054588 * 1.054588 / 1.1), low;
	struct made made;

	(void)state;
	make(&made, estimated, measured, 2);
	assert_float_equal(made.at[1].ns, 194.3581, 1e-3);
	assert_float_equal(made.at[1].deviation, deviation, 1e-4);
	low = 194.3581 * exp(-1.645 * deviation);
	assert_float_equal(made.at[1].low_ns, low, 1e-2);
	assert_float_equal(made.at[1].high_ns, 194.3581 * exp(1.645 * deviation), 1e-2);
	assert_int_equal(made.ranking.best, 0);
	assert_int_equal(made.ranking.timed, 1);
	assert_int_equal(made.ranking.may_be_better, 1);
	assert_float_equal(made.ranking.most_gain, 1 - low / 200, 1e-4);
	kc_variant_ranking_free(&made.ranking);
}

/* Two that took twice their estimates with one between them, and two that took half of them beyond: those near the
 * slow ones are expected to be slower than estimated, those near the fast ones faster. */
static void what_is_nearer_counts_more(void **state)
{
	const double estimated[] = {100, 100, 100, 100, 100, 100}, measured[] = {200, NAN, 200, 50, NAN, 50};
	struct made made;

	(void)state;
	make(&made, estimated, measured, 6);
	assert_true(made.at[1].ns > 1.1 * made.at[4].ns);
	assert_int_equal(made.ranking.next[0], 4);
	kc_variant_ranking_free(&made.ranking);
}

/* If another one is expected to take the best time itself, with σ² = 0.088950 and Φ(-σ) = 0.382758, its gain is
 * 1/2 - e^(σ²/2) · 0.382758 = 0.099835. However fast it is expected to be, it is no more than the whole time. */
static void what_is_expected_to_be_gained(void **state)
{
	const double measured[] = {200, NAN};
	struct made made;

	(void)state;
	for (int faster = 0; faster < 2; faster++) {
		const double estimated[] = {100, (faster ? 1 : 100) * 200 / 194.3581};

		make(&made, estimated, measured, 2);
		assert_float_equal(made.at[1].ns, faster ? 2 : 200, 1e-2);
		if (faster)
			assert_true(made.ranking.gain > 0.98 && made.ranking.gain < 0.99);
		else
			assert_float_equal(made.ranking.gain, 0.099835, 1e-5);
		kc_variant_ranking_free(&made.ranking);
	}
}

/* e^(1.645 · √0.088950) = 1.633: a variant that is expected to take 1.63 times the best time may still be better, one
 * that is expected to take 1.64 times as long not. */
static void nothing_better_only_beyond_the_error(void **state)
{
	const double measured[] = {200, NAN};
	struct made made;

	(void)state;
	for (int beyond = 0; beyond < 2; beyond++) {
		const double estimated[] = {100, 100 * (beyond ? 1.64 : 1.63) * 200 / 194.3581};

		make(&made, estimated, measured, 2);
		assert_int_equal(made.ranking.may_be_better, !beyond);
		assert_true(beyond ? made.ranking.gain == 0 : made.ranking.gain > 0);
		assert_int_equal(made.ranking.next_count, 1);
		kc_variant_ranking_free(&made.ranking);
	}
}

/* What cannot run, what is not known and what failed is not named; what was timed without an estimate is in the
 * order. */
static void only_what_may_be_timed_is_named(void **state)
{
	const double estimated[] = {0, 0, 100, 0, 200}, measured[] = {NAN, NAN, NAN, 150, NAN};
	struct made made;

	(void)state;
	make(&made, estimated, measured, 5);
	kc_variant_ranking_free(&made.ranking);
	made.at[0].state = KC_VARIANT_CANNOT_RUN;
	made.at[1].state = KC_VARIANT_UNKNOWN;
	made.at[2].state = KC_VARIANT_FAILED;
	made.at[3].state = KC_VARIANT_UNKNOWN;
	assert_int_equal(kc_variants_rank(&made.variants, &made.ranking), 0);
	expect_places(made.ranking.order, made.ranking.count, (const uint32_t[]){3, 4}, 2);
	expect_places(made.ranking.next, made.ranking.next_count, (const uint32_t[]){4}, 1);
	assert_int_equal(made.ranking.cannot_run, 1);
	assert_int_equal(made.ranking.unknown, 2);
	assert_int_equal(made.ranking.failed, 1);
	assert_int_equal(made.ranking.best, 3);
	kc_variant_ranking_free(&made.ranking);
}

/* Words are alike or not, whatever their letters. */
static void words_are_alike_or_not(void **state)
{
	const double estimated[] = {100, 100, 100}, measured[] = {200, NAN, NAN};
	struct made made;

	(void)state;
	make(&made, estimated, measured, 3);
	kc_variant_ranking_free(&made.ranking);
	made.values[0] = made.values[1] = "row";
	made.values[2] = "column";
	assert_int_equal(kc_variants_rank(&made.variants, &made.ranking), 0);
	assert_float_equal(made.at[1].ns, 100 * pow(2, 1.09 / 1.1), 1e-3);
	assert_float_equal(made.at[2].ns, 194.3581, 1e-3);
	kc_variant_ranking_free(&made.ranking);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(estimates_are_ranked_as_they_are),
	    cmocka_unit_test(one_time_corrects_what_is_like_it),
	    cmocka_unit_test(what_is_nearer_counts_more),
	    cmocka_unit_test(what_is_expected_to_be_gained),
	    cmocka_unit_test(nothing_better_only_beyond_the_error),
	    cmocka_unit_test(only_what_may_be_timed_is_named),
	    cmocka_unit_test(words_are_alike_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
