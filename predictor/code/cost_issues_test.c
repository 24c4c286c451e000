/* How many instructions a warp issues: each of the PTX's once, whatever it counts, unless ptxas makes none or several
 * of it. In one block of two warps, of which the first alone executes a body of n instructions beside 7 others, the
 * longest of them has 2 (7 + n) / (14 + n) times as many as their mean. */
#include "cost_testing.h"

#define FIRST_WARP(body) KERNEL("setp.ge.u32 %p8, %r2, 32;\n@%p8 bra SKIP;\n" body "SKIP:\n")
#define HALF "setp.lt.u32 %p1, %r2, 16;\n@%p1 "
#define PLACE "mov.u32 %r4, s;\n"
#define OPERAND "{%r4,%r5,%r6,%r7,%r8,%r9,%r10,%r11}"

static void instructions_of_a_warp(void **state)
{
	static const struct {
		const char *text;
		double instructions;
	} cases[] = {
#define OF(n, body) {FIRST_WARP(body), n}
	    OF(0, ""),
	    OF(1, "add.f32 %f1, %f1, %f1;\n"),
	    OF(1, "div.s32 %r5, %r2, %r1;\n"),
	    OF(1, "sqrt.approx.f32 %f3, %f3;\n"),
	    OF(1, "ld.param.f32 %f1, [x];\n"),
	    OF(1, "bar.sync 0;\n"),
	    OF(2, HALF "add.f32 %f1, %f1, %f1;\n"),
	    OF(2, HALF "cvt.f64.f32 %rd5, %f1;\n"),
	    OF(2, HALF "sqrt.approx.f32 %f3, %f3;\n"),
	    /* a product and a sum become one */
	    OF(1, "mul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;\n"),
	    OF(3, ADDRESS("4") "ld.global.f32 %f1, [%rd3];\n"),
	    OF(3, ADDRESS("16") "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd3];\n"),
	    OF(4, ADDRESS("4") HALF "st.global.f32 [%rd3], %f1;\n"),
	    OF(2, "ld.shared.f32 %f1, [s];\nst.shared.f32 [s+4], %f1;\n"),
	    OF(2, ".local .align 4 .b8 l[8];\nst.local.u32 [l+4], %r1;\nld.local.u32 %r5, [l+4];\n"),
	    /* what others make it try again is not counted */
	    OF(1, "red.shared.add.f32 [s], %f1;\n"),
	    OF(1, "atom.shared.add.f32 %f2, [s], %f1;\n"),
	    OF(2, HALF "red.shared.add.f64 [s], %rd1;\n"),
	    OF(1, "red.global.add.u32 [%rd1], 1;\n"),
	    /* copies: a load and a store in one */
	    OF(2, PLACE "cp.async.ca.shared.global [%r4], [%rd1], 4;\n"),
	    OF(2, PLACE "cp.async.cg.shared.global [%r4], [%rd1], 16, %r1;\n"),
	    OF(2, "cp.async.commit_group;\ncp.async.wait_group 0;\n"),
	    OF(2, PLACE "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 64, "
			"[%r4+64];\n"),
	    OF(3, PLACE "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+64], 64;\n"
			"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], "
			"[%rd1, {%r2}], [%r4+64];\n"),
	    OF(2, PLACE "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r5,%r6}, [%r4];\n"),
	    OF(2, PLACE "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r4], {%r5,%r6};\n"),
	    /* four requests (cost_matrices_test.c) */
	    OF(4, "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " OPERAND ", [%rd1], 16;\n"),
#undef OF
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i].text, 1, 64, 5);
		double n = cases[i].instructions, expected = 2 * (7 + n) / (14 + n);

		if (fabs(counts.longest_warp - expected) > NEAR)
			print_message("%g, not %g, of\n%s\n", counts.longest_warp, expected, cases[i].text);
		assert_near(counts.longest_warp, expected);
	}
}

/* Half of the lanes execute one of 7 instructions; of a block of 52 threads the last warp has 20. */
static void lanes_that_are_active(void **state)
{
	struct kc_counts half = evaluated(KERNEL(HALF "red.shared.add.f32 [s], %f1;\n"), 1, 32, 5);
	struct kc_counts few = evaluated(KERNEL(""), 1, 32 + 20, 5);

	(void)state;
	assert_near(half.active_share, (6 + 0.5) / 7);
	assert_near(half.unsure_share, 0);
	assert_near(few.active_share, 52 / 64.0);
}

/* A kernel of no instruction at all. */
static void nothing_to_issue(void **state)
{
	struct kc_counts counts =
	    evaluated(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n}\n", 1, 32, 0);

	(void)state;
	assert_near(counts.active_share, 1);
	assert_near(counts.unsure_share, 0);
	assert_near(counts.longest_warp, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(instructions_of_a_warp),
	    cmocka_unit_test(lanes_that_are_active),
	    cmocka_unit_test(nothing_to_issue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
