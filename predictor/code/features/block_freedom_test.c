/*
 * Which blocks other kernels of cuda_tests/explain could have, as their sources say, and PTX written for each way in
 * which a block may matter.
 */
#include "block_freedom.h"
#include "predictor/code/ptx/ptx_file_testing.h"

#include <string.h>

#define MEMORY_BYTES ((size_t)16 << 20)

static struct kc_block_freedom freedom_in(const char *text, const char *kernel)
{
	struct kc_ptx_module module;
	struct kc_block_freedom out;

	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), MEMORY_BYTES, NULL), 0);
	assert_non_null(kc_ptx_find(&module, kernel));
	assert_int_equal(kc_block_freedom(&module, kc_ptx_find(&module, kernel), &out), 0);
	kc_ptx_free(&module);
	return out;
}

#define REGISTERS ".reg .pred %%p<9>; .reg .b32 %%r<40>; .reg .b64 %%rd<40>;\n"

/* attributes: of the kernel. */
static struct kc_block_freedom freedom_with(const char *attributes, const char *body)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p0)\n%s\n{\n" REGISTERS
		 "%s\nret;\n}\n",
		 attributes, body);
	return freedom_in(text, "k");
}

static void expect(const char *body, const char *fixed, const char *why)
{
	struct kc_block_freedom got = freedom_with("", body);
	char dimensions[4] = "", *end = dimensions;

	for (unsigned d = 0; d < 3; d++)
		if (got.fixed[d])
			*end++ = "xyz"[d];
	*end = '\0';
	if (strcmp(dimensions, fixed) != 0)
		fail_msg("%s\nfixed: \"%s\" (%s), not \"%s\"", body, dimensions, got.why, fixed);
	if (why && !strstr(got.why, why))
		fail_msg("%s\nwhy: \"%s\", not \"%s\"", body, got.why, why);
}

#define PLACE "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"

static void a_place_in_the_launch_is_free(void **state)
{
	(void)state;
	expect(PLACE "mad.lo.s32 %r4, %r1, %r2, %r3; st.global.u32 [%rd1], %r4;", "", NULL);
	expect(PLACE "mad.lo.s32 %r4, %r2, %r1, %r3;", "", NULL);
	expect("mad.lo.s32 %r4, %ctaid.y, %ntid.y, %tid.y;", "", NULL);
	expect(PLACE "mul.lo.s32 %r4, %r1, %r2; add.s32 %r5, %r4, %r3;", "", NULL);
	expect(PLACE "mul.wide.u32 %rd1, %r1, %r2; cvt.u64.u32 %rd2, %r3; add.s64 %rd3, %rd2, %rd1;", "", NULL);
	/* As far as the grid reaches: so many threads there are with any block. */
	expect(PLACE "mad.lo.s32 %r4, %r1, %r2, %r3; mov.u32 %r5, %nctaid.x; mul.lo.s32 %r6, %r2, %r5;\n"
		     "LOOP: add.s32 %r4, %r4, %r6; setp.lt.s32 %p1, %r4, 1000; @%p1 bra LOOP;",
	       "", NULL);
	expect("red.global.add.u32 [%rd1], 1; mov.u32 %r1, WARP_SZ;", "", NULL);
}

/* i + k * blockDim.x * gridDim.x, as nvcc writes it for the steps of an unrolled loop. */
static void a_place_whole_grids_further_on_is_free(void **state)
{
	struct kc_block_freedom got;

	(void)state;
	expect(PLACE "mov.u32 %r4, %nctaid.x; add.s32 %r5, %r4, %r1; mad.lo.s32 %r6, %r5, %r2, %r3;\n"
		     "add.s32 %r7, %r5, %r4; mad.lo.s32 %r8, %r7, %r2, %r3;",
	       "", NULL);
	expect("mad.lo.s32 %r1, %nctaid.x, 3, %ctaid.x; mad.lo.s32 %r2, %r1, %ntid.x, %tid.x;", "", NULL);
	expect("shl.b32 %r1, %nctaid.x, 1; add.s32 %r2, %r1, %nctaid.x; add.s32 %r3, %r2, %ctaid.x;\n"
	       "mad.lo.s32 %r4, %r3, %ntid.x, %tid.x;",
	       "", NULL);
	expect("mul.lo.s32 %r1, %nctaid.x, %r9; mul.lo.s32 %r2, %r1, %ntid.x; add.s32 %r3, %r2, 1;", "", NULL);
	got = freedom_with("", "add.s32 %r1, %nctaid.x, %ctaid.x; mad.lo.s32 %r2, %r1, %ntid.x, %tid.x;");
	assert_int_equal(got.counted[0], 1);

	expect("add.s32 %r1, %nctaid.x, %ctaid.x; st.global.u32 [%rd1], %r1;", "x", "blockIdx.x");
	expect("shl.b32 %r1, %nctaid.x, 1; st.global.u32 [%rd1], %r1;", "x", NULL);
	expect("shl.b32 %r1, %ctaid.x, 1; mad.lo.s32 %r2, %r1, %ntid.x, %tid.x;", "x", NULL);
	expect("shl.b32 %r1, %r2, %nctaid.x;", "x", NULL);
	expect("add.s32 %r1, %nctaid.y, %ctaid.x; mad.lo.s32 %r2, %r1, %ntid.x, %tid.x;", "xy", NULL);
	expect("mad.lo.s32 %r1, %nctaid.x, %nctaid.x, %ctaid.x; mad.lo.s32 %r2, %r1, %ntid.x, %tid.x;", "x", NULL);
	expect("add.s32 %r1, %ctaid.x, %ctaid.x; mad.lo.s32 %r2, %r1, %ntid.x, %tid.x;", "x", NULL);
}

static void a_place_in_the_block_is_not(void **state)
{
	(void)state;
	expect(PLACE "mad.lo.s32 %r4, %r1, 256, %r3;", "x", "threadIdx.x");
	expect(PLACE "mad.lo.s32 %r4, %r1, %r2, %r3; setp.eq.s32 %p1, %r3, 0;", "x", "threadIdx.x");
	expect(PLACE "and.b32 %r4, %r3, 31;", "x", NULL);
	expect("mov.u32 %r1, %ctaid.z; st.global.u32 [%rd1], %r1;", "z", "blockIdx.z");
	expect("mov.u32 %r1, %ntid.y; shl.b32 %r2, %r1, 1;", "y", "blockDim.y");
	expect("mad.lo.s32 %r1, %tid.y, %ntid.x, %tid.x;", "xy", NULL);
	expect("mad.lo.s32 %r4, %ctaid.y, %ntid.x, %tid.x;", "xy", NULL);
	expect("mul.hi.u32 %r4, %ctaid.x, %ntid.x;", "x", NULL);
	expect(PLACE "mul.lo.s32 %r4, %r1, %r2; st.global.u32 [%rd1], %r4;", "x", NULL);
	expect("cvt.u64.u32 %rd1, %tid.x; ld.global.u32 %r1, [%rd1+8];", "x", NULL);
	expect("mov.u32 %r1, %tid.x; ld.global.v2.u32 {%r2, %r3}, [%rd1]; st.global.v2.u32 [%rd1], {%r2, %r1};", "x",
	       NULL);
	/* %r3 is one of two: which is not followed. */
	expect(PLACE "setp.lt.s32 %p1, %r9, 0; @%p1 mov.u32 %r3, 0; mad.lo.s32 %r4, %r1, %r2, %r3;", "x", NULL);
	expect("@%p1 mov.u32 %r3, %tid.x;", "x", NULL);
	/* Against the order of the text. */
	expect("bra B; A: setp.eq.s32 %p1, %r2, 0; ret; B: mov.u32 %r1, %tid.x; mov.u32 %r2, %r1; bra A;", "x", NULL);
}

/* Variables and parameters are numbered apart: these are the first of each. */
static void the_address_of_a_parameter_is_no_variables(void **state)
{
	struct kc_block_freedom got =
	    freedom_in(".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 table[64];\n"
		       ".visible .entry k(.param .align 8 .b8 p0[16])\n{\n.reg .b64 %rd<3>;\n"
		       "mov.b64 %rd1, p0;\nld.param.u64 %rd2, [p0+8];\nret;\n}\n",
		       "k");

	(void)state;
	assert_int_equal(got.fixed[0] + got.fixed[1] + got.fixed[2], 0);
}

static void threads_that_work_together_are_not(void **state)
{
	(void)state;
	expect("bar.sync 0;", "xyz", "wait for each other");
	expect("shfl.sync.down.b32 %r1, %r2, 1, 31, -1;", "xyz", "warp");
	expect("redux.sync.add.s32 %r1, %r2, -1;", "xyz", "warp");
	expect("vote.sync.ballot.b32 %r1, %p1, -1;", "xyz", "warp");
	expect("mov.u32 %r1, %laneid;", "xyz", "more than");
	expect("mov.u64 %rd1, %clock64;", "xyz", "more than");
	expect("ld.shared.u32 %r1, [%r2];", "xyz", "shared");
	expect(".shared .b8 table[64]; mov.u32 %r1, table;", "xyz", "shared");
	expect("frobnicate.u32 %r1, %r2;", "xyz", "not known");
}

static void the_code_may_bound_blocks(void **state)
{
	struct kc_block_freedom got = freedom_with(".maxntid 128, 2, 1", "");

	(void)state;
	assert_int_equal(got.max_threads, 256);
	assert_int_equal(got.fixed[0] + got.fixed[1] + got.fixed[2], 0);
	assert_int_equal(freedom_with("", "").max_threads, 0);
	assert_int_equal(freedom_with(".reqntid 128, 1, 1", "").fixed[0], 1);
	assert_int_equal(freedom_with(".explicitcluster\n.reqnctapercluster 2, 1, 1", "").fixed[2], 1);
}

static char *read_kernels(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", KC_EXPLAIN, name);
	return read_ptx_file(path);
}

/* By their sources: which are fixed, and whether gridDim.x * blockDim.x occurs. */
static void what_nvcc_makes_is_understood(void **state)
{
	static const struct {
		const char *file, *kernel;
		int x, y, counted;
	} kernels[] = {
	    {"simple.ptx", "_Z10vector_addPKfS0_Pfi", 0, 0, 0},
	    {"simple.ptx", "_Z10matrix_sumPKfS0_Pfi", 0, 0, 0},
	    {"simple.ptx", "_Z22matrix_sum_uncoalescedPKfS0_Pfi", 0, 0, 0},
	    {"simple.ptx", "_Z15transpose_naivePKfPfi", 1, 1, 0},
	    {"simple.ptx", "_Z10stencil_2dPKfPfiff", 0, 0, 0},
	    {"simple.ptx", "_Z17saxpy_grid_strideifPKfPf", 0, 0, 1},
	    {"simple.ptx", "_Z4nestPKfPfif", 0, 0, 1}, /* nvcc makes (gridDim.x * k + blockIdx.x) * blockDim.x of it */
	    {"simple.ptx", "_Z10triangularPKfS0_Pfi", 0, 0, 0},
	    {"simple.ptx", "_Z11copy_float4PK6float4PS_i", 0, 0, 0},
	    {"simple.ptx", "_Z5daxpyidPKdPd", 0, 0, 0},
	    {"simple.ptx", "_Z7stridedPKfPfiii", 0, 0, 0},
	    {"simple.ptx", "_Z6choosePKfS0_Pfi", 1, 0, 0}, /* blockIdx.x % 5 */
	    {"simple.ptx", "_Z13row_to_columnPKfPfii", 0, 0, 0},
	    {"simple.ptx", "_Z12scale_windowPf6window", 0, 0, 0},
	    {"matmul.ptx", "matmul_naive_coalesced", 0, 0, 0},
	    {"matmul.ptx", "matmul_naive_uncoalesced", 0, 0, 0},
	    {"matmul.ptx", "matmul_tiled_coalesced_16", 1, 1, 0},
	    {"shared.ptx", "_Z9reductionPKfPfi", 1, 1, 0},
	    {"shared.ptx", "_Z10stencil_1dPKfPfif", 1, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		char *text = read_kernels(kernels[i].file);
		struct kc_block_freedom got = freedom_in(text, kernels[i].kernel);

		if (got.fixed[0] != kernels[i].x || got.fixed[1] != kernels[i].y ||
		    got.counted[0] != kernels[i].counted)
			fail_msg("%s: %d %d %d, %s", kernels[i].kernel, got.fixed[0], got.fixed[1], got.counted[0],
				 got.why);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_place_in_the_launch_is_free),
	    cmocka_unit_test(a_place_whole_grids_further_on_is_free),
	    cmocka_unit_test(a_place_in_the_block_is_not),
	    cmocka_unit_test(the_address_of_a_parameter_is_no_variables),
	    cmocka_unit_test(threads_that_work_together_are_not),
	    cmocka_unit_test(the_code_may_bound_blocks),
	    cmocka_unit_test(what_nvcc_makes_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
