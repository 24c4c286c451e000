#include "csv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct memory {
	char *text;
	size_t size;
};

static struct kc_csv csv_in(struct memory *memory)
{
	struct kc_csv csv = {.to = open_memstream(&memory->text, &memory->size)};

	assert_non_null(csv.to);
	return csv;
}

/* Expected values: RFC 4180, section 2. */
static void test_fields_follow_the_rfc(void **state)
{
	struct memory memory;
	struct kc_csv csv = csv_in(&memory);

	(void)state;
	kc_csv_text(&csv, "plain");
	kc_csv_text(&csv, "a,b");
	kc_csv_text(&csv, "say \"x\"");
	kc_csv_text(&csv, NULL);
	kc_csv_end_row(&csv);
	kc_csv_integer(&csv, INT64_MIN);
	kc_csv_real(&csv, 0.25);
	kc_csv_real(&csv, NAN);
	kc_csv_end_row(&csv);
	fclose(csv.to);
	assert_string_equal(memory.text, "plain,\"a,b\",\"say \"\"x\"\"\",\r\n"
					 "-9223372036854775808,0.25,\r\n");
	free(memory.text);
}

/* https://owasp.org/www-community/attacks/CSV_Injection: a quote in front; numbers stay numbers. */
static void test_text_is_no_formula_and_has_no_controls(void **state)
{
	struct memory memory;
	struct kc_csv csv = csv_in(&memory);

	(void)state;
	kc_csv_text(&csv, "=cmd|' /C calc'!A0");
	kc_csv_text(&csv, "+1");
	kc_csv_text(&csv, "-1");
	kc_csv_text(&csv, "@SUM(A1:A2)");
	kc_csv_text(&csv, "=a,\"b\"");
	kc_csv_text(&csv, "\t=1");
	kc_csv_text(&csv, "\r=1");
	kc_csv_text(&csv, "two\nlines\x1b[2J");
	kc_csv_text(&csv, "a=b");
	kc_csv_end_row(&csv);
	kc_csv_integer(&csv, -1);
	kc_csv_real(&csv, -0.5);
	kc_csv_end_row(&csv);
	fclose(csv.to);
	assert_string_equal(memory.text, "'=cmd|' /C calc'!A0,'+1,'-1,'@SUM(A1:A2),\"'=a,\"\"b\"\"\",\\t=1,\\r=1,"
					 "two\\nlines\\x1b[2J,a=b\r\n-1,-0.5\r\n");
	free(memory.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fields_follow_the_rfc),
	    cmocka_unit_test(test_text_is_no_formula_and_has_no_controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
