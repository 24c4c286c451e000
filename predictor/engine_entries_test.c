/* Entries that begin with what an earlier run has learned, and those that follow others: every member by hand. */
#include "engine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct kc_engine engine;
static struct kc_engine_device device;
static struct kc_engine_kernel kernel;
static struct kc_engine_key key;
static struct kc_engine_variant variant, successor;
static _Atomic uint32_t shape_measured;

static int set_up(void **state)
{
	static struct kc_device info;
	static const struct kc_resources resources = {.registers = 32};
	static const struct kc_shape dims = {.grid = {80, 1, 1}, .block = {256, 1, 1}};

	(void)state;
	info = *kc_device_builtin("v100");
	kc_device_complete(&info);
	memset(&engine, 0, sizeof(engine));
	memset(&device, 0, sizeof(device));
	memset(&kernel, 0, sizeof(kernel));
	memset(&key, 0, sizeof(key));
	memset(&variant, 0, sizeof(variant));
	memset(&successor, 0, sizeof(successor));
	kc_engine_device_init(&engine, &device, &info);
	kc_engine_kernel_init(&kernel, &device, "kernel");
	kc_engine_key_init(&key, &kernel);
	return kc_engine_variant_init(&variant, &key, &shape_measured, &resources, &dims, 0) ||
	       kc_engine_variant_init(&successor, &key, &shape_measured, &resources, &dims, 0);
}

/* λ = e^0.1, e^0.2, …, from 3, 4, … measurements; the row that said so was of another database. */
static struct kc_learned level(int i)
{
	struct kc_learned learned = {.last = {.log_lambda = 0.1f * (float)(i + 1), .half_width = 0.5f, .state = 77}};

	learned.last.count = (uint32_t)i + 3;
	learned.lambda.log_value = 0.1 * (i + 1);
	learned.lambda.count = (uint32_t)i + 3;
	return learned;
}

static void assert_believes(struct kc_learned *learned, int i)
{
	struct kc_belief belief;

	kc_published_read(&learned->published, &belief);
	assert_float_equal(belief.log_lambda, 0.1 * (i + 1), 1e-6);
	assert_float_equal(belief.half_width, 0.5, 1e-6);
	assert_float_equal(belief.factor, exp(-0.1 * (i + 1)), 1e-6);
	assert_float_equal(belief.width, exp(0.5), 1e-6);
	assert_int_equal(belief.count, i + 3);
	assert_int_equal(belief.state, 0);
	assert_memory_equal(&learned->last, &belief, sizeof(belief));
}

static void assert_believes_nothing(struct kc_learned *learned)
{
	static const struct kc_belief nothing;
	struct kc_belief belief;

	kc_published_read(&learned->published, &belief);
	assert_memory_equal(&belief, &nothing, sizeof(belief));
	assert_memory_equal(&learned->last, &nothing, sizeof(nothing));
}

static void what_is_new_believes_nothing(void **state)
{
	(void)state;
	for (int unit = 0; unit < KC_UNITS; unit++) {
		assert_believes_nothing(&device.learned.levels[unit]);
		assert_null(device.learned.levels[unit].lambda.parent);
		assert_believes_nothing(&key.learned.levels[unit]);
		assert_ptr_equal(key.learned.levels[unit].lambda.parent, &device.learned.levels[unit].lambda);
	}
	assert_believes_nothing(&variant.learned.level);
	assert_ptr_equal(variant.learned.level.lambda.parent, &key.learned.levels[KC_UNIT_NOMINAL].lambda);
	assert_ptr_equal(variant.learned.contention.parent, &device.learned.contention);
	assert_ptr_equal(kernel.learned.experience.standing.parent, &device.learned.experience.standing);
}

static void a_device_begins_with_what_it_knew(void **state)
{
	static struct kc_device_learned before;
	struct kc_cells *cells = (struct kc_cells *)(void *)&before;
	uint32_t lessons = device.lessons;

	(void)state;
	before = device.learned;
	for (int unit = 0; unit < KC_UNITS; unit++) {
		before.levels[unit] = level(unit);
		before.levels[unit].lambda.parent = &before.levels[0].lambda;
	}
	before.contention.parent = &before.contention;
	before.experience.standing.parent = &before.experience.standing;
	engine.cells = cells;
	kc_engine_recall_device(&engine, &device, &before);
	for (int unit = 0; unit < KC_UNITS; unit++) {
		assert_believes(&device.learned.levels[unit], unit);
		assert_null(device.learned.levels[unit].lambda.parent);
	}
	assert_null(device.learned.contention.parent);
	assert_null(device.learned.experience.standing.parent);
	assert_ptr_equal(device.learned.experience.cells, cells);
	assert_int_equal(device.lessons, lessons + 1);
	before.levels[1].last.count = 0;
	engine.without = 1u << KC_LAYER_CONTEXTS;
	kc_engine_recall_device(&engine, &device, &before);
	assert_believes_nothing(&device.learned.levels[1]);
	assert_believes(&device.learned.levels[2], 2);
	assert_null(device.learned.experience.cells);
}

static void a_kernel_begins_with_what_it_knew(void **state)
{
	struct kc_kernel_learned before = kernel.learned;

	(void)state;
	before.experience.standing.parent = NULL;
	before.measured = 5;
	kc_engine_recall_kernel(&kernel, &before);
	assert_int_equal(kernel.scalings, 0);
	assert_int_equal(kernel.learned.measured, 5);
	assert_ptr_equal(kernel.learned.experience.standing.parent, &device.learned.experience.standing);
	before.scaling.count = 1;
	before.scaling.points[0].log_ns = 9;
	kc_engine_recall_kernel(&kernel, &before);
	assert_int_equal(kernel.scalings, 1);
	assert_float_equal(kernel.learned.scaling.points[0].log_ns, 9, 0);
}

static void a_key_begins_with_what_it_knew(void **state)
{
	struct kc_key_learned before = {0};

	(void)state;
	for (int unit = 0; unit < KC_UNITS; unit++)
		before.levels[unit] = level(unit);
	kc_engine_recall_key(&key, &before);
	for (int unit = 0; unit < KC_UNITS; unit++) {
		assert_believes(&key.learned.levels[unit], unit);
		assert_ptr_equal(key.learned.levels[unit].lambda.parent, &device.learned.levels[unit].lambda);
	}
	assert_int_equal(key.sizes_generation, 0);
	before.sizes.count = 1;
	kc_engine_recall_key(&key, &before);
	assert_int_equal(key.sizes_generation, 1);
}

static void sizes_of_elsewhere(void **state)
{
	struct kc_scaling sizes = {.points = {{.log_ns = 9, .count = 2}}};
	uint32_t lessons = device.lessons;

	(void)state;
	kc_engine_adopt_sizes(&kernel, &sizes);
	assert_int_equal(kernel.scalings, 0);
	assert_int_equal(device.lessons, lessons);
	sizes.count = 1;
	kc_engine_adopt_sizes(&kernel, &sizes);
	assert_int_equal(kernel.scalings, 1);
	assert_int_equal(device.lessons, lessons + 1);
	assert_memory_equal(&kernel.learned.scaling, &sizes, sizeof(sizes));
}

/* In the same units λ is what it was. A measured time is the nominal one over λ: where that was twice as long, λ was
 * twice as large, and its logarithm is now less by log 2. */
static void a_variant_begins_with_what_it_knew(void **state)
{
	struct kc_variant_learned before = {.level = level(0), .measured = 3, .solos = 2};
	struct kc_work work = variant.work;

	(void)state;
	before.contention.log_solo = 9;
	kc_engine_recall_variant(&variant, &before, &work);
	assert_believes(&variant.learned.level, 0);
	assert_float_equal(variant.learned.level.lambda.log_value, 0.1, 1e-12);
	assert_ptr_equal(variant.learned.level.lambda.parent, &key.learned.levels[KC_UNIT_NOMINAL].lambda);
	assert_ptr_equal(variant.learned.contention.parent, &device.learned.contention);
	assert_float_equal(variant.learned.contention.log_solo, 9, 0);
	assert_int_equal(variant.learned.measured, 3);
	assert_int_equal(variant.learned.solos, 2);
	for (int longer = 0; longer < 2; longer++) {
		work.unit_ns = longer ? variant.work.unit_ns * 2 : variant.work.unit_ns / 2;
		kc_engine_recall_variant(&variant, &before, &work);
		assert_int_equal(variant.learned.level.last.count, 3);
		assert_float_equal(variant.learned.level.lambda.log_value, 0.1 + (longer ? -log(2) : log(2)), 1e-6);
		assert_float_equal(variant.learned.level.last.log_lambda, variant.learned.level.lambda.log_value, 1e-6);
	}
}

static void one_that_follows_knows_what_the_other_did(void **state)
{
	struct kc_belief belief = {.log_lambda = 0.1f, .half_width = 0.5f, .count = 3, .state = 77};
	uint32_t lessons = device.lessons;

	(void)state;
	variant.learned.solos = 2;
	variant.learned.measured = 3;
	variant.learned.contention.log_solo = 9;
	kc_engine_succeed(&successor, &variant);
	assert_int_equal(successor.learned.solos, 2);
	assert_int_equal(successor.learned.measured, 3);
	assert_float_equal(successor.learned.contention.log_solo, 9, 0);
	assert_int_equal(device.lessons, lessons + 1);
	assert_believes_nothing(&successor.learned.level);
	variant.learned.level.lambda.count = 3;
	variant.learned.level.lambda.log_value = 0.1;
	kc_published_write(&variant.learned.level.published, &belief);
	kc_engine_succeed(&successor, &variant);
	assert_int_equal(successor.learned.level.last.count, 3);
	assert_int_equal(successor.learned.level.last.state, 77);
	assert_float_equal(successor.learned.level.last.log_lambda, 0.1, 1e-6);
}

/* Work that is counted says more than what launches with other arguments took. */
static void names_and_numbers_of_what_is_counted(void **state)
{
	struct kc_arguments_fit fit = {0};

	(void)state;
	kc_engine_variant_name(&variant, (struct kc_name){.launch = 1, .shape = 2});
	assert_int_equal(variant.name.launch, 1);
	assert_int_equal(variant.name.shape, 2);
	assert_int_equal(kc_engine_variant_given(&variant, NULL), 0);
	assert_int_equal(kc_engine_variant_given(&variant, "p0 = 7"), sizeof(fit));
	assert_int_equal(variant.numbers.count, 1);
	kernel.by_arguments = &fit;
	assert_int_equal(kc_engine_variant_given(&variant, "p0 = 7"), 0);
	successor.work.counted = KC_UNIT_COUNTED;
	kernel.by_arguments = NULL;
	assert_int_equal(kc_engine_variant_given(&successor, "p0 = 7"), 0);
	assert_int_equal(successor.numbers.count, 0);
	kc_engine_variant_name(&successor, (struct kc_name){.launch = 1, .shape = 2});
	assert_int_equal(successor.name.launch, 1);
	assert_int_equal(successor.name.shape, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(what_is_new_believes_nothing, set_up),
	    cmocka_unit_test_setup(a_device_begins_with_what_it_knew, set_up),
	    cmocka_unit_test_setup(a_kernel_begins_with_what_it_knew, set_up),
	    cmocka_unit_test_setup(a_key_begins_with_what_it_knew, set_up),
	    cmocka_unit_test_setup(sizes_of_elsewhere, set_up),
	    cmocka_unit_test_setup(a_variant_begins_with_what_it_knew, set_up),
	    cmocka_unit_test_setup(one_that_follows_knows_what_the_other_did, set_up),
	    cmocka_unit_test_setup(names_and_numbers_of_what_is_counted, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
