/* A test that compares a NaN fails: seen from outside, as cmocka ends it there. */
#include "number_testing.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static float given, wanted, epsilon;

static void compare(void **state)
{
	(void)state;
	assert_float_equal(given, wanted, epsilon);
}

static int fails(double value, double other, double within)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(compare)};
	int status;
	pid_t pid;

	given = (float)value;
	wanted = (float)other;
	epsilon = (float)within;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(2);
		_exit(cmocka_run_group_tests(tests, NULL, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void what_is_no_number_equals_none(void **state)
{
	(void)state;
	assert_int_equal(fails(1, 1, 0), 0);
	assert_int_equal(fails(1, 1.5, 0.5), 0);
	assert_int_equal(fails(1, 2, 0.5), 1);
	assert_int_equal(fails(NAN, 1, 0.5), 1);
	assert_int_equal(fails(1, NAN, 0.5), 1);
	assert_int_equal(fails(NAN, NAN, 0.5), 1);
	assert_int_equal(fails(1, 1, NAN), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_no_number_equals_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
