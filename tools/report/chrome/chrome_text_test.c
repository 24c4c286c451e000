#include "chrome_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of a damaged database there may be no event at all, and no memory for one; sanitizers would tell. */
static void nothing_is_written_of_no_events(void **state)
{
	char *written = NULL;
	size_t size = 0;
	struct kc__chrome_out out = {.to = open_memstream(&written, &size)};

	(void)state;
	assert_non_null(out.to);
	assert_int_equal(kc__chrome_flush(&out, 1), 0);
	assert_int_equal(fclose(out.to), 0);
	assert_int_equal(size, 0);
	free(written);
}

static void what_was_put_is_written_once(void **state)
{
	char *written = NULL;
	size_t size = 0;
	struct kc__chrome_out out = {.to = open_memstream(&written, &size)};

	(void)state;
	assert_non_null(out.to);
	kc__chrome_begin(&out, "X", 3, 4);
	assert_int_equal(kc__chrome_flush(&out, 1), 0);
	assert_int_equal(kc__chrome_flush(&out, 1), 0);
	assert_int_equal(fclose(out.to), 0);
	assert_string_equal(written, "\n{\"ph\":\"X\",\"pid\":3,\"tid\":4");
	free(written);
	free(out.text.at);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_written_of_no_events),
	    cmocka_unit_test(what_was_put_is_written_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
