/* Floating-point arithmetic as ptxas compiles it. Expected are the instructions of ptxas 13.0 for sm_86 as nvdisasm
 * shows them, on the way that ordinary numbers take. */
#include "cost_testing.h"

#include <stdlib.h>

struct expected {
	const char *text;
	double fma, add, mul;
};

#define BODY(body)                                                                                                     \
	KERNEL(                                                                                                        \
	    ".reg .f64 %d<9>;\n.reg .b16 %h<9>;\nld.param.f32 %f1, [x];\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\n" body)

/* FFMA, FADD, FMUL; of 64 and 16 bits DFMA, HFMA2 and so on. */
static void products_are_contracted_with_sums(void **state)
{
	static const struct expected cases[] = {
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\n"), 1, 0, 0},
	    {BODY("mul.f32 %f4, %f1, %f2;\nsub.f32 %f5, %f4, %f3;\n"), 1, 0, 0},
	    {BODY("mul.f32 %f4, %f1, %f2;\nsub.f32 %f5, %f3, %f4;\n"), 1, 0, 0},
	    {BODY("mul.ftz.f32 %f4, %f1, %f2;\nadd.ftz.f32 %f5, %f4, %f3;\n"), 1, 0, 0},
	    {BODY("mul.f64 %d4, %d1, %d2;\nsub.f64 %d5, %d3, %d4;\n"), 1, 0, 0},
	    {BODY("mul.f16 %h4, %h1, %h2;\nsub.f16 %h5, %h3, %h4;\n"), 1, 0, 0},
	    {BODY("mul.f32 %f4, %f1, %f2;\n@%p1 add.f32 %f5, %f4, %f3;\n"), 0.5, 0, 0},
	    /* two sums of one product, and one of two products */
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nadd.f32 %f6, %f4, %f1;\n"), 2, 0, 0},
	    {BODY("mul.f32 %f4, %f1, %f2;\nmul.f32 %f5, %f3, %f2;\nadd.f32 %f6, %f4, %f5;\n"), 1, 0, 1},
	    {BODY("mul.f32 %f4, %f1, %f2;\nmul.f32 %f5, %f3, %f2;\nsub.f32 %f6, %f4, %f5;\nadd.f32 %f7, %f4, %f5;\n"),
	     2, 0, 1},
	    /* a register that is used again */
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nmul.f32 %f4, %f5, %f2;\nadd.f32 %f5, %f4, %f3;\n"),
	     2, 0, 0},
	    /* rounding that is asked for, other subnormal numbers, a sum of twice the product */
	    {BODY("mul.rn.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\n"), 0, 1, 1},
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.rn.f32 %f5, %f4, %f3;\n"), 0, 1, 1},
	    {BODY("mul.ftz.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\n"), 0, 1, 1},
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f4;\n"), 0, 1, 1},
	    /* products that something else reads as well, also in another block */
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nst.global.f32 [%rd1], %f4;\n"), 0, 1, 1},
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nmul.f32 %f6, %f5, %f4;\n"), 0, 1, 2},
	    {BODY("mul.f32 %f4, %f1, %f2;\nadd.f32 %f5, %f4, %f3;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra DONE;\n"
		  "st.global.f32 [%rd1], %f4;\nDONE:\n"),
	     0, 1, 1},
	    {BODY("mul.f32 %f4, %f1, %f2;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra DONE;\nadd.f32 %f5, %f4, %f3;\nDONE:\n"),
	     0, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i].text, 1, 32, 0);

		assert_count(counts, FMA, 32 * cases[i].fma);
		assert_count(counts, ADD, 32 * cases[i].add);
		assert_count(counts, MUL, 32 * cases[i].mul);
	}
}

/* A kernel of many products that wait for one sum is read in time that grows with its length. */
static void a_long_block_of_products(void **state)
{
	enum { PRODUCTS = 20000 };
	static const char head[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n"
				   ".reg .f32 %f<9>;\n";
	char *text = malloc(sizeof(head) + PRODUCTS * 64), *at = text;
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "%s", head);
	for (int n = 0; n < PRODUCTS; n++)
		at += sprintf(at, "mul.f32 %%f1, %%f2, %%f3;\nadd.f32 %%f4, %%f4, %%f1;\n");
	sprintf(at, "ret;\n}\n");
	k.cost = NULL;
	assert_int_equal(kc_ptx_parse(&k.module, text, strlen(text), 4 * MEMORY, &k.refusal), 0);
	assert_int_equal(kc_cost_read(&k.cost, &k.module, kc_ptx_find(&k.module, "k"), 4 * MEMORY, &k.refusal), 0);
	assert_int_equal(evaluate(&k, 1, 32, 0, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_count(counts, FMA, 32.0 * PRODUCTS);
	assert_count(counts, MUL, 0);
	let_go(&k);
	free(text);
}

static struct kc_counts of_instructions(const char *text)
{
	char kernel[4096];

	snprintf(kernel, sizeof(kernel),
		 ".version 8.0\n.target sm_86\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %%p<9>;\n"
		 ".reg .b32 %%r<9>;\n.reg .b64 %%rd<9>;\n.reg .f32 %%f<9>;\n.reg .f64 %%d<9>;\n.reg .b16 %%h<9>;\n"
		 "%sret;\n}\n",
		 text);
	return evaluated(kernel, 1, 32, 0);
}

struct arithmetic {
	const char *text;
	double fma, add, mul, special, integer, control, wide, convert;
};

/* For each: FFMA or DFMA, FADD, FMUL or DMUL, MUFU, integer and FSETP, branches, those of 64 bits, F2I and the like. */
static void divisions_roots_and_approximations(void **state)
{
	static const struct arithmetic cases[] = {
	    {"div.rn.f32 %f4, %f1, %f2;\n", 5, 0, 0, 1, 1, 1, 0, 0},
	    {"div.full.f32 %f4, %f1, %f2;\n", 0, 0, 1, 1, 2, 0, 0, 0},
	    {"div.approx.f32 %f4, %f1, %f2;\n", 0, 0, 1, 1, 1, 0, 0, 0},
	    {"div.approx.ftz.f32 %f4, %f1, %f2;\n", 0, 0, 1, 1, 0, 0, 0, 0},
	    {"rcp.rn.f32 %f4, %f1;\n", 2, 1, 0, 1, 3, 1, 0, 0},
	    {"rcp.approx.f32 %f4, %f1;\n", 0, 0, 2, 1, 4, 0, 0, 0},
	    {"rcp.approx.ftz.f32 %f4, %f1;\n", 0, 0, 0, 1, 0, 0, 0, 0},
	    {"sqrt.rn.f32 %f4, %f1;\n", 2, 0, 2, 1, 2, 1, 0, 0},
	    {"sqrt.approx.f32 %f4, %f1;\n", 0, 0, 0, 1, 1, 0, 0, 0},
	    {"sqrt.approx.ftz.f32 %f4, %f1;\n", 0, 0, 0, 1, 0, 0, 0, 0},
	    {"rsqrt.approx.f32 %f4, %f1;\n", 0, 0, 0, 1, 1, 0, 0, 0},
	    {"rsqrt.approx.ftz.f32 %f4, %f1;\n", 0, 0, 0, 1, 0, 0, 0, 0},
	    {"sin.approx.f32 %f4, %f1;\n", 0, 0, 1, 1, 0, 0, 0, 0},
	    {"cos.approx.f32 %f4, %f1;\n", 0, 0, 1, 1, 0, 0, 0, 0},
	    {"ex2.approx.f32 %f4, %f1;\n", 0, 0, 0, 1, 1, 0, 0, 0},
	    {"ex2.approx.ftz.f32 %f4, %f1;\n", 0, 0, 0, 1, 0, 0, 0, 0},
	    {"lg2.approx.ftz.f32 %f4, %f1;\n", 0, 0, 0, 1, 0, 0, 0, 0},
	    {"lg2.approx.f32 %f4, %f1;\n", 0, 0, 0, 1, 1, 0, 0, 0},
	    {"div.rn.f64 %d4, %d1, %d2;\n", 8, 0, 1, 1, 2, 1, 8, 0},
	    {"rcp.rn.f64 %d4, %d1;\n", 5, 0, 0, 1, 4, 1, 5, 0},
	    {"sqrt.rn.f64 %d4, %d1;\n", 5, 0, 3, 1, 3, 1, 8, 0},
	    {"rsqrt.approx.f64 %d4, %d1;\n", 3, 0, 2, 1, 2, 1, 5, 0},
	    /* modifiers of what reads them */
	    {"neg.f32 %f4, %f1;\nabs.f64 %d4, %d1;\n", 0, 0, 0, 0, 0, 0, 0, 0},
	    /* FMNMX, FSETP; DSETP */
	    {"max.f32 %f4, %f1, %f2;\nsetp.lt.f32 %p2, %f1, %f2;\n", 0, 0, 0, 0, 2, 0, 0, 0},
	    {"setp.lt.f64 %p2, %d1, %d2;\n", 0, 1, 0, 0, 0, 0, 1, 0},
	    /* FADD with a modifier, of ptxas for sm_75 and sm_90 */
	    {"cvt.sat.f32.f32 %f4, %f1;\ncvt.ftz.f32.f32 %f3, %f1;\n", 0, 2, 0, 0, 0, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = of_instructions(cases[i].text);

		assert_count(counts, FMA, 32 * cases[i].fma);
		assert_count(counts, ADD, 32 * cases[i].add);
		assert_count(counts, MUL, 32 * cases[i].mul);
		assert_count(counts, SPECIAL, 32 * cases[i].special);
		assert_count(counts, INT, 32 * cases[i].integer);
		assert_count(counts, CONTROL, 32 * (1 + cases[i].control)); /* and ret */
		assert_count(counts, DOUBLE, 32 * cases[i].wide);
		assert_count(counts, CONVERT, 32 * cases[i].convert);
		assert_count(counts, DIVMOD, 0);
	}
}

/* sm_86: F2I and the like on one side, what becomes SHF, PRMT, I2FP, F2FP or nothing on the other. */
static void conversions(void **state)
{
	static const struct {
		const char *text;
		double convert, integer;
	} cases[] = {
	    {"cvt.u64.u32 %rd4, %r2;\n", 0, 0},    {"cvt.u32.u64 %r4, %rd1;\n", 0, 0},
	    {"cvt.s64.s32 %rd4, %r2;\n", 0, 1},    {"cvt.u32.u16 %r4, %h1;\n", 0, 0},
	    {"cvt.rn.f32.u32 %f4, %r2;\n", 0, 1},  {"cvt.rn.f32.u16 %f4, %h1;\n", 0, 1},
	    {"cvt.rn.f32.s16 %f4, %h1;\n", 1, 0},  {"cvt.rn.f32.s64 %f4, %rd1;\n", 1, 0},
	    {"cvt.rzi.s32.f32 %r4, %f1;\n", 1, 0}, {"cvt.rn.f16.f32 %h4, %f1;\n", 0, 1},
	    {"cvt.f32.f16 %f4, %h1;\n", 0, 1},     {"cvt.f64.f32 %d4, %f1;\n", 1, 0},
	    {"cvt.rn.f64.s32 %d4, %r2;\n", 1, 0},  {"cvt.rmi.f32.f32 %f4, %f1;\n", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = of_instructions(cases[i].text);

		assert_count(counts, CONVERT, 32 * cases[i].convert);
		assert_count(counts, INT, 32 * cases[i].integer);
	}
}

/* ptxas calls a function of some 80 instructions for 64 bits, and has some 20 for 32. */
static void divisions_of_integers(void **state)
{
	struct kc_counts narrow = of_instructions("div.u32 %r4, %r1, %r2;\nrem.s32 %r5, %r1, %r2;\n");
	struct kc_counts wide = of_instructions("rem.u64 %rd4, %rd1, %rd1;\n");

	(void)state;
	assert_count(narrow, DIVMOD, 32 * 2);
	assert_count(wide, DIVMOD, 32 * 4);
}

/* FSETP, ISETP and PLOP3 of sm_75, sm_86 and sm_90. */
static void logic_on_predicates(void **state)
{
#define TWO "setp.le.f32 %p1, %f1, %f2;\nsetp.gt.f32 %p2, %f3, %f1;\n"
#define TWO_MORE "setp.le.f32 %p4, %f4, %f2;\nsetp.gt.s32 %p5, %r4, %r1;\n"
#define READ(predicate) "selp.u32 %r5, 1, 2, " predicate ";\n"
	static const struct {
		const char *text;
		double integer;
	} cases[] = {
	    {TWO "and.pred %p3, %p1, %p2;\n" READ("%p3"), 3},
	    {TWO "xor.pred %p3, %p1, %p2;\nnot.pred %p4, %p3;\n" READ("%p4"), 3},
	    /* neither side of the last one is a comparison: PLOP3 */
	    {TWO TWO_MORE "and.pred %p3, %p1, %p2;\nand.pred %p6, %p4, %p5;\nor.pred %p7, %p3, %p6;\n" READ("%p7"), 6},
	    /* one joins the other although that is read again; both are: another FSETP, or PLOP3 */
	    {TWO "and.pred %p3, %p1, %p2;\n" READ("%p3") READ("%p1"), 4},
	    {TWO "and.pred %p3, %p1, %p2;\n" READ("%p3") READ("%p1") READ("%p2"), 6},
	    {TWO "and.pred %p3, %p1, %p2;\n" READ("%p3") READ("%p1") "@%p2 mov.u32 %r6, 1;\n", 5},
	    /* joined with one already: another FSETP, or PLOP3 */
	    {"setp.le.and.f32 %p1, %f1, %f2, %p6;\nand.pred %p3, %p1, %p7;\n" READ("%p3"), 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = of_instructions(cases[i].text);

		assert_count(counts, INT, 32 * cases[i].integer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(products_are_contracted_with_sums),
	    cmocka_unit_test(a_long_block_of_products),
	    cmocka_unit_test(divisions_roots_and_approximations),
	    cmocka_unit_test(conversions),
	    cmocka_unit_test(divisions_of_integers),
	    cmocka_unit_test(logic_on_predicates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
