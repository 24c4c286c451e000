#include "decimal.h"

#include <errno.h>

/* So many digits times 2^40 still fit 128 bits; further digits are below any unit. */
#define DIGITS_MAX 26
#define EXPONENT_MAX 1000
#define POWERS_MAX 38 /* powers of ten that fit 128 bits */

struct number {
	unsigned __int128 digits;
	int exponent; /* value = digits * 10^exponent */
	int negative;
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *take_digits(const char *at, struct number *n, int *kept, int fraction)
{
	for (; is_digit(*at); at++) {
		if (*kept < DIGITS_MAX) {
			n->digits = n->digits * 10 + (unsigned)(*at - '0');
			*kept += n->digits != 0;
			n->exponent -= fraction;
		} else {
			n->exponent += !fraction;
		}
	}
	return at;
}

static const char *take_exponent(const char *at, struct number *n)
{
	int negative = at[1] == '-', exponent = 0;

	at += at[1] == '-' || at[1] == '+' ? 2 : 1;
	if (!is_digit(*at))
		return at - 1; /* trailing text: not a number */
	for (; is_digit(*at); at++) {
		if (exponent < EXPONENT_MAX)
			exponent = exponent * 10 + (*at - '0');
	}
	n->exponent += negative ? -exponent : exponent;
	return at;
}

static int parse(const char *text, struct number *n)
{
	const char *at = text, *start;
	int kept = 0;

	*n = (struct number){.negative = *at == '-'};
	at += *at == '-' || *at == '+';
	start = at;
	at = take_digits(at, n, &kept, 0);
	if (*at == '.')
		at = take_digits(at + 1, n, &kept, 1);
	if (at == start || (at == start + 1 && *start == '.'))
		return -EINVAL;
	if (*at == 'e' || *at == 'E')
		at = take_exponent(at, n);
	return *at ? -EINVAL : 0;
}

static int scale(unsigned __int128 *value, int exponent)
{
	unsigned __int128 divisor = 1;

	if (*value == 0)
		return 0;
	for (; exponent > 0; exponent--) {
		if (*value > INT64_MAX)
			return -ERANGE;
		*value *= 10;
	}
	if (exponent < -POWERS_MAX) {
		*value = 0;
		return 0;
	}
	for (; exponent < 0; exponent++)
		divisor *= 10;
	*value = *value / divisor + (*value % divisor >= divisor - *value % divisor);
	return *value > INT64_MAX ? -ERANGE : 0;
}

int kc_decimal_times(const char *text, uint64_t multiplier, int64_t *out)
{
	struct number n;
	unsigned __int128 value;
	int rc = parse(text, &n);

	if (rc)
		return rc;
	value = n.digits * multiplier;
	rc = scale(&value, n.exponent);
	if (rc)
		return rc;
	*out = n.negative ? -(int64_t)value : (int64_t)value;
	return 0;
}
