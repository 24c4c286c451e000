/* What a warp waits for, by hand: chains of instructions that need each other's results (4 cycles each, 8 of 64 bits,
 * 14 for conversions, 22 in the special function unit), words that all threads of a block change, branches that lanes
 * take apart. Launches are of 2 blocks of 64 threads. */
#include "cost_testing.h"

/* Of each warp. %rd3 is known after 8 cycles (ADDRESS). */
static void assert_chain(const char *body, double cycles, double far, double near)
{
	struct kc_counts counts = evaluated(body, 2, 64, 5);

	if (fabs(counts.chain_cycles - cycles) > NEAR || fabs(counts.chain_far - far) > NEAR)
		print_message("%g cycles, %g loads of\n%s\n", counts.chain_cycles, counts.chain_far, body);
	assert_near(counts.chain_cycles, cycles);
	assert_near(counts.chain_far, far);
	assert_near(counts.chain_near, near);
}

#define FIRST "ld.global.f32 %f1, [%rd3];\n"

static void loads_that_wait_for_each_other(void **state)
{
	(void)state;
	assert_chain(KERNEL(ADDRESS("4") FIRST "ld.global.f32 %f2, [%rd3+4];\nadd.f32 %f3, %f1, %f2;\n"), 12, 1, 0);
	assert_chain(KERNEL(ADDRESS("8") "ld.global.u64 %rd4, [%rd3];\nld.global.f32 %f1, [%rd4];\n"), 8, 2, 0);
	assert_chain(KERNEL(ADDRESS("4") FIRST "bar.sync 0;\nld.global.f32 %f2, [%rd3+4];\n"), 8, 2, 0);
}

/* In each round of a loop a load: of what all threads of the launch load, of what those of a block do, of its own. Half
 * of the smallest L1 keeps 16,384 words. */
static void loads_that_all_threads_make(void **state)
{
#define ROUNDS(body)                                                                                                   \
	"mov.u32 %r5, 0;\nTOP:\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd5, %rd1, %rd4;\n" body                          \
	"add.s32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, %r1;\n@%p1 bra TOP;\n"
#define TWO_ADDITIONS "add.f32 %f1, %f1, %f1;\nadd.f32 %f1, %f1, %f1;\n"
#define SIX_ADDITIONS TWO_ADDITIONS TWO_ADDITIONS TWO_ADDITIONS
	static const char all[] = KERNEL("ld.global.f32 %f1, [%rd1];\n" ROUNDS("ld.global.f32 %f2, [%rd5];\n"));
	static const char of_block[] = KERNEL(ROUNDS("mul.wide.u32 %rd3, %r3, 64;\nadd.s64 %rd5, %rd5, %rd3;\n"
						     "ld.global.f32 %f2, [%rd5];\n"));
	static const struct {
		const char *text;
		uint32_t rounds, far, common;
	} cases[] = {
	    {all, 3, 1, 3},
	    {all, 16384, 1, 16384},
	    {all, 16392, 16393, 0},
	    {of_block, 3, 3, 0},
	    /* The first wave waits for the load for longer than for the additions, of 4 cycles each. */
	    {KERNEL(ROUNDS("ld.global.f32 %f2, [%rd5];\n" SIX_ADDITIONS SIX_ADDITIONS)), 3, 0, 3},
	    {KERNEL(ADDRESS("4") ROUNDS("ld.global.f32 %f2, [%rd3];\n")), 3, 3, 0},
	};

	(void)state;
	for (size_t n = 0; n < 2 * sizeof(cases) / sizeof(cases[0]); n++) {
		uint32_t effort = n % 2 ? KC_COST_EFFORT_LAUNCH : KC_COST_EFFORT_EXACT;
		struct kc_counts counts;
		struct kernel k;

		read_kernel(&k, cases[n / 2].text);
		assert_int_equal(evaluate(&k, 2, 64, cases[n / 2].rounds, effort, &counts), 0);
		let_go(&k);
		assert_near(counts.chain_far, cases[n / 2].far);
		assert_near(counts.longest_far, cases[n / 2].far);
		assert_near(counts.chain_common, cases[n / 2].common);
		assert_near(counts.longest_common, cases[n / 2].common);
	}
}

/* A load does not pass a store that may be to the same place. */
static void loads_behind_stores(void **state)
{
	(void)state;
	assert_chain(KERNEL(ADDRESS("4") FIRST "st.global.f32 [%rd3], %f1;\nld.global.f32 %f2, [%rd1];\n"), 8, 2, 0);
	assert_chain(KERNEL(ADDRESS("4") FIRST "st.global.f32 [%rd3], %f1;\nld.global.nc.f32 %f2, [%rd1];\n"), 8, 1, 0);
	assert_chain(KERNEL(ADDRESS("4") FIRST "st.global.f32 [%rd3], %f1;\nld.global.f32 %f2, [%rd3+4];\n"), 8, 1, 0);
	assert_chain(KERNEL(ADDRESS("4") FIRST "st.shared.f32 [s], %f1;\nld.global.f32 %f2, [%rd1];\n"), 8, 1, 0);
}

/* What a guard leaves as it was is still waited for: the load, 8 cycles after the start, then an addition. */
static void guarded_results(void **state)
{
	(void)state;
	assert_chain(KERNEL(ADDRESS("4") FIRST "setp.ne.u32 %p1, %r2, 0;\n@%p1 mov.f32 %f1, 0f00000000;\n"
					       "add.f32 %f2, %f1, %f1;\n"),
		     8 + 4, 1, 0);
	assert_chain(KERNEL(ADDRESS("4") FIRST "mov.f32 %f1, 0f00000000;\nadd.f32 %f2, %f1, %f1;\n"), 8, 1, 0);
}

/* What an inlined function is given, and elements of local memory that are known, are registers: no load waits for
 * them. A generic address may be one in shared memory. */
static void stores_that_are_none(void **state)
{
	(void)state;
	assert_chain(
	    ".version 8.0\n.target sm_75\n.address_size 64\n.func f(.param .b32 p)\n{\n.reg .b32 %r<2>;\n"
	    "ld.param.b32 %r1, [p];\nret;\n}\n.visible .entry k(.param .u64 a, .param .u32 n, .param .f32 x)\n{\n"
	    ".reg .b32 %r<3>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [a];\nld.global.u32 %r1, [%rd1];\n"
	    "{\n.param .b32 q;\nst.param.b32 [q], %r1;\nld.global.u32 %r2, [%rd1+4];\ncall f, (q);\n}\nret;\n}\n",
	    4, 1, 0); /* the return */
	assert_chain(KERNEL(".local .align 4 .b8 l[8];\n" ADDRESS("4") FIRST
			    "st.local.f32 [l], %f1;\nld.shared.f32 %f2, [s];\nld.local.f32 %f3, [l];\n"),
		     8, 1, 0);
	assert_chain(KERNEL("mov.u64 %rd4, s;\ncvta.shared.u64 %rd5, %rd4;\nld.f32 %f1, [%rd5];\n"), 0, 0, 1);
}

static void arithmetic(void **state)
{
	(void)state;
	assert_chain(KERNEL("ld.shared.f32 %f1, [s];\ncvt.f64.f32 %rd5, %f1;\nadd.f64 %rd5, %rd5, %rd5;\n"), 23 + 8, 0,
		     1);
	assert_chain(KERNEL("ld.param.f32 %f1, [x];\nex2.approx.ftz.f32 %f2, %f1;\nfma.rn.f32 %f3, %f2, %f2, %f1;\n"
			    "add.f32 %f4, %f1, %f1;\n"),
		     23 + 4, 0, 0);
	assert_chain(KERNEL("shfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;\nadd.s32 %r4, %r4, 1;\n"), 4, 0, 1);
	/* n = 5: a comparison and the branch on it, then two rounds of these and an addition, then the return */
	assert_chain(KERNEL(LOOP("")), 8 + 2 * 12 + 4, 0, 0);
}

/* A warp's, whichever of its lanes are there. */
static void chains_of_few_lanes(void **state)
{
	struct kc_counts counts = evaluated(
	    KERNEL("setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n" ADDRESS("4") "ld.global.f32 %f1, [%rd3];\n"), 1, 32, 0);

	(void)state;
	assert_near(counts.chain_cycles, 4 + 4 + 8); /* the comparison, the branch on it, the address */
	assert_near(counts.chain_far, 1);
	counts = evaluated(KERNEL(ADDRESS("4") FIRST), 3, 6, 0);
	assert_near(counts.chain_far, 1);
}

/* Of each block's two warps one loads: a comparison, a branch, an address, and the return; the other skips the address
 * and the load. */
static void the_warp_that_waits_longest(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL("setp.ge.u32 %p1, %r2, 32;\n@%p1 bra DONE;\n" ADDRESS("4") FIRST "DONE:\n"), 2, 64, 5);

	(void)state;
	assert_near(counts.chain_cycles, (20 + 12) / 2.0);
	assert_near(counts.chain_far, 0.5);
	assert_near(counts.longest_cycles, 20);
	assert_near(counts.longest_far, 1);
	assert_near(counts.longest_near, 0);
}

static double contended(const char *text)
{
	struct kc_counts counts = evaluated(text, 2, 64, 5);

	return counts.contended;
}

static void floats_that_a_block_adds_to_one_word(void **state)
{
	(void)state;
	assert_near(contended(KERNEL("ld.param.f32 %f1, [x];\natom.shared.add.f32 %f2, [s], %f1;\n")), 1);
	assert_near(contended(KERNEL("red.shared.add.f64 [s+8], %rd1;\nred.shared.add.f64 [s+8], %rd1;\n")), 2);
	assert_near(contended(KERNEL("shl.b32 %r4, %r2, 2;\nmov.u32 %r5, s;\nadd.s32 %r5, %r5, %r4;\n"
				     "red.shared.add.f32 [%r5], %f1;\n")),
		    0); /* each thread to its own */
	assert_near(contended(KERNEL("setp.lt.u32 %p1, %r2, 16;\n@%p1 red.shared.add.f32 [s], %f1;\n")), 16 / 64.0);
	assert_near(contended(KERNEL("red.shared.add.u32 [s], %r2;\n")), 0);
	assert_near(contended(KERNEL("red.global.add.f32 [%rd1], %f1;\n")), 0);
}

/* Lanes of one warp take turns in a known order; when another warp comes between is not known. */
static void what_other_warps_make_of_that(void **state)
{
	static const char text[] = KERNEL("red.shared.add.f32 [s], %f1;\n");
	struct kc_counts counts = evaluated(text, 2, 32, 5);

	(void)state;
	assert_int_equal(counts.exact, 1);
	counts = evaluated(text, 2, 33, 5);
	assert_int_equal(counts.exact, 0);
	assert_int_equal(counts.assumed, KC_ASSUMED_TURNS);
	assert_false(kc_counts_are_known(&counts));
}

static double wide_conversions(const char *text)
{
	struct kc_counts counts = evaluated(text, 2, 64, 5);

	return counts.wide_conversions;
}

static void conversions_of_64_bits(void **state)
{
	(void)state;
	assert_near(wide_conversions(KERNEL("cvt.f64.f32 %rd5, %f1;\ncvt.rzi.s32.f64 %r4, %rd5;\n")), 2);
	assert_near(wide_conversions(KERNEL("cvt.rn.f32.s64 %f1, %rd1;\n")), 1);
	assert_near(wide_conversions(KERNEL("setp.lt.u32 %p1, %r2, 16;\n@%p1 cvt.f64.f32 %rd5, %f1;\n")), 16 / 64.0);
	assert_near(wide_conversions(KERNEL("cvt.rzi.s32.f32 %r4, %f1;\n")), 0);
	assert_near(wide_conversions(KERNEL("cvt.s64.s32 %rd5, %r2;\n")), 0); /* no conversion */
}

static struct kc_counts of_constants(const char *body)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%s%s",
		 ".version 8.0\n.target sm_75\n.address_size 64\n.const .align 8 .b8 c[512];\n",
		 strstr(KERNEL_BEGINS, ".visible"), "");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "mov.u64 %%rd4, c;\n%s%s", body, KERNEL_ENDS);
	return evaluated(text, 2, 64, 5);
}

static double constant_requests(const char *body)
{
	struct kc_counts counts = of_constants(body);

	return counts.constant_requests * counts.threads;
}

/* One after the other, where the address is in a register. */
static void loads_of_constant_memory(void **state)
{
	(void)state;
	assert_near(of_constants("ld.const.f32 %f1, [%rd4];\nld.const.f32 %f2, [%rd4+4];\n").chain_near, 2);
	assert_near(of_constants("ld.const.f32 %f1, [c];\nld.const.f32 %f2, [c+4];\n").chain_near, 1);
}

#define LOOP_TO(end)                                                                                                   \
	"mov.u32 %r4, 0;\nL:\nmul.wide.u32 %rd5, %r4, 4;\nadd.s64 %rd5, %rd4, %rd5;\nld.const.f32 %f1, [%rd5];\n"      \
	"add.s32 %r4, %r4, 1;\nsetp.ne.s32 %p1, %r4, " end ";\n@%p1 bra L;\n"

/* Of 4 warps: one for lanes that address the same, 32 for those that do not; none at a fixed address. */
static void requests_of_constant_memory(void **state)
{
	(void)state;
	assert_near(
	    constant_requests("mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd4, %rd5;\nld.const.f32 %f1, [%rd5];\n"), 4);
	assert_near(
	    constant_requests("mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd4, %rd5;\nld.const.f32 %f1, [%rd5];\n"),
	    4 * 32);
	assert_near(constant_requests("ld.const.f32 %f1, [c+8];\n"), 0);
	/* 600 iterations, and 8, which ptxas unrolls */
	assert_near(constant_requests(LOOP_TO("600")), 4 * 600);
	assert_near(constant_requests(LOOP_TO("8")), 0);
	assert_near(constant_requests(LOOP_TO("%r1")), 4 * 5); /* n */
}

/* An array in local memory: where it is known which element all lanes take, they lie next to each other. */
static double scattered(const char *index)
{
	char text[2048];
	struct kc_counts counts;

	snprintf(
	    text, sizeof(text), "%s%s%s", KERNEL_BEGINS ".local .align 16 .b8 l[64];\n" ADDRESS("4"), index,
	    "and.b32 %r4, %r4, 12;\nmul.wide.u32 %rd4, %r4, 4;\nmov.u64 %rd5, l;\nadd.s64 %rd4, %rd5, %rd4;\n"
	    "ld.local.u32 %r5, [%rd4];\nst.local.v2.u32 [%rd4], {%r5, %r5};\nst.local.u32 [l+8], %r5;\n" KERNEL_ENDS);
	counts = evaluated(text, 2, 64, 5);
	assert_count(counts, LD_LOCAL, 128);
	assert_count(counts, ST_LOCAL, 2 * 128);
	return counts.scattered_local;
}

static void words_of_local_memory(void **state)
{
	(void)state;
	assert_near(scattered("ld.global.u32 %r4, [%rd3];\n"), 1 + 2);
	assert_near(scattered("mov.u32 %r4, %r2;\n"), 1 + 2);
	assert_near(scattered("mov.u32 %r4, %r3;\n"), 0);
	assert_near(scattered("ld.global.u32 %r4, [%rd1];\n"), 0);
}

/* 8 instructions before the branch and one after it, unless the address takes two more; of the ten that half of the
 * threads skip, a warp executes 1 - (1/2)^2 where its lanes go apart. */
#define SKIPPED(address, load) KERNEL(address load "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra SKIP;\n" TEN "SKIP:\n")
#define TWO "fma.rn.f32 %f1, %f1, %f1, %f1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
#define TEN TWO TWO TWO TWO TWO

static void branches_that_lanes_take_apart(void **state)
{
	struct kc_counts apart = evaluated(SKIPPED(ADDRESS("4"), "ld.global.u32 %r4, [%rd3];\n"), 2, 64, 5);
	struct kc_counts together = evaluated(SKIPPED("", "ld.global.u32 %r4, [%rd1];\n"), 2, 64, 5);
	struct kc_counts vote = evaluated(SKIPPED(ADDRESS("4"), "ld.global.u32 %r5, [%rd3];\nsetp.eq.u32 %p2, %r5, 0;\n"
								"vote.sync.ballot.b32 %r4, %p2, -1;\n"),
					  2, 64, 5);
	struct kc_counts edge = evaluated(
	    KERNEL("cvt.rn.f32.u32 %f2, %r2;\nex2.approx.ftz.f32 %f2, %f2;\nsetp.gt.f32 %p1, %f2, 0f3F800000;\n"
		   "@%p1 bra SKIP;\n" TEN "SKIP:\n"),
	    2, 64, 5);

	(void)state;
	assert_int_equal(apart.assumed, KC_ASSUMED_BRANCH);
	assert_near(apart.active_share, (10 + 10 * 0.5) / (10 + 10 * 0.75));
	assert_count(apart, FMA, 128 * 10 / 2.0);
	assert_int_equal(together.assumed, KC_ASSUMED_BRANCH);
	assert_near(together.active_share, 1);
	assert_near(vote.active_share, 1);
	assert_int_equal(edge.assumed, KC_ASSUMED_BRANCH);
	assert_near(edge.active_share, 1);
}

/* Within a branch that lanes take apart, another one: a quarter of the threads, 1 - (3/4)^2 of the warps. */
static void branches_within_branches(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL(ADDRESS("4") "ld.global.u32 %r4, [%rd3];\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 bra SKIP;\n"
					  "setp.eq.u32 %p2, %r4, 1;\n@%p2 bra SKIP;\n" TEN "SKIP:\n"),
		      2, 64, 5);

	(void)state;
	assert_near(counts.active_share, (10 + 2 * 0.5 + 10 * 0.25) / (10 + 2 * 0.75 + 10 * (1 - 0.75 * 0.75)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(loads_that_wait_for_each_other),
	    cmocka_unit_test(loads_that_all_threads_make),
	    cmocka_unit_test(loads_behind_stores),
	    cmocka_unit_test(guarded_results),
	    cmocka_unit_test(stores_that_are_none),
	    cmocka_unit_test(arithmetic),
	    cmocka_unit_test(chains_of_few_lanes),
	    cmocka_unit_test(the_warp_that_waits_longest),
	    cmocka_unit_test(floats_that_a_block_adds_to_one_word),
	    cmocka_unit_test(what_other_warps_make_of_that),
	    cmocka_unit_test(conversions_of_64_bits),
	    cmocka_unit_test(requests_of_constant_memory),
	    cmocka_unit_test(loads_of_constant_memory),
	    cmocka_unit_test(words_of_local_memory),
	    cmocka_unit_test(branches_that_lanes_take_apart),
	    cmocka_unit_test(branches_within_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
