#include "forecast.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct kc_work work_of(const char *device, uint32_t blocks, uint32_t threads, uint32_t registers)
{
	struct kc_resources resources = {.registers = registers};
	struct kc_shape shape = {{blocks, 1, 1}, {threads, 1, 1}, 0};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, kc_device_builtin(device), &resources, &shape, 0), 0);
	return work;
}

/* K40: 15 SMs with 8 blocks of 256 threads each. */
static void work_of_a_launch(void **state)
{
	struct kc_resources resources = {.registers = 16, .static_shared_bytes = 1000};
	struct kc_shape shape = {{10, 6, 4}, {16, 16, 1}, 24};
	struct kc_work work;

	(void)state;
	assert_int_equal(kc_work_init(&work, kc_device_builtin("k40"), &resources, &shape, 0), 0);
	assert_int_equal(work.blocks, 240);
	assert_int_equal(work.threads_per_block, 256);
	assert_int_equal(work.shared_bytes, 1024);
	assert_int_equal(work.blocks_per_sm, 8);
	assert_float_equal(work.waves, 2.0, 0);
	assert_int_equal(work.grid.waves, 2);
}

/* Tk = t · C / (R · P · λ), Amarís et al., with C = 500 cycles: 2 waves of 120
 * blocks of 256 threads on 2880 cores at 745 MHz take
 * 61440 · 500 / (745e6 · 2880) = 14.318 µs. */
static void bsp_with_whole_waves(void **state)
{
	struct kc_work work = work_of("k40", 240, 256, 16);

	(void)state;
	assert_float_equal(work.unit_ns, 14317.7, 0.1);
	assert_float_equal(work_of("k40", 480, 256, 16).unit_ns, 2 * work.unit_ns, 1e-6);
}

/* q(w) = (a · ceil(w) + (1 − a) · w) / w, a = 0.35: 1.5 waves cost
 * 0.35 · 2 + 0.65 · 1.5 = 1.675 waves, half a one 0.675. */
static void a_started_wave_costs_more_than_its_share(void **state)
{
	double wave_ns = work_of("k40", 120, 256, 16).unit_ns;

	(void)state;
	assert_float_equal(work_of("k40", 180, 256, 16).unit_ns, 1.675 * wave_ns, 1e-6);
	assert_float_equal(work_of("k40", 60, 256, 16).unit_ns, 0.675 * wave_ns, 1e-6);
}

static void the_drivers_occupancy_goes_first(void **state)
{
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{120, 1, 1}, {256, 1, 1}, 0};
	struct kc_work work;

	(void)state;
	assert_int_equal(kc_work_init(&work, kc_device_builtin("k40"), &resources, &shape, 4), 0);
	assert_int_equal(work.blocks_per_sm, 4);
	assert_float_equal(work.waves, 2.0, 0);
}

static void what_cannot_run(void **state)
{
	const struct kc_device *k40 = kc_device_builtin("k40");
	struct kc_resources plain = {.registers = 16}, bounded = {.registers = 16, .max_threads_per_block = 128};
	struct kc_resources shared = {.registers = 16, .static_shared_bytes = 48 * 1024};
	struct kc_resources absurd = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct kc_shape good = {{1, 1, 1}, {256, 1, 1}, 0}, none = {{1, 0, 1}, {256, 1, 1}, 0};
	struct kc_shape flat = {{1, 1, 1}, {256, 1, 0}, 0}, large = {{1, 1, 1}, {1024, 2, 1}, 0};
	struct kc_shape greedy = {{1, 1, 1}, {256, 1, 1}, 1}, overflow = {{1, 1, 1}, {65536, 65536, 1}, 0};
	struct kc_work work;

	(void)state;
	assert_int_equal(kc_work_init(&work, k40, &plain, &none, 0), -EINVAL);
	assert_int_equal(kc_work_init(&work, k40, &plain, &flat, 0), -EINVAL);
	assert_int_equal(kc_work_init(&work, k40, &plain, &large, 0), -ERANGE);
	assert_int_equal(kc_work_init(&work, k40, &plain, &overflow, 0), -ERANGE);
	assert_int_equal(kc_work_init(&work, k40, &shared, &greedy, 0), -ERANGE);
	assert_int_equal(kc_work_init(&work, k40, &bounded, &good, 0), -ERANGE);
	assert_int_equal(work.blocks_per_sm, 0);
	assert_int_equal(kc_work_init(&work, k40, &absurd, &good, 0), -ERANGE);
	assert_int_equal(kc_work_init(&work, k40, &plain, &good, 0), 0);
}

/* The largest grid CUDA allows, and one no driver would. */
static void huge_grids_do_not_overflow(void **state)
{
	struct kc_resources resources = {.registers = 16};
	struct kc_shape largest = {{2147483647, 65535, 65535}, {1024, 1, 1}, 0};
	struct kc_shape absurd = {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, {1024, 1, 1}, 0};
	struct kc_belief slow = kc_belief_of(-60, 50, 1, 0);
	struct kc_work work;
	struct kc_solo solo;

	(void)state;
	assert_int_equal(kc_work_init(&work, kc_device_builtin("k40"), &resources, &largest, 0), 0);
	assert_true(work.blocks == 2147483647ull * 65535 * 65535);
	assert_int_equal(kc_work_init(&work, kc_device_builtin("k40"), &resources, &absurd, 0), 0);
	assert_true(work.blocks == UINT64_MAX);
	solo = kc_forecast_solo(&work, &slow, NULL, NULL);
	assert_true(solo.low_ns >= 0 && solo.low_ns <= solo.ns && solo.ns <= solo.high_ns);
}

static void the_closest_belief_with_evidence(void **state)
{
	struct kc_work work = work_of("k40", 120, 256, 16);
	struct kc_belief shape = kc_belief_of(0, 0, 0, 3);
	struct kc_belief key = kc_belief_of((float)log(2), (float)log(1.5), 4, 2);
	struct kc_belief device = kc_belief_of(1, 0, 9, 1);
	struct kc_solo solo = kc_forecast_solo(&work, &shape, &key, &device);

	(void)state;
	assert_int_equal(solo.model, KC_MODEL_BSP_KERNEL);
	assert_int_equal(solo.state, 2);
	assert_float_equal((double)solo.ns, work.launch_ns + work.unit_ns / 2, 2);
	assert_float_equal((double)solo.low_ns, (double)solo.ns / 1.5, 2);
	assert_float_equal((double)solo.high_ns, (double)solo.ns * 1.5, 2);
	shape.count = 1;
	assert_int_equal(kc_forecast_solo(&work, &shape, &key, &device).model, KC_MODEL_BSP_SHAPE);
	assert_int_equal(kc_forecast_solo(&work, NULL, NULL, &device).model, KC_MODEL_BSP_DEVICE);
	assert_int_equal(kc_forecast_solo(&work, NULL, NULL, &device).state, 1);
	solo = kc_forecast_solo(&work, NULL, NULL, NULL);
	assert_int_equal(solo.model, KC_MODEL_BSP_DEVICE);
	assert_float_equal((double)solo.ns, work.launch_ns + work.unit_ns, 2);
	assert_true(solo.high_ns > 10 * solo.ns);
}

static void model_names(void **state)
{
	(void)state;
	assert_string_equal(kc_model_name(KC_MODEL_BSP_SHAPE), "bsp-shape");
	assert_string_equal(kc_model_name(77), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(work_of_a_launch),
	    cmocka_unit_test(bsp_with_whole_waves),
	    cmocka_unit_test(a_started_wave_costs_more_than_its_share),
	    cmocka_unit_test(the_drivers_occupancy_goes_first),
	    cmocka_unit_test(what_cannot_run),
	    cmocka_unit_test(huge_grids_do_not_overflow),
	    cmocka_unit_test(the_closest_belief_with_evidence),
	    cmocka_unit_test(model_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
