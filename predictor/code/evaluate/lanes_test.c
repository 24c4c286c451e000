#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The worked example at the top of lanes.h: the sums over blocks in y and over iterations of the outermost loop. */
#define Y (KC_BLOCK_AXES - 2)
#define K KC_AXES
#define IN_Y (1u << Y)
#define IN_K (1u << K)
#define WIDTH 64
#define ITERATIONS 10
#define A 0x10000000 /* aligned to a sector */

static const struct kc_value add = {.op = KC_OP_ADD, .bits = 64, .source_bits = 64, .is_signed = 1, .count = 2};
static const struct kc_value times = {.op = KC_OP_MUL, .bits = 64, .source_bits = 64, .is_signed = 1, .count = 2};

static struct kc_lanes constant(int64_t number)
{
	struct kc_lanes lanes;

	kc__set_uniform(&lanes, number, KC_ALL_LANES);
	return lanes;
}

/* A counter that stands at 0. */
static struct kc_lanes counter(uint32_t sum)
{
	struct kc_lanes lanes = constant(0);

	lanes.affine_in = (uint16_t)(1u << sum);
	lanes.step[sum] = 1;
	return lanes;
}

/* Rows of 8 lanes. */
static struct kc_lanes thread_index(int64_t column_step, int64_t row_step)
{
	struct kc_lanes lanes = constant(0);

	lanes.uniform = 0;
	lanes.plane = 1;
	lanes.row_log2 = 3;
	lanes.column_step = column_step;
	lanes.row_step = row_step;
	return lanes;
}

static struct kc_windows windows(void)
{
	struct kc_windows w = {.recorded = IN_Y | IN_K};

	kc__open_window(&w.of[Y]);
	kc__open_window(&w.of[K]);
	return w;
}

static struct kc_lanes operate(struct kc_windows *w, const struct kc_value *value, struct kc_lanes a, struct kc_lanes b)
{
	struct kc_lanes out;

	kc__operate(w, value, &a, &b, &a, KC_ALL_LANES, &out);
	return out;
}

static void assert_plane(const struct kc_lanes *lanes, int64_t first, int64_t column_step, int64_t row_step)
{
	assert_int_equal(lanes->plane, 1);
	assert_int_equal(lanes->v[0], first);
	assert_int_equal(lanes->column_step, column_step);
	assert_int_equal(lanes->row_step, row_step);
	assert_int_equal(kc__lane(lanes, 31), first + 7 * column_step + 3 * row_step);
}

/* &a[row * width + k * 8 + threadIdx.x] */
static struct kc_lanes address(struct kc_windows *w)
{
	struct kc_lanes row = operate(w, &add, operate(w, &times, counter(Y), constant(4)), thread_index(0, 1));
	struct kc_lanes index = operate(w, &times, row, constant(WIDTH));

	index = operate(w, &add, index, operate(w, &times, counter(K), constant(8)));
	index = operate(w, &add, index, thread_index(1, 0));
	return operate(w, &add, operate(w, &times, index, constant(4)), constant(A));
}

static void an_address_steps_through_both_sums(void **state)
{
	struct kc_windows w = windows();
	struct kc_lanes at = address(&w);

	(void)state;
	assert_plane(&at, A, 4, 256);
	assert_int_equal(at.affine_in, IN_Y | IN_K);
	assert_int_equal(at.unknown_in, 0);
	assert_int_equal(at.step[Y], 1024);
	assert_int_equal(at.step[K], 32);
}

/* 4 rows of 32 bytes; the pattern stays, as both steps are whole sectors. */
static void its_sectors_are_the_same_in_every_term(void **state)
{
	struct kc_windows w = windows();
	struct kc_lanes at = address(&w);

	(void)state;
	assert_int_equal(kc__sectors(&at, KC_ALL_LANES, 4), 4);
	kc__limit_pattern(&w, &at, 4, KC_SECTOR_BYTES);
	assert_true(w.of[Y].address_terms == KC_ENDLESS);
	assert_true(w.of[K].address_terms == KC_ENDLESS);
}

static void a_comparison_limits_the_window(void **state)
{
	static const struct kc_value less = {
	    .op = KC_OP_COMPARE, .bits = 1, .source_bits = 32, .is_signed = 1, .compare = KC_PTX_LT, .count = 2};
	struct kc_windows w = windows();
	struct kc_lanes goes_on = operate(&w, &less, counter(K), constant(ITERATIONS));

	(void)state;
	assert_int_equal(goes_on.uniform, 1);
	assert_int_equal(goes_on.v[0], 1);
	assert_int_equal(w.of[K].flow_terms, ITERATIONS);
	assert_true(w.of[Y].flow_terms == KC_ENDLESS);
}

static void a_remainder_is_unknown_in_the_next_term(void **state)
{
	static const struct kc_value remainder = {
	    .op = KC_OP_REM, .bits = 32, .source_bits = 32, .is_signed = 1, .count = 2};
	struct kc_windows w = windows();
	struct kc_lanes left_over = operate(&w, &remainder, counter(K), constant(3));

	(void)state;
	assert_int_equal(left_over.v[0], 0);
	assert_int_equal(left_over.affine_in, 0);
	assert_int_equal(left_over.unknown_in, IN_K);
	assert_int_equal(w.of[K].period, 3);
}

/* A byte, signed or not, that changes by a step in each term: those in which it stays what it is, counted by hand. */
static void a_range_limits_the_window(void **state)
{
	static const struct {
		int64_t from, step, terms;
		int is_signed;
	} bytes[] = {
	    {250, 1, 6, 0},   /* 250 to 255 */
	    {250, 2, 3, 0},   /* 250, 252, 254 */
	    {10, -3, 4, 0},   /* 10, 7, 4, 1 */
	    {0, -1, 1, 0},    /* 0 */
	    {120, 1, 8, 1},   /* 120 to 127 */
	    {-120, -4, 3, 1}, /* -120, -124, -128 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct kc_windows w = windows();
		struct kc_lanes lanes = constant(bytes[i].from);

		lanes.affine_in = IN_K;
		lanes.step[K] = bytes[i].step;
		kc__limit_range(&w, &lanes, 8, bytes[i].is_signed, KC_ALL_LANES);
		assert_int_equal(w.of[K].flow_terms, bytes[i].terms);
		assert_true(w.of[Y].flow_terms == KC_ENDLESS);
	}
}

/* It stays in its range: whatever the number of terms, this one is among them. */
static void a_step_of_0_leaves_this_term(void **state)
{
	struct kc_windows w = windows();
	struct kc_lanes lanes = constant(7);

	(void)state;
	lanes.affine_in = IN_K;
	lanes.step[K] = 0;
	kc__limit_range(&w, &lanes, 8, 0, KC_ALL_LANES);
	assert_true(w.of[K].flow_terms >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_steps_through_both_sums),
	    cmocka_unit_test(its_sectors_are_the_same_in_every_term),
	    cmocka_unit_test(a_comparison_limits_the_window),
	    cmocka_unit_test(a_remainder_is_unknown_in_the_next_term),
	    cmocka_unit_test(a_range_limits_the_window),
	    cmocka_unit_test(a_step_of_0_leaves_this_term),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
