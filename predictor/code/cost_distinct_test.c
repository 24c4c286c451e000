/* What a launch reads and writes when each sector counts once, by hand. */
#include "cost_testing.h"

struct expected {
	const char *text;
	uint32_t blocks, threads;
	double loaded, stored, atomics;
};

/* %r4 = the thread's number in the launch */
#define NUMBER "mov.u32 %r5, %ntid.x;\nmad.lo.s32 %r4, %r3, %r5, %r2;\n"
/* %rd3 = a + that * bytes */
#define OF_THREAD(bytes) NUMBER "mul.wide.u32 %rd2, %r4, " bytes ";\nadd.s64 %rd3, %rd1, %rd2;\n"

static void bytes_that_are_accessed_again_count_once(void **state)
{
	static const struct expected cases[] = {
	    /* 100 blocks of 256 floats */
	    {KERNEL(OF_THREAD("4") "ld.global.f32 %f1, [%rd3];\n"), 100, 256, 102400, 0, 0},
	    /* twice; as elements of a struct of 16 bytes; and 5,120 bytes (5 blocks) further on, where others are */
	    {KERNEL(OF_THREAD("4") "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3];\n"), 100, 256, 102400, 0, 0},
	    {KERNEL(OF_THREAD("16") "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3+4];\n"
				    "ld.global.f32 %f3, [%rd3+12];\n"),
	     100, 256, 409600, 0, 0},
	    {KERNEL(OF_THREAD("4") "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3+5120];\n"), 100, 256, 102400,
	     0, 0},
	    /* another array of 102,400 bytes behind it */
	    {KERNEL(OF_THREAD("4") "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3+102400];\n"), 100, 256, 204800,
	     0, 0},
	    /* 1,024 bytes apart: a sector each */
	    {KERNEL(OF_THREAD("1024") "st.global.f32 [%rd3], %f1;\n"), 100, 256, 0, 25600 * 32, 0},
	    /* one address for all; one for each thread of a block */
	    {KERNEL("ld.global.f32 %f1, [%rd1];\n"), 100, 256, 32, 0, 0},
	    {KERNEL(ADDRESS("4") "ld.global.f32 %f1, [%rd3];\n"), 100, 256, 1024, 0, 0},
	    /* in each of 8 iterations (n = 24) the same; or 1,024 bytes further on, in one block of 256 floats */
	    {KERNEL(OF_THREAD("4") LOOP("st.global.f32 [%rd3], %f1;\n")), 100, 256, 0, 102400, 0},
	    {KERNEL(OF_THREAD("4") LOOP("st.global.f32 [%rd3], %f1;\nadd.s64 %rd3, %rd3, 1024;\n")), 1, 256, 0, 8192,
	     0},
	    /* rows of 1,024 bytes, a lane each, read along: 8 words of 32 rows are a sector of each */
	    {KERNEL(OF_THREAD("1024") LOOP("ld.global.f32 %f1, [%rd3];\nadd.s64 %rd3, %rd3, 4;\n")), 1, 32, 32 * 32, 0,
	     0},
	    /* nine counters for all threads: 36 bytes, two sectors; one for each thread */
	    {KERNEL("red.global.add.u32 [%rd1], 1;\nred.global.add.u32 [%rd1+4], 1;\nred.global.add.u32 [%rd1+8], 1;\n"
		    "red.global.add.u32 [%rd1+12], 1;\nred.global.add.u32 [%rd1+16], 1;\n"
		    "red.global.add.u32 [%rd1+20], 1;\nred.global.add.u32 [%rd1+24], 1;\n"
		    "red.global.add.u32 [%rd1+28], 1;\nred.global.add.u32 [%rd1+32], 1;\n"),
	     100, 256, 64, 64, 9},
	    {KERNEL(OF_THREAD("4") "red.global.add.u32 [%rd3], 1;\n"), 100, 256, 102400, 102400, 25600},
	    /* the first of each block's threads; the first 10 blocks of 100 */
	    {KERNEL(OF_THREAD("4") "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra DONE;\nst.global.f32 [%rd3], %f1;\nDONE:\n"),
	     100, 32, 0, 100 * 32, 0},
	    {KERNEL(OF_THREAD("4") "setp.ge.u32 %p1, %r3, 10;\n@%p1 bra DONE;\nst.global.f32 [%rd3], %f1;\nDONE:\n"),
	     100, 256, 0, 10240, 0},
	    /* shared memory is none of it */
	    {KERNEL("mov.u64 %rd4, s;\nld.shared.f32 %f1, [%rd4];\n"), 100, 256, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i].text, cases[i].blocks, cases[i].threads, 24);

		assert_near(counts.distinct_loaded_bytes, cases[i].loaded);
		assert_near(counts.distinct_stored_bytes, cases[i].stored);
		assert_near(counts.distinct_atomics, cases[i].atomics);
	}
}

/* At a launch as well, where addresses are evaluated once. */
static void the_same_at_a_launch(void **state)
{
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, KERNEL(OF_THREAD("4") "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3+5120];\n"
					      "st.global.f32 [%rd3], %f1;\n"));
	assert_int_equal(evaluate(&k, 100, 256, 0, KC_COST_EFFORT_LAUNCH, &counts), 0);
	let_go(&k);
	assert_near(counts.distinct_loaded_bytes, 102400);
	assert_near(counts.distinct_stored_bytes, 102400);
	assert_near(counted(&counts, KC_COUNT_OF_LD_GLOBAL), 2 * 25600);
}

/* An address from memory: each access may be another sector. */
static void all_that_is_accessed_where_addresses_are_not_known(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL(OF_THREAD("8") "ld.global.u64 %rd4, [%rd3];\nld.global.f32 %f1, [%rd4];\n"), 1, 32, 0);

	(void)state;
	assert_near(counts.distinct_loaded_bytes, (8 + 32) * 32);
}

/* A block of a warp and 8 lanes more: 40 floats of each block are 5 sectors. Steps that no number holds come to an end.
 */
static void a_warp_that_is_not_full(void **state)
{
	struct kc_counts counts = evaluated(KERNEL(OF_THREAD("4") "ld.global.f32 %f1, [%rd3];\n"), 2, 40, 0);
	struct kc_counts far = evaluated(KERNEL("cvt.u64.u32 %rd4, %r2;\nmul.lo.u64 %rd4, %rd4, 0x4000000000000000;\n"
						"ld.global.f32 %f1, [%rd4];\n"),
					 2, 40, 0);

	(void)state;
	assert_near(counts.distinct_loaded_bytes, 2 * 5 * 32);
	assert_true(far.distinct_loaded_bytes <= 80 * 32);
}

/* %rd5 = a + 4 times a number that is not known, one for all lanes */
#define SOMEWHERE "ld.shared.u32 %r6, [s];\nmul.wide.u32 %rd4, %r6, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
#define VARIABLES ".global .align 4 .b8 t[1024];\n.global .align 4 .b8 u[64];\n"

/* Of 100 blocks of 256 threads. bytes: of the memory that the first argument points into; 0: not known. */
static struct kc_counts within(const char *text, uint64_t bytes)
{
	struct kc_cost_argument argument = {.value = POINTER, .known = 1};
	struct kc_cost_buffer buffer = {.first = POINTER, .bytes = bytes};
	struct kc_cost_launch launch = {.grid = {100, 1, 1},
					.block = {256, 1, 1},
					.arguments = &argument,
					.argument_count = 1,
					.buffers = &buffer,
					.buffer_count = bytes > 0};

	return counts_of(text, &launch);
}

/* No more than there is in the memory that an address which is not known lies in; else a sector for each of 800 warps.
 */
static void unknown_addresses_lie_in_what_was_given(void **state)
{
	const char *loads = KERNEL(SOMEWHERE "ld.global.f32 %f1, [%rd5];\nld.global.f32 %f1, [%rd5+4];\n"),
		   *adds = KERNEL(SOMEWHERE "red.global.add.u32 [%rd5], 1;\n");

	(void)state;
	assert_near(within(loads, 0).distinct_loaded_bytes, 2 * 800 * 32);
	assert_near(within(loads, 4096).distinct_loaded_bytes, 4096);
	assert_near(within(loads, 1 << 30).distinct_loaded_bytes, 2 * 800 * 32);
	assert_near(within(adds, 1024).distinct_atomics, 256);
	assert_near(within(adds, 1024).distinct_stored_bytes, 1024);
	/* beside 256 floats of a that are loaded at a known address; and with those from a table */
	assert_near(
	    within(KERNEL(SOMEWHERE ADDRESS("4") "ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd3];\n"), 4096)
		.distinct_loaded_bytes,
	    4096);
	assert_near(within(KERNEL(VARIABLES ADDRESS("4") "ld.global.u32 %r6, [%rd3];\nmul.wide.u32 %rd4, %r6, 4;\n"
							 "mov.u64 %rd5, t;\nadd.s64 %rd5, %rd5, %rd4;\n"
							 "ld.global.f32 %f1, [%rd5];\n"),
			   0)
			.distinct_loaded_bytes,
		    1024 + 1024);
}

/* %rd1 = a, %rd2 = b, %p1 is not known, %rd4 = 64 times a number that is not known, of each thread another one */
#define CHOICE(body)                                                                                                   \
	".version 8.0\n.target sm_75\n.address_size 64\n"                                                              \
	".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"                                          \
	".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n.shared .align 4 .b8 s[8192];\n"  \
	"ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, 2;\nmov.u32 %r2, %tid.x;\n"                    \
	"shl.b32 %r3, %r2, 2;\nmov.u32 %r4, s;\nadd.u32 %r4, %r4, %r3;\nld.shared.u32 %r6, [%r4];\n"                   \
	"setp.eq.u32 %p1, %r6, 7;\nmul.wide.u32 %rd4, %r6, 64;\n" body KERNEL_ENDS
#define LOAD_FAR "add.s64 %rd6, %rd3, %rd4;\nld.global.f32 %f1, [%rd6];\n"

/* Of b, 4,096 bytes, or of a, of which nothing is known: at a pitch of 64 bytes a sector for each of 25,600 threads and
 * access. Where every way leads into b, its size is the bound. */
static void a_choice_of_pointers_lies_in_what_all_of_it_leads_to(void **state)
{
	static const struct kc_cost_argument arguments[] = {
	    {.value = POINTER, .known = 1}, {.value = 2 * POINTER, .known = 1}, {.value = 0, .known = 0}};
	static const struct kc_cost_buffer buffer = {.param = 1, .first = 2 * POINTER, .bytes = 4096};
	static const struct kc_cost_launch launch = {.grid = {100, 1, 1},
						     .block = {256, 1, 1},
						     .arguments = arguments,
						     .argument_count = 3,
						     .buffers = &buffer,
						     .buffer_count = 1};
	static const struct {
		const char *text;
		double bytes;
	} cases[] = {
	    {CHOICE("selp.b64 %rd3, %rd1, %rd2, %p1;\n" LOAD_FAR), 819200},
	    {CHOICE("selp.b64 %rd3, %rd2, %rd1, %p1;\n" LOAD_FAR), 819200},
	    {CHOICE("mov.u64 %rd3, %rd1;\n@%p1 bra JOIN;\nmov.u64 %rd3, %rd2;\nJOIN:\n" LOAD_FAR), 819200},
	    {CHOICE("selp.b64 %rd3, %rd2, 0, %p1;\n" LOAD_FAR), 819200},
	    {CHOICE("add.s64 %rd5, %rd2, 64;\nselp.b64 %rd3, %rd5, %rd2, %p1;\n" LOAD_FAR), 4096},
	    {CHOICE("selp.b64 %rd5, 64, 128, %p1;\nadd.s64 %rd3, %rd2, %rd5;\n" LOAD_FAR), 4096},
	    {CHOICE("mov.u64 %rd3, %rd2;\nNEXT:\n" LOAD_FAR
		    "add.s64 %rd3, %rd3, 64;\nadd.u32 %r1, %r1, -1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra NEXT;\n"),
	     4096},
	};
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		read_kernel(&k, cases[i].text);
		assert_int_equal(k.rc, 0);
		assert_int_equal(kc_cost_evaluate(k.cost, &launch, KC_COST_EFFORT_EXACT, &counts), 0);
		assert_near(counts.distinct_loaded_bytes, cases[i].bytes);
		let_go(&k);
	}
}

/* A word of each. */
static void variables_lie_apart(void **state)
{
	(void)state;
	assert_near(
	    within(KERNEL(VARIABLES "ld.global.f32 %f1, [t];\nld.global.f32 %f2, [u];\n"), 0).distinct_loaded_bytes,
	    64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_that_are_accessed_again_count_once),
	    cmocka_unit_test(the_same_at_a_launch),
	    cmocka_unit_test(a_warp_that_is_not_full),
	    cmocka_unit_test(all_that_is_accessed_where_addresses_are_not_known),
	    cmocka_unit_test(unknown_addresses_lie_in_what_was_given),
	    cmocka_unit_test(a_choice_of_pointers_lies_in_what_all_of_it_leads_to),
	    cmocka_unit_test(variables_lie_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
