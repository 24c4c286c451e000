/* Loops of many iterations, which are not evaluated one by one where they need not be. */
#include "cost_testing.h"

#include <errno.h>
#include <stdlib.h>

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

#define FOUND "ld.global.u32 %r6, [%rd1];\nsetp.eq.u32 %p2, %r6, %r2;\n@%p2 bra END;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
#define AFTERWARDS "END:\nsetp.lt.u32 %p3, %r4, %r1;\n@%p3 bra L;\nmul.f32 %f1, %f1, %f1;\nL:\n"

/* for (i = 0; i < n; i++) if (*a == tid) break; what is found may lie anywhere, and the last lane ends the loop. */
static void a_search_goes_on_to_its_end(void **state)
{
	static const char *const texts[] = {
	    KERNEL("mov.u32 %r4, 0;\nROUND:\nsetp.ge.u32 %p1, %r4, %r1;\n@%p1 bra END;\n" FOUND
		   "add.u32 %r4, %r4, 1;\nbra ROUND;\n" AFTERWARDS),
	    KERNEL("mov.u32 %r4, 0;\nROUND:\n" FOUND "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, %r1;\n"
		   "@%p1 bra ROUND;\n" AFTERWARDS),
	    KERNEL("mov.u32 %r4, 0;\nmov.u32 %r7, 1;\nROUND:\n" FOUND
		   "mad.lo.u32 %r7, %r7, 1664525, 1013904223;\nadd.u32 %r4, %r4, 1;\nsetp.lt.s32 %p4, %r7, 0;\n"
		   "@%p4 add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r4, %r1;\n@%p1 bra ROUND;\n" AFTERWARDS)};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct kc_counts counts = evaluated(texts[i], 1, 32, 1000);

		assert_count(counts, FMA, 32 * 1000);
		assert_int_equal(counts.assumed & (KC_ASSUMED_TRIPS | KC_ASSUMED_LENGTH), KC_ASSUMED_LENGTH);
		assert_count(counts, MUL, 32 / 2); /* where a lane was when it left is not known */
		counts = evaluated(texts[i], 1, 32, 5);
		assert_count(counts, FMA, 32 * 5);
		counts = evaluated(texts[i], 1, 32, UNKNOWN);
		assert_true(counted(&counts, KC_COUNT_OF_FMA) <= 32 * KC_COST_ASSUMED_TRIPS);
	}
}

/* Searches in sorted numbers, [first, last) and by first and length: 1,000 are halved 10 times. */
#define NUMBER_AT(i) "mul.wide.u32 %rd4, " i ", 4;\nadd.s64 %rd5, %rd1, %rd4;\nld.global.u32 %r7, [%rd5];\n"
static const char by_ends[] =
    KERNEL("mov.u32 %r4, 0;\nmov.u32 %r5, %r1;\nROUND:\nadd.s32 %r6, %r4, %r5;\nshr.u32 %r8, %r6, 31;\n"
	   "add.s32 %r6, %r6, %r8;\nshr.s32 %r6, %r6, 1;\n" NUMBER_AT(
	       "%r6") "setp.lt.u32 %p1, %r7, %r2;\n"
		      "add.s32 %r8, %r6, 1;\nselp.b32 %r4, %r8, %r4, %p1;\nselp.b32 %r5, %r5, %r6, %p1;\n"
		      "fma.rn.f32 %f1, %f1, %f1, %f1;\nsetp.lt.s32 %p2, %r4, %r5;\n@%p2 bra ROUND;\n");
static const char by_length[] =
    KERNEL("mov.u32 %r4, 0;\nmov.u32 %r5, %r1;\nROUND:\nshr.u32 %r6, %r5, 1;\nadd.s32 %r8, %r4, %r6;\n" NUMBER_AT(
	"%r8") "setp.ge.u32 %p1, %r7, %r2;\n@%p1 bra LOWER;\nadd.s32 %r4, %r8, 1;\nsub.s32 %r6, %r5, %r6;\n"
	       "sub.s32 %r6, %r6, 1;\nLOWER:\nmov.u32 %r5, %r6;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
	       "setp.gt.s32 %p2, %r5, 0;\n@%p2 bra ROUND;\n");

static void a_search_halves_what_is_left(void **state)
{
	static const char *const texts[] = {by_ends, by_length};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct kc_counts counts = evaluated(texts[i], 4, 64, 1000);

		assert_count(counts, FMA, 4 * 64 * 10);
		assert_true(counts.assumed & KC_ASSUMED_LENGTH && !(counts.assumed & KC_ASSUMED_TRIPS));
		counts = evaluated(texts[i], 4, 64, 1);
		assert_count(counts, FMA, 4 * 64);
		counts = evaluated(texts[i], 4, 64, UNKNOWN);
		assert_count(counts, FMA, 4 * 64 * KC_COST_ASSUMED_TRIPS);
		assert_true(counts.assumed & KC_ASSUMED_TRIPS);
	}
}

/* An addition of its own, and a lock: once, as most threads find what they expect. */
static void tries_are_mostly_the_last(void **state)
{
	static const char *const texts[] = {
	    KERNEL("ld.global.u32 %r4, [%rd1];\nROUND:\nadd.u32 %r5, %r4, %r2;\n"
		   "atom.global.cas.b32 %r6, [%rd1], %r4, %r5;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
		   "setp.ne.s32 %p1, %r6, %r4;\nmov.u32 %r4, %r6;\n@%p1 bra ROUND;\n"),
	    KERNEL("ROUND:\natom.global.exch.b32 %r6, [%rd1], 1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
		   "setp.ne.s32 %p1, %r6, 0;\n@%p1 bra ROUND;\n")};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct kc_counts counts = evaluated(texts[i], 4, 64, 0);

		assert_count(counts, FMA, 4 * 64);
		assert_true(counts.assumed & KC_ASSUMED_LENGTH && !(counts.assumed & KC_ASSUMED_TRIPS));
	}
}

/* Until 0 is found: `first` sets %rd3, which moves by `step` bytes. */
#define UNTIL_ZERO(first, step)                                                                                        \
	KERNEL(first "ROUND:\nld.global.u32 %r6, [%rd3];\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s64 %rd3, %rd3, " step   \
		     ";\nsetp.ne.s32 %p1, %r6, 0;\n@%p1 bra ROUND;\n")
#define NUMBER "mov.u32 %r5, %ntid.x;\nmad.lo.u32 %r4, %r3, %r5, %r2;\nmul.wide.u32 %rd2, %r4, "
#define LOADED_ROW NUMBER "4;\nadd.s64 %rd4, %rd1, %rd2;\nld.global.u32 %r7, [%rd4];\nmul.wide.u32 %rd5, %r7, 4;\n"

/* 4 blocks of 64 threads. */
static void memory_tells_how_long_a_loop_goes_through_it(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes; /* that the argument points into; 0: not known */
		double trips;   /* 0: not known */
		double rounded; /* down: columns that begin behind the first one end in the midst of a step */
	} cases[] = {
	    /* rows of 40 words, a thread each; of 5,000 words that all threads have a part of, from a place that is
	       loaded */
	    {UNTIL_ZERO(NUMBER "160;\nadd.s64 %rd3, %rd1, %rd2;\n", "4"), 0, 40, 0},
	    {UNTIL_ZERO(NUMBER "160;\nadd.s64 %rd3, %rd1, %rd2;\n", "4"), 1 << 20, 40, 0},
	    {UNTIL_ZERO(LOADED_ROW "add.s64 %rd3, %rd1, %rd5;\n", "4"), 4 * 256 * 20, 20, 0},
	    {UNTIL_ZERO(LOADED_ROW "add.s64 %rd3, %rd1, %rd5;\n", "4"), 0, 0, 0},
	    /* columns: 256 words further on the next of a thread's, of 24; and words that the next thread begins with
	     */
	    {UNTIL_ZERO(NUMBER "4;\nadd.s64 %rd3, %rd1, %rd2;\n", "1024"), 24 * 1024, 24, 1},
	    {UNTIL_ZERO(NUMBER "4;\nadd.s64 %rd3, %rd1, %rd2;\n", "4"), 1 << 20, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_cost_argument argument = {.value = POINTER, .known = 1};
		struct kc_cost_buffer buffer = {.first = POINTER, .bytes = cases[i].bytes, .is_large = 1};
		struct kc_cost_launch launch = {.grid = {4, 1, 1},
						.block = {64, 1, 1},
						.arguments = &argument,
						.argument_count = 1,
						.buffers = &buffer,
						.buffer_count = cases[i].bytes > 0};
		struct kc_counts counts = counts_of(cases[i].text, &launch);
		double trips = cases[i].trips ? cases[i].trips : KC_COST_ASSUMED_TRIPS;
		double found = counted(&counts, KC_COUNT_OF_FMA) / 256;

		assert_true(found <= trips && found >= trips - cases[i].rounded);
		assert_int_equal(counts.assumed & KC_ASSUMED_LENGTH, cases[i].trips ? KC_ASSUMED_LENGTH : 0);
	}
}

/* Around it, a loop for which %r4 = 1, 2, 3: its step is the sum of what is added to the variable. Up to 24. */
static void a_step_in_parts_changes_with_the_loop_around(void **state)
{
#define IN_PARTS(parts)                                                                                                \
	KERNEL("mov.u32 %r4, 1;\nAROUND:\nmov.u32 %r5, 0;\nROUND:\nfma.rn.f32 %f1, %f1, %f1, %f1;\n" parts             \
	       "setp.lt.s32 %p1, %r5, 24;\n@%p1 bra ROUND;\nadd.s32 %r4, %r4, 1;\nsetp.lt.s32 %p2, %r4, 4;\n"          \
	       "@%p2 bra AROUND;\n")
	static const struct {
		const char *text;
		double trips;
	} cases[] = {
	    {IN_PARTS("add.s32 %r5, %r5, %r4;\n"), 24 + 12 + 8},
	    {IN_PARTS("add.s32 %r5, %r5, %r4;\nadd.s32 %r5, %r5, %r4;\n"), 12 + 6 + 4},
	    {IN_PARTS("add.s32 %r5, %r5, %r4;\nadd.s32 %r5, 4, %r5;\n"), 5 + 4 + 4},
	    {IN_PARTS("add.s32 %r5, %r5, 4;\nsub.s32 %r5, %r5, %r4;\n"), 8 + 12 + 24},
	    {IN_PARTS("sub.s32 %r5, %r5, %r4;\nadd.s32 %r5, %r5, 4;\n"), 8 + 12 + 24},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i].text, 2, 64, 0);

		assert_count(counts, FMA, 2 * 64 * cases[i].trips);
		assert_int_equal(counts.assumed, 0);
	}
}

/* Of 4 blocks along an axis, each 256 bytes further on, back to where the buffer begins in steps of 1,024 bytes: as
 * many as from block 1, in the middle. Where block 0 begins 256 bytes before 23 steps, it and no other takes 22 whole
 * ones; where it begins 768 bytes before, block 3 and no other takes 23. */
static void a_way_through_memory_begins_in_the_middle(void **state)
{
#define FROM_BLOCK(axis, bytes)                                                                                        \
	UNTIL_ZERO("mov.u32 %r4, %ctaid." axis ";\nmul.wide.u32 %rd2, %r4, 256;\nadd.s64 %rd3, %rd1, %rd2;\n"          \
		   "add.s64 %rd3, %rd3, " bytes ";\n",                                                                 \
		   "-1024")
	static const struct {
		const char *text;
		int axis;
		double trips;
	} cases[] = {
	    {FROM_BLOCK("x", "23296"), 0, 23}, {FROM_BLOCK("y", "23296"), 1, 23}, {FROM_BLOCK("z", "23296"), 2, 23},
	    {FROM_BLOCK("x", "22784"), 0, 22}, {FROM_BLOCK("y", "22784"), 1, 22}, {FROM_BLOCK("z", "22784"), 2, 22},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_cost_argument argument = {.value = POINTER, .known = 1};
		struct kc_cost_buffer buffer = {.first = POINTER, .bytes = 24 * 1024, .is_large = 1};
		struct kc_cost_launch launch = {.grid = {1, 1, 1},
						.block = {32, 1, 1},
						.arguments = &argument,
						.argument_count = 1,
						.buffers = &buffer,
						.buffer_count = 1};
		struct kc_counts counts;

		launch.grid[cases[i].axis] = 4;
		counts = counts_of(cases[i].text, &launch);
		assert_count(counts, FMA, 4 * 32 * cases[i].trips);
	}
}

/* At a launch the survey of so many loops ends before it comes to the last ones, of whose addresses nothing is known
 * then, whatever the memory for them held before. */
static void more_loops_than_are_surveyed(void **state)
{
	static char text[70000];
	struct kc_cost_argument arguments[3] = {{.value = POINTER, .known = 1}, {.known = 0}};
	struct kc_cost_launch launch = {
	    .grid = {1, 1, 1}, .block = {32, 1, 1}, .arguments = arguments, .argument_count = 3};
	struct kc_counts counts;
	unsigned char *scratch;
	struct kernel k;
	size_t bytes;

	(void)state;
	put_loops(text, sizeof(text),
		  "mov.u32 %%r4, 0;\nR%u:\nmul.wide.u32 %%rd2, %%r4, 4;\nadd.s64 %%rd3, %%rd1, %%rd2;\n"
		  "ld.global.u32 %%r6, [%%rd3];\nadd.s32 %%r4, %%r4, 1;\nsetp.ne.u32 %%p2, %%r6, 0;\n@%%p2 bra R%u;\n",
		  200);
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	bytes = kc_cost_scratch_bytes(k.cost);
	assert_true(bytes > 0);
	scratch = malloc(bytes);
	assert_non_null(scratch);
	memset(scratch, 0xff, bytes);
	assert_int_equal(kc_cost_evaluate_in(k.cost, &launch, KC_COST_EFFORT_LAUNCH, scratch, &counts), -EAGAIN);
	free(scratch);
	let_go(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(more_loops_than_are_surveyed),
	    cmocka_unit_test(a_step_in_parts_changes_with_the_loop_around),
	    cmocka_unit_test(a_way_through_memory_begins_in_the_middle),
	    cmocka_unit_test(a_variable_and_the_same_extended),
	    cmocka_unit_test(a_variable_that_is_never_known),
	    cmocka_unit_test(a_variable_without_a_step),
	    cmocka_unit_test(a_search_goes_on_to_its_end),
	    cmocka_unit_test(a_search_halves_what_is_left),
	    cmocka_unit_test(tries_are_mostly_the_last),
	    cmocka_unit_test(memory_tells_how_long_a_loop_goes_through_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
