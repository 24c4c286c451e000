/* What the prior is asked about a launch; expected values by hand. */
#include "launch_traits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* sqrt(1,000 GB/s · 100 SMs · 1.6 GHz) = 400 */
static const struct kc_device gpu = {.sm_count = 100, .clock_khz = 1600000, .memory_bytes_per_s = 1000000000000};

static void near(float got, double expected)
{
	assert_true(fabs((double)got - expected) < 1e-4); /* false of what is infinite */
}

static void speed_is_the_root_of_bandwidth_and_cores_and_clock(void **state)
{
	const struct kc_device unknown = {0},
			       slow = {.sm_count = 1, .clock_khz = 4000, .memory_bytes_per_s = 9000000000};

	(void)state;
	near((float)kc_prior_speed(&gpu), 400);
	near((float)kc_prior_speed(&unknown), sqrt(1e-3));
	near((float)kc_prior_speed(&slow), sqrt(9 * 1 * 0.004));
}

/* 6 blocks of 100 threads, 4 warps each, 3 of them at once on an SM: 12 warps. */
static void traits_are_logarithms(void **state)
{
	struct kc_work work = {.blocks = 6,
			       .threads_per_block = 100,
			       .registers = 40,
			       .shared_bytes = 1023,
			       .blocks_per_sm = 3,
			       .waves = 0.02,
			       .unit_ns = 2.5};
	const struct kc_shape shape = {.grid = {8, 4, 2}, .block = {50, 7, 1}};
	struct kc_name_traits name = {.log_tile = 9, .log_depth = 3, .count = 5};
	struct kc_device wide = gpu;
	float traits[KC_TRAITS];

	(void)state;
	kc_launch_traits(traits, &gpu, &work, &shape, &name);
	near(traits[KC_TRAIT_WAVES], log(0.02));
	near(traits[KC_TRAIT_BLOCKS], log(6));
	near(traits[KC_TRAIT_THREADS], log(600));
	near(traits[KC_TRAIT_BLOCK_THREADS], 100);
	near(traits[KC_TRAIT_REGISTERS], 40);
	near(traits[KC_TRAIT_SHARED], log(1024));
	near(traits[KC_TRAIT_WARPS], 12);
	near(traits[KC_TRAIT_GRID_X], log(8));
	near(traits[KC_TRAIT_GRID_Y], log(4));
	near(traits[KC_TRAIT_GRID_Z], log(2));
	near(traits[KC_TRAIT_BLOCK_X], log(50));
	near(traits[KC_TRAIT_BLOCK_Y], log(7));
	near(traits[KC_TRAIT_NOMINAL], log(2.5 * 400));
	near(traits[KC_TRAIT_TRAFFIC],
	     log(600 * 4.0 / 1000 * 400)); /* 4 bytes for each thread, at 1,000 bytes per ns */
	near(traits[KC_TRAIT_TILE], 9);
	near(traits[KC_TRAIT_DEPTH], 3);
	near(traits[KC_TRAIT_OUTPUT], 9 + log(6));
	near(traits[KC_TRAIT_NAME_WORDS], 5);
	wide.warp_size = 64;
	name.log_tile = 0;
	kc_launch_traits(traits, &wide, &work, &shape, &name);
	near(traits[KC_TRAIT_WARPS], 6);
	near(traits[KC_TRAIT_OUTPUT], 0);
	work.threads_per_block = 128; /* whole warps */
	name.log_tile = 0.5f;
	kc_launch_traits(traits, &wide, &work, &shape, &name);
	near(traits[KC_TRAIT_WARPS], 6);
	near(traits[KC_TRAIT_OUTPUT], 0.5 + log(6));
}

static void what_is_not_known_is_the_least(void **state)
{
	const struct kc_device unknown = {0};
	const struct kc_work work = {0};
	static const struct kc_shape shape;
	const struct kc_name_traits name = {0};
	float traits[KC_TRAITS];

	(void)state;
	kc_launch_traits(traits, &unknown, &work, &shape, &name);
	near(traits[KC_TRAIT_WAVES], log(1e-6));
	near(traits[KC_TRAIT_NOMINAL], log(1e-6));
	near(traits[KC_TRAIT_TRAFFIC], log(1e-6));
	near(traits[KC_TRAIT_BLOCKS], 0);
	near(traits[KC_TRAIT_GRID_X], 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(speed_is_the_root_of_bandwidth_and_cores_and_clock),
	    cmocka_unit_test(traits_are_logarithms),
	    cmocka_unit_test(what_is_not_known_is_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
