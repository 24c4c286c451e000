/* Kernels in PTX and their counts, for the tests of this folder. */
#ifndef KC_COST_TESTING_H
#define KC_COST_TESTING_H

#include "cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY ((size_t)16 << 20)
#define KERNEL_BEGINS                                                                                                  \
	".version 8.0\n.target sm_75\n.address_size 64\n"                                                              \
	".visible .entry k(.param .u64 a, .param .u32 n, .param .f32 x)\n{\n"                                          \
	".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n.shared .align 4 .b8 s[8192];\n"  \
	"ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n"
#define KERNEL_ENDS "ret;\n}\n"
#define KERNEL(body) KERNEL_BEGINS body KERNEL_ENDS
/* %rd3 = a + tid * bytes: two integer instructions. */
#define ADDRESS(bytes) "mul.wide.u32 %rd2, %r2, " bytes ";\nadd.s64 %rd3, %rd1, %rd2;\n"

/* Adds to the text of a program, of which so many bytes are there, as printf() would print it. */
static inline __attribute__((format(printf, 4, 5))) void add_to(char *text, size_t size, size_t *length,
								const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	*length += (size_t)vsnprintf(text + *length, size - *length, format, arguments);
	va_end(arguments);
	assert_true(*length < size);
}

struct kernel {
	struct kc_ptx_module module;
	struct kc_cost *cost;
	struct kc_refusal refusal;
	int rc;
};

static void read_kernel(struct kernel *k, const char *text)
{
	k->cost = NULL;
	assert_int_equal(kc_ptx_parse(&k->module, text, strlen(text), MEMORY, &k->refusal), 0);
	k->rc = kc_cost_read(&k->cost, &k->module, kc_ptx_find(&k->module, "k"), MEMORY, &k->refusal);
}

static void let_go(struct kernel *k)
{
	kc_cost_free(k->cost);
	kc_ptx_free(&k->module);
}

#define POINTER UINT64_C(0x10000000)
/* A kernel of `count` loops after one another, each written by `loop` from its number, twice. */
static inline void put_loops(char *text, size_t size, const char *loop, unsigned count)
{
	size_t length = 0;

	add_to(text, size, &length, "%s", KERNEL_BEGINS);
	for (unsigned i = 0; i < count; i++)
		add_to(text, size, &length, loop, i, i);
	add_to(text, size, &length, "%s", KERNEL_ENDS);
}

#define UNKNOWN UINT64_MAX

/* blocks of `threads` threads, n */
static inline int evaluate(const struct kernel *k, uint32_t blocks, uint32_t threads, uint64_t n, uint32_t effort,
			   struct kc_counts *counts)
{
	struct kc_cost_argument arguments[3] = {{.value = POINTER, .known = 1}, {.value = n, .known = n != UNKNOWN}};
	struct kc_cost_launch launch = {
	    .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .arguments = arguments, .argument_count = 3};

	return kc_cost_evaluate(k->cost, &launch, effort, counts);
}

/* Count of the whole launch. */
static inline double counted(const struct kc_counts *counts, enum kc_cost_counter counter)
{
	return counts->of[counter] * counts->threads;
}

static inline struct kc_counts counts_of(const char *text, const struct kc_cost_launch *launch)
{
	struct kc_counts counts;
	struct kernel k;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_evaluate(k.cost, launch, KC_COST_EFFORT_EXACT, &counts), 0);
	let_go(&k);
	return counts;
}

static inline struct kc_counts evaluated(const char *text, uint32_t blocks, uint32_t threads, uint64_t n)
{
	struct kc_counts counts;
	struct kernel k;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(evaluate(&k, blocks, threads, n, KC_COST_EFFORT_EXACT, &counts), 0);
	let_go(&k);
	return counts;
}

#define NEAR 1e-9
#define assert_near(ours, expected) assert_true(fabs((ours) - (expected)) <= NEAR * fmax(1, fabs((double)(expected))))
#define assert_count(counts, counter, expected) assert_near(counted(&(counts), KC_COUNT_OF_##counter), expected)

/* Threads below n: of 2 * 64, 70 at n = 70: 32 + 32 + 6 lanes, and one warp without requests. */
#define GUARDED                                                                                                        \
	KERNEL(                                                                                                        \
	    "mov.u32 %r5, %ntid.x;\nmad.lo.s32 %r2, %r3, %r5, %r2;\nsetp.ge.s32 %p1, %r2, %r1;\n@%p1 ret;\n" ADDRESS(  \
		"4") "ld.global.f32 %f1, [%rd3];\n")

/* for (i = 0; i < n; i += 3), entered if n > 0 */
#define LOOP(body)                                                                                                     \
	"mov.u32 %r4, 0;\nsetp.lt.s32 %p1, %r1, 1;\n@%p1 bra DONE;\nROUND:\n" body                                     \
	"add.s32 %r4, %r4, 3;\nsetp.lt.s32 %p2, %r4, %r1;\n@%p2 bra ROUND;\nDONE:\n"

#endif
