#include "block_sizes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b) + 1e-9;
}

static struct kc_block_size block(uint32_t x, uint32_t y, uint32_t blocks_per_sm)
{
	return (struct kc_block_size){{x, y, 1}, blocks_per_sm};
}

static struct kc_block_curve curve(const struct kc_block_time *times, uint32_t count)
{
	return (struct kc_block_curve){times, count};
}

/* Times of size³: 8 at 2, 64 at 4. */
static void sizes_between_lie_on_a_line_of_logarithms(void **state)
{
	double sizes[3] = {2, 4, 100}, times[3] = {8, 64, 1};

	(void)state;
	assert_true(near(kc_size_between(sizes, times, 2, 2), 8));
	assert_true(near(kc_size_between(sizes, times, 2, 3), 27));
	assert_true(near(kc_size_between(sizes, times, 2, 1.5), 3.375));
	assert_true(near(kc_size_between(sizes, times, 2, 5), 125));
	assert_true(isnan(kc_size_between(sizes, times, 2, 7)));
	assert_true(isnan(kc_size_between(sizes, times, 2, 1)));
	assert_true(isnan(kc_size_between(sizes, times, 3, 20)));
	assert_true(near(kc_size_between(sizes, times, 1, 2), 8));
	assert_true(isnan(kc_size_between(sizes, times, 1, 2.1)));
	assert_true(isnan(kc_size_between(sizes, times, 0, 2)));
}

static void a_donor_at_twice_the_speed_is_doubled(void **state)
{
	struct kc_block_time own[2] = {{block(8, 8, 1), 2}, {block(16, 16, 1), 4}};
	struct kc_block_time there[3] = {{block(16, 16, 1), 2}, {block(32, 32, 1), 5}, {block(8, 8, 1), 1}};
	struct kc_block_curve mine = curve(own, 2), donor = curve(there, 3);
	struct kc_block_size target = block(32, 32, 1);

	(void)state;
	assert_true(near(kc_blocks_predict(&mine, &donor, 1, &target), 10));
	assert_true(near(kc_blocks_predict(&mine, &donor, 1, &own[0].size), 2));
}

/* 2 and 8 times the donor at 64 and 1,024 threads: 4 in the middle (256), and
 * beyond half of the last residual: 4 · √2. */
static void what_donors_leave_is_followed_half_way(void **state)
{
	struct kc_block_time own[2] = {{block(8, 8, 1), 2}, {block(32, 32, 1), 8}};
	struct kc_block_time there[4] = {
	    {block(8, 8, 1), 1}, {block(32, 32, 1), 1}, {block(16, 16, 1), 3}, {block(64, 32, 1), 2}};
	struct kc_block_curve mine = curve(own, 2), donor = curve(there, 4);
	struct kc_block_size middle = block(16, 16, 1), beyond = block(64, 32, 1);

	(void)state;
	assert_true(near(kc_blocks_predict(&mine, &donor, 1, &middle), 12));
	assert_true(near(kc_blocks_predict(&mine, &donor, 1, &beyond), 8 * sqrt(2)));
}

/* One that fits to the last digit against one whose residuals are ± log 2: weights 1 / 0.02² and 1 / (log² 2 + 0.02²).
 */
static void donors_count_by_how_well_they_fit(void **state)
{
	struct kc_block_time own[2] = {{block(8, 8, 1), 2}, {block(32, 32, 1), 8}};
	struct kc_block_time good[3] = {{block(8, 8, 1), 2}, {block(32, 32, 1), 8}, {block(16, 16, 1), 6}};
	struct kc_block_time bad[3] = {{block(8, 8, 1), 1}, {block(32, 32, 1), 1}, {block(16, 16, 1), 3}};
	struct kc_block_curve mine = curve(own, 2), donors[2] = {curve(bad, 3), curve(good, 3)};
	struct kc_block_size target = block(16, 16, 1);
	double w = 1 / 0.0004, v = 1 / (log(2) * log(2) + 0.0004);

	(void)state;
	assert_true(near(kc_blocks_predict(&mine, donors, 2, &target), exp((w * log(6) + v * log(12)) / (w + v))));
}

static void donors_that_know_too_little_are_skipped(void **state)
{
	struct kc_block_time own[1] = {{block(32, 32, 2), 7}};
	struct kc_block_time elsewhere[2] = {{block(8, 8, 1), 1}, {block(16, 16, 8), 3}};
	struct kc_block_curve mine = curve(own, 1), nothing = curve(NULL, 0);
	struct kc_block_curve donors[2] = {curve(elsewhere, 2), curve(own, 1)};
	struct kc_block_size target = block(16, 16, 8);

	(void)state;
	assert_true(near(kc_blocks_predict(&mine, donors, 2, &target), kc_blocks_predict(&mine, NULL, 0, &target)));
	assert_true(isnan(kc_blocks_predict(&nothing, donors, 2, &target)));
}

/*
 * From 32 · 32, two blocks on an SM, by terms in equal shares:
 *   16 · 16, eight:     lanes 1 / 1, tile (1/16) / (1/32), latency (1/64) / (1/64), block (1/8) / (1/2)
 *   4 · 4, sixteen:     2 / 1, (2 · 1/4) / (1/32), (2/16) / (1/64), (1/16) / (1/2)
 *   12 · 12, twelve:    a row of 12 touches 2 sectors where 1.5 would do; 5 warps for 144 threads
 */
static void one_point_scales_with_the_mean_of_the_terms(void **state)
{
	struct kc_block_time own[1] = {{block(32, 32, 2), 100}};
	struct kc_block_curve mine = curve(own, 1);
	struct kc_block_size a = block(16, 16, 8), b = block(4, 4, 16), c = block(12, 12, 12);
	double lanes = 160.0 / 144;

	(void)state;
	assert_true(near(kc_blocks_predict(&mine, NULL, 0, &a), 100 * (1 + 2 + 1 + 0.25) / 4));
	assert_true(near(kc_blocks_predict(&mine, NULL, 0, &b), 100 * (2 + 16 + 8 + 0.125) / 4));
	assert_true(near(kc_blocks_predict(&mine, NULL, 0, &c),
			 100 * (lanes + 4.0 / 3 * 32 / 12 + lanes * 64 / 60 + 1.0 / 6) / 4));
}

/* Times made of lanes alone, over block sizes in which the other terms differ: no term is drawn below 0, and most of
 * what is found is lanes. */
static void coefficients_stay_above_zero(void **state)
{
	struct kc_block_time own[4] = {
	    {block(4, 4, 16), 200}, {block(8, 8, 16), 100}, {block(16, 16, 8), 100}, {block(32, 32, 2), 100}};
	struct kc_block_curve mine = curve(own, 4);

	(void)state;
	for (uint32_t i = 1; i <= 32; i++) {
		struct kc_block_size target = block(32, i, 16);
		double ns = kc_blocks_predict(&mine, NULL, 0, &target);

		assert_true(ns > 0 && ns < 200);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sizes_between_lie_on_a_line_of_logarithms),
	    cmocka_unit_test(a_donor_at_twice_the_speed_is_doubled),
	    cmocka_unit_test(what_donors_leave_is_followed_half_way),
	    cmocka_unit_test(donors_count_by_how_well_they_fit),
	    cmocka_unit_test(donors_that_know_too_little_are_skipped),
	    cmocka_unit_test(one_point_scales_with_the_mean_of_the_terms),
	    cmocka_unit_test(coefficients_stay_above_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
