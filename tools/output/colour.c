#include "colour.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ECMA-48, "select graphic rendition" */
static const char *const begins[] = {
    [KC_PLAIN] = "", [KC_BOLD] = "\x1b[1m", [KC_RED] = "\x1b[31m", [KC_GREEN] = "\x1b[32m", [KC_YELLOW] = "\x1b[33m",
};
#define END "\x1b[0m"

int kc_colour_wanted(int is_terminal, const char *no_color, const char *term)
{
	return is_terminal && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

static int is_wanted(FILE *to)
{
	int fd = fileno(to); /* < 0: no file */

	return fd >= 0 && kc_colour_wanted(isatty(fd), getenv("NO_COLOR"), getenv("TERM"));
}

static void print(FILE *to, enum kc_colour colour, const char *format, va_list args)
{
	int wanted = colour != KC_PLAIN && is_wanted(to);

	if (wanted)
		fputs(begins[colour], to);
	vfprintf(to, format, args);
	if (wanted)
		fputs(END, to);
}

void kc_colour_print(FILE *to, enum kc_colour colour, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(to, colour, format, args);
	va_end(args);
}

void kc_say_simulated(const char *what)
{
	kc_colour_print(stdout, KC_YELLOW, "SIMULATED: %s", what);
	fputs("\n\n", stdout);
}

void kc_heading(const char *format, ...)
{
	va_list args;

	putchar('\n');
	va_start(args, format);
	print(stdout, KC_BOLD, format, args);
	va_end(args);
	putchar('\n');
}
