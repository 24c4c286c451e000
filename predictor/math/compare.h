/*
 * The lesser and the greater of two floats. Calls to libm's fminf and fmaxf
 * would cost more.
 */
#ifndef KC_COMPARE_H
#define KC_COMPARE_H

static inline float kc__lesser(float a, float b)
{
	return a < b ? a : b;
}

static inline float kc__greater(float a, float b)
{
	return a > b ? a : b;
}

#endif
