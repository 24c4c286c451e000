/* Formulas in words: what they are worth at many places is what the kernel does there, worked out in C. */
#include "cost_testing.h"

#include "predictor/code/text/text_testing.h"

#define FMA "fma.rn.f32 %f1, %f1, %f1, %f1;\n"
/* As often as the register says, which may be 0. */
#define TIMES(count)                                                                                                   \
	"setp.eq.u32 %p3, " count ", 0;\n@%p3 bra NONE;\nmov.u32 %r9, 0;\nTIMES:\n" FMA                                \
	"add.s32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, " count ";\n@%p4 bra TIMES;\nNONE:\n"
#define THREADS 64

/* n: the argument, t: the thread's number in its block of 64, b: the block's of four */
struct place {
	int64_t n, t, b;
};

struct words {
	const char *text;
	int64_t (*count)(const struct place *at);
};

#define WORTH(name, expression)                                                                                        \
	static int64_t name(const struct place *at)                                                                    \
	{                                                                                                              \
		const int64_t n = at->n, t = at->t, b = at->b;                                                         \
                                                                                                                       \
		(void)n, (void)t, (void)b;                                                                             \
		return expression;                                                                                     \
	}

static void compare(const struct words *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct kc_cost_story story;
		struct kernel k;

		read_kernel(&k, cases[i].text);
		assert_int_equal(k.rc, 0);
		assert_int_equal(kc_cost_tell(k.cost, &story), 0);
		let_go(&k);
		for (int64_t n = 1; n <= 40; n++)
			for (int64_t t = 0; t < THREADS; t += t % 32 ? 31 : 1) {
				const struct place at = {n, t, t % 4};
				const struct named names[] = {{"p1", (double)n},
							      {"tid.x", (double)t},
							      {"ctaid.x", (double)at.b},
							      {"ntid.x", THREADS},
							      {"nctaid.x", 4},
							      {"gid.x", (double)(THREADS * at.b + t)},
							      {NULL, 0}};
				double ours = read_text(story.formula[KC_COUNT_OF_FMA], names);
				double expected = (double)cases[i].count(&at);

				if (fabs(ours - expected) > 1e-9)
					fail_msg("%s is %g, not %g, at n = %d, tid = %d, ctaid = %d, of\n%s",
						 story.formula[KC_COUNT_OF_FMA], ours, expected, (int)n, (int)t,
						 (int)at.b, cases[i].text);
			}
		kc_cost_story_free(&story);
	}
}

#define COMPARE(cases) compare(cases, sizeof(cases) / sizeof(*(cases)))
#define VALUE(body) KERNEL(body TIMES("%r5"))

WORTH(eight_each, 8 * t)
WORTH(a_quarter, n / 4)
WORTH(rest_of_eight, n % 8)
WORTH(whole_eights, n / 8 * 8)
WORTH(a_half, n / 2)
WORTH(below_forty, 40 - n)
WORTH(fifth, n / 5)
WORTH(rest_of_five, t % 5)
WORTH(lesser, n < t ? n : t)
WORTH(greater, n < t ? t : n)
WORTH(hundred_less_lesser, 100 - (n < t ? n : t))
WORTH(hundred_less_greater, 100 - (n < t ? t : n))
WORTH(the_same, n)
WORTH(index_in_all, 64 * b + t)
WORTH(sizes, 64 + 4)

static void arithmetic(void **state)
{
	static const struct words cases[] = {
	    {VALUE("shl.b32 %r5, %r2, 3;\n"), eight_each},
	    {VALUE("mul.lo.u32 %r5, %r2, 8;\n"), eight_each},
	    {VALUE("shr.u32 %r5, %r1, 2;\n"), a_quarter},
	    {VALUE("div.u32 %r5, %r1, 4;\n"), a_quarter},
	    {VALUE("and.b32 %r5, %r1, 7;\n"), rest_of_eight},
	    {VALUE("mov.u32 %r4, 7;\nand.b32 %r5, %r4, %r1;\n"), rest_of_eight},
	    {VALUE("and.b32 %r5, %r1, -8;\n"), whole_eights},
	    {VALUE("mov.u32 %r4, -8;\nand.b32 %r5, %r4, %r1;\n"), whole_eights},
	    /* as nvcc divides a signed number by 2: its sign is added before */
	    {VALUE("shr.u32 %r4, %r1, 31;\nadd.s32 %r4, %r1, %r4;\nshr.s32 %r5, %r4, 1;\n"), a_half},
	    {VALUE("shr.s32 %r4, %r1, 31;\nshr.u32 %r4, %r4, 30;\nadd.s32 %r4, %r1, %r4;\nshr.s32 %r5, %r4, 2;\n"),
	     a_quarter},
	    {VALUE("not.b32 %r4, %r1;\nadd.s32 %r5, %r4, 41;\n"), below_forty},
	    {VALUE("mov.u32 %r4, 40;\nsub.s32 %r5, %r4, %r1;\n"), below_forty},
	    {VALUE("div.u32 %r5, %r1, 5;\n"), fifth},
	    {VALUE("rem.u32 %r5, %r2, 5;\n"), rest_of_five},
	    {VALUE("min.u32 %r5, %r1, %r2;\n"), lesser},
	    {VALUE("max.u32 %r5, %r1, %r2;\n"), greater},
	    {VALUE("neg.s32 %r6, %r1;\nneg.s32 %r7, %r2;\nmax.s32 %r8, %r6, %r7;\nadd.s32 %r5, %r8, 100;\n"),
	     hundred_less_lesser},
	    {VALUE("neg.s32 %r6, %r1;\nneg.s32 %r7, %r2;\nmin.s32 %r8, %r6, %r7;\nadd.s32 %r5, %r8, 100;\n"),
	     hundred_less_greater},
	    {VALUE("cvt.u64.u32 %rd4, %r1;\ncvt.u32.u64 %r5, %rd4;\n"), the_same},
	    {VALUE("mov.u32 %r4, %ntid.x;\nmad.lo.s32 %r5, %r3, %r4, %r2;\n"), index_in_all},
	    {VALUE("mov.u32 %r4, %ntid.x;\nmov.u32 %r6, %nctaid.x;\nadd.s32 %r5, %r4, %r6;\n"), sizes},
	};

	(void)state;
	COMPARE(cases);
}

WORTH(three_or_eight, t < n ? 3 : 8)
WORTH(three_or_eight_with_equal, t <= n ? 3 : 8)
WORTH(three_where_equal, t == n ? 3 : 8)
WORTH(four_each, 4 * n)
WORTH(one_below, t < n)
WORTH(one_from, t >= n)
WORTH(one_where_both, t<n && b> 1)
WORTH(one_where_either, t<n || b> 1)
WORTH(one_where_not_both, !(t < n && b > 1))
WORTH(one_where_neither, !(t < n || b > 1))

#define IF(comparison) KERNEL("setp." comparison ";\n@!%p1 bra SKIP;\n" FMA "SKIP:\n")
#define UNLESS(comparison) KERNEL("setp." comparison ";\n@%p1 bra SKIP;\n" FMA "SKIP:\n")
#define BOTH(how, guard)                                                                                               \
	KERNEL("setp.lt.u32 %p1, %r2, %r1;\nsetp.gt.u32 %p2, %r3, 1;\n" how " %p5, %p1, %p2;\n@" guard                 \
	       "%p5 bra SKIP;\n" FMA "SKIP:\n")
#define CHOICE(comparison) VALUE("setp." comparison ";\nselp.b32 %r5, 3, 8, %p1;\n")
/* The same by a branch. */
#define JOIN(comparison)                                                                                               \
	VALUE("setp." comparison ";\n@%p1 bra YES;\nmov.u32 %r5, 8;\nbra BOTH;\nYES:\nmov.u32 %r5, 3;\nBOTH:\n")

static void conditions(void **state)
{
	static const struct words cases[] = {
	    {CHOICE("lt.u32 %p1, %r2, %r1"), three_or_eight},
	    {CHOICE("gt.u32 %p1, %r1, %r2"), three_or_eight},
	    {CHOICE("le.u32 %p1, %r2, %r1"), three_or_eight_with_equal},
	    {CHOICE("ge.u32 %p1, %r1, %r2"), three_or_eight_with_equal},
	    {CHOICE("eq.u32 %p1, %r1, %r2"), three_where_equal},
	    {JOIN("lt.u32 %p1, %r2, %r1"), three_or_eight},
	    {JOIN("le.u32 %p1, %r2, %r1"), three_or_eight_with_equal},
	    {JOIN("eq.u32 %p1, %r2, %r1"), three_where_equal},
	    /* what is chosen is the same where the condition does not hold */
	    {VALUE("shl.b32 %r4, %r1, 2;\nsetp.ne.u32 %p1, %r1, 0;\nselp.b32 %r5, %r4, 0, %p1;\n"), four_each},
	    {VALUE("shl.b32 %r4, %r1, 2;\nsetp.eq.u32 %p1, %r1, 0;\nselp.b32 %r5, 0, %r4, %p1;\n"), four_each},
	    {IF("lt.u32 %p1, %r2, %r1"), one_below},
	    {UNLESS("lt.u32 %p1, %r2, %r1"), one_from},
	    {IF("ge.u32 %p1, %r2, %r1"), one_from},
	    {UNLESS("ge.u32 %p1, %r2, %r1"), one_below},
	    {UNLESS("le.u32 %p1, %r1, %r2"), one_below},
	    {BOTH("and.pred", "!"), one_where_both},
	    {BOTH("or.pred", "!"), one_where_either},
	    {BOTH("and.pred", ""), one_where_not_both},
	    {BOTH("or.pred", ""), one_where_neither},
	    {KERNEL("setp.lt.u32 %p1, %r2, %r1;\nnot.pred %p2, %p1;\n@%p2 bra SKIP;\n" FMA "SKIP:\n"), one_below},
	};

	(void)state;
	COMPARE(cases);
}

WORTH(thirds, (n + 2) / 3)
WORTH(thirds_and_one, n / 3 + 1)
WORTH(whole_thirds, (n + 2) / 3 * 3)
WORTH(halves, (n + 1) / 2)
WORTH(of_each_pair, n *(n - 1) / 2)
WORTH(of_each_pair_and_itself, n *(n + 1) / 2)

static int64_t those_before_halves(const struct place *at)
{
	int64_t count = 0;

	for (int64_t s = at->n; s; s /= 2)
		count += at->t < s;
	return count;
}

static int64_t those_before_powers(const struct place *at)
{
	int64_t count = 0;

	for (int64_t s = 1; s < at->n; s *= 2)
		count += at->t < s;
	return count;
}

#define COUNTING(first, body, step, comparison)                                                                        \
	KERNEL("mov.u32 %r4, " first ";\nROUND:\n" body step "setp." comparison ";\n@%p2 bra ROUND;\n")
#define BEFORE "setp.ge.u32 %p1, %r2, %r4;\n@%p1 bra NEXT;\n" FMA "NEXT:\n"

static void loops(void **state)
{
	static const struct words cases[] = {
	    {COUNTING("0", FMA, "add.s32 %r4, %r4, 3;\n", "lt.s32 %p2, %r4, %r1"), thirds},
	    {COUNTING("0", FMA, "add.s32 %r4, %r4, 3;\n", "le.s32 %p2, %r4, %r1"), thirds_and_one},
	    {COUNTING("0", FMA, "add.s32 %r4, %r4, 3;\n", "gt.s32 %p2, %r1, %r4"), thirds},
	    {COUNTING("0", FMA, "add.s32 %r4, %r4, 1;\n", "ne.s32 %p2, %r4, %r1"), the_same},
	    {COUNTING("%r1", FMA, "add.s32 %r4, %r4, -2;\n", "gt.s32 %p2, %r4, 0"), halves},
	    {COUNTING("%r1", FMA, "sub.s32 %r4, %r4, 1;\n", "ne.s32 %p2, %r4, 0"), the_same},
	    /* tested at the top */
	    {KERNEL("mov.u32 %r4, 0;\nROUND:\nsetp.ge.s32 %p2, %r4, %r1;\n@%p2 bra DONE;\n" FMA
		    "add.s32 %r4, %r4, 3;\nbra ROUND;\nDONE:\n"),
	     thirds},
	    {KERNEL("mov.u32 %r4, %r1;\nROUND:\nsetp.le.s32 %p2, %r4, 0;\n@%p2 bra DONE;\n" FMA
		    "add.s32 %r4, %r4, -2;\nbra ROUND;\nDONE:\n"),
	     halves},
	    /* what the variable is afterwards */
	    {KERNEL(
		 "mov.u32 %r5, 0;\nROUND:\nadd.s32 %r5, %r5, 3;\nsetp.lt.s32 %p2, %r5, %r1;\n@%p2 bra ROUND;\n" TIMES(
		     "%r5")),
	     whole_thirds},
	    /* for (i = 0; i < n; i++) for (j = 0; j < i; j++); and j <= i */
	    {COUNTING("0", TIMES("%r4"), "add.s32 %r4, %r4, 1;\n", "lt.s32 %p2, %r4, %r1"), of_each_pair},
	    {COUNTING("0",
		      "mov.u32 %r6, 0;\nINNER:\n" FMA
		      "add.s32 %r6, %r6, 1;\nsetp.le.s32 %p1, %r6, %r4;\n@%p1 bra INNER;\n",
		      "add.s32 %r4, %r4, 1;\n", "lt.s32 %p2, %r4, %r1"),
	     of_each_pair_and_itself},
	    /* for (s = n; s; s /= 2) if (t < s), as in a reduction; for (s = 1; s < n; s *= 2) */
	    {COUNTING("%r1", BEFORE, "shr.u32 %r4, %r4, 1;\n", "ne.u32 %p2, %r4, 0"), those_before_halves},
	    {KERNEL("setp.lt.u32 %p3, %r1, 2;\n@%p3 bra DONE;\nmov.u32 %r4, 1;\nROUND:\n" BEFORE
		    "shl.b32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, %r1;\n@%p2 bra ROUND;\nDONE:\n"),
	     those_before_powers},
	};

	(void)state;
	COMPARE(cases);
}

/* Nothing is told of what has no formula. */
static void what_has_no_words(void **state)
{
	static const char *const texts[] = {
	    VALUE("and.b32 %r5, %r1, 5;\n"),   VALUE("and.b32 %r5, %r1, -6;\n"),  VALUE("shr.u32 %r5, %r1, %r2;\n"),
	    VALUE("and.b32 %r5, %r1, %r2;\n"), VALUE("xor.b32 %r5, %r1, %r2;\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct kc_cost_story story;
		struct kernel k;

		read_kernel(&k, texts[i]);
		assert_int_equal(k.rc, 0);
		assert_int_equal(kc_cost_tell(k.cost, &story), 0);
		let_go(&k);
		assert_true(story.formula[KC_COUNT_OF_FMA][0] == 'v');
		kc_cost_story_free(&story);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic),
	    cmocka_unit_test(conditions),
	    cmocka_unit_test(loops),
	    cmocka_unit_test(what_has_no_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
