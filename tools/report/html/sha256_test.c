#include "sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is_hash(const char *message, size_t size, const char *wanted)
{
	uint8_t hash[KC_SHA256_BYTES];
	char digits[2 * KC_SHA256_BYTES + 1];

	kc_sha256(message, size, hash);
	for (size_t i = 0; i < KC_SHA256_BYTES; i++)
		snprintf(digits + 2 * i, 3, "%02x", hash[i]);
	assert_string_equal(digits, wanted);
}

/* The examples that NIST publishes with FIPS 180-4: one block, two blocks, none, and a million bytes. */
static void examples(void **state)
{
	char *million = malloc(1000000);

	(void)state;
	assert_non_null(million);
	memset(million, 'a', 1000000);
	is_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	is_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	is_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	is_hash(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

/* The policy of an empty script, as the examples of CSP level 3 and browsers have it. */
static void base64(void **state)
{
	char out[KC_SHA256_BASE64];

	(void)state;
	kc_sha256_base64("", 0, out);
	assert_string_equal(out, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(examples),
	    cmocka_unit_test(base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
