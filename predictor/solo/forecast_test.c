#include "forecast.h"

#include "predictor/papers/leftover.h"

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
	struct kc_shape shape = {{blocks, 1, 1}, {threads, 1, 1}, 0, 0};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, kc_device_builtin(device), &resources, &shape, 0), 0);
	return work;
}

/* K40: 15 SMs with 8 blocks of 256 threads each. */
static void work_of_a_launch(void **state)
{
	struct kc_resources resources = {.registers = 16, .static_shared_bytes = 1000};
	struct kc_shape shape = {{10, 6, 4}, {16, 16, 1}, 24, 0};
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
	struct kc_shape shape = {{120, 1, 1}, {256, 1, 1}, 0, 0};
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
	struct kc_shape good = {{1, 1, 1}, {256, 1, 1}, 0, 0}, none = {{1, 0, 1}, {256, 1, 1}, 0, 0};
	struct kc_shape flat = {{1, 1, 1}, {256, 1, 0}, 0, 0}, large = {{1, 1, 1}, {1024, 2, 1}, 0, 0};
	struct kc_shape greedy = {{1, 1, 1}, {256, 1, 1}, 1, 0}, overflow = {{1, 1, 1}, {65536, 65536, 1}, 0, 0};
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

/* A kernel of an H100 (227 KiB of shared memory, clusters), on a GPU that has 96 KiB and none: as if it asked for 96.
 */
static void what_ran_elsewhere_is_made_to_fit(void **state)
{
	const struct kc_device *v100 = kc_device_builtin("v100");
	struct kc_resources resources = {.registers = 168, .static_shared_bytes = 1024}, less = {.registers = 16};
	struct kc_resources absurd = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 1};
	struct kc_shape shape = {{132, 1, 1}, {384, 1, 1}, 226 * 1024, 2}, small = {{1, 1, 1}, {8, 8, 1}, 512, 0};
	struct kc_shape large = {{7, 1, 1}, {UINT32_MAX, UINT32_MAX, 2}, UINT32_MAX, 0};
	struct kc_work work;

	(void)state;
	assert_int_equal(kc_work_init(&work, v100, &resources, &shape, 0), -ERANGE);
	assert_int_equal(kc_work_clamp(v100, &resources, &shape), KC_BEYOND_SHARED | KC_BEYOND_CLUSTER);
	assert_int_equal(kc_work_init(&work, v100, &resources, &shape, 0), 0);
	assert_int_equal(work.shared_bytes, 96 * 1024);
	assert_int_equal(work.registers, 168);
	assert_int_equal(work.blocks_per_sm, 1);
	assert_float_equal(work.waves, 132.0 / 80, 1e-9);
	assert_int_equal(kc_work_clamp(v100, &less, &small), 0);
	assert_int_equal(small.block[1], 8);
	assert_int_equal(small.dynamic_shared_bytes, 512);
	assert_int_equal(kc_work_clamp(v100, &absurd, &large),
			 KC_BEYOND_THREADS | KC_BEYOND_REGISTERS | KC_BEYOND_SHARED);
	assert_int_equal(kc_work_init(&work, v100, &absurd, &large, 0), 0);
	assert_int_equal(work.threads_per_block, 1024);
}

/* The largest grid CUDA allows, and one no driver would. */
static void huge_grids_do_not_overflow(void **state)
{
	struct kc_resources resources = {.registers = 16};
	struct kc_shape largest = {{2147483647, 65535, 65535}, {1024, 1, 1}, 0, 0};
	struct kc_shape absurd = {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, {1024, 1, 1}, 0, 0};
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

/* Other kernels may be farther apart, or closer to each other, than the code leaves open. */
static void the_devices_belief_where_the_work_is_counted(void **state)
{
	struct kc_work work = work_of("k40", 120, 256, 16);
	struct kc_belief far = kc_belief_of((float)log(2), (float)log(1000), 1, 5);
	struct kc_belief near = kc_belief_of((float)log(2), (float)log(1.1), 9, 6);
	struct kc_solo solo;

	(void)state;
	work.counted = 1;
	work.counted_half_width = (float)log(3);
	solo = kc_forecast_solo(&work, NULL, NULL, &far);
	assert_int_equal(solo.model, KC_MODEL_BSP_CODE);
	assert_int_equal(solo.state, 5);
	assert_float_equal((double)solo.ns, work.launch_ns + work.unit_ns / 2, 2);
	assert_float_equal((double)solo.high_ns, (double)solo.ns * 3, 4);
	assert_float_equal((double)kc_forecast_solo(&work, NULL, NULL, &near).high_ns, (double)solo.ns * 1.1, 4);
	work.counted_least_ns = (double)solo.ns / 2; /* a third of it cannot be, but its own half */
	assert_float_equal((double)kc_forecast_solo(&work, NULL, NULL, &far).low_ns, (double)solo.ns / 2, 1);
	work.counted_least_ns = (double)solo.ns * 2; /* other kernels were faster than this one can be */
	assert_int_equal(kc_forecast_solo(&work, NULL, NULL, &far).low_ns, solo.ns);
	assert_int_equal(kc_forecast_solo(&work, NULL, NULL, &far).ns, solo.ns);
	work.counted = 0;
	assert_float_equal((double)kc_forecast_solo(&work, NULL, NULL, &far).high_ns, (double)solo.ns * 1000, 1000);
}

static void model_names(void **state)
{
	(void)state;
	assert_string_equal(kc_model_name(KC_MODEL_BSP_SHAPE), "bsp-shape");
	assert_string_equal(kc_model_name(77), "unknown");
}

/* An H100 has 132 SMs. Blocks of 1,024 threads: two on each, 264 slots, of which clusters of 16 take 256 and of 8 all.
 */
static void clusters_are_placed_whole(void **state)
{
	static const struct {
		uint32_t cluster, blocks;
		double waves;
		uint64_t whole_waves;
		uint32_t last_base, last_extra;
	} rows[] = {
	    {0, 528, 2, 2, 2, 0},    {1, 528, 2, 2, 2, 0}, {8, 528, 2, 2, 2, 0}, {16, 528, 528.0 / 256, 3, 0, 16},
	    {16, 256, 1, 1, 1, 124},
	};
	const struct kc_device *h100 = kc_device_builtin("h100");
	struct kc_resources resources = {.registers = 16};
	struct kc_work work;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kc_shape shape = {{rows[i].blocks, 1, 1}, {1024, 1, 1}, 0, rows[i].cluster};

		assert_int_equal(kc_work_init(&work, h100, &resources, &shape, 0), 0);
		assert_float_equal(work.waves, rows[i].waves, 1e-12);
		assert_int_equal(work.grid.waves, rows[i].whole_waves);
		assert_int_equal(work.grid.last.base, rows[i].last_base);
		assert_int_equal(work.grid.last.extra, rows[i].last_extra);
	}
}

/* Programming guide: part clusters, more than 16 blocks, and clusters before 9.0 are refused. */
static void impossible_clusters(void **state)
{
	const struct kc_device *h100 = kc_device_builtin("h100"), *a100 = kc_device_builtin("a100");
	struct kc_shape part = {{10, 1, 1}, {256, 1, 1}, 0, 4}, large = {{32, 1, 1}, {256, 1, 1}, 0, 32};
	struct kc_shape pair = {{32, 1, 1}, {256, 1, 1}, 0, 2};
	struct kc_resources resources = {.registers = 16};
	struct kc_device small = *h100;
	struct kc_work work;

	(void)state;
	assert_int_equal(kc_work_init(&work, h100, &resources, &pair, 0), 0);
	assert_int_equal(kc_work_init(&work, h100, &resources, &part, 0), -EINVAL);
	assert_int_equal(kc_work_init(&work, h100, &resources, &large, 0), -ERANGE);
	assert_int_equal(kc_work_init(&work, a100, &resources, &pair, 0), -ERANGE);
	assert_int_equal(work.blocks_per_sm, 0);
	small.sm_count = 1;
	resources.static_shared_bytes = 200 * 1024;
	assert_int_equal(kc_work_init(&work, &small, &resources, &pair, 0), -ERANGE);
}

/* 131 of the SMs are full: one SM has room for two blocks, not for a cluster of four. */
static void what_is_left_is_counted_in_clusters(void **state)
{
	const struct kc_device *h100 = kc_device_builtin("h100");
	struct kc_shape first = {{262, 1, 1}, {1024, 1, 1}, 0, 0}, second = {{8, 1, 1}, {1024, 1, 1}, 0, 2};
	struct kc_resources resources = {.registers = 16};
	struct kc_work works[2];
	struct kc_leftover pair;

	(void)state;
	assert_int_equal(kc_work_init(&works[0], h100, &resources, &first, 0), 0);
	assert_int_equal(kc_work_init(&works[1], h100, &resources, &second, 0), 0);
	assert_int_equal(kc_leftover_pair(&pair, h100, &works[0].grid, 0, &works[1].grid, KC_PACKED), 0);
	assert_int_equal(pair.slots, 2);
	assert_int_equal(pair.waves_limited, 4);
	second.cluster_blocks = 4;
	assert_int_equal(kc_work_init(&works[1], h100, &resources, &second, 0), 0);
	assert_int_equal(kc_leftover_pair(&pair, h100, &works[0].grid, 0, &works[1].grid, KC_PACKED), 0);
	assert_int_equal(pair.slots, 0);
	assert_int_equal(pair.concurrency_case, KC_CASE_C);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(clusters_are_placed_whole),
	    cmocka_unit_test(impossible_clusters),
	    cmocka_unit_test(what_is_left_is_counted_in_clusters),
	    cmocka_unit_test(work_of_a_launch),
	    cmocka_unit_test(bsp_with_whole_waves),
	    cmocka_unit_test(a_started_wave_costs_more_than_its_share),
	    cmocka_unit_test(the_drivers_occupancy_goes_first),
	    cmocka_unit_test(what_cannot_run),
	    cmocka_unit_test(what_ran_elsewhere_is_made_to_fit),
	    cmocka_unit_test(huge_grids_do_not_overflow),
	    cmocka_unit_test(the_closest_belief_with_evidence),
	    cmocka_unit_test(the_devices_belief_where_the_work_is_counted),
	    cmocka_unit_test(model_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
