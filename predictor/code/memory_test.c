/* How accesses meet memory: kernels small enough to count by hand. */
#include "cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY ((size_t)16 << 20)
#define POINTER UINT64_C(0x10000000)

/* %rd1 = a, %r1 = n, %r2 = tid; %rd4 = an address in shared memory. */
static const char before[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
    ".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n.shared .align 16 .b8 s[16384];\n"
    "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u64 %rd4, s;\n";

/* %rd3 = a + tid * bytes; %rd5 = s + tid * bytes */
#define AT(bytes) "mul.wide.u32 %rd2, %r2, " bytes ";\nadd.s64 %rd3, %rd1, %rd2;\nadd.s64 %rd5, %rd4, %rd2;\n"

/* One block of so many threads. */
static struct kc_counts evaluated(const char *body, uint32_t threads, uint64_t n, uint32_t effort)
{
	struct kc_cost_argument arguments[2] = {{.value = POINTER, .known = 1}, {.value = n, .known = n != UINT64_MAX}};
	struct kc_cost_launch launch = {
	    .grid = {1, 1, 1}, .block = {threads, 1, 1}, .arguments = arguments, .argument_count = 2};
	struct kc_ptx_module module;
	struct kc_refusal refusal;
	struct kc_counts counts;
	struct kc_cost *cost;
	char text[4096];

	assert_true(snprintf(text, sizeof(text), "%s%sret;\n}\n", before, body) < (int)sizeof(text));
	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), MEMORY, &refusal), 0);
	assert_int_equal(kc_cost_read(&cost, &module, kc_ptx_find(&module, "k"), MEMORY, &refusal), 0);
	assert_int_equal(kc_cost_evaluate(cost, &launch, effort, &counts), 0);
	kc_cost_free(cost);
	kc_ptx_free(&module);
	return counts;
}

static struct kc_counts exactly(const char *body, uint32_t threads, uint64_t n)
{
	return evaluated(body, threads, n, KC_COST_EFFORT_EXACT);
}

#define assert_near(ours, expected) assert_true(fabs((ours) - (expected)) <= 1e-9 * fmax(1, fabs((double)(expected))))

/* A warp of 32 floats fills 4 sectors, one of 8 lanes 1, one lane 1. */
static void sectors_are_compared_with_the_least_of_each_request(void **state)
{
	static const struct {
		const char *text;
		uint32_t threads;
		double sectors, least, scattered;
	} cases[] = {
	    {AT("4") "ld.global.f32 %f1, [%rd3];\n", 32, 4, 4, 0},
	    {AT("4") "ld.global.f32 %f1, [%rd3];\n", 33, 4 + 1, 4 + 1, 0},
	    {AT("4") "ld.global.f32 %f1, [%rd3];\n", 1, 1, 1, 0},
	    {AT("16") "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd3];\n", 32, 16, 16, 0},
	    {AT("4") "ld.global.f32 %f1, [%rd3+4];\n", 32, 5, 4, 0}, /* misaligned: bytes 4 to 131 */
	    {AT("0") "ld.global.f32 %f1, [%rd3];\n", 32, 1, 4, 0},   /* shared by all */
	    {AT("8") "ld.global.f32 %f1, [%rd3];\n", 8, 2, 1, 1},    /* every other word, though but a sector more */
	    {AT("20") "st.global.f32 [%rd3], %f1;\n", 32, 20, 4, 16},
	    {AT("64") "st.global.f32 [%rd3], %f1;\n", 32, 32, 4, 28},
	    {AT("4") "red.global.add.u32 [%rd3], %r1;\n", 32, 4, 4, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = exactly(cases[i].text, cases[i].threads, 0);

		assert_near(counts.of[KC_COUNT_OF_SECTORS] * counts.threads, cases[i].sectors);
		assert_near(counts.least_sectors * counts.threads, cases[i].least);
		assert_near(counts.scattered_sectors * counts.threads, cases[i].scattered);
		assert_near(kc_counts_least_sectors_per_request(&counts),
			    cases[i].least / (cases[i].threads > 32 ? 2 : 1));
	}
}

/* 128 bytes a pass: 32 lanes of 8 bytes take 2, of 16 bytes 4. With rows of 128 bytes each lane of a pass meets the
 * others in its banks: 16 lanes of 8 bytes in one pair, 8 of 16 bytes in one group of four. */
static void wide_accesses_to_neighbours_are_no_bank_conflict(void **state)
{
	static const struct {
		const char *text;
		uint32_t threads;
		double passes, degree;
	} cases[] = {
	    {AT("4") "ld.shared.f32 %f1, [%rd5];\n", 32, 1, 1},
	    {AT("8") "ld.shared.v2.f32 {%f1,%f2}, [%rd5];\n", 32, 2, 1},
	    {AT("16") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 32, 4, 1},
	    {AT("16") "st.shared.v4.f32 [%rd5], {%f1,%f2,%f3,%f4};\n", 8, 1, 1},
	    {AT("128") "ld.shared.f32 %f1, [%rd5];\n", 32, 32, 32},
	    {AT("128") "ld.shared.v2.f32 {%f1,%f2}, [%rd5];\n", 32, 32, 16},
	    {AT("128") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 32, 32, 8},
	};
	static const uint32_t efforts[] = {KC_COST_EFFORT_LAUNCH, KC_COST_EFFORT_EXACT};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = evaluated(cases[i / 2].text, cases[i / 2].threads, 0, efforts[i % 2]);

		assert_near(counts.of[KC_COUNT_OF_SHARED_PASSES] * counts.threads, cases[i / 2].passes);
		assert_near(kc_counts_bank_conflict_degree(&counts), cases[i / 2].degree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sectors_are_compared_with_the_least_of_each_request),
	    cmocka_unit_test(wide_accesses_to_neighbours_are_no_bank_conflict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
