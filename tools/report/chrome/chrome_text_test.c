#include "chrome_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct written {
	char *text;
	size_t size;
	struct kc__chrome_out out;
};

static void begin(struct written *written)
{
	*written = (struct written){.out.to = open_memstream(&written->text, &written->size)};
	assert_non_null(written->out.to);
}

/* Of a damaged database there may be no event at all, and no memory for one; sanitizers would tell. */
static void nothing_is_written_of_no_events(void **state)
{
	struct written written;

	(void)state;
	begin(&written);
	assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
	assert_int_equal(fclose(written.out.to), 0);
	assert_int_equal(written.size, 0);
	free(written.text);
}

static void what_was_put_is_written_once(void **state)
{
	struct written written;

	(void)state;
	begin(&written);
	kc__chrome_begin(&written.out, "X", 3, 4);
	assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
	assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
	assert_int_equal(fclose(written.out.to), 0);
	assert_string_equal(written.text, "\n{\"ph\":\"X\",\"pid\":3,\"tid\":4");
	free(written.text);
	free(written.out.text.at);
}

static void numbers_are_rounded_as_printf_does(void **state)
{
	static const double values[] = {0, 12.0375, 0.0005, 0.0015, 99.9996, 1.23449999, 3e8, 1e12, -1.5, 2.9999999};
	struct written written;
	char wanted[64];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		begin(&written);
		kc__chrome_real(&written.out.text, "k", values[i], 3);
		assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
		assert_int_equal(fclose(written.out.to), 0);
		snprintf(wanted, sizeof(wanted), ",\"k\":%.3f", values[i]);
		assert_string_equal(written.text, wanted);
		free(written.text);
		free(written.out.text.at);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_written_of_no_events),
	    cmocka_unit_test(what_was_put_is_written_once),
	    cmocka_unit_test(numbers_are_rounded_as_printf_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
