#include "decimal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By hand: a decimal point moved, KB of 1,024 bytes. */
static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t multiplier;
		int64_t wanted;
	} cases[] = {
	    {"1610366387140599", 1000, INT64_C(1610366387140599000)},
	    {"1610366387140599.123", 1000, INT64_C(1610366387140599123)},
	    {"198093488368.463", 1000, INT64_C(198093488368463)},
	    {"2.691200e-05", 1000000000, 26912},
	    {"2.012410", 1000000000, 2012410000},
	    {"390.625000", 1024, 400000},
	    {"2.180237", 1 << 20, 2286144}, /* 2,286,144 = 756 * 756 * 4 */
	    {"6.272000e+03", 1, 6272},
	    {"0.0015", 1000, 2},
	    {"-0.0015", 1000, -2},
	    {"0.00149", 1000, 1},
	    {"-5", 1, -5},
	    {"+5.", 1, 5},
	    {".5", 10, 5},
	    {"0e99999999999", 1, 0},
	    {"1e-99999999999", 1, 0},
	    {"0.0000000000000000000000000000000000000000000000001", 1, 0},
	    {"1.0000000000000000000000000000000000000000000000001", 1, 1},
	    {"9223372036854775807", 1, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t out = -1;

		assert_int_equal(kc_decimal_times(cases[i].text, cases[i].multiplier, &out), 0);
		assert_int_equal(out, cases[i].wanted);
	}
}

static void no_numbers(void **state)
{
	static const char *const none[] = {"",   "-",  ".",    "e5",  "1e",  "1e+",   "1x",
					   "1 ", " 1", "0x10", "inf", "nan", "1.2.3", "--1"};
	static const char *const too_large[] = {"9223372036854775808", "1e19", "1e999999999999999",
						"10000000000000000000000000000000000000000000"};
	int64_t out;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_equal(kc_decimal_times(none[i], 1, &out), -EINVAL);
	for (size_t i = 0; i < sizeof(too_large) / sizeof(*too_large); i++)
		assert_int_equal(kc_decimal_times(too_large[i], 1, &out), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(no_numbers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
