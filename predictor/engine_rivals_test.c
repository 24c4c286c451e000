/* What the engine teaches the rivals of a first guess, for a framework's kernels that all take eight times as long as
 * the prior says. */
#include "engine.h"

#include "predictor/concurrency/overlap.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KERNELS = 20 };
#define TIMES 8.0

struct world {
	struct kc_engine engine;
	struct kc_device info;
	struct kc_engine_device device;
	struct kc_engine_kernel kernels[KERNELS];
	struct kc_engine_key keys[KERNELS];
	_Atomic uint32_t shapes[KERNELS];
	struct kc_engine_variant variants[KERNELS];
};

/* Kernels of one size, whose names begin differently. */
static int set_up(void **state)
{
	static const struct kc_resources resources = {.registers = 32};
	const struct kc_shape dims = {.grid = {1600, 1, 1}, .block = {128, 1, 1}};
	struct world *w = calloc(1, sizeof(*w));
	char name[64];

	assert_non_null(w);
	w->engine.cells = calloc(1, kc_cells_bytes());
	assert_non_null(w->engine.cells);
	kc_cells_init(w->engine.cells);
	w->info = *kc_device_builtin("v100");
	kc_device_complete(&w->info);
	kc_engine_device_init(&w->engine, &w->device, &w->info);
	for (int i = 0; i < KERNELS; i++) {
		snprintf(name, sizeof(name), "void at::native::%c%c_kernel<4>(int)", 'a' + i, 'a' + i);
		kc_engine_kernel_init(&w->kernels[i], &w->device, name);
		assert_int_equal(w->kernels[i].name.family, KC_FAMILY_FRAMEWORK);
		kc_engine_key_init(&w->keys[i], &w->kernels[i]);
		assert_int_equal(
		    kc_engine_variant_init(&w->variants[i], &w->keys[i], &w->shapes[i], &resources, &dims, 0), 0);
		kc_engine_variant_name(&w->variants[i], (struct kc_name){100 + i, 200 + i});
	}
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	free(w->engine.cells);
	free(w);
	return 0;
}

static int64_t longer_ns(const struct kc_engine_variant *variant)
{
	return (int64_t)(KC_PRIOR_LEAST_NS + TIMES * exp((double)variant->prior_log_ns));
}

static void measure(struct world *w, struct kc_engine_variant *variant)
{
	const struct kc_engine_launch launch = {.solo_ns = 1000, .solo_low_ns = 1, .solo_high_ns = 2000, .slowdown = 1};

	kc_engine_measured(&w->engine, variant, &launch, longer_ns(variant));
}

static void decide(struct world *w, struct kc_engine_variant *variant, enum kc_overlap overlap)
{
	const struct kc_engine_launch launch = {.solo_ns = 1000, .slowdown = 1};
	const struct kc_load met = {{0}};

	kc_engine_decided(&w->engine, variant, &launch, overlap, &met, longer_ns(variant));
}

/* By what factor the prior's guess of a kernel with another name would be corrected. */
static double factor(const struct world *w)
{
	struct kc_name_traits another;

	kc_name_read(&another, "void at::native::uu_kernel<4>(int)");
	return exp(
	    (double)kc_correction_of(&w->device.learned.rivals.correction, &another, w->variants[0].prior_log_ns));
}

/* Three of five words are those of another: by the constants of correction.c, likeness is 0.62, and twenty whole
 * lessons make 20 · 0.62 / (1.18 + 19 · 0.62) of log 8, a factor of 7.3, twenty of 0.03 20 · 0.62 / (1.02 + 0.16 / 0.03
 * + 19 · 0.62) of it, a factor of 4.1. A lesson is of 1.5 at most, so that the first ones make less. */
static void launches_beside_others_teach_the_prior_little(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < KERNELS; i++) {
		measure(w, &w->variants[i]);
		decide(w, &w->variants[i], KC_OVERLAP_BEHIND);
	}
	assert_true(factor(w) > 1.2 && factor(w) < 4.1);
	for (int i = 0; i < KERNELS; i++)
		decide(w, &w->variants[i], KC_OVERLAP_NONE);
	assert_true(factor(w) > 6 && factor(w) < TIMES);
}

static void a_launch_shape_teaches_the_prior_once(void **state)
{
	struct world *w = *state;
	double once;

	measure(w, &w->variants[0]);
	decide(w, &w->variants[0], KC_OVERLAP_NONE);
	once = factor(w);
	assert_true(once > 1.2);
	for (int i = 0; i < 5; i++) {
		measure(w, &w->variants[0]);
		decide(w, &w->variants[0], KC_OVERLAP_NONE);
	}
	assert_true(factor(w) == once);
}

/* The first launch was held up; the next ones take what the prior says. */
static void a_launch_that_was_held_up_is_taken_back(void **state)
{
	const struct kc_engine_launch launch = {.solo_ns = 1000, .slowdown = 1};
	const struct kc_load met = {{0}};
	struct world *w = *state;
	struct kc_engine_variant *variant = &w->variants[0];
	double held_up;

	measure(w, variant);
	decide(w, variant, KC_OVERLAP_NONE);
	held_up = factor(w);
	kc_engine_decided(&w->engine, variant, &launch, KC_OVERLAP_BEHIND, &met,
			  (int64_t)(KC_PRIOR_LEAST_NS + exp((double)variant->prior_log_ns)));
	assert_true(factor(w) == held_up); /* it did not run alone */
	kc_engine_decided(&w->engine, variant, &launch, KC_OVERLAP_NONE, &met,
			  (int64_t)(KC_PRIOR_LEAST_NS + exp((double)variant->prior_log_ns)));
	assert_true(factor(w) < 1.05);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(launches_beside_others_teach_the_prior_little),
	    TEST(a_launch_shape_teaches_the_prior_once),
	    TEST(a_launch_that_was_held_up_is_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
