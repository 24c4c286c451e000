#include "table.h"
#include "tools/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct kc_column columns[] = {{"name", KC_LEFT, 1}, {"count", KC_RIGHT, 0}, {"why", KC_LEFT, 0}, {0}};

static void expect(const char *const (*rows)[3], size_t count, unsigned width, const char *page)
{
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

/* 12 columns for the name: as in distinct_test.c. */
static void test_names_that_give_way_stay_different(void **state)
{
	static const char *const rows[][3] = {{"kernel_begin<aaa>_float_of_int_", "1", "x"},
					      {"kernel_begin<bbb>_float_of_int_", "2", "x"}};

	(void)state;
	expect(rows, 2, 26,
	       "  name          count  why\n"
	       "  ker…in<aaa>…      1  x\n"
	       "  ker…in<bbb>…      2  x\n");
}

static void test_a_table_without_memory_fails_with_a_message(void **state)
{
	char said[100] = "";
	struct kc_table table;
	int ends[2], kept = dup(STDERR_FILENO);

	(void)state;
	kc_table_init(&table, columns);
	table.failed = 1;
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	assert_int_equal(kc_table_finish(&table, 0), KC_EXIT_FAILED);
	dup2(kept, STDERR_FILENO);
	assert_true(read(ends[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(said, "kerncast: Cannot allocate memory\n");
	close(ends[0]);
	close(ends[1]);
	close(kept);
}

/* 30 columns: 2 of the table, 2 of the note, 26 of text. */
static void test_notes_are_as_wide_as_their_table(void **state)
{
	static const char *const cells[] = {"a", "1", "x"};
	struct kc_table table;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	kc_table_init(&table, columns);
	kc_table_row(&table, cells);
	kc_table_note(&table, "stream 2; after a(int, ù), stream 13, abcdefghijklmnopqrstuvwxyz0123 end");
	assert_int_equal(kc_table_print(&table, to, 2, 30), 0);
	kc_table_free(&table);
	fclose(to);
	assert_string_equal(text, "  name  count  why\n"
				  "  a         1  x\n"
				  "    stream 2; after a(int, ù),\n"
				  "    stream 13,\n"
				  "    abcdefghijklmnopqrstuvwxyz\n"
				  "    0123 end\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_columns_are_aligned),
	    cmocka_unit_test(test_one_column_gives_way),
	    cmocka_unit_test(test_names_that_give_way_stay_different),
	    cmocka_unit_test(test_notes_are_as_wide_as_their_table),
	    cmocka_unit_test(test_a_table_without_memory_fails_with_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
