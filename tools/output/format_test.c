#include "format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_ns(void **state)
{
	char out[KC_FORMAT_BYTES];

	(void)state;
	assert_string_equal(kc_format_ns(0, out), "0 ns");
	assert_string_equal(kc_format_ns(812, out), "812 ns");
	assert_string_equal(kc_format_ns(999.4, out), "999 ns");
	assert_string_equal(kc_format_ns(999.5, out), "1.00 µs");
	assert_string_equal(kc_format_ns(1234, out), "1.23 µs");
	assert_string_equal(kc_format_ns(9996, out), "10.0 µs");
	assert_string_equal(kc_format_ns(99960, out), "100 µs");
	assert_string_equal(kc_format_ns(999600, out), "1.00 ms");
	assert_string_equal(kc_format_ns(45.6e6, out), "45.6 ms");
	assert_string_equal(kc_format_ns(2.1e9, out), "2.10 s");
	assert_string_equal(kc_format_ns(123456e9, out), "123456 s");
	assert_string_equal(kc_format_ns(-1500, out), "-1.50 µs");
	assert_string_equal(kc_format_ns(NAN, out), "-");
	assert_true(strlen(kc_format_ns(1e300, out)) < KC_FORMAT_BYTES);
}

static void test_signs(void **state)
{
	char out[KC_FORMAT_BYTES];

	(void)state;
	assert_string_equal(kc_format_signed_ns(4.7e6, out), "+4.70 ms");
	assert_string_equal(kc_format_signed_ns(-481e3, out), "-481 µs");
	assert_string_equal(kc_format_signed_ns(NAN, out), "-");
	assert_string_equal(kc_format_signed_percent(26.2, out), "+26.2 %");
	assert_string_equal(kc_format_signed_percent(-50, out), "-50.0 %");
}

static void test_adding_leaves_out_what_has_no_room(void **state)
{
	char text[8] = "";

	(void)state;
	kc_add_text(text, sizeof(text), "%d", 123);
	assert_string_equal(text, "123");
	kc_add_text(text, sizeof(text), "%s%s", ", ", "four");
	assert_string_equal(text, "123, fo");
	kc_add_text(text, sizeof(text), "five");
	assert_string_equal(text, "123, fo");
}

static void test_count(void **state)
{
	char out[KC_FORMAT_BYTES];

	(void)state;
	assert_string_equal(kc_format_count(0, out), "0");
	assert_string_equal(kc_format_count(999, out), "999");
	assert_string_equal(kc_format_count(1000, out), "1,000");
	assert_string_equal(kc_format_count(1234567, out), "1,234,567");
	assert_string_equal(kc_format_count(UINT64_MAX, out), "18,446,744,073,709,551,615");
}

static void test_percent(void **state)
{
	char out[KC_FORMAT_BYTES];

	(void)state;
	assert_string_equal(kc_format_percent(0, out), "0.0 %");
	assert_string_equal(kc_format_percent(0.042, out), "0.04 %");
	assert_string_equal(kc_format_percent(4.23, out), "4.2 %");
	assert_string_equal(kc_format_percent(42.3, out), "42.3 %");
	assert_string_equal(kc_format_percent(99.96, out), "100 %");
	assert_string_equal(kc_format_percent(100, out), "100 %");
	assert_string_equal(kc_format_percent(1234.4, out), "1,234 %");
	assert_string_equal(kc_format_percent(NAN, out), "-");
	assert_string_equal(kc_format_percent(INFINITY, out), "-");
	assert_true(strlen(kc_format_percent(1e300, out)) < KC_FORMAT_BYTES);
}

static void test_ratio(void **state)
{
	char out[KC_FORMAT_BYTES];

	(void)state;
	assert_string_equal(kc_format_ratio(1, out), "1.00");
	assert_string_equal(kc_format_ratio(12.5, out), "12.5");
	assert_string_equal(kc_format_ratio(340, out), "340");
	assert_string_equal(kc_format_ratio(NAN, out), "-");
}

static void test_bytes(void **state)
{
	char out[KC_FORMAT_BYTES];

	(void)state;
	assert_string_equal(kc_format_bytes(512, out), "512 B");
	assert_string_equal(kc_format_bytes(65536, out), "64.0 KiB");
	assert_string_equal(kc_format_bytes((1ull << 20) - 1, out), "1.0 MiB");
	assert_string_equal(kc_format_bytes(UINT64_MAX, out), "16.0 EiB");
}

static void test_width_counts_code_points(void **state)
{
	(void)state;
	assert_int_equal(kc_text_width(""), 0);
	assert_int_equal(kc_text_width("abc"), 3);
	assert_int_equal(kc_text_width("1 µs"), 4);
	assert_int_equal(kc_text_width("a\x1b[2J"), 8); /* shown as a\x1b[2J */
}

static void test_shorten_keeps_both_ends(void **state)
{
	char out[64];

	(void)state;
	assert_string_equal(kc_shorten_middle("short", 5, out, sizeof(out)), "short");
	assert_string_equal(kc_shorten_middle("abcdefghij", 7, out, sizeof(out)), "abc…hij");
	assert_string_equal(kc_shorten_middle("abcdefghij", 6, out, sizeof(out)), "abc…ij");
	assert_string_equal(kc_shorten_middle("abcdefghij", 1, out, sizeof(out)), "…");
	assert_string_equal(kc_shorten_middle("µµµµµµ", 5, out, sizeof(out)), "µµ…µµ");
	assert_string_equal(kc_shorten_middle("a\nb", 4, out, sizeof(out)), "a\\nb");
	assert_string_equal(kc_shorten_middle("abcdef\x1bghijklmnop\x1b", 13, out, sizeof(out)), "abcdef…op\\x1b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ns),
	    cmocka_unit_test(test_signs),
	    cmocka_unit_test(test_adding_leaves_out_what_has_no_room),
	    cmocka_unit_test(test_count),
	    cmocka_unit_test(test_percent),
	    cmocka_unit_test(test_ratio),
	    cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_width_counts_code_points),
	    cmocka_unit_test(test_shorten_keeps_both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
