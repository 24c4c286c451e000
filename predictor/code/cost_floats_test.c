/* Floating-point arithmetic that loops, branches and addresses depend on. */
#include "cost_testing.h"

#include <errno.h>

#define N 7 /* %f1, %d1 and %r1; %f2 is a quarter, %f3 2 */
#define FLOATS(body)                                                                                                   \
	KERNEL(".reg .f64 %d<9>;\ncvt.rn.f32.u32 %f1, %r1;\ncvt.rn.f64.u32 %d1, %r1;\nmov.f32 %f2, 0f3E800000;\n"      \
	       "mov.f32 %f3, 0f40000000;\n" body "mov.u32 %r4, 0;\nsetp.lt.s32 %p1, %r5, 1;\n@%p1 bra DONE;\nROUND:\n" \
	       "bar.sync 0;\nadd.s32 %r4, %r4, 1;\nsetp.lt.s32 %p2, %r4, %r5;\n@%p2 bra ROUND;\nDONE:\n")
#define DOWN "cvt.rmi.f32.f32 %f4, %f4;\ncvt.rzi.s32.f32 %r5, %f4;\n"
#define UP "cvt.rpi.s32.f32 %r5, %f4;\n"
#define NEAREST "cvt.rni.s32.f32 %r5, %f4;\n"

static void loops_run_as_often_as_arithmetic_tells(void **state)
{
	static const struct {
		const char *text;
		int rounds;
	} cases[] = {
	    {FLOATS("add.f32 %f4, %f1, %f2;\n" DOWN), 7},             /* 7.25 */
	    {FLOATS("add.rn.f32 %f4, %f1, %f2;\n" UP), 8},            /* 7.25 */
	    {FLOATS("sub.f32 %f4, %f1, %f2;\n" DOWN), 6},             /* 6.75 */
	    {FLOATS("mul.f32 %f4, %f1, %f2;\n" UP), 2},               /* 1.75 */
	    {FLOATS("div.rn.f32 %f4, %f1, %f3;\n" NEAREST), 4},       /* 3.5: to the even one */
	    {FLOATS("fma.rn.f32 %f4, %f1, %f3, %f2;\n" DOWN), 14},    /* 14.25 */
	    {FLOATS("sqrt.rn.f32 %f4, %f1;\n" UP), 3},                /* 2.65 */
	    {FLOATS("rcp.rn.f32 %f4, %f2;\n" DOWN), 4},               /* 4 */
	    {FLOATS("min.f32 %f4, %f1, %f3;\n" DOWN), 2},             /* 2 */
	    {FLOATS("max.f32 %f4, %f1, 0f7FC00000;\n" DOWN), 7},      /* of 7 and what is no number */
	    {FLOATS("neg.f32 %f4, %f1;\nabs.f32 %f4, %f4;\n" UP), 7}, /* 7 */
	    {FLOATS("neg.f32 %f4, %f2;\ncvt.rmi.s32.f32 %r5, %f4;\nadd.s32 %r5, %r5, 5;\n"), 4}, /* -1 + 5 */
	    {FLOATS("neg.f32 %f4, %f1;\ncvt.rzi.u32.f32 %r5, %f4;\nadd.s32 %r5, %r5, 5;\n"), 5}, /* below 0: 0 */
	    {FLOATS("mov.f32 %f4, 0f7FC00000;\ncvt.rzi.s32.f32 %r5, %f4;\nadd.s32 %r5, %r5, 3;\n"), 3},
	    /* What is no number: the highest bit, of a double as of 64 bits. */
	    {FLOATS("mov.f64 %d4, 0d7FF8000000000000;\ncvt.rzi.u32.f64 %r5, %d4;\nshr.u32 %r5, %r5, 29;\n"), 4},
	    {FLOATS("mov.f64 %d4, 0d7FF8000000000000;\ncvt.rzi.s32.f64 %r5, %d4;\nadd.s32 %r5, %r5, -2147483645;\n"),
	     3},
	    {FLOATS("mov.f32 %f4, 0f7FC00000;\ncvt.rzi.s64.f32 %rd2, %f4;\nshr.u64 %rd2, %rd2, 60;\n"
		    "cvt.u32.u64 %r5, %rd2;\nadd.s32 %r5, %r5, 3;\n"),
	     11},
	    {FLOATS("mov.f32 %f4, 0f501502F9;\ncvt.rzi.s32.f32 %r5, %f4;\nsub.s32 %r5, %r5, 2147483638;\n"), 9},
	    /* 2^-149 * 2^127 * 2^25 = 8, or 0 */
	    {FLOATS("mul.f32 %f4, 0f00000001, 0f7F000000;\nmul.f32 %f4, %f4, 0f4C000000;\n" DOWN), 8},
	    {FLOATS("mul.ftz.f32 %f4, 0f00000001, 0f7F000000;\nmul.f32 %f4, %f4, 0f4C000000;\n" DOWN), 0},
	    /* 16,777,216 + 7 is not a float: 8 more; a double. */
	    {FLOATS("add.f32 %f4, %f1, 0f4B800000;\nsub.f32 %f4, %f4, 0f4B800000;\n" DOWN), 8},
	    {FLOATS("add.f64 %d4, %d1, 0d4170000000000000;\nsub.f64 %d4, %d4, 0d4170000000000000;\n"
		    "cvt.rzi.s32.f64 %r5, %d4;\n"),
	     7},
	    {FLOATS("div.rn.f64 %d4, %d1, 0d4008000000000000;\ncvt.rn.f32.f64 %f4, %d4;\n" UP), 3}, /* 7 / 3 */
	    {FLOATS("cvt.f64.f32 %d4, %f2;\nadd.f64 %d4, %d4, %d1;\ncvt.rpi.s32.f64 %r5, %d4;\n"), 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i].text, 1, 32, N);

		if (counted(&counts, KC_COUNT_OF_BARRIERS) != 32 * cases[i].rounds)
			print_message("%s", cases[i].text);
		assert_count(counts, BARRIERS, 32 * cases[i].rounds);
		assert_int_equal(counts.exact, 1);
	}
}

/* Only to within an error, rounded otherwise, or of what is loaded. */
static void what_is_not_certain_is_assumed(void **state)
{
	static const char *const texts[] = {
	    FLOATS("div.approx.f32 %f4, %f1, %f3;\n" DOWN),
	    FLOATS("div.full.f32 %f4, %f1, %f3;\n" DOWN),
	    FLOATS("add.rz.f32 %f4, %f1, %f3;\n" DOWN),
	    FLOATS("add.sat.f32 %f4, %f1, %f3;\n" DOWN),
	    FLOATS("ld.global.f32 %f4, [%rd1];\nadd.f32 %f4, %f4, %f3;\n" DOWN),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_true(evaluated(texts[i], 1, 32, N).assumed & KC_ASSUMED_TRIPS);
	assert_true(evaluated(FLOATS("add.f32 %f4, %f1, %f2;\n" DOWN), 1, 32, UNKNOWN).assumed);
}

/* With less effort than the 200 iterations take one by one, 16 are assumed. */
static void arithmetic_that_takes_too_long_is_not_known(void **state)
{
	static const char text[] = KERNEL("cvt.rn.f32.u32 %f1, %r1;\nmov.f32 %f2, 0f00000000;\nROUND:\n"
					  "fma.rn.f32 %f3, %f3, %f3, %f3;\nadd.f32 %f2, %f2, 0f3F800000;\n"
					  "setp.lt.f32 %p1, %f2, %f1;\n@%p1 bra ROUND;\n");
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(evaluate(&k, 1, 32, 200, KC_COST_EFFORT_LAUNCH, &counts), -EAGAIN);
	assert_int_equal(evaluate(&k, 1, 32, 200, KC_COST_EFFORT_INTEGERS, &counts), 0);
	assert_count(counts, FMA, 32 * KC_COST_ASSUMED_TRIPS);
	assert_int_equal(counts.exact, 0);
	assert_int_equal(evaluate(&k, 1, 32, 200, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_count(counts, FMA, 32 * 200);
	let_go(&k);
	read_kernel(&k, KERNEL(LOOP("bar.sync 0;\n")));
	assert_int_equal(evaluate(&k, 1, 32, 200, KC_COST_EFFORT_INTEGERS, &counts), -EAGAIN);
	let_go(&k);
}

#define GLOBAL_INDEX "mov.u32 %r5, %ntid.x;\nmad.lo.s32 %r2, %r3, %r5, %r2;\ncvt.rn.f32.u32 %f1, %r2;\n"

/* Threads, blocks and iterations: of 10 blocks of 32 the first 100 threads, of 50 iterations 21. */
static void comparisons_of_floats_that_change(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL(GLOBAL_INDEX
			     "setp.lt.f32 %p1, %f1, 0f42C80000;\n@!%p1 bra L;\nfma.rn.f32 %f2, %f2, %f2, %f2;\nL:\n"),
		      10, 32, 0);

	(void)state;
	assert_count(counts, FMA, 100);
	assert_int_equal(counts.exact, 1);
	counts = evaluated(KERNEL("mov.u32 %r4, 0;\nROUND:\ncvt.rn.f32.u32 %f1, %r4;\nmul.f32 %f1, %f1, 0f3F000000;\n"
				  "setp.gtu.f32 %p1, %f1, 0f41200000;\n@%p1 bra L;\nfma.rn.f32 %f2, %f2, %f2, %f2;\n"
				  "L:\nadd.s32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r1;\n@%p2 bra ROUND;\n"),
			   1, 32, 50);
	assert_count(counts, FMA, 32 * 21);
	assert_int_equal(counts.exact, 1);
	/* for (x = 0; x < 7; x += 0.25) */
	counts = evaluated(KERNEL("cvt.rn.f32.u32 %f1, %r1;\nmov.f32 %f2, 0f00000000;\nROUND:\n"
				  "fma.rn.f32 %f3, %f3, %f3, %f3;\nadd.f32 %f2, %f2, 0f3E800000;\n"
				  "setp.lt.f32 %p1, %f2, %f1;\n@%p1 bra ROUND;\n"),
			   1, 32, N);
	assert_count(counts, FMA, 32 * 28);
}

/* Sines take another way for 105,615 and more, of 64 bits for 2^31: what was loaded is less, what is known may not be.
 * There they keep words in memory of their own. */
static void sines_of_ordinary_numbers(void **state)
{
#define OTHER_WAY                                                                                                      \
	" bra L;\nfma.rn.f32 %f2, %f2, %f2, %f2;\nmov.u64 %rd5, l;\nmul.wide.u32 %rd4, %r2, 4;\n"                      \
	"and.b64 %rd4, %rd4, 7;\nadd.s64 %rd5, %rd5, %rd4;\nst.local.u32 [%rd5], %r2;\nL:\n"
#define SINE(number) ".local .align 4 .b8 l[8];\n.reg .f64 %d<2>;\n" number OTHER_WAY
	static const char known[] = KERNEL(SINE("cvt.rn.f32.u32 %f1, %r1;\nsetp.ltu.f32 %p1, %f1, 0f47CE4780;\n@%p1"));
	static const char *const loaded[] = {
	    KERNEL(SINE("ld.global.f32 %f1, [%rd1];\nsetp.ltu.f32 %p1, %f1, 0f47CE4780;\n@%p1")),
	    KERNEL(SINE("ld.global.f64 %d1, [%rd1];\nsetp.geu.f64 %p1, %d1, 0d41E0000000000000;\n@!%p1")),
	    /* %f1 of each round from the one before */
	    KERNEL(SINE("ld.global.f32 %f1, [%rd1];\nmov.u32 %r4, 0;\nROUND:\nmul.f32 %f1, %f1, %f1;\n"
			"setp.ltu.f32 %p1, %f1, 0f47CE4780;\nadd.s32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r1;\n"
			"@%p2 bra ROUND;\n@%p1")),
	};

	struct kc_counts counts = evaluated(known, 1, 32, 105614);

	(void)state;
	assert_count(counts, FMA, 0);
	counts = evaluated(known, 1, 32, 105615);
	assert_count(counts, FMA, 32);
	for (size_t i = 0; i < sizeof(loaded) / sizeof(*loaded); i++) {
		counts = evaluated(loaded[i], 1, 32, N);
		assert_count(counts, FMA, 0);
		assert_count(counts, ST_LOCAL, 0);
		assert_int_equal(counts.exact, 1);
		assert_int_equal(counts.accesses_local, 1);
	}
}

/* A limit before a conversion, in code that keeps nothing in memory of its own: either way may be taken. */
static void numbers_that_are_limited_are_no_sines(void **state)
{
	struct kc_counts counts = evaluated(
	    KERNEL(".reg .f64 %d<2>;\nld.global.f64 %d1, [%rd1];\nsetp.geu.f64 %p1, %d1, 0d41E0000000000000;\n"
		   "@!%p1 bra L;\nfma.rn.f32 %f2, %f2, %f2, %f2;\nL:\n"),
	    1, 32, N);

	(void)state;
	assert_int_equal(counts.exact, 0);
}

/* a[(int)(x / 2)]: 32 threads load 16 words; a[4 * (int)floor(x)]: a sector of every second one. */
static void addresses_of_floats(void **state)
{
	struct kc_counts counts =
	    evaluated(KERNEL(GLOBAL_INDEX "div.rn.f32 %f1, %f1, 0f40000000;\ncvt.rzi.s32.f32 %r6, %f1;\n"
					  "mul.wide.s32 %rd2, %r6, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
					  "ld.global.f32 %f2, [%rd3];\n"),
		      3, 32, 0);

	(void)state;
	assert_count(counts, SECTORS, 3 * 2);
	assert_int_equal(counts.exact, 1);
	counts = evaluated(KERNEL(GLOBAL_INDEX "cvt.rmi.f32.f32 %f1, %f1;\ncvt.rzi.s32.f32 %r6, %f1;\n"
					       "mul.wide.s32 %rd2, %r6, 16;\nadd.s64 %rd3, %rd1, %rd2;\n"
					       "ld.global.f32 %f2, [%rd3];\n"),
			   3, 32, 0);
	assert_count(counts, SECTORS, 3 * 16);
	assert_int_equal(counts.exact, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(loops_run_as_often_as_arithmetic_tells),
	    cmocka_unit_test(what_is_not_certain_is_assumed),
	    cmocka_unit_test(comparisons_of_floats_that_change),
	    cmocka_unit_test(sines_of_ordinary_numbers),
	    cmocka_unit_test(numbers_that_are_limited_are_no_sines),
	    cmocka_unit_test(addresses_of_floats),
	    cmocka_unit_test(arithmetic_that_takes_too_long_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
