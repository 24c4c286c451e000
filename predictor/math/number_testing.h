/*
 * For tests, included before all of each: cmocka's assert_float_equal() finds a NaN equal to
 * any number, this one to none.
 */
#ifndef KC_NUMBER_TESTING_H
#define KC_NUMBER_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void kc_assert_float_equal(float value, float other, float epsilon, const char *file, int line)
{
	if (isnan(value) || isnan(other) || isnan(epsilon)) {
		print_error("%g and %g, within %g: not numbers\n", (double)value, (double)other, (double)epsilon);
		_fail(file, line);
	}
	_assert_float_equal(value, other, epsilon, file, line);
}

#undef assert_float_equal
#define assert_float_equal(value, other, epsilon)                                                                      \
	kc_assert_float_equal((float)(value), (float)(other), (float)(epsilon), __FILE__, __LINE__)

#endif
