/* What is around the data, and that nothing in the data gets out of it. */
#include "html_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *put_into_text(void (*put)(const json_t *document, FILE *to), const json_t *document)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	put(document, to);
	fclose(to);
	return text;
}

/* What ends an element <script>, what hides its end, and what ends a line of a script but none of JSON. */
static void names_stay_in_the_data(void **state)
{
	static const char name[] = "</script><!--<script>]]>&amp;\xe2\x80\xa8\xe2\x80\xa9\"\\\n\x7f";
	json_t *document = json_pack("{s:s}", "name", name), *again;
	char *text = put_into_text(kc__html_put_json, document);

	(void)state;
	assert_null(strpbrk(text, "<>&\n"));
	assert_null(strstr(text, "\xe2\x80"));
	assert_non_null(
	    strstr(text, "\\u003c/script\\u003e\\u003c!--\\u003cscript\\u003e]]\\u003e\\u0026amp;\\u2028\\u2029"));
	again = json_loads(text, 0, NULL);
	assert_true(json_equal(document, again));
	json_decref(again);
	json_decref(document);
	free(text);
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

static void one_script_and_one_style(void **state)
{
	json_t *document = json_pack("{s:s}", "name", "<script src=x></style><img onerror=x>");
	char *text = put_into_text(kc__html_put, document);

	(void)state;
	assert_int_equal(count_of(text, "<script"), 3); /* the data, the fields and the script */
	assert_int_equal(count_of(text, "</script"), 3);
	assert_int_equal(count_of(text, "<style"), 1);
	assert_int_equal(count_of(text, "</style"), 1);
	assert_int_equal(count_of(text, "<img"), 0);
	assert_int_equal(count_of(text, "default-src 'none'; script-src 'sha256-"), 1);
	assert_int_equal(count_of(text, "unsafe"), 0);
	json_decref(document);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_stay_in_the_data),
	    cmocka_unit_test(one_script_and_one_style),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
