/* Branches that choose one of several places by an index: brx.idx. */
#include "cost_testing.h"

/* 1, 2 or 4 multiply-adds by the index that `index` leaves in %r4. */
#define CASES(index)                                                                                                   \
	KERNEL(index "TARGETS: .branchtargets ONE, TWO, FOUR;\nbrx.idx %r4, TARGETS;\n"                                \
		     "ONE:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nbra END;\n"                                                \
		     "TWO:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nbra END;\n"                \
		     "FOUR:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"                         \
		     "fma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nEND:\n")

static void the_index_chooses(void **state)
{
	static const double multiply_adds[] = {1, 2, 4};

	(void)state;
	for (uint64_t n = 0; n < 3; n++) {
		struct kc_counts counts = evaluated(CASES("mov.u32 %r4, %r1;\n"), 2, 32, n);

		assert_int_equal(counts.exact, 1);
		assert_float_equal(counted(&counts, KC_COUNT_OF_FMA), 64 * multiply_adds[n], 1e-9);
	}
}

/* Of 32 lanes 8 have each of 0 to 3, of which the last is beyond the targets: as PTX says nothing of it, the last
 * one's. 8 · 1 + 8 · 2 + 16 · 4 */
static void lanes_go_apart(void **state)
{
	struct kc_counts counts = evaluated(CASES("and.b32 %r4, %r2, 3;\n"), 1, 32, 0);

	(void)state;
	assert_int_equal(counts.exact, 1);
	assert_float_equal(counted(&counts, KC_COUNT_OF_FMA), 88, 1e-9);
}

/* An index that depends on data: a third each. */
static void an_index_that_is_not_known(void **state)
{
	struct kc_counts counts = evaluated(CASES("ld.global.u32 %r4, [%rd1];\n"), 1, 32, 0);

	(void)state;
	assert_int_equal(counts.exact, 0);
	assert_true(counts.assumed & KC_ASSUMED_BRANCH);
	assert_float_equal(counted(&counts, KC_COUNT_OF_FMA), 32 * 7 / 3.0, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_index_chooses),
	    cmocka_unit_test(lanes_go_apart),
	    cmocka_unit_test(an_index_that_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
