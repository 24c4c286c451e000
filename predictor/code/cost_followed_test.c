/* Values that are followed through a thread's own memory, through parameters in parts, and through bit operations. Each
 * kernel runs one multiply-add as often as such a value says. */
#include "cost_testing.h"

/* Of k: params.s has the integers 5, 7, 11 and 13, then 3 and 6 as floats, then 2 and 9 as 16-bit integers. */
#define PARAMS                                                                                                         \
	".visible .entry k(.param .u64 a, .param .u32 n, .param .align 8 .b8 s[32])\n{\n"                              \
	".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n"
#define PROLOGUE "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"
#define STRUCT_KERNEL(body) HEADER PARAMS PROLOGUE body "ret;\n}\n"
#define LOCAL_KERNEL(body)                                                                                             \
	HEADER PARAMS ".local .align 8 .b8 __local_depot0[64];\n.reg .b64 %SP;\n.reg .b64 %SPL;\n"                     \
		      "mov.u64 %SPL, __local_depot0;\ncvta.local.u64 %SP, %SPL;\n" PROLOGUE body "ret;\n}\n"
/* That many rounds, at least one. */
#define REPEAT(count)                                                                                                  \
	"mov.u32 %r30, 0;\nREPEAT:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r30, %r30, 1;\nsetp.lt.s32 %p8, "         \
	"%r30, " count ";\n@%p8 bra REPEAT;\n"

static const struct {
	uint32_t integers[4];
	float floats[2];
	uint16_t shorts[2];
} params = {{5, 7, 11, 13}, {3, 6}, {2, 9}};

static struct kc_counts count_launch(const char *text, uint32_t threads, uint64_t n)
{
	struct kc_cost_argument arguments[] = {{.value = POINTER, .known = 1},
					       {.value = n, .known = 1},
					       {.known = 1, .bytes = &params, .length = sizeof(params)}};
	struct kc_cost_launch launch = {
	    .grid = {1, 1, 1}, .block = {threads, 1, 1}, .arguments = arguments, .argument_count = 3};

	return counts_of(text, &launch);
}

static void assert_rounds(const char *text, uint64_t n, double expected)
{
	struct kc_counts counts = count_launch(text, 32, n);

	if (!counts.exact || counts.of[KC_COUNT_OF_FMA] != expected)
		print_message("%g rounds, exact: %d\n%s\n", counts.of[KC_COUNT_OF_FMA], counts.exact, text);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, FMA, 32 * expected);
}

static void assert_assumed(const char *text)
{
	struct kc_counts counts = count_launch(text, 32, 1);

	assert_true(counts.assumed);
	assert_int_equal(counts.exact, 0);
}

/* --- parameters */

static void params_that_are_loaded_together(void **state)
{
	(void)state;
	assert_rounds(STRUCT_KERNEL("ld.param.v2.u32 {%r4, %r5}, [s+8];\n" REPEAT("%r5")), 1, 13);
	assert_rounds(STRUCT_KERNEL("ld.param.v4.b32 {%r4, %r5, %r6, %r7}, [s];\n" REPEAT("%r6")), 1, 11);
	assert_rounds(STRUCT_KERNEL("ld.param.v2.b32 {_, %r5}, [s];\n" REPEAT("%r5")), 1, 7);
	assert_rounds(STRUCT_KERNEL("mov.b64 %rd4, s;\nadd.s64 %rd5, %rd4, 4;\n"
				    "ld.param.v2.u32 {%r4, %r5}, [%rd5+4];\n" REPEAT("%r4")),
		      1, 11);
	/* 2 and 9, each in a register of 32 bits */
	assert_rounds(STRUCT_KERNEL("ld.param.v2.u16 {%rs1, %rs2}, [s+24];\ncvt.u32.u16 %r5, %rs2;\n" REPEAT("%r5")), 1,
		      9);
	/* 7 is the upper half of the 64 bits. */
	assert_rounds(STRUCT_KERNEL("ld.param.v2.b64 {%rd4, %rd5}, [s];\nshr.u64 %rd6, %rd4, 32;\n"
				    "cvt.u32.u64 %r5, %rd6;\n" REPEAT("%r5")),
		      1, 7);
}

/* for (i = 0; i < 4; i++) for (j = 0; j < s[i]; j++) ROUND; `element` loads s[i] to %r9. */
#define PARAMS_IN_TURN(before, element, after)                                                                         \
	STRUCT_KERNEL("mov.b64 %rd4, s;\nmov.u32 %r8, 0;\n" before "OUTER:\n" element REPEAT("%r9") after              \
		      "add.s32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, 4;\n@%p2 bra OUTER;\n")

static void params_at_an_index(void **state)
{
	struct kc_counts counts;

	(void)state;
	/* 5 + 7 + 11 + 13: an index that a loop counts, and an address that moves. */
	assert_rounds(PARAMS_IN_TURN(
			  "", "mul.wide.u32 %rd5, %r8, 4;\nadd.s64 %rd6, %rd4, %rd5;\nld.param.u32 %r9, [%rd6];\n", ""),
		      1, 36);
	assert_rounds(
	    PARAMS_IN_TURN("mov.u64 %rd6, %rd4;\n", "ld.param.u32 %r9, [%rd6];\n", "add.s64 %rd6, %rd6, 4;\n"), 1, 36);
	/* An index that is an argument: 7, 11, and 9 of 16 bits. */
	assert_rounds(STRUCT_KERNEL("mov.b64 %rd4, s;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
				    "ld.param.v2.u32 {%r4, %r5}, [%rd6+-8];\n" REPEAT("%r5")),
		      3, 11);
	assert_rounds(STRUCT_KERNEL("mov.b64 %rd4, s;\nmul.wide.u32 %rd5, %r1, 2;\nadd.s64 %rd6, %rd4, %rd5;\n"
				    "ld.param.u16 %rs1, [%rd6+24];\ncvt.u32.u16 %r5, %rs1;\n" REPEAT("%r5")),
		      1, 9);
	/* The same parameter is read at a constant place, too. */
	assert_rounds(
	    STRUCT_KERNEL("mov.b64 %rd4, s;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
			  "ld.param.u32 %r4, [%rd6];\nld.param.u32 %r5, [%rd4+12];\nld.param.u32 %r6, [s+8];\n"
			  "sub.s32 %r5, %r5, %r4;\nadd.s32 %r5, %r5, %r6;\n" REPEAT("%r5")),
	    0, 13 - 5 + 11);
	/* The kernel's first instruction takes its address. */
	assert_rounds(HEADER PARAMS "mov.b64 %rd4, s;\n" PROLOGUE
				    "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
				    "ld.param.u32 %r5, [%rd6];\n" REPEAT("%r5") "ret;\n}\n",
		      3, 13);
	/* An index that differs among the lanes of a warp. */
	counts = count_launch(STRUCT_KERNEL("mov.b64 %rd4, s;\nand.b32 %r10, %r2, 3;\nmul.wide.u32 %rd5, %r10, 4;\n"
					    "add.s64 %rd6, %rd4, %rd5;\nld.param.u32 %r5, [%rd6];\n" REPEAT("%r5")),
			      32, 1);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, FMA, 8 * 36);
	assert_count(counts, LD_LOCAL, 0);
	assert_count(counts, LD_GLOBAL, 0);
}

static void params_that_are_not_followed(void **state)
{
	(void)state;
	/* The index comes from memory, */
	assert_assumed(STRUCT_KERNEL("mov.b64 %rd4, s;\nld.global.u32 %r4, [%rd1];\nmul.wide.u32 %rd5, %r4, 4;\n"
				     "add.s64 %rd6, %rd4, %rd5;\nld.param.u32 %r5, [%rd6];\n" REPEAT("%r5")));
	/* or the address may be another one, */
	assert_assumed(STRUCT_KERNEL("mov.b64 %rd4, s;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
				     "setp.eq.u32 %p1, %r1, 4;\nselp.b64 %rd6, %rd6, %rd1, %p1;\n"
				     "ld.param.u32 %r5, [%rd6];\n" REPEAT("%r5")));
	/* or lies outside of the parameter. */
	assert_assumed(STRUCT_KERNEL(
	    "mov.b64 %rd4, s;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd4, %rd5;\n"
	    "ld.param.u32 %r4, [%rd6];\nadd.s64 %rd7, %rd4, 32;\nld.param.u32 %r5, [%rd7];\n" REPEAT("%r5")));
}

/* 3 is loaded; it goes twice where the comparison holds. */
#define IF_FLOAT(comparison)                                                                                           \
	STRUCT_KERNEL("ld.param.f32 %f2, [s+16];\n" comparison                                                         \
		      "@!%p1 bra DONE;\nfma.rn.f32 %f1, %f1, %f1, %f1;\nDONE:\nfma.rn.f32 %f1, %f1, %f1, %f1;\n")

static void floats_of_params_that_are_compared(void **state)
{
	(void)state;
	assert_rounds(IF_FLOAT("setp.eq.f32 %p1, %f2, 0f40400000;\n"), 1, 2); /* 3.0 */
	assert_rounds(IF_FLOAT("setp.neu.f32 %p1, %f2, 0f40400000;\n"), 1, 1);
	assert_rounds(IF_FLOAT("setp.lt.f32 %p1, %f2, 0f40800000;\n"), 1, 2); /* 4.0 */
	assert_rounds(IF_FLOAT("setp.ge.f32 %p1, %f2, 0f40800000;\n"), 1, 1);
	assert_rounds(IF_FLOAT("setp.gt.f32 %p1, 0f40800000, %f2;\n"), 1, 2);
	assert_rounds(IF_FLOAT("setp.le.f32 %p1, %f2, 0f7FC00000;\n"), 1, 1); /* no number */
	assert_rounds(IF_FLOAT("setp.leu.f32 %p1, %f2, 0f7FC00000;\n"), 1, 2);
	assert_rounds(IF_FLOAT("setp.ne.f32 %p1, %f2, 0f7FC00000;\n"), 1, 1);
	assert_rounds(IF_FLOAT("setp.nan.f32 %p1, %f2, 0f7FC00000;\n"), 1, 2);
	assert_rounds(IF_FLOAT("setp.num.f32 %p1, %f2, 0f7FC00000;\n"), 1, 1);
	/* The least subnormal number is above 0, unless such numbers count as 0. */
	assert_rounds(IF_FLOAT("setp.lt.f32 %p1, 0f00000000, 0f00000001;\n"), 1, 2);
	assert_rounds(IF_FLOAT("setp.lt.ftz.f32 %p1, 0f00000000, 0f00000001;\n"), 1, 1);
	assert_rounds(IF_FLOAT("add.f32 %f2, %f2, %f2;\nsetp.eq.f32 %p1, %f2, 0f40C00000;\n"), 1, 2); /* 6.0 */
	assert_assumed(IF_FLOAT("ex2.approx.f32 %f2, %f2;\nsetp.eq.f32 %p1, %f2, 0f40400000;\n"));
}

/* A struct by value goes into a function: 5 and 7 in one piece, 11 in another; it returns a difference and a sum. */
#define FUNCTION(body) ".func (.param .align 4 .b8 back[8]) f(.param .align 8 .b8 in[16])" body
#define BODY                                                                                                           \
	"{\n.reg .b32 %r<9>;\nld.param.v2.b32 {%r1, %r2}, [in];\nld.param.b32 %r3, [in+8];\nsub.s32 %r4, %r3, %r1;\n"  \
	"add.s32 %r5, %r3, %r2;\nst.param.b32 [back], %r4;\nst.param.b32 [back+4], %r5;\nret;\n}\n"
#define CALLER(count)                                                                                                  \
	PARAMS PROLOGUE                                                                                                \
	    "ld.param.b64 %rd4, [s];\nld.param.b32 %r4, [s+8];\n{\n.param .align 8 .b8 to[16];\n"                      \
	    "st.param.b64 [to], %rd4;\nst.param.b32 [to+8], %r4;\n.param .align 4 .b8 from[8];\n"                      \
	    "call.uni (from), f, (to);\nld.param.b32 %r5, [from];\nld.param.b32 %r6, [from+4];\n}\n" REPEAT(           \
		count) "ret;\n}\n"

static void parts_of_params_of_a_function(void **state)
{
	(void)state;
	assert_rounds(HEADER FUNCTION(BODY) CALLER("%r5"), 1, 11 - 5);
	assert_rounds(HEADER FUNCTION(BODY) CALLER("%r6"), 1, 11 + 7);
	/* Its body is elsewhere. */
	assert_assumed(HEADER ".extern " FUNCTION(";\n") CALLER("%r6"));
}

/* --- local memory */

static void a_struct_on_the_stack(void **state)
{
	struct kc_counts counts;

	(void)state;
	/* Written as 64 bits, read as 32 through another address. */
	assert_rounds(LOCAL_KERNEL("ld.param.v2.b64 {%rd4, %rd5}, [s];\nadd.u64 %rd6, %SP, 8;\n"
				   "cvta.to.local.u64 %rd7, %rd6;\nst.local.v2.b64 [%rd7], {%rd4, %rd5};\n"
				   "add.u64 %rd8, %SPL, 16;\nld.local.u32 %r5, [%rd8+4];\n" REPEAT("%r5")),
		      1, 13);
	/* Written in bytes, read as one number: 1 + 256 * 1 = 257. */
	assert_rounds(
	    LOCAL_KERNEL("mov.b16 %rs1, 1;\nst.local.u8 [%SPL+1], %rs1;\nst.local.u8 [%SPL], %rs1;\n"
			 "mov.b16 %rs2, 0;\nst.local.u16 [%SPL+2], %rs2;\nld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")),
	    1, 257);
	/* -2 as a signed byte, subtracted from 7 */
	assert_rounds(LOCAL_KERNEL("mov.b32 %r4, 0xaafe;\nst.local.u32 [%SPL], %r4;\nld.local.s8 %r5, [%SPL];\n"
				   "sub.s32 %r6, 7, %r5;\n" REPEAT("%r6")),
		      1, 9);
	assert_rounds(LOCAL_KERNEL("mov.b32 %r4, 0xaafe;\nst.local.u32 [%SPL], %r4;\nld.local.u8 %r5, [%SPL];\n"
				   "sub.s32 %r6, %r5, 250;\n" REPEAT("%r6")),
		      1, 4);
	/* Through a generic address; the accesses are to local memory. */
	assert_rounds(LOCAL_KERNEL("st.u32 [%SP+4], %r1;\nld.u32 %r5, [%SP+4];\n" REPEAT("%r5")), 6, 6);
	counts = evaluated(KERNEL(".local .align 4 .b8 v[8];\n.reg .b64 %at;\nmov.u64 %at, v;\n"
				  "cvta.local.u64 %at, %at;\nst.local.u32 [v+4], %r1;\nld.u32 %r5, [%at+4];\n"),
			   1, 32, 1);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, ST_LOCAL, 32);
	assert_count(counts, LD_LOCAL, 32);
	assert_count(counts, LD_GLOBAL, 0);
	/* A guarded store: only where n = 4. */
	assert_rounds(LOCAL_KERNEL("st.local.u32 [%SPL], 5;\nsetp.eq.u32 %p1, %r1, 4;\n"
				   "@%p1 st.local.u32 [%SPL], %r1;\nld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")),
		      4, 4);
	assert_rounds(LOCAL_KERNEL("st.local.u32 [%SPL], 5;\nsetp.eq.u32 %p1, %r1, 4;\n"
				   "@%p1 st.local.u32 [%SPL], %r1;\nld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")),
		      3, 5);
}

/* for (i = 0; i < 4; i++) for (j = 0; j < dims[i]; j++) ROUND: 5 + 7 + 11 + 13 */
static void an_array_on_the_stack_that_a_loop_reads(void **state)
{
	(void)state;
	assert_rounds(LOCAL_KERNEL("ld.param.v4.b32 {%r4, %r5, %r6, %r7}, [s];\n"
				   "st.local.v4.b32 [%SPL+16], {%r4, %r5, %r6, %r7};\nmov.u32 %r8, 0;\n"
				   "OUTER:\nmul.wide.u32 %rd4, %r8, 4;\nadd.s64 %rd5, %SPL, %rd4;\n"
				   "ld.local.u32 %r9, [%rd5+16];\n" REPEAT(
				       "%r9") "add.s32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, 4;\n@%p2 bra OUTER;\n"),
		      1, 36);
	/* The same, with an address that moves. */
	assert_rounds(LOCAL_KERNEL("ld.param.v4.b32 {%r4, %r5, %r6, %r7}, [s];\n"
				   "st.local.v4.b32 [%SPL], {%r4, %r5, %r6, %r7};\nmov.u32 %r8, 0;\n"
				   "mov.u64 %rd5, %SPL;\nOUTER:\nld.local.u32 %r9, [%rd5];\n" REPEAT(
				       "%r9") "add.s64 %rd5, %rd5, 4;\n"
					      "add.s32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, 4;\n@%p2 bra OUTER;\n"),
		      1, 36);
}

/* for (i = 0; i < n; i++) v[i] = i * i; then as many rounds as v[2] says, or v[tid % 4]. */
#define SQUARES                                                                                                        \
	"mov.u32 %r8, 0;\nFILL:\nmul.wide.u32 %rd4, %r8, 4;\nadd.s64 %rd5, %SPL, %rd4;\nmul.lo.u32 %r9, %r8, %r8;\n"   \
	"st.local.u32 [%rd5], %r9;\nadd.s32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, %r1;\n@%p2 bra FILL;\n"

static void an_array_on_the_stack_that_a_loop_writes(void **state)
{
	struct kc_counts counts;

	(void)state;
	assert_rounds(LOCAL_KERNEL(SQUARES "ld.local.u32 %r5, [%SPL+8];\n" REPEAT("%r5")), 8, 4);
	assert_rounds(LOCAL_KERNEL(SQUARES "ld.local.u32 %r5, [%SPL+28];\n" REPEAT("%r5")), 8, 49);
	/* Lanes 0, 1, 2 and 3 of each four go 1 (at least), 1, 4 and 9 times. */
	counts =
	    count_launch(LOCAL_KERNEL(SQUARES "and.b32 %r10, %r2, 3;\nmul.wide.u32 %rd6, %r10, 4;\n"
					      "add.s64 %rd7, %SPL, %rd6;\nld.local.u32 %r5, [%rd7];\n" REPEAT("%r5")),
			 32, 8);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, FMA, 8 * (1 + 1 + 4 + 9));
}

static void local_memory_that_is_not_followed(void **state)
{
	(void)state;
	/* Its address is stored where another thread could use it, */
	assert_assumed(LOCAL_KERNEL(
	    "st.local.u32 [%SPL], 5;\nst.global.u64 [%rd1], %SP;\nld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")));
	/* computed with, */
	assert_assumed(LOCAL_KERNEL("st.local.u32 [%SPL], 5;\nxor.b64 %rd4, %SPL, 4;\nst.local.u32 [%rd4], 6;\n"
				    "ld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")));
	/* changed by an atomic, */
	assert_assumed(LOCAL_KERNEL("st.local.u32 [%SPL], 5;\natom.add.u32 %r6, [%SP], 1;\n"
				    "ld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")));
	/* or one of two addresses, the other of which is not the stack's. */
	assert_assumed(LOCAL_KERNEL("st.local.u32 [%SPL], 5;\nsetp.eq.u32 %p1, %r1, 4;\n"
				    "selp.b64 %rd4, %SP, %rd1, %p1;\nmov.b64 %rd4, %rd1;\nst.u32 [%rd4], 6;\n"
				    "ld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")));
	/* What is loaded is written, at an index that is not known. */
	assert_assumed(LOCAL_KERNEL(
	    "st.local.u32 [%SPL], 5;\nld.global.u32 %r6, [%rd1];\nmul.wide.u32 %rd4, %r6, 4;\n"
	    "add.s64 %rd5, %SPL, %rd4;\nst.local.u32 [%rd5], 6;\nld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")));
	/* What is loaded lies outside of the variable, however large the offset is. */
	assert_assumed(LOCAL_KERNEL("ld.local.u32 %r5, [%SPL+9223372036854775805];\n" REPEAT("%r5")));
	assert_assumed(LOCAL_KERNEL("ld.local.u32 %r5, [%SPL+4294967293];\n" REPEAT("%r5")));
	assert_assumed(LOCAL_KERNEL("ld.local.u32 %r5, [%SPL+-9223372036854775808];\n" REPEAT("%r5")));
	/* A value from global memory is not known on the stack either. */
	assert_assumed(LOCAL_KERNEL("ld.global.u32 %r6, [%rd1];\nst.local.u32 [%SPL], %r6;\n"
				    "ld.local.u32 %r5, [%SPL];\n" REPEAT("%r5")));
}

#define GIVEN_AWAY(body) LOCAL_KERNEL("st.local.u32 [%SPL], 5;\n" body "ld.local.u32 %r5, [%SPL];\n" REPEAT("%r5"))
#define CALLED(parameters, passed)                                                                                     \
	HEADER ".extern .func g(.param .b64 p, .param .b64 q);\n" PARAMS                                               \
	       ".local .align 8 .b8 v[64];\n.param .b64 x;\n.param .b64 y;\n" PROLOGUE                                 \
	       "st.local.u32 [v], 5;\nmov.u64 %rd4, v;\ncvta.local.u64 %rd4, %rd4;\n" parameters                       \
	       "call.uni g, (" passed ");\nld.local.u32 %r5, [v];\n" REPEAT("%r5") "ret;\n}\n"

/* Whatever an address may get to by what is done with it may be written there. */
static void addresses_that_are_given_away(void **state)
{
	static const char *const texts[] = {
	    GIVEN_AWAY("st.global.v2.u64 [%rd1], {%SP, %rd1};\n"),
	    GIVEN_AWAY("st.global.v2.u64 [%rd1], {%rd1, %SP};\n"),
	    GIVEN_AWAY("mov.b64 {%r6, %r7}, %SP;\n"),
	    GIVEN_AWAY("cvt.u32.u64 %r6, %SP;\n"),
	    GIVEN_AWAY("mul.lo.u64 %rd4, %SP, 2;\n"),
	    GIVEN_AWAY("mul.lo.u64 %rd4, 2, %SP;\n"),
	    GIVEN_AWAY("mad.lo.u64 %rd4, %SP, 2, 8;\n"),
	    GIVEN_AWAY("mad.lo.u64 %rd4, 2, %SP, 8;\n"),
	    GIVEN_AWAY("sub.u64 %rd4, 100, %SP;\n"),
	    GIVEN_AWAY("add.u64 %rd4, %SP, %SP;\n"),
	    GIVEN_AWAY("min.u64 %rd4, %SP, %rd1;\n"),
	    GIVEN_AWAY("and.b64 %rd4, %SP, -16;\n"),
	    GIVEN_AWAY("setp.eq.u32 %p1, %r1, 4;\nselp.b64 %rd4, %rd1, %SP, %p1;\n"),
	    GIVEN_AWAY("setp.eq.u32 %p1, %r1, 4;\nselp.b64 %rd4, %SP, %rd1, %p1;\n"),
	    GIVEN_AWAY("mov.u64 %rd4, %SP;\nsetp.eq.u32 %p1, %r1, 4;\n@%p1 mov.u64 %rd4, %rd1;\n"),
	    CALLED("st.param.b64 [x], %rd4;\nst.param.b64 [y], 0;\n", "x, y"),
	    CALLED("st.param.b64 [x], 0;\nst.param.b64 [y], %rd4;\n", "x, y"),
	    CALLED("add.u64 %rd4, %rd4, 8;\nst.param.b64 [x], 0;\nst.param.b64 [y], %rd4;\n", "x, y"),
	    CALLED("", "%rd4, %rd1"),
	    CALLED("", "%rd1, %rd4"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct kc_counts counts = count_launch(texts[i], 32, 1);

		if (!(counts.assumed & KC_ASSUMED_TRIPS))
			print_message("%s", texts[i]);
		assert_true(counts.assumed & KC_ASSUMED_TRIPS);
		assert_int_equal(counts.exact, 0);
	}
}

/* Another variable's is not, and comparisons and distances tell nobody. */
static void addresses_that_are_kept(void **state)
{
	static const char *const texts[] = {
	    GIVEN_AWAY("setp.ne.u64 %p1, %SP, 0;\n"),
	    GIVEN_AWAY("sub.u64 %rd4, %SP, %SPL;\n"),
	    GIVEN_AWAY("add.u64 %rd4, 8, %SPL;\nst.local.u32 [%rd4], 6;\n"),
	    GIVEN_AWAY("add.u64 %rd4, %SPL, 12;\nsub.u64 %rd4, %rd4, 8;\nst.local.u32 [%rd4], 6;\n"),
	    GIVEN_AWAY("mul.wide.u32 %rd5, %r1, 4;\nadd.u64 %rd4, %rd5, %SPL;\nst.local.u32 [%rd4], 6;\n"),
	    GIVEN_AWAY("cvt.u64.u32 %rd5, %r1;\nmad.lo.u64 %rd4, %rd5, 4, %SPL;\nst.local.u32 [%rd4], 6;\n"),
	    GIVEN_AWAY("add.u64 %rd4, %SPL, 8;\nadd.u64 %rd5, %SPL, 16;\nsetp.eq.u32 %p1, %r1, 4;\n"
		       "selp.b64 %rd6, %rd4, %rd5, %p1;\nst.local.u32 [%rd6], 6;\n"),
	    HEADER PARAMS ".local .align 8 .b8 v[64];\n.local .align 8 .b8 w[64];\n" PROLOGUE
			  "st.local.u32 [v], 5;\nmov.u64 %rd4, w;\ncvta.local.u64 %rd4, %rd4;\n"
			  "st.global.u64 [%rd1], %rd4;\nld.local.u32 %r5, [v];\n" REPEAT("%r5") "ret;\n}\n",
	};

	struct kc_counts counts;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_rounds(texts[i], 1, 5);
	/* What a function does is not known, but it does not get the address. */
	counts = count_launch(CALLED("st.param.b64 [x], %rd1;\nst.param.b64 [y], 0;\n", "x, y"), 32, 1);
	assert_int_equal(counts.assumed & KC_ASSUMED_TRIPS, 0);
	assert_count(counts, FMA, 32 * 5);
}

/* An array of 64 elements that eight accesses index: each is a choice between all. Where there is no memory for that,
 * the kernel is read as if nothing were known of the array. */
#define ACCESS "ld.local.u32 %r9, [%rd5];\nadd.s32 %r9, %r9, %r8;\nst.local.u32 [%rd5], %r9;\n"

static void an_array_that_takes_too_much_memory(void **state)
{
	static const char text[] = HEADER PARAMS
	    ".local .align 4 .b8 v[256];\n" PROLOGUE "and.b32 %r8, %r1, 63;\nmul.wide.u32 %rd4, %r8, 4;\n"
	    "mov.u64 %rd6, v;\nadd.s64 %rd5, %rd6, %rd4;\n" ACCESS ACCESS ACCESS ACCESS REPEAT("%r9") "ret;\n}\n";
	struct kc_cost *less = NULL;
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	assert_rounds(text, 5, 4 * 5);
	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_read(&less, &k.module, kc_ptx_find(&k.module, "k"), kc_cost_bytes(k.cost) / 2, NULL),
			 0);
	assert_true(kc_cost_bytes(less) < kc_cost_bytes(k.cost) / 2);
	kc_cost_free(k.cost);
	k.cost = less;
	assert_int_equal(evaluate(&k, 1, 32, 5, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_true(counts.assumed);
	assert_count(counts, FMA, 32 * KC_COST_ASSUMED_TRIPS);
	let_go(&k);
}

/* --- barriers in shared memory */

/* 16 rows of 16 threads: the first lane of each of the 8 warps has row 0, 2, … 14, so as many rounds and one more; a
 * lane by itself would have up to 15. */
static void the_value_of_one_lane(void **state)
{
#define ROUNDS_OF_LANE(lane, bounds)                                                                                   \
	STRUCT_KERNEL("shr.u32 %r4, %r2, 4;\nadd.s32 %r4, %r4, 1;\nshfl.sync.idx.b32 %r5|%p1, %r4, " lane ", " bounds  \
		      ", -1;\n" REPEAT("%r5"))
	struct kc_counts counts = count_launch(ROUNDS_OF_LANE("0", "31"), 256, 1);

	(void)state;
	assert_int_equal(counts.exact, 1);
	assert_count(counts, FMA, 32 * (1 + 3 + 5 + 7 + 9 + 11 + 13 + 15));
	counts = count_launch(ROUNDS_OF_LANE("16", "31"), 256, 1);
	assert_int_equal(counts.exact, 1);
	assert_count(counts, FMA, 32 * (2 + 4 + 6 + 8 + 10 + 12 + 14 + 16));
	assert_near(counts.longest_warp, (8 + 4 * 16) / (8 + 4 * 9.0)); /* 8 instructions beside the rounds of 4 */
	assert_assumed(ROUNDS_OF_LANE("0", "0x1c1f"));                  /* in segments */
	assert_assumed(ROUNDS_OF_LANE("%r2", "31"));                    /* each lane another one */
	counts = count_launch(ROUNDS_OF_LANE("20", "31"), 16, 1);       /* a lane that does not exist */
	assert_true(counts.assumed);
#undef ROUNDS_OF_LANE
}

/* One lane of each of three warps, of which the last is not full. */
static void an_elected_lane(void **state)
{
	struct kc_counts counts =
	    count_launch(STRUCT_KERNEL("elect.sync %r4|%p1, -1;\n@%p1 fma.rn.f32 %f1, %f1, %f1, %f1;\n"
				       "elect.sync _|%p2, 0xf0;\n@!%p2 bra DONE;\nadd.f32 %f1, %f1, %f1;\nDONE:\n"),
			 72, 1);

	(void)state;
	assert_int_equal(counts.exact, 1);
	assert_count(counts, FMA, 3);
	assert_count(counts, ADD, 3);
	assert_assumed(STRUCT_KERNEL("elect.sync %r4|%p1, %r2;\n@%p1 fma.rn.f32 %f1, %f1, %f1, %f1;\n"));
}

/* A loop of n iterations, in each of which the thread waits, as in a pipeline: by a branch on the result itself, or on
 * what is computed from it. What the loop does is counted n times, what waits once for each. */
#define PIPELINE(leave)                                                                                                \
	HEADER PARAMS                                                                                                  \
	    ".shared .b64 full;\n" PROLOGUE "mov.u32 %r4, full;\nmov.u32 %r5, 0;\n"                                    \
	    "OUTER:\nadd.s32 %r7, %r5, 1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n" leave     \
	    "fma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r5, %r5, 1;\nsetp.lt.s32 %p3, %r5, %r1;\n"                       \
	    "@%p3 bra OUTER;\nret;\n}\n"

static void waiting_for_a_barrier_in_shared_memory(void **state)
{
	static const char *const texts[] = {
	    PIPELINE("@!%p2 bra WAIT;\n"),
	    PIPELINE("selp.u32 %r6, 1, 0, %p2;\nsetp.eq.s32 %p4, %r6, 0;\n@%p4 bra WAIT;\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kc_cost_story story;
		struct kc_counts counts;
		struct kernel k;

		read_kernel(&k, texts[i]);
		assert_int_equal(k.rc, 0);
		assert_int_equal(evaluate(&k, 1, 32, 7, KC_COST_EFFORT_EXACT, &counts), 0);
		assert_true(counts.assumed);
		assert_count(counts, FMA, 32 * 7);
		assert_count(counts, CONTROL, 32 * (2 * 7 + 1)); /* both branches, and ret */
		assert_int_equal(kc_cost_tell(k.cost, &story), 0);
		assert_int_equal(story.unknown_count, 1);
		assert_non_null(strstr(story.unknown[0].what, "mbarrier"));
		assert_non_null(strstr(story.unknown[0].assumed, "1 iteration;"));
		kc_cost_story_free(&story);
		let_go(&k);
	}
}

/* --- bit operations */

/* %r4 = 0xf0, %r5 = 0x12345678, %r6 = n = 4, %r7 = -3 */
#define BITS(instruction)                                                                                              \
	STRUCT_KERNEL("shl.b32 %r4, 15, %r1;\nmul.lo.u32 %r5, %r1, 0x48d159e;\nmov.u32 %r6, %r1;\n"                    \
		      "sub.s32 %r7, 1, %r1;\n" instruction "\n" REPEAT("%r8"))

static void bit_operations(void **state)
{
	static const struct {
		const char *text;
		double expected;
	} cases[] = {
	    {BITS("bfe.u32 %r8, %r5, %r6, 8;"), 0x67},
	    {BITS("bfe.u32 %r8, %r5, 8, %r6;"), 6},
	    {BITS("bfe.s32 %r9, %r4, %r6, 4;\nneg.s32 %r8, %r9;\nadd.s32 %r8, %r8, 6;"), 7}, /* 15 is -1 */
	    {BITS("bfe.s32 %r8, %r4, %r6, 5;"), 15},
	    {BITS("bfi.b32 %r8, %r6, 1, %r6, 4;"), 65},
	    {BITS("bfi.b32 %r8, 3, %r4, %r6, 1;"), 0xf0},
	    {BITS("prmt.b32 %r8, %r5, %r4, 0x3;\nand.b32 %r8, %r8, 0xff;"), 0x12},
	    {BITS("prmt.b32 %r8, %r4, %r6, 0x5554;\nand.b32 %r8, %r8, 0xff;"), 4},
	    /* The sign of 0xf0, which is 1, in the second byte: 0xff */
	    {BITS("prmt.b32 %r9, %r4, 0, 0x4484;\nbfe.u32 %r8, %r9, 8, 8;\nand.b32 %r8, %r8, 0x8f;"), 0x8f},
	    {BITS("prmt.b32 %r9, %r4, 0, 0x4480;\nand.b32 %r8, %r9, 0xffff;"), 0xfff0},
	    {BITS("prmt.b32 %r9, %r4, 0, 0x4448;\nand.b32 %r8, %r9, 0xfff;"), 0xff},
	    {BITS("shf.l.wrap.b32 %r8, 0xc0000000, %r6, 2;"), 19},
	    {BITS("shf.r.clamp.b32 %r8, 0x30, 0, %r6;"), 3},
	    {BITS("shf.r.clamp.b32 %r8, 0x30, 9, 40;"), 9},
	    {BITS("shf.r.wrap.b32 %r8, 0x30, 0, 36;"), 3},
	    {BITS("brev.b32 %r9, %r5;\nshr.u32 %r8, %r9, 24;"), 0x1e}, /* 0x78 reversed */
	    {BITS("bfind.u32 %r8, %r5;"), 28},
	    {BITS("bfind.shiftamt.u32 %r8, %r5;"), 3},
	    {BITS("bfind.s32 %r9, %r7;\nadd.s32 %r8, %r9, 1;"), 2},                       /* -3 = ...101 */
	    {BITS("sub.u32 %r9, %r6, 4;\nbfind.u32 %r8, %r9;\nadd.s32 %r8, %r8, 3;"), 2}, /* none: -1 */
	    {BITS("dp4a.u32.u32 %r8, %r5, 0x01000001, %r6;"), 0x12 + 0x78 + 4},
	    {BITS("dp4a.s32.s32 %r8, %r7, 0x000000ff, %r6;"), 3 + 4}, /* -3 times -1 */
	    {BITS("dp2a.lo.u32.u32 %r8, 0x00030005, 0x0706, %r6;"), 5 * 6 + 3 * 7 + 4},
	    {BITS("dp2a.hi.u32.u32 %r8, 0x00030005, 0x07060000, %r6;"), 5 * 6 + 3 * 7 + 4},
	    {BITS("vshr.u32.u32.u32.clamp.add %r8, %r4, %r6, 2;"), 17},
	    {BITS("sad.u32 %r8, %r6, 9, 3;"), 8},
	    {BITS("sad.s32 %r8, %r7, %r6, 3;"), 10},
	    {BITS("slct.b32.s32 %r8, 7, 8, %r7;"), 8},
	    {BITS("slct.b32.s32 %r8, 7, 8, %r6;"), 7},
	    {BITS("mov.u32 %r9, %lanemask_lt;\npopc.b32 %r8, %r9;\nadd.s32 %r8, %r8, 1;\nsub.u32 %r8, %r8, %r2;"), 1},
	    {BITS("mov.u32 %r9, %lanemask_ge;\npopc.b32 %r8, %r9;\nadd.s32 %r8, %r8, %r2;"), 32},
	    {BITS("mov.u32 %r9, %lanemask_gt;\npopc.b32 %r8, %r9;\nadd.s32 %r8, %r8, %r2;"), 31},
	    {BITS("mov.u32 %r9, %lanemask_le;\npopc.b32 %r8, %r9;\nsub.u32 %r8, %r8, %r2;"), 1},
	    {BITS("mov.u32 %r9, %lanemask_eq;\npopc.b32 %r8, %r9;"), 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kc_counts counts = count_launch(cases[i].text, 32, 4);

		if (counted(&counts, KC_COUNT_OF_FMA) != 32 * fmax(1, cases[i].expected))
			print_message("case %zu: %g\n", i, counts.of[KC_COUNT_OF_FMA]);
		assert_int_equal(counts.exact, 1);
		assert_count(counts, FMA, 32 * fmax(1, cases[i].expected));
	}
	/* What saturates is not the sum that wraps around. */
	assert_assumed(BITS("add.sat.s32 %r8, %r5, %r6;"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(params_that_are_loaded_together),
	    cmocka_unit_test(params_at_an_index),
	    cmocka_unit_test(params_that_are_not_followed),
	    cmocka_unit_test(floats_of_params_that_are_compared),
	    cmocka_unit_test(parts_of_params_of_a_function),
	    cmocka_unit_test(a_struct_on_the_stack),
	    cmocka_unit_test(an_array_on_the_stack_that_a_loop_reads),
	    cmocka_unit_test(an_array_on_the_stack_that_a_loop_writes),
	    cmocka_unit_test(local_memory_that_is_not_followed),
	    cmocka_unit_test(addresses_that_are_given_away),
	    cmocka_unit_test(addresses_that_are_kept),
	    cmocka_unit_test(an_array_that_takes_too_much_memory),
	    cmocka_unit_test(the_value_of_one_lane),
	    cmocka_unit_test(an_elected_lane),
	    cmocka_unit_test(waiting_for_a_barrier_in_shared_memory),
	    cmocka_unit_test(bit_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
