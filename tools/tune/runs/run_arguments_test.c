#include "run_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* f(const float *, int, struct { int; int; int; }, float, char) */
static const struct kc_ptx_param params[] = {
    {.type = KC_PTX_U64, .bytes = 8}, {.type = KC_PTX_U32, .bytes = 4}, {.is_array = 1, .bytes = 12},
    {.type = KC_PTX_F32, .bytes = 4}, {.type = KC_PTX_U8, .bytes = 1},
};

static void expect(const char *recorded, const char *wanted)
{
	char *got = kc_run_arguments(recorded, params, sizeof(params) / sizeof(*params));

	assert_non_null(got);
	assert_string_equal(got, wanted);
	free(got);
}

static void arguments_are_as_explain_takes_them(void **state)
{
	(void)state;
	expect("", "_,_,_,_,_");
	expect("p1 = 1000", "_,0x000003e8,_,_,_");
	expect("p1 = -1, p4 = 255", "_,0xffffffff,_,_,0xff");
	expect("p1 = ?, p3 = 1065353216", "_,_,_,0x3f800000,_");
}

/* Addresses of different arguments are different memory, and lie in a sector as they did. */
static void addresses_lie_apart(void **state)
{
	(void)state;
	expect("p0 mod 32 = 4, p1 = 2", "0x0000000100000004,0x00000002,_,_,_");
}

static void parts_of_structs_are_in_their_places(void **state)
{
	(void)state;
	expect("p2+4 = 258", "_,_,000000000201000000000000,_,_");
	expect("p2+0 = 1, p2+8 = 3", "_,_,010000000000000003000000,_,_");
}

static void what_does_not_fit_is_left_out(void **state)
{
	(void)state;
	expect("p9 = 1, p2+12 = 1, n=3 m=4, , p1", "_,_,_,_,_");
	expect("p4294967296 = 1, p1 = 99999999999999999999", "_,0xffffffff,_,_,_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arguments_are_as_explain_takes_them),
	    cmocka_unit_test(addresses_lie_apart),
	    cmocka_unit_test(parts_of_structs_are_in_their_places),
	    cmocka_unit_test(what_does_not_fit_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
