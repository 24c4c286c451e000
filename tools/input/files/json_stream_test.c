#include "json_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *in, *out;
} documents[] = {
    {"[inf,-inf,nan]", "[\"\" ,\"\"  ,\"\" ]"},
    {"{\"a\": Infinity, \"b\": -Infinity, \"c\":NaN}", "{\"a\": \"\"      , \"b\": \"\"       , \"c\":\"\" }"},
    {"[null,true,false,1e5,-2.5E-3]", "[null,true,false,1e5,-2.5E-3]"},
    {"[\"inf\",\"a\\\"nan\",\"\\\\\",inf]", "[\"inf\",\"a\\\"nan\",\"\\\\\",\"\" ]"},
    {"[infinite,nano,1234567890123456789]", "[infinite,nano,1234567890123456789]"},
    {"inf", "\"\" "},
    {"[\"a\nb\",\"\x01\t\",\n1]", "[\"a\x7F"
				  "b\",\"\x7F\x7F\",\n1]"},
    {"[\"C:\\d\\n\\\\\\u00e9\\users\"]", "[\"C:\x7F"
					 "d\\n\\\\\\u00e9\x7Fusers\"]"},
    {"[\"a\\u12", "[\"a\x7Fu12"},
};

/* Whole, and cut in two at every place. */
static void clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
		size_t bytes = strlen(documents[i].in);

		for (size_t cut = 0; cut <= bytes; cut++) {
			struct kc_json_clean filter = {.in_string = 0};
			unsigned char text[64];
			size_t first;

			memcpy(text, documents[i].in, bytes + 1);
			first = kc_json_clean(&filter, text, cut, 0);
			assert_true(first <= cut);
			assert_int_equal(kc_json_clean(&filter, text + first, bytes - first, 1), bytes - first);
			assert_string_equal((const char *)text, documents[i].out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(clean)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
