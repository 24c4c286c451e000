#include "student.h"

#include <float.h>
#include <math.h>

/* Lentz's method for the continued fraction of I_x(a, b), for x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
	value = d;
	for (int i = 1; i < 300; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		value *= c * d;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		step = c * d;
		value *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return value;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * fraction(a, b, x) / a;
	return 1 - front * fraction(b, a, 1 - x) / b;
}

double kc_student_tail(double t, double df)
{
	double tail = incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;

	return t < 0 ? 1 - tail : tail;
}

double kc_student_point(double tail, double df)
{
	double low = 0, high = 1;

	while (kc_student_tail(high, df) > tail && high < 1e300)
		high *= 2;
	for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
		double middle = (low + high) / 2;

		if (kc_student_tail(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	return high;
}
