#include "print.h"

#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *printed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *printed(const char *format, ...)
{
	static char text[512];
	FILE *to = fmemopen(text, sizeof(text), "w");
	va_list args;

	assert_non_null(to);
	va_start(args, format);
	assert_int_equal(kc_vprint(to, format, args), 0);
	va_end(args);
	fclose(to);
	return text;
}

/* Every format that C's printf knows and the command uses: the same as the C library's. */
#define SAME(...)                                                                                                      \
	do {                                                                                                           \
		char wanted[512];                                                                                      \
                                                                                                                       \
		snprintf(wanted, sizeof(wanted), __VA_ARGS__);                                                         \
		assert_string_equal(printed(__VA_ARGS__), wanted);                                                     \
	} while (0)

static void test_numbers_are_as_in_printf(void **state)
{
	(void)state;
	SAME("%d %i %u %%", -1, 2, 3u);
	SAME("%5d|%-5d|%05d|%+d|%*d|%-*d|", 42, 42, 42, 42, 6, 42, 6, 42);
	SAME("%ld %lld %zu %jd %td", -1L, LLONG_MIN, SIZE_MAX, INTMAX_MAX, (ptrdiff_t)-5);
	SAME("%" PRId64 " %" PRIu64 " %" PRIx64 " %08x %#o", INT64_MIN, UINT64_MAX, UINT64_MAX, 0xabcu, 8u);
	SAME("%u %x", UINT32_MAX, UINT32_MAX);
	SAME("%f %.3f %9.2f|%-9.1f|%g %5.3g %e %.*f", 1.5, 1.5, -2.25, 3.75, 1e-9, 123456.0, 1e100, 2, 0.125);
	SAME("%.0f %5.1f %g", 2.5, -0.05, 1.0 / 3);
	SAME("%c%3c|%-3c|", 'a', 'b', 'c');
	SAME("%p", (void *)printed);
}

static void test_plain_text_is_as_in_printf(void **state)
{
	(void)state;
	SAME("%s|%8s|%-8s|%*s|%-*s|%.2s|%.*s|%*s", "abc", "abc", "abc", 5, "abc", 5, "abc", "abc", 1, "abc", 0, "");
	SAME("no conversion\n\ttabs and line ends of the format stay\n");
}

static void test_controls_in_text_are_spelled_out(void **state)
{
	(void)state;
	assert_string_equal(printed("name %s\n", "k\x1b[2J\n\u202e\xff"), "name k\\x1b[2J\\n\\u202e\\xff\n");
	assert_string_equal(printed("%.2s", "a\nb"), "a\\n");
}

static void test_text_is_padded_by_columns(void **state)
{
	(void)state;
	assert_string_equal(printed("%6s|%-6s|", "1 µs", "1 µs"), "  1 µs|1 µs  |");
	assert_string_equal(printed("%-6s|%6s|", "a\x1b", "\n"), "a\\x1b |    \\n|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_numbers_are_as_in_printf),
	    cmocka_unit_test(test_plain_text_is_as_in_printf),
	    cmocka_unit_test(test_controls_in_text_are_spelled_out),
	    cmocka_unit_test(test_text_is_padded_by_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
