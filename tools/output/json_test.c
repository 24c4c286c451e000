#include "json.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_what_is_not_known_is_null(void **state)
{
	json_t *value;

	(void)state;
	value = kc_json_real(NAN);
	assert_true(json_is_null(value));
	value = kc_json_percent(INFINITY);
	assert_true(json_is_null(value));
	value = kc_json_text(NULL);
	assert_true(json_is_null(value));
	value = kc_json_percent(0.25);
	assert_true(json_real_value(value) == 25.0);
	json_decref(value);
}

static void expect_text(const char *bytes, const char *text)
{
	json_t *value = kc_json_text(bytes);

	assert_string_equal(json_string_value(value), text);
	json_decref(value);
}

/* A command line is bytes: what is no UTF-8 (RFC 3629) must not cost the document. */
static void test_bytes_that_are_no_utf8_are_replaced(void **state)
{
	(void)state;
	expect_text("saxpy", "saxpy");
	expect_text("\xc2\xb5s", "µs");
	expect_text("a\xff z", "a\xef\xbf\xbd z");
	expect_text("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
	expect_text("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	expect_text("cut \xe2\x80", "cut \xef\xbf\xbd\xef\xbf\xbd");
	expect_text("\xff\xf0\x9f\x98\x80", "\xef\xbf\xbd\xf0\x9f\x98\x80");
}

/* RFC 8259 lets DEL, C1 and what turns the direction of reading stand as they are; a terminal should not get them. */
static void test_controls_are_escaped_and_come_back(void **state)
{
	static const char name[] = "k\x01\n\x7f\xc2\x9b\u202e\u2028 1 µs";
	json_t *value = json_string(name), *again;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	kc_json_write(value, to, JSON_ENCODE_ANY);
	fclose(to);
	assert_string_equal(text, "\"k\\u0001\\n\\u007f\\u009b\\u202e\\u2028 1 µs\"");
	again = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_string_equal(json_string_value(again), name);
	json_decref(again);
	json_decref(value);
	free(text);
}

static json_t *document_with(const char *key, json_t *value)
{
	json_t *out = json_object();

	json_object_set_new(out, key, value);
	return out;
}

/* Indented as the rest; numbers with all their digits; what looks like a line end in a string is none. */
static void test_a_list_is_printed_piece_by_piece(void **state)
{
	FILE *screen = stdout;
	char *text = NULL;
	size_t size;

	(void)state;
	stdout = open_memstream(&text, &size);
	assert_non_null(stdout);
	assert_int_equal(kc_json_open(document_with("a", json_integer(1)), "list"), 0);
	assert_int_equal(kc_json_element(document_with("b", json_string("x\ny")), 1), 0);
	assert_int_equal(kc_json_element(json_real(0.125), 0), 0);
	assert_int_equal(kc_json_element(NULL, 0), -ENOMEM);
	assert_int_equal(kc_json_close(), 0);
	fclose(stdout);
	stdout = screen;
	assert_string_equal(
	    text, "{\n  \"a\": 1,\n  \"list\": [\n    {\n      \"b\": \"x\\ny\"\n    },\n    0.125\n  ]\n}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_not_known_is_null),
	    cmocka_unit_test(test_bytes_that_are_no_utf8_are_replaced),
	    cmocka_unit_test(test_controls_are_escaped_and_come_back),
	    cmocka_unit_test(test_a_list_is_printed_piece_by_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
