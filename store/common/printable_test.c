#include "printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void shows(const char *text, const char *wanted)
{
	char out[256];

	assert_string_equal(kc_printable_text(text, out, sizeof(out)), wanted);
}

static void test_text_stays(void **state)
{
	(void)state;
	shows("", "");
	shows("void scale<float>(float *, int)", "void scale<float>(float *, int)");
	shows("1 µs, λ, 核, 😀", "1 µs, λ, 核, 😀");
	shows("C:\\new\\table", "C:\\new\\table");
}

static void test_controls_are_spelled_out(void **state)
{
	(void)state;
	shows("k\x1b[31mRED\x1b[2J", "k\\x1b[31mRED\\x1b[2J");
	shows("\x01\x07\x7f", "\\x01\\x07\\x7f");
	shows("a\nb\tc\rd", "a\\nb\\tc\\rd");
	shows("\xc2\x9b"
	      "31m\xc2\x80",
	      "\\u009b31m\\u0080"); /* CSI of C1 */
}

/* Unicode 15, UAX #9: what turns the direction of reading; and U+2028, U+2029. */
static void test_direction_and_line_ends_are_spelled_out(void **state)
{
	(void)state;
	shows("k\u202eevil", "k\\u202eevil");
	shows("\u202a\u202b\u202c\u202d", "\\u202a\\u202b\\u202c\\u202d");
	shows("\u2066\u2067\u2068\u2069", "\\u2066\\u2067\\u2068\\u2069");
	shows("\u200e\u200f\u061c", "\\u200e\\u200f\\u061c");
	shows("\u2028\u2029", "\\u2028\\u2029");
	shows("\u2027\u202f\u2065\u206a\u00a0", "\u2027\u202f\u2065\u206a\u00a0"); /* their neighbours */
}

/* RFC 3629: lone bytes, overlong forms, surrogates, past U+10FFFF, cut off. */
static void test_bytes_that_are_not_utf8_are_spelled_out(void **state)
{
	(void)state;
	shows("\xff\xfe", "\\xff\\xfe");
	shows("\x9b", "\\x9b");
	shows("\xc0\x9b", "\\xc0\\x9b");
	shows("\xed\xa0\x80", "\\xed\\xa0\\x80");
	shows("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	shows("\xe2\x80", "\\xe2\\x80");
}

static void test_what_was_spelled_out_is_not_changed_again(void **state)
{
	(void)state;
	shows("k\\x1b[31m\\n\\u202e", "k\\x1b[31m\\n\\u202e");
}

static void test_what_does_not_fit_is_left_out_whole(void **state)
{
	char out[8];

	(void)state;
	assert_string_equal(kc_printable_text("abc\x1b", out, 8), "abc\\x1b");
	assert_string_equal(kc_printable_text("abc\x1b", out, 7), "abc");
	assert_string_equal(kc_printable_text("abc😀", out, 7), "abc");
	assert_string_equal(kc_printable_text("abc", out, 1), "");
}

static void test_columns(void **state)
{
	struct kc_printable shown;

	(void)state;
	assert_int_equal(kc_printable_char("核", &shown), 3);
	assert_int_equal(shown.columns, 1);
	assert_int_equal(kc_printable_char("\x1b", &shown), 1);
	assert_int_equal(shown.columns, 4);
	assert_int_equal(kc_printable_char("\u202e", &shown), 3);
	assert_int_equal(shown.columns, 6);
	assert_int_equal(kc_printable_char("", &shown), 0);
}

/* Whatever the bytes: what comes out is valid UTF-8 without a control byte. */
static void test_random_bytes(void **state)
{
	char text[64], out[64 * KC_PRINTABLE_BYTES];

	(void)state;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i + 1 < sizeof(text); i++)
			text[i] = (char)(rand() % 255 + 1);
		text[sizeof(text) - 1] = '\0';
		kc_printable_text(text, out, sizeof(out));
		for (const char *at = out; *at; at += kc_utf8_sequence(at)) {
			assert_true(kc_utf8_sequence(at) > 0);
			assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
			assert_false(at[0] == '\xc2' && (unsigned char)at[1] < 0xa0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text_stays),
	    cmocka_unit_test(test_controls_are_spelled_out),
	    cmocka_unit_test(test_direction_and_line_ends_are_spelled_out),
	    cmocka_unit_test(test_bytes_that_are_not_utf8_are_spelled_out),
	    cmocka_unit_test(test_what_was_spelled_out_is_not_changed_again),
	    cmocka_unit_test(test_what_does_not_fit_is_left_out_whole),
	    cmocka_unit_test(test_columns),
	    cmocka_unit_test(test_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
