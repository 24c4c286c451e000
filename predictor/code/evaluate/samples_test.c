/* Launches of which the effort allows only a part: blocks and warps that are spread over the rest stand for it. */
#include "predictor/code/cost_testing.h"

enum { SIDE = 64, BLOCKS = SIDE * SIDE, THREADS = 128, EFFORT = 20000, FEW = 251, LOOPS = 250 };

static double fma_per_thread(const char *text, const uint32_t grid[3], uint32_t effort)
{
	struct kc_cost_argument arguments[3] = {{.value = POINTER, .known = 1}, {.known = 1}};
	struct kc_cost_launch launch = {
	    .grid = {grid[0], grid[1], grid[2]}, .block = {THREADS, 1, 1}, .arguments = arguments, .argument_count = 3};
	struct kc_counts counts;
	struct kernel k;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_evaluate(k.cost, &launch, effort, &counts), 0);
	assert_int_equal(counts.sampled, effort != KC_COST_EFFORT_EXACT);
	assert_int_equal(counts.exact, effort == KC_COST_EFFORT_EXACT);
	let_go(&k);
	return counts.of[KC_COUNT_OF_FMA];
}

/* The whole evaluated, and at an effort for a part of it: a tenth off at most. */
static void assert_counted(const char *text, const uint32_t grid[3], double expected)
{
	assert_float_equal(fma_per_thread(text, grid, KC_COST_EFFORT_EXACT), expected, 1e-6);
	assert_float_equal(fma_per_thread(text, grid, EFFORT), expected, expected / 10);
}

/* Multiply-adds in 32 x 32 of 64 x 64 blocks, neither the first nor the last of which are among them. Which they are
 * differs from block to block: x ^ 21 is between 16 and 47, y ^ 42 as well. */
#define SOME_BLOCKS                                                                                                    \
	"xor.b32 %r4, %r3, 21;\nsub.s32 %r4, %r4, 16;\nsetp.ge.u32 %p1, %r4, 32;\n@%p1 bra END;\n"                     \
	"mov.u32 %r5, %ctaid.y;\nxor.b32 %r5, %r5, 42;\nsub.s32 %r5, %r5, 16;\nsetp.ge.u32 %p1, %r5, 32;\n"            \
	"@%p1 bra END;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nEND:\n"

static void a_part_of_the_blocks_in_the_middle(void **state)
{
	static const uint32_t grid[3] = {SIDE, SIDE, 1};

	(void)state;
	assert_counted(KERNEL(SOME_BLOCKS), grid, 0.5);
}

/* As many multiply-adds as the last digits of 7919 times the block's number: as 7919 is odd, each of 0 to 1023 four
 * times in 4,096 blocks. */
static void loops_of_another_length_in_each_block(void **state)
{
	static const char text[] =
	    KERNEL("mul.lo.s32 %r4, %r3, 7919;\nand.b32 %r4, %r4, 1023;\nmov.u32 %r5, 0;\nROUND:\n"
		   "setp.ge.u32 %p1, %r5, %r4;\n@%p1 bra END;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
		   "add.s32 %r5, %r5, 1;\nbra ROUND;\nEND:\n");
	static const uint32_t grid[3] = {BLOCKS, 1, 1};

	(void)state;
	assert_counted(text, grid, 511.5);
}

/* 100 multiply-adds in one warp of four: that whose number ends, in binary, as 7919 times the block's does. */
static void one_warp_of_each_block(void **state)
{
	static const char text[] =
	    KERNEL("shr.u32 %r4, %r2, 5;\nmul.lo.s32 %r5, %r3, 7919;\nxor.b32 %r4, %r4, %r5;\nand.b32 %r4, %r4, 3;\n"
		   "setp.ne.u32 %p1, %r4, 0;\n@%p1 bra END;\nmov.u32 %r5, 0;\nROUND:\n"
		   "fma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 100;\n"
		   "@%p1 bra ROUND;\nEND:\n");
	static const uint32_t grid[3] = {BLOCKS, 1, 1};

	(void)state;
	assert_counted(text, grid, 25);
}

/* Hundreds of loops after one another, whose warps take more steps each than are allowed: one stands for all. */
static void a_warp_of_too_many_steps(void **state)
{
	static const char loop[] = "mov.u32 %%r4, %%r2;\nROUND_%u:\nfma.rn.f32 %%f1, %%f1, %%f1, %%f1;\n"
				   "add.s32 %%r4, %%r4, 1;\nsetp.lt.s32 %%p1, %%r4, 64;\n@%%p1 bra ROUND_%u;\n";
	static const uint32_t grid[3] = {SIDE, SIDE, SIDE};
	static char text[120000];
	double sum;

	(void)state;
	put_loops(text, sizeof(text), loop, LOOPS);
	sum = fma_per_thread(text, grid, FEW);
	assert_true(sum > 0 && sum <= 64 * LOOPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_part_of_the_blocks_in_the_middle),
	    cmocka_unit_test(loops_of_another_length_in_each_block),
	    cmocka_unit_test(one_warp_of_each_block),
	    cmocka_unit_test(a_warp_of_too_many_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
