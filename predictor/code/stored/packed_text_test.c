/* Text packed and unpacked, and what is no packed text. */
#include "packed_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_comes_back(void **state)
{
	static const char line[] = "add.f32 %f1, %f2, %f3;\n";
	size_t length = 1000 * (sizeof(line) - 1), packed_bytes;
	char *text = malloc(length), *packed = malloc(KC_PACKED_TEXT_BYTES), *back;

	(void)state;
	for (size_t i = 0; i < length; i++)
		text[i] = line[i % (sizeof(line) - 1)];
	packed_bytes = kc_text_pack(text, length, packed, KC_PACKED_TEXT_BYTES);
	assert_in_range(packed_bytes, 1, length / 50);
	back = kc_text_unpack(packed, packed_bytes, length);
	assert_non_null(back);
	assert_memory_equal(back, text, length);
	free(back);
	assert_null(kc_text_unpack(packed, packed_bytes, length - 1));
	assert_null(kc_text_unpack(packed, packed_bytes, length + 1));
	assert_null(kc_text_unpack(packed, packed_bytes - 1, length));
	free(packed);
	free(text);
}

static void what_is_too_long_is_not_packed(void **state)
{
	char *text = calloc(1, KC_TEXT_BYTES + 1), *packed = malloc(KC_PACKED_TEXT_BYTES);
	uint64_t random = 1;

	(void)state;
	assert_int_not_equal(kc_text_pack(text, KC_TEXT_BYTES, packed, KC_PACKED_TEXT_BYTES), 0);
	assert_int_equal(kc_text_pack(text, KC_TEXT_BYTES + 1, packed, KC_PACKED_TEXT_BYTES), 0);
	assert_int_equal(kc_text_pack(text, 0, packed, KC_PACKED_TEXT_BYTES), 0);
	for (size_t i = 0; i < KC_TEXT_BYTES; i++) { /* Knuth's generator: nothing repeats */
		random = random * 6364136223846793005u + 1442695040888963407u;
		text[i] = (char)(random >> 56);
	}
	assert_int_equal(kc_text_pack(text, KC_TEXT_BYTES, packed, KC_PACKED_TEXT_BYTES), 0);
	free(packed);
	free(text);
}

static void other_bytes_are_refused(void **state)
{
	/* Five bytes as they are (LZ4 Block Format); then a reference to what is before the text. */
	static const char sound[] = "\x50"
				    "ret;}",
			  before[] = "\x10r\x09\x00\x00";
	char *text;

	(void)state;
	text = kc_text_unpack(sound, 6, 5);
	assert_non_null(text);
	assert_memory_equal(text, "ret;}", 5);
	free(text);
	assert_null(kc_text_unpack(before, 5, 5));
	assert_null(kc_text_unpack("", 0, 5));
	assert_null(kc_text_unpack(sound, 6, 0));
	assert_null(kc_text_unpack(sound, 6, SIZE_MAX));
	assert_null(kc_text_unpack(sound, SIZE_MAX, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_comes_back),
	    cmocka_unit_test(what_is_too_long_is_not_packed),
	    cmocka_unit_test(other_bytes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
