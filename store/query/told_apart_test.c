#include "told_apart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 8u

/* Each row: a name and its traits. */
static void check(const char *const (*rows)[1 + KC_TRAITS], const char *const *wanted, size_t count)
{
	struct kc_namesake all[MOST] = {0};
	char *names[MOST];

	for (size_t i = 0; i < count; i++) {
		names[i] = strdup(rows[i][0]);
		all[i].name = names + i;
		for (unsigned trait = 0; trait < KC_TRAITS; trait++)
			all[i].traits[trait] = (char *)rows[i][1 + trait];
	}
	assert_int_equal(kc_tell_apart(all, count), 0);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(names[i], wanted[i]);
		free(names[i]);
	}
}

static void other_names_stay(void **state)
{
	static const char *const rows[][1 + KC_TRAITS] = {{"f(int)", "a.so"}, {"g(int)", "b.so"}, {"f(char)", "c.so"}};
	static const char *const wanted[] = {"f(int)", "g(int)", "f(char)"};

	(void)state;
	check(rows, wanted, 3);
	check(rows, wanted, 0);
}

/* The first trait that differs is enough for two; the name between them is not touched. */
static void the_first_that_differs_is_told(void **state)
{
	static const char *const rows[][1 + KC_TRAITS] = {
	    {"f", "a.so", "_Z1fv", "40 registers"}, {"g", "a.so"}, {"f", "b.so", "_Z1fv", "48 registers"}};
	static const char *const alike[][1 + KC_TRAITS] = {
	    {"f", "a.so", "_Z1fv", "40 registers"}, {"g", "a.so"}, {"f", "a.so", "_Z1fv", "48 registers"}};
	static const char *const wanted[] = {"f [a.so]", "g", "f [b.so]"};
	static const char *const wanted_of_alike[] = {"f [40 registers]", "g", "f [48 registers]"};

	(void)state;
	check(rows, wanted, 3);
	check(alike, wanted_of_alike, 3);
}

/* Modules tell the third from the others, registers the first from the second; the second trait tells nothing more. */
static void as_many_as_are_needed(void **state)
{
	static const char *const rows[][1 + KC_TRAITS] = {
	    {"f", "a.so", "x", "40 registers"}, {"f", "a.so", "x", "48 registers"}, {"f", "b.so", "y", "48 registers"}};
	static const char *const wanted[] = {"f [a.so, 40 registers]", "f [a.so, 48 registers]",
					     "f [b.so, 48 registers]"};

	(void)state;
	check(rows, wanted, 3);
}

static void a_trait_that_one_has_not(void **state)
{
	static const char *const rows[][1 + KC_TRAITS] = {{"f", NULL}, {"f", "a.so"}};
	static const char *const wanted[] = {"f", "f [a.so]"};

	(void)state;
	check(rows, wanted, 2);
}

static void nothing_tells_them_apart(void **state)
{
	static const char *const rows[][1 + KC_TRAITS] = {{"f", "a.so"}, {"f", "a.so"}};
	static const char *const wanted[] = {"f", "f"};

	(void)state;
	check(rows, wanted, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(other_names_stay),         cmocka_unit_test(the_first_that_differs_is_told),
	    cmocka_unit_test(as_many_as_are_needed),    cmocka_unit_test(a_trait_that_one_has_not),
	    cmocka_unit_test(nothing_tells_them_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
