#include "explain.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct kc_ptx_param s32 = {.type = KC_PTX_S32, .bytes = 4}, u8 = {.type = KC_PTX_U8, .bytes = 1},
				 u64 = {.type = KC_PTX_U64, .bytes = 8}, f32 = {.type = KC_PTX_F32, .bytes = 4},
				 f64 = {.type = KC_PTX_F64, .bytes = 8}, b32 = {.type = KC_PTX_B32, .bytes = 4},
				 twelve = {.type = KC_PTX_B8, .is_array = 1, .bytes = 12},
				 two = {.type = KC_PTX_B8, .is_array = 1, .bytes = 2};

static void test_values(void **state)
{
	static const struct {
		const char *text;
		const struct kc_ptx_param *param;
		uint64_t value;
	} rows[] = {
	    {"0", &s32, 0},
	    {"1000", &s32, 1000},
	    {"-1", &s32, 0xffffffff},
	    {"-2147483648", &s32, 0x80000000},
	    {"4294967295", &s32, 0xffffffff},
	    {"0x10", &s32, 16},
	    {"-0x10", &s32, 0xfffffff0},
	    {"010", &s32, 10}, /* no octal */
	    {"255", &u8, 255},
	    {"-128", &u8, 0x80},
	    {"0x7f0000001000", &u64, 0x7f0000001000},
	    {"18446744073709551615", &u64, UINT64_MAX},
	    {"-1", &u64, UINT64_MAX},
	    {"1.5", &f32, 0x3fc00000}, /* IEEE 754 */
	    {"1.5f", &f32, 0x3fc00000},
	    {"2", &f32, 0x40000000},
	    {"-2", &f32, 0xc0000000},
	    {"0x3fc00000", &f32, 0x3fc00000},
	    {"2.5", &f64, 0x4004000000000000},
	    {"1e0", &f64, 0x3ff0000000000000},
	    {"3", &b32, 3},
	    {"1.5", &b32, 0x3fc00000},
	    {"0102", &two, 0x0201},
	    {"32000000E80300000000003f", &twelve, 0x3e800000032},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kc_cost_argument argument;
		char why[128];
		int rc = kc_explain_argument(rows[i].text, rows[i].param, &argument, why, sizeof(why));

		if (rc != 0 || !argument.known || argument.value != rows[i].value)
			fail_msg("%s: %d, %#lx", rows[i].text, rc, (unsigned long)argument.value);
		kc_explain_argument_free(&argument);
	}
}

static void test_struct(void **state)
{
	static const uint8_t bytes[12] = {0x32, 0, 0, 0, 0xe8, 0x03, 0, 0, 0, 0, 0, 0x3f};
	struct kc_cost_argument argument;
	char why[128];

	(void)state;
	assert_int_equal(kc_explain_argument("32000000E80300000000003f", &twelve, &argument, why, sizeof(why)), 0);
	assert_int_equal(argument.length, sizeof(bytes));
	assert_memory_equal(argument.bytes, bytes, sizeof(bytes));
	kc_explain_argument_free(&argument);
}

static void test_not_known(void **state)
{
	struct kc_cost_argument argument = {.known = 1};
	char why[128];

	(void)state;
	assert_int_equal(kc_explain_argument("_", &f64, &argument, why, sizeof(why)), 0);
	assert_int_equal(argument.known, 0);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const struct kc_ptx_param *param;
		const char *why;
	} rows[] = {
	    {"", &s32, "no integer"},
	    {"1.5", &s32, "no integer"},
	    {"12 ", &s32, "no integer"},
	    {"abc", &s32, "no integer"},
	    {"-", &s32, "no integer"},
	    {"--1", &s32, "no integer"},
	    {"4294967296", &s32, "too large"},
	    {"-2147483649", &s32, "too large"},
	    {"256", &u8, "too large"},
	    {"99999999999999999999", &u64, "too large"},
	    {"one", &f32, "no number"},
	    {"1.5f", &f64, "no number"},
	    {"0102", &twelve, "24 hexadecimal digits"},
	    {"010x", &two, "4 hexadecimal digits"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kc_cost_argument argument;
		char why[128] = "";

		assert_int_equal(kc_explain_argument(rows[i].text, rows[i].param, &argument, why, sizeof(why)),
				 -EINVAL);
		if (!strstr(why, rows[i].why))
			fail_msg("%s: \"%s\"", rows[i].text, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_struct),
					   cmocka_unit_test(test_not_known), cmocka_unit_test(test_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
