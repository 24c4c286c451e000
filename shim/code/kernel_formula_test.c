#include "kernel_formula.h"

#include "predictor/code/cost_testing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* A pointer and a number, as cuLaunchKernel's `extra` passes them: 12 bytes hold both, 11 do not hold the number. */
static void arguments_in_a_buffer(void **state)
{
	struct kc__parameter at[] = {{0, 8}, {8, 4}};
	struct kc__parameters parameters = {true, 2, at};
	unsigned char passed[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, block[16];
	size_t bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, passed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};
	struct kc__given given = {.extra = extra};

	(void)state;
	bytes = sizeof(passed);
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, sizeof(block)), 12);
	assert_memory_equal(block, passed, sizeof(passed));
	bytes = sizeof(passed) - 1;
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, sizeof(block)), 0);
}

/* A block is all of the arguments or none of it. */
static void arguments_that_make_no_block(void **state)
{
	struct kc__parameter at[] = {{0, 8}, {8, 4}};
	struct kc__parameters parameters = {true, 2, at};
	uint64_t pointer = 1;
	uint32_t number = 2;
	void *params[] = {&pointer, &number};
	const struct kc__given given = {.params = params};
	unsigned char block[16];

	(void)state;
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, 12), 12);
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, 11), 0);
	params[1] = NULL;
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, sizeof(block)), 0);
	params[1] = &number;
	parameters.known = false;
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, sizeof(block)), 0);
	parameters = (struct kc__parameters){true, 0, at};
	assert_int_equal(kc__arguments_pack(&parameters, &given, block, sizeof(block)), 0);
}

/* Of a pointer the counts need where in a sector it lies; whoever asks what it leads to needs all of it. A null
 * pointer, and a number, lead nowhere. */
static void pointers_among_the_arguments(void **state)
{
	const struct kc__need needs[] = {{.param = 1, .in_param_bytes = 8, .bytes = 8, .mask = 31},
					 {.param = 0, .bytes = 4, .mask = UINT32_MAX},
					 {.param = 1, .in_param_bytes = 0, .bytes = 8, .mask = UINT64_MAX}};
	struct kc__formula formula = {.needs = needs, .need_count = 3};
	uint64_t structure[2] = {0, 0x7f1234567890};
	uint32_t number = 7;
	void *params[] = {&number, structure};
	struct kc__given given = {.params = params};
	struct kc_cost_buffer pointer;

	(void)state;
	assert_true(kc__formula_pointer(&formula, 0, &given, &pointer));
	assert_int_equal(pointer.param, 1);
	assert_int_equal(pointer.offset_bytes, 8);
	assert_true(pointer.first == 0x7f1234567890);
	assert_false(kc__formula_pointer(&formula, 1, &given, &pointer));
	assert_false(kc__formula_pointer(&formula, 2, &given, &pointer));
}

/* n iterations in each of 64 threads; assumed ones where n is not known. */
static void counts_are_of_the_arguments(void **state)
{
	struct kc__parameter at[] = {{0, 8}, {8, 4}, {12, 4}};
	struct kc__formula formula = {.parameters = {true, 3, at}};
	const struct kc_shape dims = {.grid = {2, 1, 1}, .block = {32, 1, 1}};
	uint64_t pointer = 0x10000000;
	uint32_t n = 7, x = 0;
	void *params[] = {&pointer, &n, &x}, *scratch;
	const struct kc__given given = {.params = params};
	struct kc_counts counts;
	struct kernel k;

	(void)state;
	read_kernel(&k, KERNEL("mov.u32 %r4, 0;\nROUND:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.s32 %r4, %r4, 1;\n"
			       "setp.lt.s32 %p1, %r4, %r1;\n@%p1 bra ROUND;\n"));
	assert_int_equal(k.rc, 0);
	scratch = malloc(kc_cost_scratch_bytes(k.cost));
	assert_int_equal(kc__formula_counts(&formula, &dims, &given, KC_COST_EFFORT_EXACT, scratch, &counts), -ENODATA);
	formula.cost = k.cost;
	assert_int_equal(kc__formula_counts(&formula, &dims, &given, KC_COST_EFFORT_EXACT, scratch, &counts), 0);
	assert_float_equal(counted(&counts, KC_COUNT_OF_FMA), 64 * 7, 1e-6);
	assert_true(counts.exact && !counts.other_architecture && !counts.assumed);
	formula.other_architecture = true;
	assert_int_equal(kc__formula_counts(&formula, &dims, &given, KC_COST_EFFORT_EXACT, scratch, &counts), 0);
	assert_true(!counts.exact && counts.other_architecture);
	params[1] = NULL;
	assert_int_equal(kc__formula_counts(&formula, &dims, &given, KC_COST_EFFORT_EXACT, scratch, &counts), 0);
	assert_float_equal(counted(&counts, KC_COUNT_OF_FMA), 64 * KC_COST_ASSUMED_TRIPS, 1e-6);
	assert_int_equal(counts.assumed, KC_ASSUMED_TRIPS);
	free(scratch);
	let_go(&k);
}

/* Of a pointer where in a sector it lies, a number, one that is not given, and the second half of a structure. */
static struct kc__parameter four_at[] = {{0, 8}, {8, 4}, {12, 4}, {16, 16}};
static const struct kc__need four_needs[] = {
    {.param = 0, .bytes = 8, .mask = 31},
    {.param = 1, .offset_bytes = 8, .bytes = 4, .mask = UINT32_MAX},
    {.param = 2, .offset_bytes = 12, .bytes = 4, .mask = UINT32_MAX},
    {.param = 3, .in_param_bytes = 8, .offset_bytes = 24, .bytes = 8, .mask = UINT64_MAX}};
static const struct kc__formula four = {.parameters = {true, 4, four_at}, .needs = four_needs, .need_count = 4};

static void arguments_in_words(void **state)
{
	uint64_t pointer = 0x10000024, structure[2] = {9, 5};
	uint32_t number = 7;
	void *params[] = {&pointer, &number, NULL, structure};
	const struct kc__given given = {.params = params};
	char text[64];

	(void)state;
	kc__arguments_tell(&four, &given, text, sizeof(text));
	assert_string_equal(text, "p0 mod 32 = 4, p1 = 7, p2 = ?, p3+8 = 5");
	kc__arguments_tell(&four, &given, text, sizeof("p0 mod 32 = 4"));
	assert_string_equal(text, "p0 mod 32 = 4");
	kc__arguments_tell(&four, &given, text, sizeof("p0 mod"));
	assert_string_equal(text, "p0 mod");
}

static void what_matters_tells_launches_apart(void **state)
{
	uint64_t pointer = 0x10000024, structure[2] = {9, 5}, key;
	uint32_t number = 7, zero = 0;
	void *params[] = {&pointer, &number, NULL, structure};
	const struct kc__given given = {.params = params};

	(void)state;
	key = kc__arguments_key(&four, &given);
	pointer += 32;
	structure[0] = 10;
	assert_true(kc__arguments_key(&four, &given) == key);
	params[2] = &zero; /* known to be 0 is not the same as not known */
	assert_true(kc__arguments_key(&four, &given) != key);
	params[2] = NULL;
	pointer += 4;
	assert_true(kc__arguments_key(&four, &given) != key);
	pointer -= 4;
	number = 8;
	assert_true(kc__arguments_key(&four, &given) != key);
	number = 7;
	structure[1] = 6;
	assert_true(kc__arguments_key(&four, &given) != key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arguments_in_a_buffer),        cmocka_unit_test(arguments_that_make_no_block),
	    cmocka_unit_test(pointers_among_the_arguments), cmocka_unit_test(counts_are_of_the_arguments),
	    cmocka_unit_test(arguments_in_words),           cmocka_unit_test(what_matters_tells_launches_apart)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
