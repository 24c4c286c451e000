/* What cannot be counted and why, and formulas in words. */
#include "cost_testing.h"

static void say(const char *text, struct kc_cost_story *story)
{
	struct kernel k;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_tell(k.cost, story), 0);
	let_go(&k);
}

/* Of which kind what speaks. */
static uint32_t kind_of(const char *what)
{
	if (strstr(what, "trip count"))
		return KC_ASSUMED_TRIPS;
	return strstr(what, "branch") ? KC_ASSUMED_BRANCH : KC_ASSUMED_ADDRESS;
}

static void assert_unknown(const char *text, const char *what, const char *because)
{
	struct kc_counts counts = evaluated(text, 1, 32, 4);
	struct kc_cost_story story;

	say(text, &story);
	assert_int_equal(story.unknown_count, 1);
	assert_non_null(strstr(story.unknown[0].what, what));
	assert_non_null(strstr(story.unknown[0].what, because));
	assert_true(strlen(story.unknown[0].assumed) > 0);
	assert_int_equal(counts.exact, 0);
	assert_int_equal(counts.assumed, kind_of(what));
	kc_cost_story_free(&story);
}

static void turns_of_atomics(void **state)
{
	struct kc_cost_story story;

	(void)state;
	say(KERNEL("red.shared.add.f32 [s], %f1;\n"), &story);
	assert_int_equal(story.unknown_count, 1);
	assert_string_equal(story.unknown[0].what,
			    "repetitions of an atomic in shared memory: depends on when other warps change the word");
	assert_string_equal(story.unknown[0].assumed, "none but for lanes of the same warp");
	kc_cost_story_free(&story);
	say(KERNEL("red.shared.add.u32 [s], %r2;\n"), &story); /* an instruction, not a loop */
	assert_int_equal(story.unknown_count, 0);
	kc_cost_story_free(&story);
}

#define LOADED ADDRESS("4") "ld.global.u32 %r6, [%rd3];\n"

static void a_branch_on_what_is_loaded(void **state)
{
	const char *text = KERNEL(LOADED "setp.eq.s32 %p1, %r6, 0;\n@%p1 bra L;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nL:\n");
	struct kc_counts counts = evaluated(text, 1, 32, 0);

	(void)state;
	assert_unknown(text, "branch", "loaded from global memory");
	assert_count(counts, FMA, 16); /* half of the threads */
	/* Of 10 instructions beside it: KERNEL's 4, a multiplication and an addition for the address, a load, a
	 * comparison, a branch, the return. The warp executes it if one of two lanes that go apart does: 3/4. */
	assert_float_equal(counts.unsure_share, 0.75 / (0.75 + 10), 1e-9);
	/* One of two that are loaded, whichever way it went. */
	assert_unknown(KERNEL(LOADED "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nld.global.u32 %r6, [%rd3+128];\nL:\n"
				     "setp.eq.s32 %p2, %r6, 0;\n@%p2 bra M;\nbar.sync 0;\nM:\n"),
		       "branch", "loaded from global memory");
	/* Loaded in some threads, 0 in all others. */
	assert_unknown(KERNEL("mov.u32 %r6, 0;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra L;\n" LOADED
			      "L:\nsetp.eq.s32 %p2, %r6, 0;\n@%p2 bra M;\nbar.sync 0;\nM:\n"),
		       "branch", "loaded from global memory");
}

/* Of 4 instructions, beside 9 others. */
static void a_loop_until_what_is_loaded(void **state)
{
	const char *text =
	    KERNEL("mov.u32 %r4, 0;\n" LOADED "L:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r4, %r4, 1;\n"
		   "setp.lt.s32 %p1, %r4, %r6;\n@%p1 bra L;\n");
	struct kc_counts counts = evaluated(text, 1, 32, 0);

	(void)state;
	assert_unknown(text, "trip count", "loaded from global memory");
	assert_count(counts, FMA, 32 * KC_COST_ASSUMED_TRIPS);
	assert_float_equal(counts.unsure_share, 4 * KC_COST_ASSUMED_TRIPS / (4 * KC_COST_ASSUMED_TRIPS + 9), 1e-9);
}

/* Of 4 additions, 1 that a predicate guards, beside 9 other instructions. */
static void a_predicate_on_what_is_loaded(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL(LOADED "setp.eq.s32 %p1, %r6, 0;\n@%p1 add.f32 %f1, %f1, %f1;\nadd.f32 %f2, %f2, %f2;\n"
				    "add.f32 %f3, %f3, %f3;\nadd.f32 %f4, %f4, %f4;\n"),
		      1, 32, 0);

	(void)state;
	assert_int_equal(counts.assumed, KC_ASSUMED_BRANCH);
	assert_count(counts, ADD, 32 * 3.5);
	assert_float_equal(counts.unsure_share, 0.5 / (3.5 + 9), 1e-9);
}

/* The reason is where the operands come from, also through arithmetic that is not evaluated. */
static void a_comparison_of_floats(void **state)
{
	(void)state;
	assert_unknown(KERNEL(ADDRESS("4") "ld.global.f32 %f1, [%rd3];\nmul.f32 %f2, %f1, %f1;\n"
					   "setp.lt.f32 %p1, %f2, 0f3F800000;\n@%p1 bra L;\nbar.sync 0;\nL:\n"),
		       "branch", "loaded from global memory");
	assert_unknown(KERNEL("ld.param.f32 %f1, [x];\nex2.approx.f32 %f2, %f1;\nsetp.lt.f32 %p1, %f2, 0f3F800000;\n"
			      "@%p1 bra L;\nbar.sync 0;\nL:\n"),
		       "branch", "floating-point");
}

/* A comparison of a parameter with 1 decides how often the rest runs. */
static void a_float_that_is_a_parameter(void **state)
{
	struct kc_cost_story story;

	(void)state;
	say(KERNEL("ld.param.f32 %f1, [x];\nsetp.neu.f32 %p1, %f1, 0f3F800000;\n@%p1 bra L;\nbar.sync 0;\nL:\n"),
	    &story);
	assert_int_equal(story.unknown_count, 0);
	assert_string_equal(story.formula[KC_COUNT_OF_BARRIERS], "[p2 = 1]");
	kc_cost_story_free(&story);
}

static void an_address_that_is_loaded(void **state)
{
	const char *gather = KERNEL(LOADED "mul.wide.u32 %rd5, %r6, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
					   "ld.global.f32 %f1, [%rd5];\n");
	const char *bins = KERNEL(LOADED "mul.wide.u32 %rd5, %r6, 4;\nmov.u64 %rd4, s;\nadd.s64 %rd5, %rd4, %rd5;\n"
					 "red.shared.add.u32 [%rd5], 1;\n");
	struct kc_counts counts = evaluated(gather, 1, 32, 0);

	(void)state;
	assert_unknown(gather, "address in global memory", "loaded");
	assert_count(counts, SECTORS, 4 + 32); /* one per lane */
	assert_unknown(bins, "atomic in shared memory", "loaded");
	counts = evaluated(bins, 1, 32, 0);
	assert_count(counts, ATOMICS, 32);
	assert_count(counts, ATOMICS_SHARED, 32);
	assert_count(counts, SHARED_REQUESTS, 0);
}

/* PTX has wide products of 16 and 32 bits, but not of 64. */
static void a_product_that_ptx_does_not_have(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL("cvt.u64.u32 %rd4, %r2;\nmul.wide.u64 %rd2, %rd4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
			     "ld.global.f32 %f1, [%rd3];\n"),
		      1, 32, 0);

	(void)state;
	assert_count(counts, LD_GLOBAL, 32);
	assert_true(counts.assumed);
}

static void an_argument_that_is_not_known(void **state)
{
	struct kc_counts counts = evaluated(GUARDED, 2, 64, UNKNOWN);

	(void)state;
	assert_true(counts.assumed);
	assert_int_equal(counts.assumed, KC_ASSUMED_BRANCH);
	assert_count(counts, LD_GLOBAL, 64); /* half of them */
}

/* One of two loaded values, whichever way the kernel went. */
static void a_branch_on_either_of_two_that_are_loaded(void **state)
{
	(void)state;
	assert_unknown(
	    KERNEL(ADDRESS("4") "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\nld.global.u32 %r6, [%rd3];\nbra B;\n"
				"A:\nld.global.u32 %r6, [%rd3+128];\nB:\nsetp.eq.s32 %p2, %r6, 0;\n@%p2 bra L;\n"
				"bar.sync 0;\nL:\n"),
	    "branch", "loaded from global memory");
}

/* --- the story */

static void a_loop_in_words(void **state)
{
	struct kc_cost_story story;

	(void)state;
	say(KERNEL(LOOP("fma.rn.f32 %f1, %f1, %f1, %f1;\n")), &story);
	assert_int_equal(story.loop_count, 1);
	assert_int_equal(story.loops[0].known, 1);
	assert_string_equal(story.loops[0].trips, "floor((p1 + 2) / 3)"); /* n / 3, rounded up */
	assert_int_equal(story.unknown_count, 0);
	kc_cost_story_free(&story);
}

/* The same variable, extended to 64 bits and truncated in each iteration, as nvcc does if it is also an index. */
static void a_variable_made_wider_and_back(void **state)
{
	struct kc_cost_story story;

	(void)state;
	say(KERNEL("mov.u32 %r4, 0;\nsetp.lt.s32 %p1, %r1, 1;\n@%p1 bra DONE;\nROUND:\ncvt.s64.s32 %rd4, %r4;\n"
		   "fma.rn.f32 %f1, %f1, %f1, %f1;\ncvt.u32.u64 %r5, %rd4;\nadd.s32 %r4, %r5, 3;\n"
		   "setp.lt.s32 %p2, %r4, %r1;\n@%p2 bra ROUND;\nDONE:\n"),
	    &story);
	assert_int_equal(story.loop_count, 1);
	assert_string_equal(story.loops[0].trips, "floor((p1 + 2) / 3)");
	kc_cost_story_free(&story);
}

/* One load of 4 bytes: a warp has one request of 4 sectors, so that each thread counts 1/32 and 4/32. */
static void what_warps_count_in_words(void **state)
{
	static const char where[] = ", for warps of 32 threads in x, all active";
	struct kc_cost_story story;
	char expected[128];

	(void)state;
	say(GUARDED, &story);
	assert_string_equal(story.formula[KC_COUNT_OF_LD_GLOBAL], "[gid.x < p1]");
	snprintf(expected, sizeof(expected), "0.03125*[gid.x < p1]%s", where);
	assert_string_equal(story.formula[KC_COUNT_OF_REQUESTS], expected);
	snprintf(expected, sizeof(expected), "0.125*[gid.x < p1]%s", where);
	assert_string_equal(story.formula[KC_COUNT_OF_SECTORS], expected);
	assert_string_equal(story.formula[KC_COUNT_OF_SHARED_PASSES], "0");
	kc_cost_story_free(&story);
}

/* for (s = 1; s < ntid; s *= 2): s = 1, 2, 4, ... 64 for 96 threads; no iteration for one. */
static void a_loop_that_doubles(void **state)
{
	const char *text =
	    KERNEL("mov.u32 %r5, %ntid.x;\nsetp.lt.u32 %p1, %r5, 2;\n@%p1 bra DONE;\nmov.u32 %r4, 1;\nR:\n"
		   "bar.sync 0;\nshl.b32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r5;\n@%p2 bra R;\nDONE:\n");
	static const struct {
		uint32_t threads;
		double rounds;
	} cases[] = {{1, 0}, {2, 1}, {3, 2}, {96, 7}, {128, 7}, {129, 8}};
	struct kc_cost_story story;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(text, 1, cases[i].threads, 0);

		assert_count(counts, BARRIERS, cases[i].threads * cases[i].rounds);
	}
	say(text, &story);
	/* log2(ntid - 1), rounded down, is 6 for 96 and 128 and 7 for 129. */
	assert_string_equal(story.loops[0].trips, "floor(log2(ntid.x - 1)) + 1");
	kc_cost_story_free(&story);
}

/* nvcc writes x / 5 as x * 0xCCCCCCCD >> 34; 0xCCCCCCCD = ceil(2^34 / 5). */
static void a_division_by_a_constant(void **state)
{
	struct kc_cost_story story;
	const char *text =
	    KERNEL("mul.wide.u32 %rd5, %r1, -858993459;\nshr.u64 %rd6, %rd5, 34;\ncvt.u32.u64 %r1, %rd6;\n"
		   "mov.u32 %r4, 0;\nR:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r4, %r4, 1;\n"
		   "setp.lt.s32 %p2, %r4, %r1;\n@%p2 bra R;\n");
	struct kc_counts counts = evaluated(text, 1, 32, 44);

	(void)state;
	say(text, &story);
	assert_string_equal(story.loops[0].trips, "floor(p1 / 5)");
	assert_count(counts, FMA, 32 * 8);
	kc_cost_story_free(&story);
}

/* What a barrier expects of boxes is told once, and what is assumed of them; of others, that nothing is known. */
static void a_box_of_a_tensor(void **state)
{
#define BOX                                                                                                            \
	"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1, {%r2}], "           \
	"[%r4+64];\n"
	const char *text =
	    KERNEL("mov.u32 %r4, s;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+64], 64;\n" BOX BOX);
	struct kc_cost_story story;

	(void)state;
	assert_unknown(text, "bytes that a copy moves", "tensor map");
	assert_unknown(KERNEL("mov.u32 %r4, s;\n" BOX), "bytes that a copy moves", "tensor map");
	say(text, &story);
	assert_string_equal(story.formula[KC_COUNT_OF_BYTES_LOADED], "64");
	assert_string_equal(story.formula[KC_COUNT_OF_SECTORS], "2");
	assert_string_equal(story.formula[KC_COUNT_OF_REQUESTS], "2");
	assert_non_null(strstr(story.unknown[0].assumed, "all that the barrier expects"));
	kc_cost_story_free(&story);
#undef BOX
}

/* A warp's neighbours in shared memory: one request and one pass for 32 threads, and nothing of global memory. */
static void what_warps_count_in_shared_memory(void **state)
{
	static const char of_a_warp[] = "0.03125, for warps of 32 threads in x, all active";
	struct kc_cost_story story;

	(void)state;
	say(KERNEL("mov.u32 %r6, s;\nshl.b32 %r4, %r2, 2;\nadd.s32 %r5, %r6, %r4;\n"
		   "ld.param.f32 %f1, [x];\nst.shared.f32 [%r5], %f1;\n"),
	    &story);
	assert_string_equal(story.formula[KC_COUNT_OF_SHARED_REQUESTS], of_a_warp);
	assert_string_equal(story.formula[KC_COUNT_OF_SHARED_PASSES], of_a_warp);
	assert_string_equal(story.formula[KC_COUNT_OF_REQUESTS], "0");
	kc_cost_story_free(&story);
}

/* 32 neighbouring words are 4 sectors of 32 bytes, or 5 where they do not begin with one; a stride of 8 bytes is 8
 * sectors. In shared memory it does not matter where they begin, and of 32 banks a stride of 8 bytes meets every other
 * one twice. */
static void sectors_depend_on_where_a_warp_begins(void **state)
{
#define WORD(first) KERNEL(ADDRESS("4") first "ld.global.u32 %r4, [%rd3];\n")
#define SHARED(first, stride)                                                                                          \
	KERNEL("mov.u32 %r6, s;\nmul.lo.u32 %r4, %r2, " stride ";\nadd.s32 %r5, %r6, %r4;\n"                           \
	       "ld.param.f32 %f1, [x];\nst.shared.f32 [%r5+" first "], %f1;\n")
	static const char by_lane[] = "computed from the addresses of each warp's lanes", where[] = ", for warps of 32";
	static const struct {
		const char *text;
		enum kc_cost_counter counter;
		double pieces; /* of 32 lanes; 0: by lane */
	} cases[] = {
	    {WORD(""), KC_COUNT_OF_SECTORS, 4},
	    {WORD("add.s64 %rd3, %rd3, 4;\n"), KC_COUNT_OF_SECTORS, 0},
	    {WORD("add.s64 %rd3, %rd3, 32;\n"), KC_COUNT_OF_SECTORS, 4},
	    {WORD("mul.wide.u32 %rd4, %r1, 16;\nadd.s64 %rd3, %rd3, %rd4;\n"), KC_COUNT_OF_SECTORS, 0},
	    {WORD("mul.wide.u32 %rd4, %r1, 64;\nadd.s64 %rd3, %rd3, %rd4;\n"), KC_COUNT_OF_SECTORS, 4},
	    {KERNEL(ADDRESS("8") "ld.global.u32 %r4, [%rd3];\n"), KC_COUNT_OF_SECTORS, 8},
	    {SHARED("0", "4"), KC_COUNT_OF_SHARED_PASSES, 1},
	    {SHARED("4", "4"), KC_COUNT_OF_SHARED_PASSES, 1},
	    {SHARED("0", "8"), KC_COUNT_OF_SHARED_PASSES, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_cost_story story;
		char expected[128];

		say(cases[i].text, &story);
		snprintf(expected, sizeof(expected), "%g%s", cases[i].pieces / 32, where);
		assert_int_equal(strncmp(story.formula[cases[i].counter], cases[i].pieces ? expected : by_lane,
					 strlen(cases[i].pieces ? expected : by_lane)),
				 0);
		kc_cost_story_free(&story);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(turns_of_atomics),
	    cmocka_unit_test(a_branch_on_what_is_loaded),
	    cmocka_unit_test(a_loop_until_what_is_loaded),
	    cmocka_unit_test(a_predicate_on_what_is_loaded),
	    cmocka_unit_test(a_comparison_of_floats),
	    cmocka_unit_test(a_float_that_is_a_parameter),
	    cmocka_unit_test(an_address_that_is_loaded),
	    cmocka_unit_test(a_product_that_ptx_does_not_have),
	    cmocka_unit_test(an_argument_that_is_not_known),
	    cmocka_unit_test(a_loop_in_words),
	    cmocka_unit_test(a_variable_made_wider_and_back),
	    cmocka_unit_test(what_warps_count_in_words),
	    cmocka_unit_test(sectors_depend_on_where_a_warp_begins),
	    cmocka_unit_test(a_loop_that_doubles),
	    cmocka_unit_test(a_division_by_a_constant),
	    cmocka_unit_test(what_warps_count_in_shared_memory),
	    cmocka_unit_test(a_box_of_a_tensor),
	    cmocka_unit_test(a_branch_on_either_of_two_that_are_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
