#include "table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(const char *const (*rows)[3], size_t count, unsigned width, const char *page)
{
	static const struct kc_column columns[] = {
	    {"name", KC_LEFT, 1}, {"count", KC_RIGHT, 0}, {"why", KC_LEFT, 0}, {0}};
	struct kc_table table;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	kc_table_init(&table, columns);
	for (size_t i = 0; i < count; i++)
		kc_table_row(&table, rows[i]);
	assert_int_equal(kc_table_print(&table, to, 2, width), 0);
	kc_table_free(&table);
	fclose(to);
	assert_string_equal(text, page);
	free(text);
}

static void test_columns_are_aligned(void **state)
{
	static const char *const rows[][3] = {{"a", "1", "x"}, {"1 µs", "1,000", NULL}};

	(void)state;
	expect(rows, 2, 80,
	       "  name  count  why\n"
	       "  a         1  x\n"
	       "  1 µs  1,000\n");
}

static void test_one_column_gives_way(void **state)
{
	static const char *const rows[][3] = {{"abcdefghijklmnopqrstuvwxyz", "12", "few"}};

	(void)state;
	expect(rows, 1, 30,
	       "  name              count  why\n"
	       "  abcdefgh…tuvwxyz     12  few\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_columns_are_aligned),
	    cmocka_unit_test(test_one_column_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
