#include "prior_table.h"
#include "rivals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES "cuda_tests/prior/samples.tsv" /* of scripts/train-prior */
#define LARGEST_TABLE 102400

static uint64_t words_of(char *text)
{
	uint64_t words = 0;
	char *word;

	while ((word = strsep(&text, " \n"))) {
		for (uint32_t i = 0; i < KC_PRIOR_WORDS; i++)
			words |= kc_prior_words[i] == kc_word_hash(word, strlen(word)) ? UINT64_C(1) << i : 0;
	}
	return words;
}

/* Its leaves are rounded: by 1e-5 each at most. */
static void trees_say_what_lightgbm_says(void **state)
{
	FILE *file = fopen(SAMPLES, "r");
	float traits[KC_TRAITS];
	char line[2048];
	int rows = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *at = line;
		double told = strtod(at, &at);

		for (int i = 0; i < KC_TRAITS; i++)
			traits[i] = strtof(at, &at);
		assert_float_equal(kc_prior_ask(traits, words_of(at + strspn(at, "\t"))), told, 2e-3);
		rows++;
	}
	fclose(file);
	assert_true(rows >= 60);
}

static void the_table_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(kc_prior_words) + sizeof(kc_prior_limits_at) + sizeof(kc_prior_limits) +
			sizeof(kc_prior_nodes) + sizeof(kc_prior_leaves) <=
		    LARGEST_TABLE);
}

static float log_ns_of(const char *name, uint32_t blocks)
{
	const struct kc_device *device = kc_device_builtin("a100");
	struct kc_resources resources = {.registers = 32};
	struct kc_shape shape = {.grid = {blocks, 1, 1}, .block = {256, 1, 1}};
	struct kc_name_traits traits;
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, device, &resources, &shape, 0), 0);
	kc_name_read(&traits, name);
	return kc_prior_log_ns(device, &work, &shape, &traits);
}

/* The trees are told that it grows with waves, blocks and threads. */
static void traits_that_grow_never_make_it_faster(void **state)
{
	float traits[KC_TRAITS] = {0}, before = -INFINITY;

	(void)state;
	for (int i = 0; i <= 60; i++) {
		float now;

		traits[KC_TRAIT_WAVES] = -6 + 0.2f * (float)i;
		traits[KC_TRAIT_BLOCKS] = 0.2f * (float)i;
		traits[KC_TRAIT_THREADS] = traits[KC_TRAIT_BLOCKS] + 5.5f;
		traits[KC_TRAIT_NOMINAL] = traits[KC_TRAIT_TRAFFIC] = traits[KC_TRAIT_THREADS];
		now = kc_prior_ask(traits, 0);
		assert_true(now >= before);
		before = now;
	}
}

/* 2^26 threads of an elementwise kernel write 256 MiB or more: not below 50 µs at 2 TB/s; a block takes few µs. */
static void sizes_matter(void **state)
{
	const char *name = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)";

	(void)state;
	assert_true(log_ns_of(name, 1u << 18) > logf(50000));
	assert_true(log_ns_of(name, 1) < logf(20000));
}

static struct kc_solo lambda_says(int64_t ns)
{
	return (struct kc_solo){.ns = ns, .half_width = 3, .model = KC_MODEL_BSP_DEVICE};
}

static void families_that_it_does_not_know_keep_the_guess_by_lambda(void **state)
{
	static struct kc_rivals rivals;
	struct kc_name_traits name;
	struct kc_solo solo = lambda_says(5000);

	(void)state;
	kc_rivals_init(&rivals);
	kc_name_read(&name, "vectorAdd(float*)");
	kc_rivals_mix(&rivals, &name, logf(99000), &solo);
	assert_in_range(solo.ns, 4999, 5001);
	assert_int_equal(solo.model, KC_MODEL_BSP_DEVICE);
}

static void the_prior_is_believed_until_it_proves_wrong(void **state)
{
	static struct kc_rivals rivals;
	struct kc_name_traits name;
	struct kc_solo solo = lambda_says(5000), lambda = lambda_says(5000);
	struct kc_correction_lesson lesson = {0};

	(void)state;
	kc_rivals_init(&rivals);
	kc_name_read(&name, "ampere_sgemm_64x64_nn");
	kc_rivals_mix(&rivals, &name, logf(99000), &solo); /* 100 µs */
	assert_int_equal(solo.model, KC_MODEL_PRIOR);
	assert_true(solo.ns > 80000 && solo.low_ns < solo.ns && solo.high_ns > solo.ns);
	for (int i = 0; i < 60; i++) /* what it says has nothing to do with what is measured; λ is right */
		kc_rivals_learn(&rivals, &name, logf(i % 2 ? 2e3f : 2e7f), &lambda, 5000, 1, &lesson);
	solo = lambda_says(5000);
	kc_rivals_mix(&rivals, &name, logf(2e7f), &solo);
	assert_int_equal(solo.model, KC_MODEL_BSP_DEVICE);
	assert_in_range(solo.ns, 4500, 5500);
}

/* 51 µs by the prior, of which 1 is that of any kernel, and 5 by λ, in logarithms: 5 · (51 / 5)^share. Of the interval,
 * 1.75 are the prior's and 3 are λ's. */
static void the_guess_is_between_both_by_the_share(void **state)
{
	static struct kc_rivals rivals;
	struct kc_name_traits name;

	(void)state;
	kc_name_read(&name, "ampere_sgemm_64x64_nn");
	for (int percent = 1; percent <= 100; percent++) {
		double share = percent / 100.0, mixed_ns = 5000 * pow(51.0 / 5, share), half = 3 - 1.25 * share;
		struct kc_solo solo = lambda_says(5000);

		kc_rivals_init(&rivals);
		rivals.of[name.family].share = (float)share;
		kc_rivals_mix(&rivals, &name, logf(50000), &solo);
		assert_true(fabs((double)solo.ns / mixed_ns - 1) < 0.001);
		assert_true(fabs((double)solo.low_ns / (mixed_ns * exp(-half)) - 1) < 0.01);
		assert_true(fabs((double)solo.high_ns / (mixed_ns * exp(half)) - 1) < 0.001);
		assert_int_equal(solo.model,
				 percent < 50 ? KC_MODEL_BSP_DEVICE : KC_MODEL_PRIOR); /* whose most of it is */
	}
}

/* By the inverse sixth power of 0.5 and 1.4, of 0.6 and 1.4: 1 / (1 + 0.35714^6), 1 / (1 + 0.42857^6). Kernels that
 * were written by hand are believed to be none of the prior's, until four of a framework's were measured. */
static void shares_follow_from_errors(void **state)
{
	const struct kc_solo lambda = lambda_says(50000);
	struct kc_correction_lesson lesson = {0};
	static struct kc_rivals rivals;
	struct kc_name_traits name;

	(void)state;
	kc_name_read(&name, "void at::native::a_kernel<4>(int)");
	kc_rivals_init(&rivals);
	assert_float_equal(rivals.of[KC_FAMILY_FRAMEWORK].share, 0.99793, 1e-5);
	assert_float_equal(rivals.of[KC_FAMILY_PRODUCT].share, 0.99384, 1e-5);
	assert_true(rivals.of[KC_FAMILY_WAITING].share == 0);
	for (int i = 0; i < 4; i++) {
		assert_true(rivals.of[KC_FAMILY_NONE].share == 0);
		kc_rivals_learn(&rivals, &name, logf(49000), &lambda, 50000, 1, &lesson);
	}
	assert_float_equal(rivals.of[KC_FAMILY_NONE].share, 0.5, 1e-6); /* 0.9 of both */
	assert_true(rivals.of[KC_FAMILY_WAITING].share == 0);
}

/* The first launch counts for one in five: 0.5 + (0 - 0.5) / 5 where the prior is right, 1.4 + (1 - 1.4) / 5 where λ is
 * off by a factor of e, and where it is off by e^5, that counts as 2. Later on each counts for one in 64. */
static void errors_are_means_that_fade(void **state)
{
	static const double off[2] = {1, 5}, error[2] = {1.4 - 0.4 / 5, 1.4 + 0.6 / 5};
	struct kc_name_traits name;
	float before;

	(void)state;
	kc_name_read(&name, "void at::native::a_kernel<4>(int)");
	for (int i = 0; i < 2; i++) {
		static struct kc_rivals rivals;
		struct kc_correction_lesson lesson = {0};
		const struct kc_rival_record *record = &rivals.of[KC_FAMILY_FRAMEWORK];
		struct kc_solo lambda = lambda_says((int64_t)(50000 * exp(off[i])));

		kc_rivals_init(&rivals);
		kc_rivals_learn(&rivals, &name, logf(49000), &lambda, 50000, 1, &lesson);
		assert_float_equal(record->error[KC_RIVAL_PRIOR], 0.4, 1e-4);
		assert_float_equal(record->error[KC_RIVAL_LAMBDA], error[i], 1e-4);
		for (int n = 0; n < 200; n++)
			kc_rivals_learn(&rivals, &name, logf(49000), &lambda, 50000, 1, &lesson);
		before = record->error[KC_RIVAL_LAMBDA];
		lambda = lambda_says(50000);
		kc_rivals_learn(&rivals, &name, logf(49000), &lambda, 50000, 1, &lesson);
		assert_float_equal(record->error[KC_RIVAL_LAMBDA], before * (1 - 1.0f / 64), 1e-4);
	}
}

/* What is shorter than a µs and 200 ns teaches as that does: the corrected guess is 1,200 ns at least. */
static void the_shortest_kernels_teach_alike(void **state)
{
	const struct kc_solo lambda = lambda_says(1000);
	struct kc_name_traits name;
	float corrected[3];

	(void)state;
	kc_name_read(&name, "void at::native::a_kernel<4>(int)");
	for (int i = 0; i < 3; i++) {
		static const int64_t ns[3] = {900, 1200, 1220};
		static struct kc_rivals rivals;
		struct kc_correction_lesson lesson = {0};

		kc_rivals_init(&rivals);
		kc_rivals_learn(&rivals, &name, logf(250), &lambda, ns[i], 1, &lesson);
		corrected[i] = kc_correction_of(&rivals.correction, &name, logf(250));
	}
	assert_true(corrected[0] == corrected[1] && corrected[1] < corrected[2]);
	assert_float_equal(corrected[1], log(200.0 / 250) * 1.02 / 1.18, 1e-4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trees_say_what_lightgbm_says),
	    cmocka_unit_test(the_table_is_small),
	    cmocka_unit_test(traits_that_grow_never_make_it_faster),
	    cmocka_unit_test(sizes_matter),
	    cmocka_unit_test(families_that_it_does_not_know_keep_the_guess_by_lambda),
	    cmocka_unit_test(the_prior_is_believed_until_it_proves_wrong),
	    cmocka_unit_test(shares_follow_from_errors),
	    cmocka_unit_test(errors_are_means_that_fade),
	    cmocka_unit_test(the_shortest_kernels_teach_alike),
	    cmocka_unit_test(the_guess_is_between_both_by_the_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
