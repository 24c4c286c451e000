/* Atomics by the instructions that ptxas 13.0 makes of them, as disassembled for sm_75, sm_86 and sm_90: one for a warp
 * whose lanes all address one word, where it can reduce what they do; otherwise one for each lane. Launches are of 2
 * blocks of 64 threads: 4 warps, 128 lanes. */
#include "cost_testing.h"

#define OF(sm, body)                                                                                                   \
	".version 8.0\n.target sm_" sm "\n.address_size 64\n"                                                          \
	".visible .entry k(.param .u64 a, .param .u32 n, .param .f32 x)\n{\n"                                          \
	".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n.shared .align 4 .b8 s[8192];\n"  \
	"ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n" body         \
	"ret;\n}\n"
/* At a word of the block's, and at one of the thread's. */
#define OF_BLOCK "mul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
#define USED "st.global.u32 [%rd1], %r9;\n"

static void assert_atomics(const char *text, double expected, double expected_shared)
{
	struct kc_counts counts = evaluated(text, 2, 64, 5);

	if (fabs(counted(&counts, KC_COUNT_OF_ATOMICS) - expected) > NEAR)
		print_message("%g of\n%s\n", counted(&counts, KC_COUNT_OF_ATOMICS), text);
	assert_count(counts, ATOMICS, expected);
	assert_count(counts, ATOMICS_SHARED, expected_shared);
	assert_int_equal(counts.exact, 1);
}

/* What each lane adds is the same: lanes are counted, and a lane's result is computed from its rank. */
static void a_constant_that_all_lanes_add(void **state)
{
	(void)state;
	assert_atomics(OF("75", "red.global.add.u32 [%rd1], 1;\n"), 4, 0);
	assert_atomics(OF("86", "red.global.add.u64 [%rd1], 1;\n"), 4, 0);
	assert_atomics(OF("90", "atom.global.add.u32 %r9, [%rd1], 1;\n" USED), 4, 0);
	assert_atomics(OF("90", OF_BLOCK "red.global.add.u32 [%rd5], 1;\n"), 4, 0);
	assert_atomics(OF("90", "atom.shared.add.u32 %r9, [s], 1;\n" USED), 4, 4);
	/* in the first lane of each block alone */
	assert_atomics(OF("90", "setp.eq.u32 %p1, %r2, 0;\n@%p1 red.global.add.u32 [%rd1], 1;\n"), 2, 0);
}

/* What they add differs: redux reduces it from sm_80 on, where no lane asks for a result of its own. */
static void numbers_that_lanes_reduce(void **state)
{
	(void)state;
	assert_atomics(OF("86", "red.global.add.u32 [%rd1], %r2;\n"), 4, 0);
	assert_atomics(OF("90", "atom.global.add.s32 %r9, [%rd1], %r2;\n"), 4, 0);
	assert_atomics(OF("90", "red.global.max.u32 [%rd1], %r2;\n"), 4, 0);
	assert_atomics(OF("90", "red.shared.or.b32 [s], %r2;\n"), 4, 4);
	assert_atomics(OF("75", "red.global.add.u32 [%rd1], %r2;\n"), 128, 0);
	assert_atomics(OF("90", "atom.global.add.u32 %r9, [%rd1], %r2;\n" USED), 128, 0);
	assert_atomics(OF("90", "cvt.u64.u32 %rd4, %r2;\nred.global.add.u64 [%rd1], %rd4;\n"), 128, 0);
}

static void what_is_not_reduced(void **state)
{
	(void)state;
	assert_atomics(OF("90", "red.global.add.f32 [%rd1], 0f3F800000;\n"), 128, 0);
	assert_atomics(OF("90", "atom.global.inc.u32 %r9, [%rd1], 100;\n"), 128, 0);
	assert_atomics(OF("90", "atom.global.exch.b32 %r9, [%rd1], 1;\n"), 128, 0);
	assert_atomics(OF("90", "atom.global.cas.b32 %r9, [%rd1], 0, 1;\n"), 128, 0);
	assert_atomics(OF("90", "atom.global.max.s32 %r9, [%rd1], %r2;\n" USED), 128, 0);
	/* a word for each lane; and one for each warp, which ptxas does not see */
	assert_atomics(OF("90", ADDRESS("4") "red.global.add.u32 [%rd3], 1;\n"), 128, 0);
	assert_atomics(OF("90", "shr.u32 %r2, %r2, 5;\n" ADDRESS("4") "red.global.add.u32 [%rd3], 1;\n"), 128, 0);
}

static void assert_additions(const char *text, double expected, double doubles, double halves, uint32_t assumed)
{
	struct kc_counts counts = evaluated(text, 2, 64, 5);

	assert_count(counts, ADD, expected);
	assert_count(counts, DOUBLE, doubles);
	assert_count(counts, HALF, halves);
	assert_int_equal(counts.assumed, assumed);
	assert_int_equal(counts.exact, !assumed);
}

/* In a loop that adds once for each try. Where the lanes of a warp add to one word, one succeeds each time: 32 + 31 + …
 * + 1 = 528 additions in each of 4 warps; of the first 16 of each block alone, 136. How often the block's other warps
 * come between is not known. */
static void what_is_added_in_a_loop(void **state)
{
	(void)state;
	assert_additions(OF("75", "red.shared.add.f32 [s], %f1;\n"), 4 * 528, 0, 0, KC_ASSUMED_TURNS);
	assert_additions(OF("90", "red.shared.add.f32 [s], %f1;\n"), 4 * 528, 0, 0, KC_ASSUMED_TURNS);
	assert_additions(OF("86", "setp.lt.u32 %p1, %r2, 16;\n@%p1 red.shared.add.f32 [s], %f1;\n"), 2 * 136, 0, 0,
			 KC_ASSUMED_TURNS);
	assert_additions(OF("86", "cvt.f64.f32 %rd5, %f1;\nred.shared.add.f64 [s], %rd5;\n"), 4 * 528, 4 * 528, 0,
			 KC_ASSUMED_TURNS);
	assert_additions(OF("86", "red.shared.add.noftz.f16x2 [s], %r2;\n"), 2 * 4 * 528, 0, 2 * 4 * 528,
			 KC_ASSUMED_TURNS);
	/* each to its own word: once; not in shared memory: no instruction of the SM; integers: none */
	assert_additions(OF("86", "shl.b32 %r4, %r2, 2;\nmov.u32 %r5, s;\nadd.s32 %r5, %r5, %r4;\n"
				  "red.shared.add.f32 [%r5], %f1;\n"),
			 128, 0, 0, 0);
	assert_additions(OF("86", "red.global.add.f32 [%rd1], %f1;\n"), 0, 0, 0, 0);
	assert_additions(OF("86", "red.shared.add.u32 [s], 1;\n"), 0, 0, 0, 0);
}

/* As formulas for a thread: a 32nd; 528 additions of 32 lanes. */
static void how_it_is_told(void **state)
{
	struct kc_cost_story story;
	struct kernel k;

	(void)state;
	read_kernel(&k, OF("90", "red.global.add.u32 [%rd1], 1;\n"));
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_tell(k.cost, &story), 0);
	assert_string_equal(story.formula[KC_COUNT_OF_ATOMICS], "0.03125, for warps of 32 threads in x, all active");
	kc_cost_story_free(&story);
	let_go(&k);
	read_kernel(&k, OF("90", "red.shared.add.f32 [s], %f1;\n"));
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_tell(k.cost, &story), 0);
	assert_string_equal(story.formula[KC_COUNT_OF_ADD], "16.5, for warps of 32 threads in x, all active");
	kc_cost_story_free(&story);
	let_go(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_constant_that_all_lanes_add),
	    cmocka_unit_test(numbers_that_lanes_reduce),
	    cmocka_unit_test(what_is_not_reduced),
	    cmocka_unit_test(what_is_added_in_a_loop),
	    cmocka_unit_test(how_it_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
