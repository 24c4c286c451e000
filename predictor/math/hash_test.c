#include "hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Test vectors of draft-eastlake-fnv, "FNV-1a 64-bit". */
static void published_vectors(void **state)
{
	(void)state;
	assert_true(kc_fnv(KC_FNV_OFFSET, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(kc_fnv(KC_FNV_OFFSET, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(kc_fnv(KC_FNV_OFFSET, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void pieces_hash_as_the_whole(void **state)
{
	(void)state;
	assert_true(kc_fnv(kc_fnv(KC_FNV_OFFSET, "foo", 3), "bar", 3) == kc_fnv(KC_FNV_OFFSET, "foobar", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(published_vectors),
	    cmocka_unit_test(pieces_hash_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
