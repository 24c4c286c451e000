#include "space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 64 };

static int near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

static void expect(const struct kc_space *space, uint32_t row, const double *plain, uint32_t plain_count,
		   const double *products, uint32_t product_count)
{
	struct kc__columns columns = kc__columns_of(space);
	double own[MOST] = {0}, pairs[MOST] = {0};

	assert_int_equal(columns.plain, plain_count);
	assert_int_equal(columns.products, product_count);
	kc__describe(space, &columns, row, own, pairs);
	for (uint32_t i = 0; i < plain_count; i++)
		assert_true(near(own[i], plain[i]));
	for (uint32_t i = 0; i < product_count; i++)
		assert_true(near(pairs[i], products[i]));
}

/* Blocks, a tile that never changes, a switch, unrolling: logarithms, but of the switch, which may be 0. */
static void parameters_become_logarithms_and_products(void **state)
{
	static const double values[] = {8, 5, 0, 2, 16, 5, 1, 1};
	struct kc_space space = {.values = values, .count = 2, .parameters = 4};

	(void)state;
	expect(&space, 0, (const double[]){3, 0, 1}, 3, (const double[]){4, 2}, 2);
	expect(&space, 1, (const double[]){4, 1, 0}, 3, (const double[]){4, 4}, 2);
}

/* 24 = 8 · 3; of 2.5 nothing is known. */
static void what_is_no_power_of_two_has_an_alignment(void **state)
{
	static const double values[] = {24, 32, 2.5};
	struct kc_space space = {.values = values, .count = 3, .parameters = 1};

	(void)state;
	expect(&space, 0, (const double[]){log2(24), 3}, 2, NULL, 0);
	expect(&space, 1, (const double[]){5, 5}, 2, NULL, 0);
	expect(&space, 2, (const double[]){log2(2.5), 0}, 2, NULL, 0);
}

/*
 * An RTX A4000: 1,536 threads and 16 blocks on an SM. 40 threads with tiles of 5 cover 1,000 in 5 blocks of 200 to the
 * end; 2 warps, 24 threads of them idle; 16 blocks, 32 warps of 48. 96 with tiles of 2: 6 blocks of 192, 152 elements
 * past the end, 40 left for the last; 3 full warps, 16 blocks, all 48.
 */
static void what_blocks_cover_and_an_sm_holds(void **state)
{
	static const double values[] = {40, 5, 96, 2};
	struct kc_space space = {.values = values,
				 .count = 2,
				 .parameters = 2,
				 .device = kc_device_builtin("a4000"),
				 .axes = {{.threads = 1, .covered = 3, .size = 1000}}};
	/* 40 = 8 · 5, 96 = 32 · 3; 5 is odd, 2 is not; blocks on the SM do not vary. */
	static const double first[] = {40, 5, 3, 0, 0, 0.2}, second[] = {96, 2, 5, 1, 1152, 0.04};

	(void)state;
	expect(&space, 0,
	       (const double[]){log2(first[0]), log2(first[1]), first[2], first[3], first[4], first[5], log2(64 / 40.0),
				log2(2 / 3.0)},
	       8, (const double[]){log2(200), log2(8)}, 2);
	expect(&space, 1,
	       (const double[]){log2(second[0]), log2(second[1]), second[2], second[3], log2(second[4] / 1000),
				second[5], 0, 0},
	       8, (const double[]){log2(192), log2(48)}, 2);
}

/* More threads than a block may have, no size: as if nothing had been said. */
static void what_cannot_be_says_nothing(void **state)
{
	static const double values[] = {2048, 0.5};
	struct kc_space space = {.values = values,
				 .count = 2,
				 .parameters = 1,
				 .device = kc_device_builtin("a4000"),
				 .axes = {{.threads = 1, .covered = 1, .size = 0}}};

	(void)state;
	expect(&space, 0, (const double[]){11, 11}, 2, NULL, 0);
	expect(&space, 1, (const double[]){-1, 0}, 2, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parameters_become_logarithms_and_products),
	    cmocka_unit_test(what_is_no_power_of_two_has_an_alignment),
	    cmocka_unit_test(what_blocks_cover_and_an_sm_holds),
	    cmocka_unit_test(what_cannot_be_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
