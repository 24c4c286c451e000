#include "kernel_formula.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_in_a_buffer),
					   cmocka_unit_test(pointers_among_the_arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
