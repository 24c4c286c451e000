/* The CPU references against answers worked out by hand or published. */
#include "reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void same_ints(const int *got, const int *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(got[i], wanted[i]);
}

static void same_floats(const float *got, const float *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_float_equal(got[i], wanted[i], 1e-5);
}

static void transposed(void **state)
{
	const float in[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, wanted[9] = {1, 4, 7, 2, 5, 8, 3, 6, 9};
	float out[9];

	(void)state;
	reference_transpose(3, in, out);
	same_floats(out, wanted, 9);
}

static void product(void **state)
{
	const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, wanted[4] = {19, 22, 43, 50};
	float c[4];

	(void)state;
	reference_matmul(2, a, b, c);
	same_floats(c, wanted, 4);
	assert_float_equal(reference_product_error(2, a, b, c), 0, 0);
	for (int i = 0; i < 4; i++) {
		c[i] += 1;
		assert_true(reference_product_error(2, a, b, c) > 1e-3);
		c[i] -= 1;
	}
}

/* [2 1 1; 4 3 3; 8 7 9] = [1 0 0; 2 1 0; 4 3 1] [2 1 1; 0 1 1; 0 0 2] */
static void decomposition(void **state)
{
	const float a[9] = {2, 1, 1, 4, 3, 3, 8, 7, 9}, wanted[9] = {2, 1, 1, 2, 1, 1, 4, 3, 2};
	float lu[9];

	(void)state;
	memcpy(lu, a, sizeof(a));
	reference_lu(3, lu);
	same_floats(lu, wanted, 9);
	assert_float_equal(reference_lu_error(3, lu, a), 0, 1e-12);
	for (int i = 0; i < 9; i++) {
		lu[i] += 1;
		assert_true(reference_lu_error(3, lu, a) > 1e-3);
		lu[i] -= 1;
	}
}

static void subarray(void **state)
{
	const int mixed[] = {-2, 1, -3, 4, -1, 2, 1, -5, 4}, negative[] = {-3, -1, -2};

	(void)state;
	assert_int_equal(reference_maximum_subarray(COUNT(mixed), mixed), 6);
	assert_int_equal(reference_maximum_subarray(COUNT(negative), negative), -1);
}

static void counted(void **state)
{
	const int x[] = {0, 3, 1, 3, 3, 0}, wanted[] = {2, 1, 0, 3};
	int counts[4];

	(void)state;
	reference_histogram(COUNT(x), x, 4, counts);
	same_ints(counts, wanted, 4);
}

/* 2, 0, 3, 1 */
static void ranked(void **state)
{
	const int next[] = {3, -1, 0, 1}, wanted[] = {1, 3, 0, 2};
	int ranks[4];

	(void)state;
	reference_list_ranks(next, 2, ranks);
	same_ints(ranks, wanted, 4);
}

/* 0 -> 1, 2; 1 -> 3; 2 -> 3; 3 -> 0; 4 -> 0: nothing leads to 4 */
static void searched(void **state)
{
	const int first[] = {0, 2, 3, 4, 5, 6}, edges[] = {1, 2, 3, 3, 0, 0}, wanted[] = {0, 1, 1, 2, -1};
	int levels[5];

	(void)state;
	assert_int_equal(reference_bfs(5, first, edges, 0, levels), 2);
	same_ints(levels, wanted, 5);
}

/* One spot 1,000 degrees above the ambient, in the middle of 3 x 3: it loses 2 x 100, 2 x 50 and 10 in a step. */
static void heat_flows(void **state)
{
	float heat[9], power[9] = {[0] = 2}, out[9];
	const float wanted[9] = {81, 130, 80, 180, 770, 180, 80, 130, 80};

	(void)state;
	for (int i = 0; i < 9; i++)
		heat[i] = HOTSPOT_AMBIENT;
	heat[4] += 1000;
	reference_hotspot(3, 1, 1, heat, power, out);
	for (int i = 0; i < 9; i++)
		assert_float_equal(out[i], wanted[i], 1e-3);
}

/* The same between two layers of one point each, where no row or column is beside it. */
static void heat_rises(void **state)
{
	const float heat[2] = {HOTSPOT_AMBIENT + 1000, HOTSPOT_AMBIENT}, power[2] = {0, 0};
	float out[2];

	(void)state;
	reference_hotspot(1, 2, 1, heat, power, out);
	assert_float_equal(out[0], 80 + 1000 - 25 - 10, 1e-3);
	assert_float_equal(out[1], 80 + 25, 1e-3);
}

/* 2 x 2, by hand: mean 1.25, variance 0.1875, scale 0.12. At the 2, whose differences are 0, -1, 0, -1 over 2:
 * G 0.5, L -1, variation (0.25 - 0.0625) / 0.5625 = 1 / 3, c = 0.1344 / (0.1344 + 0.21333) = 0.386503.
 * At its neighbours G 1, L 1, variation 0.4375 / 1.5625 = 0.28, c = 0.1344 / (0.1344 + 0.16) = 0.456522; at the
 * opposite corner nothing differs: c = 0.1344 / (0.1344 - 0.12), 1 at most. */
static void speckle_goes(void **state)
{
	const float flat[4] = {3, 3, 3, 3}, in[4] = {2, 1, 1, 1};
	float out[4];

	(void)state;
	reference_srad(2, 1, in, out);
	assert_float_equal(out[0], 2 - 0.125 * 2 * 0.456522, 1e-5);
	assert_float_equal(out[1], 1 + 0.125 * 0.456522, 1e-5);
	assert_float_equal(out[2], 1 + 0.125 * 0.456522, 1e-5);
	assert_float_equal(out[3], 1, 1e-6);
	reference_srad(2, 0, flat, out);
	same_floats(out, flat, 4);
}

static void path(void **state)
{
	const int cost[9] = {1, 9, 9, 9, 1, 9, 9, 9, 1}, wanted[3] = {11, 11, 3};
	int best[3];

	(void)state;
	reference_pathfinder(3, 3, cost, best);
	same_ints(best, wanted, 3);
}

/* The textbook's pair, match 1, mismatch -1, gap -1: 0. */
static void aligned(void **state)
{
	const char a[] = "GCATGCG", b[] = "GATTACA";
	const int last_row[8] = {-7, -5, -3, -1, -2, -2, 0, 0};
	int similarity[49], scores[64];

	(void)state;
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < 7; j++)
			similarity[i * 7 + j] = b[i] == a[j] ? 1 : -1;
	reference_nw(7, similarity, 1, scores);
	same_ints(scores + 56, last_row, 8);
}

static void nearest(void **state)
{
	const float x[] = {3, 0, 6, 1}, y[] = {4, 2, 8, 0}, wanted[] = {5, 2, 10, 1};
	float distances[4];
	long found[3];

	(void)state;
	reference_distances(4, x, y, 0, 0, distances);
	same_floats(distances, wanted, 4);
	reference_nearest(4, distances, 3, found);
	assert_int_equal(found[0], 3);
	assert_int_equal(found[1], 1);
	assert_int_equal(found[2], 0);
}

/* In place 65,537; four coarse units aside half of 65,536, and 1. Of weights 4 1 1 the points 1, 3, 5 hit 0, 0, 2. */
static void particles(void **state)
{
	const struct reference_particle seen = {512, 1024}, aside = {512 + 4 * PARTICLE_COARSE, 1024};
	const uint32_t weights[3] = {4, 1, 1};
	struct reference_particle cloud[500] = {{0, 0}}, mean;
	long from[3];

	(void)state;
	assert_int_equal(reference_weight(seen, seen), 65537);
	assert_int_equal(reference_weight(aside, seen), 32769);
	reference_draw(3, weights, from);
	assert_int_equal(from[0], 0);
	assert_int_equal(from[1], 0);
	assert_int_equal(from[2], 2);
	/* where it is seen in the tenth frame, to a quarter of a pixel */
	mean = reference_filter(COUNT(cloud), 10, cloud);
	assert_true(abs(mean.x - 10 * PARTICLE_STEP_X) < PARTICLE_UNIT / 4);
	assert_true(abs(mean.y - 10 * PARTICLE_STEP_Y) < PARTICLE_UNIT / 4);
}

static void pixels(void **state)
{
	const int in[4] = {1, 2, 3, 200}, other[4] = {4, 2, 1, 100};
	const int binary[4] = {0, 0, 255, 255}, mirrored[4] = {200, 3, 2, 1}, apart[4] = {3, 0, 2, 100};
	const int rows[2] = {3, 203}, columns[2] = {4, 202};
	int out[4];

	(void)state;
	reference_binarize(2, in, 2, out);
	same_ints(out, binary, 4);
	reference_mirror(2, in, out);
	same_ints(out, mirrored, 4);
	reference_difference(2, in, other, out);
	same_ints(out, apart, 4);
	reference_project_x(2, in, out);
	same_ints(out, rows, 2);
	reference_project_y(2, in, out);
	same_ints(out, columns, 2);
	assert_int_equal(reference_sum(4, in), 206);
	assert_int_equal(reference_maximum(4, in), 200);
}

static void tiles(void **state)
{
	int in[64], small[4], large[1024];

	(void)state;
	for (int i = 0; i < 64; i++)
		in[i] = i;
	/* rows 0, 8, 16, 24 and columns 0 to 3: 216 / 16 = 13.5 */
	reference_scale_down(8, in, small);
	assert_int_equal(small[0], 13);
	assert_int_equal(small[1], 17);
	assert_int_equal(small[2], 45);
	assert_int_equal(small[3], 49);
	reference_enlarge(8, in, large);
	assert_int_equal(large[0], 0);
	assert_int_equal(large[3], 0);
	assert_int_equal(large[4], 1);
	assert_int_equal(large[3 * 32], 0);
	assert_int_equal(large[4 * 32], 8);
	assert_int_equal(large[1023], 63);
}

/* A constant has one coefficient, 8 times itself; one sample at the origin has the product of the basis there. */
static void cosines(void **state)
{
	float in[64], out[64];

	(void)state;
	for (int i = 0; i < 64; i++)
		in[i] = 3;
	reference_dct(8, in, out);
	assert_float_equal(out[0], 24, 1e-4);
	for (int i = 1; i < 64; i++)
		assert_float_equal(out[i], 0, 1e-4);
	memset(in, 0, sizeof(in));
	in[0] = 8;
	reference_dct(8, in, out);
	assert_float_equal(out[0], 1, 1e-5);
	assert_float_equal(out[1], sqrt(2) * cos(M_PI / 16), 1e-5);
	assert_float_equal(out[9], 2 * cos(M_PI / 16) * cos(M_PI / 16), 1e-5);
}

static void filtered(void **state)
{
	int in[81] = {[40] = 256}, out[81];

	(void)state;
	reference_convolve_2d(9, in, out);
	assert_int_equal(out[40], 36);
	assert_int_equal(out[39], 24);
	assert_int_equal(out[30], 16);
	assert_int_equal(out[20], 1);
	assert_int_equal(out[37], 0);
	reference_convolve_1d(9, in, out);
	assert_int_equal(out[40], 80);
	assert_int_equal(out[41], 60);
	assert_int_equal(out[42], 24);
	assert_int_equal(out[43], 4);
	assert_int_equal(out[31], 0);
	for (int i = 0; i < 81; i++)
		in[i] = 9;
	in[0] = 4;
	reference_erode(9, in, out);
	for (int i = 0; i < 81; i++)
		assert_int_equal(out[i], i / 9 <= 3 && i % 9 <= 3 ? 4 : 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(transposed),   cmocka_unit_test(product),    cmocka_unit_test(decomposition),
	    cmocka_unit_test(subarray),     cmocka_unit_test(counted),    cmocka_unit_test(ranked),
	    cmocka_unit_test(searched),     cmocka_unit_test(heat_flows), cmocka_unit_test(heat_rises),
	    cmocka_unit_test(speckle_goes), cmocka_unit_test(path),       cmocka_unit_test(aligned),
	    cmocka_unit_test(nearest),      cmocka_unit_test(particles),  cmocka_unit_test(pixels),
	    cmocka_unit_test(tiles),        cmocka_unit_test(cosines),    cmocka_unit_test(filtered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
