/* Sums that compilers write as a bitwise or, and ors that are no sums: counts against those of the same loops in C. */
#include "predictor/code/cost_testing.h"

#define BLOCKS 24u
#define THREADS 64u
#define N UINT64_C(3000001)
/* An element of 4 bytes at a[%r4] is loaded where %r4 < n. */
#define LOAD                                                                                                           \
	"setp.lt.u32 %p1, %r4, %r1;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"                          \
	"@%p1 ld.global.f32 %f1, [%rd3];\n"
#define NEXT "add.s32 %r5, %r5, %r6;\nsetp.lt.u32 %p2, %r5, %r1;\n@%p2 bra ROUND;\n"

/*
 * for (first = 64 * blockIdx.x; first < n; first += 64 * gridDim.x) a[first | (threadIdx.x & 63)], as Triton writes its
 * loops over tiles: each of the n elements is loaded once, and a launch's effort is enough. Eight words are a sector.
 */
static void a_tile_and_a_thread_in_it(void **state)
{
	static const char text[] = KERNEL("shl.b32 %r5, %r3, 6;\nmov.u32 %r6, %nctaid.x;\nshl.b32 %r6, %r6, 6;\n"
					  "and.b32 %r7, %r2, 63;\nROUND:\nor.b32 %r4, %r5, %r7;\n" LOAD NEXT);
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	counts = evaluated(text, BLOCKS, THREADS, N);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, LD_GLOBAL, N);
	assert_count(counts, SECTORS, (N + 7) / 8);
	read_kernel(&k, text);
	assert_int_equal(evaluate(&k, BLOCKS, THREADS, N, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_true(fabs(counted(&counts, KC_COUNT_OF_LD_GLOBAL) / N - 1) < 0.02);
	let_go(&k);
}

/* The first element of a tile, 64 * blockIdx.x, and the way to the next, 64 * gridDim.x, by a product on either side,
 * by two of them, and as the last element of a tile of which the lower six bits are cut off. */
static void a_tile_that_begins_with_a_product(void **state)
{
#define TILES(of_block, of_grid)                                                                                       \
	KERNEL("mov.u32 %r6, %nctaid.x;\n" of_block of_grid                                                            \
	       "and.b32 %r7, %r2, 63;\nROUND:\nor.b32 %r4, %r5, %r7;\n" LOAD NEXT)
	static const char *const texts[] = {
	    TILES("mul.lo.u32 %r5, %r3, 64;\n", "mul.lo.u32 %r6, %r6, 64;\n"),
	    TILES("mul.lo.u32 %r5, 64, %r3;\n", "mul.lo.u32 %r6, 64, %r6;\n"),
	    TILES("shl.b32 %r5, %r3, 3;\nmul.lo.u32 %r5, %r5, 8;\n", "shl.b32 %r6, %r6, 5;\nmul.lo.u32 %r6, 2, %r6;\n"),
	    TILES("shl.b32 %r5, %r3, 6;\nadd.s32 %r5, %r5, 63;\nand.b32 %r5, %r5, -64;\n", "shl.b32 %r6, %r6, 6;\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct kc_counts counts;
		struct kernel k;

		read_kernel(&k, texts[i]);
		assert_int_equal(evaluate(&k, BLOCKS, THREADS, N, 4 * KC_COST_EFFORT_LAUNCH, &counts), 0);
		assert_int_equal(counts.exact, 1);
		assert_count(counts, LD_GLOBAL, N);
		let_go(&k);
	}
}

/* The same with 32 threads, which take one half of the tile after the other in a loop within. */
static void a_tile_in_two_loops(void **state)
{
	static const char text[] =
	    KERNEL("shl.b32 %r5, %r3, 6;\nmov.u32 %r6, %nctaid.x;\nshl.b32 %r6, %r6, 6;\nand.b32 %r7, %r2, 31;\n"
		   "ROUND:\nmov.b32 %r8, 0;\nHALF:\nor.b32 %r9, %r8, %r7;\nor.b32 %r4, %r5, %r9;\n" LOAD
		   "add.s32 %r8, %r8, 32;\nsetp.ne.u32 %p3, %r8, 64;\n@%p3 bra HALF;\n" NEXT);
	struct kc_counts counts;

	(void)state;
	counts = evaluated(text, BLOCKS, 32, N);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, LD_GLOBAL, N);
	assert_count(counts, SECTORS, (N + 7) / 8);
}

static uint64_t below(uint32_t n, uint32_t shift, uint32_t mask)
{
	uint64_t count = 0;

	for (uint32_t block = 0; block < BLOCKS; block++)
		for (uint32_t thread = 0; thread < THREADS; thread++)
			count += (block << shift | (thread & mask)) < n;
	return count;
}

/* With 64 threads and blocks at multiples of 16, an or is less than the sum where both have the bits of 16 and 32. */
static void bits_in_common_are_no_sum(void **state)
{
	static const char text[] = KERNEL("shl.b32 %r5, %r3, 4;\nand.b32 %r7, %r2, 63;\nor.b32 %r4, %r5, %r7;\n" LOAD);
	struct kc_counts counts = evaluated(text, BLOCKS, THREADS, 100);

	(void)state;
	assert_count(counts, LD_GLOBAL, below(100, 4, 63));
}

/* x = x << 1 | 1 from 0 on is 2^k - 1 and never even again: x | 1 is x then, not x + 1. */
static void a_variable_that_loses_its_zeros(void **state)
{
	static const char text[] =
	    KERNEL("mov.b32 %r8, 0;\nmov.b32 %r9, 0;\nROUND:\nor.b32 %r4, %r8, 1;\n" LOAD
		   "shl.b32 %r8, %r8, 1;\nor.b32 %r8, %r8, 1;\nadd.s32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 8;\n"
		   "@%p2 bra ROUND;\n");
	struct kc_counts counts = evaluated(text, 1, 32, 16);
	uint32_t loads = 0;

	(void)state;
	for (uint32_t round = 0, x = 0; round < 8; round++, x = x << 1 | 1)
		loads += (x | 1) < 16;
	assert_int_equal(loads, 5);
	assert_count(counts, LD_GLOBAL, 32 * loads);
}

/* The sign that an extension repeats is no zero: 64 * block - 64, extended, or 2^32: of 24 blocks, one has a number
 * below 0. */
static void signs_are_no_zeros(void **state)
{
	static const char text[] =
	    KERNEL("shl.b32 %r5, %r3, 6;\nsub.s32 %r5, %r5, 64;\ncvt.s64.s32 %rd4, %r5;\n"
		   "or.b64 %rd5, %rd4, 4294967296;\nsetp.lt.s64 %p1, %rd5, 0;\n@%p1 ld.global.f32 %f1, [%rd1];\n");
	struct kc_counts counts = evaluated(text, BLOCKS, 32, N);

	(void)state;
	assert_count(counts, LD_GLOBAL, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tile_and_a_thread_in_it),
	    cmocka_unit_test(a_tile_that_begins_with_a_product),
	    cmocka_unit_test(a_tile_in_two_loops),
	    cmocka_unit_test(bits_in_common_are_no_sum),
	    cmocka_unit_test(a_variable_that_loses_its_zeros),
	    cmocka_unit_test(signs_are_no_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
