/* Loads that ptxas joins, each case compiled by ptxas 13.0 for sm_75, sm_86 and sm_90: what is in the machine code is
 * expected here. */
#include "predictor/code/cost_testing.h"

/* %r7 = s + `multiple` * y */
#define AT(multiple)                                                                                                   \
	"mov.u32 %r5, %tid.y;\nmul.lo.u32 %r5, %r5, " multiple ";\nmov.u32 %r6, s;\nadd.u32 %r7, %r6, %r5;\n"
#define AT_X(multiple) "mul.lo.u32 %r5, %r2, " multiple ";\nmov.u32 %r6, s;\nadd.u32 %r7, %r6, %r5;\n"
#define LOAD(offset) "ld.shared.f32 %f1, [%r7+" offset "];\n"
#define FOUR LOAD("0") LOAD("4") LOAD("8") LOAD("12")

static double loads_of(const char *text)
{
	struct kc_cost_argument arguments[3] = {
	    {.value = POINTER, .known = 1}, {.value = 5, .known = 1}, {.value = 0, .known = 1}};
	struct kc_cost_launch launch = {
	    .grid = {1, 1, 1}, .block = {32, 4, 1}, .arguments = arguments, .argument_count = 3};
	struct kc_counts counts = counts_of(text, &launch);

	assert_near(counts.of[KC_COUNT_OF_SHARED_REQUESTS] * 32,
		    counts.of[KC_COUNT_OF_LD_SHARED] + counts.of[KC_COUNT_OF_ST_SHARED]);
	return counts.of[KC_COUNT_OF_LD_SHARED];
}

static void aligned_neighbours_are_one_load(void **state)
{
	(void)state;
	assert_near(loads_of(KERNEL(AT("128") FOUR)), 1);
	assert_near(loads_of(KERNEL(AT_X("16") FOUR)), 1);
	assert_near(loads_of(KERNEL(AT_X("8") FOUR)), 2);
	assert_near(loads_of(KERNEL(AT_X("4") FOUR)), 4);
	assert_near(loads_of(KERNEL(AT("%r1") FOUR)), 4); /* n bytes apart */
	assert_near(loads_of(KERNEL(AT("128") FOUR LOAD("16") LOAD("20") LOAD("24") LOAD("28"))), 2);
}

/* Three of four words, and the fourth of the next ones by itself; one of two is not enough. */
static void words_between_may_be_missing(void **state)
{
	(void)state;
	assert_near(loads_of(KERNEL(AT("128") LOAD("0") LOAD("4") LOAD("8"))), 1);
	assert_near(loads_of(KERNEL(AT("128") LOAD("4") LOAD("8") LOAD("12") LOAD("16"))), 2);
	assert_near(loads_of(KERNEL(AT("128") LOAD("0") LOAD("8") LOAD("16") LOAD("24"))), 4);
}

static void stores_and_barriers_keep_loads_apart(void **state)
{
	(void)state;
	assert_near(
	    loads_of(KERNEL(AT("128") LOAD("0") "st.shared.f32 [%r6+4096], %f1;\n" LOAD(
		"4") "st.shared.f32 [%r6+4100], %f1;\n" LOAD("8") "st.shared.f32 [%r6+4104], %f1;\n" LOAD("12"))),
	    4);
	assert_near(loads_of(KERNEL(AT("128") LOAD("0") LOAD("4") "bar.sync 0;\n" LOAD("8") LOAD("12"))), 2);
	/* what goes to global memory does not */
	assert_near(loads_of(KERNEL(AT("128") LOAD("0") LOAD("4") "st.global.f32 [%rd1], %f1;\n" LOAD("8") LOAD("12"))),
		    1);
}

/* 64 bytes on in each iteration. ptxas unrolls the loop: its machine code has one load for each four words. */
static void alignment_in_a_loop(void **state)
{
	(void)state;
	assert_near(loads_of(KERNEL(AT("128") "mov.u32 %r8, 0;\nL:\n" FOUR "add.u32 %r7, %r7, 64;\nadd.u32 %r8, %r8, "
					      "1;\nsetp.lt.u32 %p1, %r8, %r1;\n@%p1 bra L;\n")),
		    5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(aligned_neighbours_are_one_load),
	    cmocka_unit_test(words_between_may_be_missing),
	    cmocka_unit_test(stores_and_barriers_keep_loads_apart),
	    cmocka_unit_test(alignment_in_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
