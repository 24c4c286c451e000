/* Loads and stores of matrices, by hand: of a tile of 16 lines, each lane moves parts of lines l / 4 and l / 4 + 8. */
#include "cost_testing.h"

#define OPERAND "{%r4,%r5,%r6,%r7,%r8,%r9,%r10,%r11}"
#define RESULT "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}"

struct expected {
	const char *text;
	double loads, stores, requests, sectors, bytes, passes;
};

static void check(const struct expected *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct kc_counts counts = evaluated(cases[i].text, 1, 32, 24);

		assert_count(counts, TENSOR, 0);
		assert_count(counts, LD_GLOBAL, 32 * cases[i].loads);
		assert_count(counts, ST_GLOBAL, 32 * cases[i].stores);
		assert_count(counts, REQUESTS, cases[i].requests);
		assert_count(counts, SECTORS, cases[i].sectors);
		assert_near(counted(&counts, KC_COUNT_OF_BYTES_LOADED) + counted(&counts, KC_COUNT_OF_BYTES_STORED),
			    cases[i].bytes);
		assert_count(counts, SHARED_PASSES, cases[i].passes);
		assert_int_equal(counts.exact, 1);
	}
}

/* Half-precision tiles have 16 lines of 32 bytes, 512 in all: 4 requests of 8 lines and 16 bytes each, which lie in one
 * sector of each line, also where lines are 24 elements (48 bytes) apart. */
static void tiles_in_global_memory(void **state)
{
	static const struct expected cases[] = {
	    {KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " OPERAND ", [%rd1], 16;\n"), 4, 0, 4, 32, 512,
	     0},
	    {KERNEL("wmma.load.a.sync.aligned.col.m16n16k16.global.f16 " OPERAND ", [%rd1], 16;\n"), 4, 0, 4, 32, 512,
	     0},
	    {KERNEL("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " OPERAND ", [%rd1];\n"), 4, 0, 4, 32, 512, 0},
	    {KERNEL("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " OPERAND ", [%rd1], %r1;\n"), 4, 0, 4, 32, 512,
	     0},
	    /* 32 lines of 16 elements; 8 of 16 */
	    {KERNEL("wmma.load.a.sync.aligned.row.m32n8k16.global.f16 " OPERAND ", [%rd1], 16;\n"), 8, 0, 8, 64, 1024,
	     0},
	    {KERNEL("wmma.load.b.sync.aligned.col.m32n8k16.global.f16 " OPERAND ", [%rd1], 16;\n"), 2, 0, 2, 16, 256,
	     0},
	    /* 8 bytes of each lane: 32 of each line */
	    {KERNEL("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " RESULT ", [%rd1], 16;\n"), 4, 0, 4, 32, 1024,
	     0},
	    {KERNEL("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], " RESULT ", 16;\n"), 0, 4, 4, 32, 1024,
	     0},
	    /* element by element: 8 of 4 lines, which are a sector each */
	    {KERNEL("wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd1], " RESULT ", 16;\n"), 0, 8, 8, 32, 1024,
	     0},
	    {KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%r4,%r5}, [%rd1], 32;\n"), 2, 0, 2, 16, 256, 0},
	    {KERNEL("wmma.load.a.sync.aligned.col.m16n16k16.global.s8 {%r4,%r5}, [%rd1], 32;\n"), 8, 0, 8, 32, 256, 0},
	    {KERNEL("wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%rd4}, [%rd1], 4;\n"), 1, 0, 1, 8, 256, 0},
	};

	(void)state;
	check(cases, sizeof(cases) / sizeof(*cases));
}

/* ldmatrix moves 8 rows of 16 bytes, 128 bytes, in one pass: rows of 32 bytes are 4 to a row of banks, and rows of 128
 * bytes all in the same banks. */
static void tiles_in_shared_memory(void **state)
{
	static const struct expected cases[] = {
	    {KERNEL("mov.u32 %r4, s;\nwmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " OPERAND ", [%r4], 8;\n"), 0,
	     0, 0, 0, 0, 4},
	    {KERNEL("mov.u32 %r4, s;\nwmma.load.a.sync.aligned.col.m16n16k16.shared.f16 " OPERAND ", [%r4], 64;\n"), 0,
	     0, 0, 0, 0, 32},
	    {KERNEL("mov.u32 %r4, s;\nldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r5,%r6}, [%r4];\n"), 0, 0, 0, 0, 0, 2},
	    /* 8 bytes of each lane, lines of 64 bytes: each half of a warp, 4 lines, covers 32 bytes of each: two lines
	       apart, the banks are the same */
	    {KERNEL("mov.u32 %r4, s;\nwmma.load.c.sync.aligned.row.m16n16k16.shared.f32 " RESULT ", [%r4], 16;\n"), 0,
	     0, 0, 0, 0, 16},
	    /* the shared memory of a generic address */
	    {KERNEL("mov.u64 %rd4, s;\ncvta.shared.u64 %rd5, %rd4;\n"
		    "wmma.load.c.sync.aligned.row.m16n16k16.f32 " RESULT ", [%rd5], 8;\n"),
	     0, 0, 0, 0, 0, 8},
	};

	(void)state;
	check(cases, sizeof(cases) / sizeof(*cases));
}

/* 16 * 16 * 16 multiply-adds of a warp. */
static void only_the_multiplication_is_tensor_work(void **state)
{
	struct kc_counts counts = evaluated(
	    KERNEL("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " OPERAND ", [%rd1], 16;\n"
		   "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " RESULT "," OPERAND "," OPERAND "," RESULT ";\n"),
	    1, 32, 0);

	(void)state;
	assert_count(counts, TENSOR, 4096);
}

/* Four warps multiply 64 x 8 x 16 together; what orders and awaits multiplications is none. */
static void multiplications_of_four_warps(void **state)
{
	struct kc_counts counts = evaluated(
	    KERNEL("wgmma.fence.sync.aligned;\n"
		   "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd4, %rd5, 1, 1, 1, 0, 0;\n"
		   "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"),
	    3, 128, 0);

	(void)state;
	assert_count(counts, TENSOR, 3 * 64 * 8 * 16);
}

static void a_tile_at_an_address_from_memory_is_assumed(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL("ld.global.u32 %r4, [%rd1];\n"
			     "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " OPERAND ", [%rd1], %r4;\n"),
		      1, 32, 0);

	(void)state;
	assert_int_equal(counts.exact, 0);
	assert_count(counts, LD_GLOBAL, 32 * 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tiles_in_global_memory),
	    cmocka_unit_test(tiles_in_shared_memory),
	    cmocka_unit_test(only_the_multiplication_is_tensor_work),
	    cmocka_unit_test(multiplications_of_four_warps),
	    cmocka_unit_test(a_tile_at_an_address_from_memory_is_assumed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
