#include "colour.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_who_wants_colour(void **state)
{
	(void)state;
	assert_true(kc_colour_wanted(1, NULL, "xterm-256color"));
	assert_true(kc_colour_wanted(1, "", "linux")); /* no-color.org: "when present and not an empty string" */
	assert_false(kc_colour_wanted(0, NULL, "xterm-256color"));
	assert_false(kc_colour_wanted(1, "0", "xterm-256color"));
	assert_false(kc_colour_wanted(1, NULL, "dumb"));
	assert_false(kc_colour_wanted(1, NULL, ""));
	assert_false(kc_colour_wanted(1, NULL, NULL));
}

/* What arrives at the other end of a terminal, or of a stream in memory. */
static void expect_on_terminal(enum kc_colour colour, const char *wanted)
{
	char got[64] = "";
	int ends[2];
	FILE *to;

	assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
	to = fdopen(ends[1], "w");
	assert_non_null(to);
	kc_colour_print(to, colour, "%s %d", "a\x1b", 7);
	fclose(to);
	assert_true(read(ends[0], got, sizeof(got) - 1) > 0);
	assert_string_equal(got, wanted);
	close(ends[0]);
}

static void test_terminal(void **state)
{
	(void)state;
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	expect_on_terminal(KC_RED, "\x1b[31ma\\x1b 7\x1b[0m");
	expect_on_terminal(KC_BOLD, "\x1b[1ma\\x1b 7\x1b[0m");
	expect_on_terminal(KC_PLAIN, "a\\x1b 7");
	setenv("NO_COLOR", "1", 1);
	expect_on_terminal(KC_RED, "a\\x1b 7");
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	expect_on_terminal(KC_RED, "a\\x1b 7");
}

static void test_no_file(void **state)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	setenv("TERM", "xterm", 1);
	assert_non_null(to);
	kc_colour_print(to, KC_GREEN, "%d %%", 5);
	fclose(to);
	assert_string_equal(text, "5 %");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_who_wants_colour),
	    cmocka_unit_test(test_terminal),
	    cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
