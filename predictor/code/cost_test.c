/* What a kernel counts. */
#include "cost_testing.h"

#include <errno.h>

static void operations_by_class(void **state)
{
	struct kc_counts counts = evaluated(KERNEL("ld.param.f32 %f1, [x];\nfma.rn.f32 %f2, %f1, %f1, %f1;\n"
						   "add.f32 %f3, %f2, %f1;\nmul.f32 %f3, %f3, %f1;\n"
						   "sqrt.approx.f32 %f3, %f3;\nadd.s32 %r4, %r2, %r3;\n"
						   "shl.b32 %r4, %r4, 2;\ncvt.rn.f32.s32 %f4, %r4;\n"
						   "div.s32 %r5, %r4, %r1;\nbar.sync 0;\n"),
					    2, 64, 3);

	(void)state;
	assert_count(counts, FMA, 128);
	assert_count(counts, ADD, 128);
	assert_count(counts, MUL, 128);
	assert_count(counts, SPECIAL, 128);
	assert_count(counts, INT, 3 * 128); /* sqrt.approx compares its operand with the smallest normal number */
	assert_count(counts, CONVERT, 128);
	assert_count(counts, DIVMOD, 128);
	assert_count(counts, BARRIERS, 128);
	assert_count(counts, CONTROL, 128);
	assert_count(counts, LD_GLOBAL, 0);
	assert_int_equal(counts.exact, 1);
	assert_near(counts.active_share, 1);
}

/* 40 threads are a warp and a quarter: 32 lanes * 4 bytes are 4 sectors, 8 lanes one. */
static void sectors_of_neighbours(void **state)
{
	struct kc_counts counts = evaluated(KERNEL(ADDRESS("4") "ld.global.f32 %f1, [%rd3];\n"), 3, 40, 0);

	(void)state;
	assert_count(counts, LD_GLOBAL, 120);
	assert_count(counts, BYTES_LOADED, 480);
	assert_count(counts, REQUESTS, 6);
	assert_count(counts, SECTORS, 3 * 5);
}

/* 20 bytes apart, 32 lanes reach 31 * 20 + 4 = 624 bytes, 20 sectors, without gaps. 64 apart: one sector each. */
static void sectors_of_strides(void **state)
{
	struct kc_counts near = evaluated(KERNEL(ADDRESS("20") "st.global.f32 [%rd3], %f1;\n"), 1, 32, 0);
	struct kc_counts far = evaluated(KERNEL(ADDRESS("64") "st.global.f32 [%rd3], %f1;\n"), 1, 32, 0);
	struct kc_counts beside = evaluated(KERNEL(ADDRESS("4") "st.global.f32 [%rd3+4], %f1;\n"), 1, 32, 0);

	(void)state;
	assert_count(near, SECTORS, 20);
	assert_count(far, SECTORS, 32);
	assert_count(beside, SECTORS, 5);
}

/* Words 2 apart share 16 banks, 32 apart one bank, 33 apart none; one word is sent to all lanes. */
static void passes_of_banks(void **state)
{
	static const struct {
		const char *text;
		double passes;
	} cases[] = {
#define AT(bytes)                                                                                                      \
	KERNEL("mov.u64 %rd4, s;\nmul.wide.u32 %rd2, %r2, " bytes ";\nadd.s64 %rd3, %rd4, %rd2;\n"                     \
	       "ld.shared.f32 %f1, [%rd3];\n")
	    {AT("0"), 1}, {AT("4"), 1}, {AT("8"), 2}, {AT("132"), 1}, {AT("128"), 32}, {AT("12"), 1},
#undef AT
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i].text, 1, 32, 0);

		assert_count(counts, SHARED_REQUESTS, 1);
		assert_count(counts, SHARED_PASSES, cases[i].passes);
		assert_near(kc_counts_bank_conflict_degree(&counts), cases[i].passes);
	}
}

static void a_bound_on_threads(void **state)
{
	struct kc_counts counts = evaluated(GUARDED, 2, 64, 70);

	(void)state;
	assert_count(counts, LD_GLOBAL, 70);
	assert_count(counts, REQUESTS, 3);
	assert_count(counts, SECTORS, 4 + 4 + 1);
	assert_count(counts, INT, 2 * 128 + 2 * 70);
	assert_int_equal(counts.exact, 1);
}

static void a_counted_loop(void **state)
{
	static const struct {
		uint64_t n;
		double rounds;
	} cases[] = {{0, 0}, {1, 1}, {3, 1}, {4, 2}, {3000000, 1000000}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts =
		    evaluated(KERNEL(LOOP("fma.rn.f32 %f1, %f1, %f1, %f1;\n")), 5, 96, cases[i].n);

		assert_count(counts, FMA, 5 * 96 * cases[i].rounds);
		assert_count(counts, INT, 5 * 96 * (1 + 2 * cases[i].rounds));
		assert_int_equal(counts.exact, 1);
	}
}

/* Of four warps three execute 12 instructions and one leaves after 8: 12 over the mean of 11. */
static void the_longest_of_warps_that_leave_early(void **state)
{
	struct kc_counts counts = evaluated(GUARDED, 2, 64, 70);

	(void)state;
	assert_near(counts.longest_warp, 12 / 11.0);
	assert_near(evaluated(GUARDED, 2, 64, 128).longest_warp, 1);
}

/* Block b has one warp and b + 1 iterations of 4 instructions, beside 6 others: on average of 300 blocks 6 + 4 * 150.5,
 * in the last 6 + 4 * 300. At a launch the last blocks may count as the others do. */
static void the_longest_of_blocks_with_more_and_more_work(void **state)
{
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, KERNEL("mov.u32 %r4, 0;\nL:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r4, %r4, 1;\n"
			       "setp.le.s32 %p2, %r4, %r3;\n@%p2 bra L;\n"));
	assert_int_equal(evaluate(&k, 300, 32, 0, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_near(counts.longest_warp, 1206 / 608.0);
	assert_int_equal(evaluate(&k, 300, 32, 0, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_true(fabs(counts.longest_warp / (1206 / 608.0) - 1) <= 0.02);
	let_go(&k);
}

/* The counter is extended to 64 bits and truncated to 32 again, as if it indexed an array: n / 4 iterations, rounded
 * up, also found at a launch. */
static void a_counter_that_is_widened(void **state)
{
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k,
		    KERNEL("mov.u32 %r4, 0;\nL:\nfma.rn.f32 %f1, %f1, %f1, %f1;\ncvt.s64.s32 %rd5, %r4;\n"
			   "cvt.u32.u64 %r5, %rd5;\nadd.s32 %r4, %r5, 4;\nsetp.lt.s32 %p2, %r4, %r1;\n@%p2 bra L;\n"));
	assert_int_equal(evaluate(&k, 3, 64, 1000001, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_count(counts, FMA, 3 * 64 * 250001.0);
	let_go(&k);
}

/* Thread t has t + 1 iterations: 1 + 2 + ... + 32 in the first warp; in the second, tid starts at 32. */
static void a_loop_that_lanes_leave_one_by_one(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL("mov.u32 %r4, 0;\nROUND:\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
			     "add.s32 %r4, %r4, 1;\nsetp.le.s32 %p2, %r4, %r2;\n@%p2 bra ROUND;\n"),
		      7, 64, 0);

	(void)state;
	assert_count(counts, FMA, 7 * 64 * 65 / 2);
	assert_int_equal(counts.exact, 1);
}

static void what_counts_depend_on(void **state)
{
	const struct kc_cost_need *needs;
	struct kernel k;

	(void)state;
	read_kernel(&k, GUARDED);
	/* The position of the pointer in its sector, all of n, nothing of x. */
	assert_int_equal(kc_cost_needs(k.cost, &needs), 2);
	assert_int_equal(needs[0].param, 0);
	assert_int_equal(needs[0].mask, 31);
	assert_int_equal(needs[1].param, 1);
	assert_int_equal(needs[1].offset_bytes, 8);
	assert_int_equal(needs[1].mask, UINT32_MAX);
	assert_int_equal(kc_cost_static_shared_bytes(k.cost), 8192);
	let_go(&k);
}

/* --- bad input, and evaluation at a launch */

static void a_kernel_that_does_nothing(void **state)
{
	static const char text[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n}\n";
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(evaluate(&k, 9, 64, 1, KC_COST_EFFORT_LAUNCH, &counts), 0);
	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++)
		assert_near(counts.of[i], 0);
	let_go(&k);
}

static void launches_that_cannot_be(void **state)
{
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, GUARDED);
	assert_int_equal(evaluate(&k, 0, 32, 1, KC_COST_EFFORT_EXACT, &counts), -EINVAL);
	assert_int_equal(evaluate(&k, 1, 0, 1, KC_COST_EFFORT_EXACT, &counts), -EINVAL);
	assert_int_equal(evaluate(&k, 1, 1025, 1, KC_COST_EFFORT_EXACT, &counts), -EINVAL);
	assert_int_equal(evaluate(&k, 1, 1024, 1, KC_COST_EFFORT_EXACT, &counts), 0);
	let_go(&k);
}

static void code_that_cannot_be_counted(void **state)
{
	struct kernel k;

	(void)state;
	read_kernel(&k, KERNEL("@%p1 bra L2;\nL1: add.s32 %r1, %r1, 1;\nL2: add.s32 %r2, %r2, 1;\n@%p2 bra L1;\n"));
	assert_int_equal(k.rc, -ENOTSUP);
	assert_string_equal(k.refusal.reason, "a loop with two entries");
	assert_null(k.cost);
	let_go(&k);
}

static void memory_is_bounded(void **state)
{
	struct kc_ptx_module module;
	struct kc_cost *cost = NULL;

	(void)state;
	assert_int_equal(kc_ptx_parse(&module, GUARDED, strlen(GUARDED), MEMORY, NULL), 0);
	assert_int_equal(kc_cost_read(&cost, &module, kc_ptx_find(&module, "k"), 64, NULL), -ENOMEM);
	assert_null(cost);
	kc_ptx_free(&module);
}

/* Eight variables of an inner loop are used after the outer one, so that values are added where loops are left. */
#define EIGHT(X) X("4") X("5") X("6") X("7") X("8") X("9") X("10") X("11")
#define SET(r) "mov.u32 %r" r ", 0;\n"
#define STEP(r) "add.s32 %r" r ", %r" r ", " r ";\n"
#define USE(r) "add.s32 %r1, %r1, %r" r ";\n"
static const char loops[] = KERNEL(EIGHT(SET) "OUTER: mov.u32 %r3, 0;\nINNER: add.s32 %r3, %r3, 1;\n" EIGHT(
    STEP) "setp.lt.s32 %p1, %r3, %r1;\n@%p1 bra INNER;\nadd.s32 %r2, %r2, 1;\nsetp.lt.s32 %p2, %r2, %r1;\n@%p2 bra "
	  "OUTER;\n" EIGHT(USE) "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\n");

/* Whichever step it is that finds no memory, the kernel is refused. */
static void reading_ends_wherever_memory_does(void **state)
{
	struct kc_ptx_module module;
	struct kc_cost *cost = NULL;
	size_t bytes = 1024;
	int rc = -ENOMEM;

	(void)state;
	assert_int_equal(kc_ptx_parse(&module, loops, strlen(loops), MEMORY, NULL), 0);
	for (; rc == -ENOMEM && bytes < MEMORY; bytes += 32)
		rc = kc_cost_read_within(&cost, &module, kc_ptx_find(&module, "k"), MEMORY, bytes, NULL);
	assert_int_equal(rc, 0);
	assert_in_range(bytes, 8192, 1 << 20);
	kc_cost_free(cost);
	kc_ptx_free(&module);
}

/* 1,000 blocks of 256, n = 200,100: 200,100 loads in 6,253 full warps and 4 lanes. */
static void at_a_launch_within_two_percent(void **state)
{
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, GUARDED);
	assert_int_equal(evaluate(&k, 1000, 256, 200100, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_int_equal(counts.sampled, 1);
	assert_int_equal(counts.exact, 0);
	assert_true(fabs(counted(&counts, KC_COUNT_OF_LD_GLOBAL) - 200100) < 0.02 * 200100);
	assert_true(fabs(counted(&counts, KC_COUNT_OF_REQUESTS) - 6254) < 0.02 * 6254);
	assert_true(fabs(counted(&counts, KC_COUNT_OF_SECTORS) - 25013) < 0.02 * 25013);
	let_go(&k);
}

/* A hundred consecutive loops, each of which is evaluated: too much for a launch. */
static void at_a_launch_too_much(void **state)
{
	static char text[70000];
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	put_loops(text, sizeof(text),
		  "mov.u32 %%r4, 0;\nR%u:\nfma.rn.f32 %%f1, %%f1, %%f1, %%f1;\nadd.s32 %%r4, %%r4, 1;\n"
		  "setp.lt.s32 %%p2, %%r4, %%r1;\n@%%p2 bra R%u;\n",
		  100);
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(evaluate(&k, 1, 32, 9, KC_COST_EFFORT_LAUNCH, &counts), -EAGAIN);
	assert_int_equal(evaluate(&k, 1, 32, 9, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_count(counts, FMA, 32 * 9 * 100);
	let_go(&k);
}

/* README.md, "One kernel, from PTX to numbers": 4 blocks of 256 threads, of which 1,000 take part: 31 full warps and
 * 8 lanes. */
static void the_kernel_of_the_readme(void **state)
{
	static const char text[] =
	    ".version 8.0\n.target sm_75\n.address_size 64\n"
	    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
	    ".reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<11>;\n"
	    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\nld.param.u32 %r2, [n];\n"
	    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
	    "mad.lo.s32 %r1, %r3, %r4, %r5;\nsetp.ge.s32 %p1, %r1, %r2;\n@%p1 bra DONE;\n"
	    "mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;\nadd.s64 %rd8, %rd2, %rd5;\n"
	    "ld.global.f32 %f1, [%rd8];\nld.global.f32 %f2, [%rd6];\nadd.f32 %f3, %f2, %f1;\n"
	    "add.s64 %rd10, %rd3, %rd5;\nst.global.f32 [%rd10], %f3;\nDONE:\nret;\n}\n";
	struct kc_cost_argument arguments[] = {{.value = POINTER, .known = 1},
					       {.value = 2 * POINTER, .known = 1},
					       {.value = 3 * POINTER, .known = 1},
					       {.value = 1000, .known = 1}};
	struct kc_cost_launch launch = {
	    .grid = {4, 1, 1}, .block = {256, 1, 1}, .arguments = arguments, .argument_count = 4};
	struct kc_counts counts;
	struct kc_cost_story story;
	struct kernel k;

	(void)state;
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_evaluate(k.cost, &launch, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_count(counts, ADD, 1000);
	assert_count(counts, INT, 2 * 1024 + 4 * 1000);
	assert_count(counts, CONTROL, 2 * 1024);
	assert_count(counts, LD_GLOBAL, 2 * 1000);
	assert_count(counts, ST_GLOBAL, 1000);
	assert_count(counts, REQUESTS, 3 * (31 + 1));
	assert_count(counts, SECTORS, 3 * (31 * 4 + 1));
	assert_int_equal(counts.exact, 1);
	assert_int_equal(kc_cost_tell(k.cost, &story), 0);
	assert_string_equal(story.formula[KC_COUNT_OF_INT], "4*[gid.x < p3] + 2");
	assert_string_equal(story.formula[KC_COUNT_OF_LD_GLOBAL], "2*[gid.x < p3]");
	kc_cost_story_free(&story);
	let_go(&k);
}

/* A condition that is the same in all threads chooses how often each block goes round: never, or as often as its number
 * says, which over 100 blocks is 99 · 100 / 2. */
static void a_choice_that_moves_with_the_block(void **state)
{
	static const char text[] = KERNEL("ld.param.f32 %f1, [x];\nsetp.ne.u32 %p1, %r1, 0;\n"
					  "selp.b32 %r4, %r3, 0, %p1;\nmov.u32 %r5, 0;\n"
					  "again:\nsetp.ge.u32 %p2, %r5, %r4;\n@%p2 bra done;\n"
					  "add.f32 %f1, %f1, %f1;\nadd.s32 %r5, %r5, 1;\nbra again;\ndone:\n");
	struct kc_counts never = evaluated(text, 100, 32, 0), rising = evaluated(text, 100, 32, 1);

	(void)state;
	assert_count(never, ADD, 0);
	assert_count(rising, ADD, 4950 * 32);
}

/* The high half of i * n, for i from 0 to 9, is 0 where n is 0: a division by a constant that an argument prepares. */
static void a_product_with_zero(void **state)
{
	static const char text[] =
	    KERNEL("mov.u32 %r4, 0;\nROUND:\nmul.hi.u32 %r5, %r4, %r1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra NEXT;\n"
		   "fma.rn.f32 %f1, %f1, %f1, %f1;\nNEXT:\nadd.s32 %r4, %r4, 1;\nsetp.lt.s32 %p2, %r4, 10;\n"
		   "@%p2 bra ROUND;\n");
	struct kc_counts none = evaluated(text, 1, 32, 0), some = evaluated(text, 1, 32, 0x40000000);

	(void)state;
	assert_count(none, FMA, 32 * 10);
	assert_count(some, FMA, 32 * 4); /* i * 2^30 reaches 2^32 with i = 4 */
}

/* Twelve loops, the outer eleven of n iterations, the innermost of as many as the outermost has begun: n = 3 gives
 * 3^10 * (1 + 2 + 3). Each iteration loads a word, 32 neighbours 128 bytes further on for each round of the outermost.
 */
static void a_nest_of_twelve_loops(void **state)
{
	static char text[4096];
	struct kc_counts counts;
	char *at;

	(void)state;
	strcpy(text, KERNEL(ADDRESS("4") ".reg .b32 %k<12>;\n"));
	at = strstr(text, "ret;");
	for (int i = 0; i < 12; i++)
		at += sprintf(at, "mov.u32 %%k%d, 0;\nL%d:\n", i, i);
	at += sprintf(at, "mul.wide.u32 %%rd4, %%k0, 128;\nadd.s64 %%rd5, %%rd3, %%rd4;\nld.global.f32 %%f1, [%%rd5];\n"
			  "fma.rn.f32 %%f2, %%f1, %%f1, %%f2;\nadd.u32 %%r4, %%k0, 1;\n");
	for (int i = 12; i--;)
		at += sprintf(at, "add.u32 %%k%d, %%k%d, 1;\nsetp.lt.u32 %%p1, %%k%d, %%r%d;\n@%%p1 bra L%d;\n", i, i,
			      i, i == 11 ? 4 : 1, i);
	sprintf(at, "ret;\n}\n");
	counts = evaluated(text, 1, 32, 3);
	assert_count(counts, FMA, 32 * 59049.0 * 6);
	assert_count(counts, SECTORS, 4 * 59049.0 * 6);
	assert_int_equal(counts.exact, 1);
}

/* 1 is doubled until it is 8, and then eight loops add 2 each. Without those 16, it is the distance of the words that
 * the lanes store: 32 lanes touch 32 sectors. In the first iteration of the first loop it would be 2, and these 8
 * sectors.
 */
static void at_a_launch_a_distance_from_loop_to_loop(void **state)
{
	static char text[4096];
	struct kc_counts counts;
	struct kernel k;
	char *at;

	(void)state;
	strcpy(text, KERNEL("mov.u32 %r4, 1;\nTWICE:\nadd.u32 %r4, %r4, %r4;\nsetp.lt.u32 %p1, %r4, %r1;\n"
			    "@%p1 bra TWICE;\n"));
	at = strstr(text, "ret;");
	for (int i = 0; i < 8; i++)
		at += sprintf(at,
			      "add.u32 %%r5, %%r4, 2;\nL%d:\nadd.u32 %%r4, %%r4, 1;\nsetp.lt.u32 %%p2, %%r4, %%r5;\n"
			      "@%%p2 bra L%d;\n",
			      i, i);
	sprintf(at, "sub.u32 %%r4, %%r4, 16;\nmul.lo.u32 %%r5, %%r2, %%r4;\nmul.wide.u32 %%rd2, %%r5, 4;\n"
		    "add.s64 %%rd3, %%rd1, %%rd2;\nst.global.u32 [%%rd3], %%r1;\nret;\n}\n");
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(evaluate(&k, 1, 32, 8, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_count(counts, SECTORS, 32);
	assert_int_equal(evaluate(&k, 1, 32, 8, KC_COST_EFFORT_LAUNCH, &counts), 0);
	assert_count(counts, SECTORS, 32);
	let_go(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_kernel_of_the_readme),
	    cmocka_unit_test(operations_by_class),
	    cmocka_unit_test(sectors_of_neighbours),
	    cmocka_unit_test(sectors_of_strides),
	    cmocka_unit_test(passes_of_banks),
	    cmocka_unit_test(a_bound_on_threads),
	    cmocka_unit_test(a_counted_loop),
	    cmocka_unit_test(the_longest_of_warps_that_leave_early),
	    cmocka_unit_test(the_longest_of_blocks_with_more_and_more_work),
	    cmocka_unit_test(a_counter_that_is_widened),
	    cmocka_unit_test(a_loop_that_lanes_leave_one_by_one),
	    cmocka_unit_test(what_counts_depend_on),
	    cmocka_unit_test(a_kernel_that_does_nothing),
	    cmocka_unit_test(launches_that_cannot_be),
	    cmocka_unit_test(code_that_cannot_be_counted),
	    cmocka_unit_test(memory_is_bounded),
	    cmocka_unit_test(at_a_launch_within_two_percent),
	    cmocka_unit_test(at_a_launch_too_much),
	    cmocka_unit_test(a_nest_of_twelve_loops),
	    cmocka_unit_test(at_a_launch_a_distance_from_loop_to_loop),
	    cmocka_unit_test(reading_ends_wherever_memory_does),
	    cmocka_unit_test(a_choice_that_moves_with_the_block),
	    cmocka_unit_test(a_product_with_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
