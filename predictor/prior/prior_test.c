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
		assert_float_equal(kc_prior_ask(&kc_prior_builtin, traits, words_of(at + strspn(at, "\t"))), told,
				   2e-3);
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
		now = kc_prior_ask(&kc_prior_builtin, traits, 0);
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trees_say_what_lightgbm_says),
	    cmocka_unit_test(the_table_is_small),
	    cmocka_unit_test(traits_that_grow_never_make_it_faster),
	    cmocka_unit_test(sizes_matter),
	    cmocka_unit_test(families_that_it_does_not_know_keep_the_guess_by_lambda),
	    cmocka_unit_test(the_prior_is_believed_until_it_proves_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
