#include "scopes.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>

#include <cmocka.h>

static int set_up(void **state)
{
	*state = kc_scopes_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	kc_scopes_free(*state);
	return 0;
}

static uint32_t entered(struct kc_scopes *s, uint32_t parent, enum kc_scope_kind kind, const char *name)
{
	uint32_t scope, number = kc_scopes_name(s, kind, name);

	assert_int_not_equal(number, 0);
	assert_int_equal(kc_scopes_enter(s, parent, number, &scope), 0);
	return scope;
}

static void what_is_alike_is_one_scope(void **state)
{
	uint32_t forward = entered(*state, 0, KC_SCOPE_RANGE, "forward");
	uint32_t mm = entered(*state, forward, KC_SCOPE_OPERATOR, "aten::mm");
	struct kc_scope scope = kc_scopes_at(*state, mm);

	assert_int_equal(entered(*state, 0, KC_SCOPE_RANGE, "forward"), forward);
	assert_int_equal(entered(*state, forward, KC_SCOPE_OPERATOR, "aten::mm"), mm);
	assert_int_not_equal(entered(*state, 0, KC_SCOPE_OPERATOR, "aten::mm"), mm);
	assert_int_not_equal(entered(*state, 0, KC_SCOPE_OPERATOR, "forward"), forward);
	assert_int_equal(scope.parent, forward);
	assert_int_equal(scope.kind, KC_SCOPE_OPERATOR);
	assert_string_equal(scope.name, "aten::mm");
	assert_int_equal(kc_scopes_at(*state, forward).parent, 0);
}

/* 255 bytes are kept, and of a character that begins at the 255th none. */
static void a_long_name_is_cut_between_characters(void **state)
{
	char name[400];

	memset(name, 'x', sizeof(name));
	memcpy(name + 254, "\xC3\xA9", 2);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(kc_scopes_at(*state, entered(*state, 0, KC_SCOPE_RANGE, name)).name), 254);
	memcpy(name + 253, "\xC3\xA9", 2);
	name[255] = 'y';
	assert_int_equal(strlen(kc_scopes_at(*state, entered(*state, 0, KC_SCOPE_RANGE, name)).name), 255);
	assert_string_equal(kc_scopes_at(*state, entered(*state, 0, KC_SCOPE_RANGE, "")).name, "");
}

static void further_names_are_others(void **state)
{
	char name[32];
	uint32_t known = kc_scopes_name(*state, KC_SCOPE_RANGE, "known"), others;

	for (uint32_t i = 1; i < KC_SCOPE_NAMES_MOST; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_not_equal(kc_scopes_name(*state, KC_SCOPE_RANGE, name), 0);
	}
	others = kc_scopes_name(*state, KC_SCOPE_RANGE, "one more");
	assert_int_equal(kc_scopes_name(*state, KC_SCOPE_RANGE, "and another"), others);
	assert_int_equal(kc_scopes_name(*state, KC_SCOPE_RANGE, "known"), known);
	assert_int_equal(kc_scopes_name(*state, KC_SCOPE_RANGE, name), KC_SCOPE_NAMES_MOST);
	assert_string_equal(kc_scopes_at(*state, entered(*state, 0, KC_SCOPE_RANGE, "a third")).name, KC_SCOPE_OTHERS);
}

static void what_is_not_kept_counts_as_the_scope_around_it(void **state)
{
	uint32_t scope = 0, deepest, name = kc_scopes_name(*state, KC_SCOPE_RANGE, "again");
	char text[32];

	for (uint32_t i = 0; i < KC_SCOPE_DEPTH_MOST; i++) {
		uint32_t outer = scope;

		assert_int_equal(kc_scopes_enter(*state, outer, name, &scope), 0);
		assert_int_not_equal(scope, outer);
	}
	deepest = scope;
	assert_int_equal(kc_scopes_enter(*state, deepest, name, &scope), 0);
	assert_int_equal(scope, deepest);
	for (uint32_t i = KC_SCOPE_DEPTH_MOST; i < KC_SCOPES_MOST; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_int_not_equal(entered(*state, 0, KC_SCOPE_RANGE, text), 0);
	}
	assert_int_equal(entered(*state, 0, KC_SCOPE_OPERATOR, "again"), 0);
	assert_int_equal(entered(*state, 1, KC_SCOPE_OPERATOR, "again"), 1);
	assert_int_equal(entered(*state, 0, KC_SCOPE_RANGE, "again"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_is_alike_is_one_scope),
	    TEST(a_long_name_is_cut_between_characters),
	    TEST(further_names_are_others),
	    TEST(what_is_not_kept_counts_as_the_scope_around_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
