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

/* Where a number gets another digit, and at both ends. */
static void integers_are_written_as_printf_does(void **state)
{
	struct written written;
	char wanted[64];

	(void)state;
	for (uint64_t power = 1; power; power = power < UINT64_C(1000000000000000000) ? power * 10 : 0) {
		for (int64_t i = -11; i <= 11; i++) {
			int64_t value = (int64_t)power + i;

			begin(&written);
			kc__chrome_put_integer(&written.out.text, value);
			kc__chrome_number(&written.out.text, "k", -value);
			assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
			assert_int_equal(fclose(written.out.to), 0);
			snprintf(wanted, sizeof(wanted), "%lld,\"k\":%lld", (long long)value, -(long long)value);
			assert_string_equal(written.text, wanted);
			free(written.text);
			free(written.out.text.at);
		}
	}
	begin(&written);
	kc__chrome_put_integer(&written.out.text, INT64_MIN);
	kc__chrome_put_integer(&written.out.text, INT64_MAX);
	assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
	assert_int_equal(fclose(written.out.to), 0);
	assert_string_equal(written.text, "-92233720368547758089223372036854775807");
	free(written.text);
	free(written.out.text.at);
}

static void microseconds_have_three_decimals(void **state)
{
	static const struct {
		int64_t ns;
		const char *us;
	} times[] = {{0, "0.000"}, {7, "0.007"}, {-7, "-0.007"}, {45, "0.045"}, {1000, "1.000"}, {-123456, "-123.456"}};
	struct written written;

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		begin(&written);
		kc__chrome_put_us(&written.out.text, times[i].ns);
		assert_int_equal(kc__chrome_flush(&written.out, 1), 0);
		assert_int_equal(fclose(written.out.to), 0);
		assert_string_equal(written.text, times[i].us);
		free(written.text);
		free(written.out.text.at);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_written_of_no_events),    cmocka_unit_test(what_was_put_is_written_once),
	    cmocka_unit_test(numbers_are_rounded_as_printf_does), cmocka_unit_test(integers_are_written_as_printf_does),
	    cmocka_unit_test(microseconds_have_three_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
