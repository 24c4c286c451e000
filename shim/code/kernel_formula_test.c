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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_in_a_buffer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
