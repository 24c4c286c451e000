/* Loops of many iterations, which are not evaluated one by one where they need not be. */
#include "cost_testing.h"

#define ROUNDS UINT64_C(100000)

static int count(const char *text, uint32_t effort, struct kc_counts *counts)
{
	struct kernel k;
	int rc;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	rc = evaluate(&k, 1, 32, ROUNDS, effort, counts);
	let_go(&k);
	return rc;
}

/* for (int i = tid; i < (int64_t)n; i += 32) as nvcc writes it: i is carried in 32 bits, and extended to 64. */
static void a_variable_and_the_same_extended(void **state)
{
	static const char text[] =
	    KERNEL("cvt.u64.u32 %rd7, %r1;\nmov.u32 %r6, %r2;\ncvt.s64.s32 %rd4, %r6;\nROUND:\n"
		   "shl.b64 %rd5, %rd4, 2;\nadd.s64 %rd6, %rd1, %rd5;\nld.global.f32 %f1, [%rd6];\n"
		   "add.s32 %r6, %r6, 32;\ncvt.s64.s32 %rd4, %r6;\nsetp.lt.s64 %p1, %rd4, %rd7;\n@%p1 bra ROUND;\n");
	struct kc_counts counts;

	(void)state;
	assert_int_equal(count(text, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_count(counts, LD_GLOBAL, ROUNDS);
	assert_count(counts, SECTORS, ROUNDS / 8.0);
	assert_near(counts.distinct_loaded_bytes, 4.0 * ROUNDS);
	counts = evaluated(text, 1, 32, ROUNDS);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, LD_GLOBAL, ROUNDS);
}

/* A variable that is set to what is loaded, in the first half of the iterations. */
static void a_variable_that_is_never_known(void **state)
{
	static const char text[] =
	    KERNEL("shr.u32 %r7, %r1, 1;\nmov.u32 %r4, 0;\nROUND:\nsetp.ge.u32 %p1, %r4, %r7;\n@%p1 bra LATER;\n"
		   "ld.global.u32 %r6, [%rd1];\nLATER:\nmul.wide.u32 %rd5, %r6, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
		   "st.global.f32 [%rd6], %f1;\nadd.s32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r1;\n@%p2 bra ROUND;\n");
	struct kc_counts counts;

	(void)state;
	assert_int_equal(count(text, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_count(counts, LD_GLOBAL, 32 * ROUNDS / 2);
	assert_count(counts, ST_GLOBAL, 32 * ROUNDS);
	assert_true(counts.assumed);
}

/* A random number of the loop decides on a multiply-add: x = 1664525 x + 1013904223, as in Numerical Recipes. Once the
 * effort is spent, the iterations left are as many as before, and alike. */
static void a_variable_without_a_step(void **state)
{
	static const char text[] =
	    KERNEL("mov.u32 %r4, 0;\nmov.u32 %r6, 1;\nROUND:\nmad.lo.u32 %r6, %r6, 1664525, 1013904223;\n"
		   "setp.lt.s32 %p1, %r6, 0;\n@%p1 bra NEXT;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nNEXT:\n"
		   "mul.f32 %f2, %f2, %f2;\nadd.s32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r1;\n@%p2 bra ROUND;\n");
	struct kc_counts counts;

	(void)state;
	assert_int_equal(count(text, 1000, &counts), 0);
	assert_count(counts, MUL, 32 * ROUNDS);
	assert_int_equal(counts.sampled, 1);
	counts = evaluated(text, 1, 32, ROUNDS);
	assert_count(counts, MUL, 32 * ROUNDS);
	assert_int_equal(counts.exact, 1);
	assert_true(fabs(counted(&counts, KC_COUNT_OF_FMA) / (32 * ROUNDS / 2.0) - 1) < 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_variable_and_the_same_extended),
	    cmocka_unit_test(a_variable_that_is_never_known),
	    cmocka_unit_test(a_variable_without_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
