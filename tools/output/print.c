#include "print.h"

#include "format.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#undef fprintf /* here they are the C library's */
#undef vfprintf
#undef argp_error

#define SPEC_BYTES 16u
#define SPEC_MARKS "-+ #0'*.123456789hlLjzt" /* between "%" and the letter */

/* One conversion of a format. */
struct conversion {
	char flags[8];
	int width;     /* < 0: to the left */
	int precision; /* -1: none */
	char length;   /* 'l', 'L' for ll, 'j', 'z', 't'; 0: int */
	char kind;     /* 'd', 's', … */
};

static const char *read_number(const char *at, int *number, va_list *args)
{
	if (*at == '*') {
		*number = va_arg(*args, int);
		return at + 1;
	}
	for (*number = 0; isdigit((unsigned char)*at); at++)
		*number = *number * 10 + (*at - '0');
	return at;
}

/* at: behind the "%". Returns where the format goes on. */
static const char *read_conversion(const char *at, struct conversion *c, va_list *args)
{
	size_t flags = strspn(at, "-+ #0'");

	*c = (struct conversion){.precision = -1};
	memcpy(c->flags, at, flags < sizeof(c->flags) ? flags : sizeof(c->flags) - 1);
	at = read_number(at + flags, &c->width, args);
	if (strchr(c->flags, '-') && c->width > 0)
		c->width = -c->width;
	if (*at == '.')
		at = read_number(at + 1, &c->precision, args);
	for (; *at && strchr("hlLjzt", *at); at++)
		c->length = c->length == 'l' && *at == 'l' ? 'L' : *at;
	c->kind = *at;
	return *at ? at + 1 : at;
}

static int64_t read_signed(const struct conversion *c, va_list *args)
{
	return c->length && c->length != 'h' ? va_arg(*args, int64_t) : va_arg(*args, int);
}

static uint64_t read_unsigned(const struct conversion *c, va_list *args)
{
	return c->length && c->length != 'h' ? va_arg(*args, uint64_t) : va_arg(*args, unsigned);
}

static void put_blanks(FILE *to, int count)
{
	for (; count > 0; count--)
		fputc(' ', to);
}

void kc_print_char(FILE *to, const struct kc_printable *shown)
{
	for (unsigned i = 0; i < shown->bytes; i++)
		putc_unlocked(shown->text[i], to);
}

static void print_text(FILE *to, const char *text)
{
	struct kc_printable shown;
	size_t n;

	for (; (n = kc_printable_char(text, &shown)) > 0; text += n)
		kc_print_char(to, &shown);
}

static void put_text(FILE *to, const struct conversion *c, const char *text)
{
	char *part = c->precision >= 0 ? strndup(text, (size_t)c->precision) : NULL;
	int blanks;

	if (c->precision >= 0)
		text = part ? part : "";
	blanks = c->width ? abs(c->width) - (int)kc_text_width(text) : 0;
	put_blanks(to, c->width > 0 ? blanks : 0);
	print_text(to, text);
	put_blanks(to, c->width < 0 ? blanks : 0);
	free(part);
}

static void put_char(FILE *to, const struct conversion *c, int value)
{
	put_blanks(to, c->width - 1);
	fputc(value, to);
	put_blanks(to, -c->width - 1);
}

/* A negative precision counts as none (C11, 7.21.6.1), so both numbers are always given. */
static void put_number(FILE *to, const struct conversion *c, va_list *args)
{
	int is_integer = strchr("diuoxX", c->kind) != NULL;
	char spec[SPEC_BYTES], *end = stpcpy(stpcpy(stpcpy(spec, "%"), c->flags), is_integer ? "*.*j" : "*.*");

	end[0] = c->kind;
	end[1] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (!is_integer)
		fprintf(to, spec, c->width, c->precision, va_arg(*args, double));
	else if (c->kind == 'd' || c->kind == 'i')
		fprintf(to, spec, c->width, c->precision, (intmax_t)read_signed(c, args));
	else
		fprintf(to, spec, c->width, c->precision, (uintmax_t)read_unsigned(c, args));
#pragma GCC diagnostic pop
}

static void put_value(FILE *to, const struct conversion *c, va_list *args)
{
	if (c->kind == 'c')
		put_char(to, c, va_arg(*args, int));
	else if (c->kind == 'p')
		fprintf(to, "%*p", c->width, va_arg(*args, void *));
	else
		put_number(to, c, args);
}

static int takes_text(const char *format)
{
	while ((format = strchr(format, '%'))) {
		format += 1 + strspn(format + 1, SPEC_MARKS);
		if (*format == 's')
			return 1;
		format += *format != '\0';
	}
	return 0;
}

int kc_vprint(FILE *to, const char *format, va_list args)
{
	struct conversion c;
	va_list rest;

	if (!strchr(format, 's') || !takes_text(format)) /* an export has millions of numbers */
		return vfprintf(to, format, args) < 0 ? EOF : 0;
	va_copy(rest, args);
	while (*format) {
		size_t plain = strcspn(format, "%");
		const char *text;

		fwrite(format, 1, plain, to);
		format += plain;
		if (!*format)
			break;
		format = read_conversion(format + 1, &c, &rest);
		if (c.kind == '%') {
			fputc('%', to);
		} else if (c.kind == 's') {
			text = va_arg(rest, const char *);
			put_text(to, &c, text ? text : "(null)");
		} else if (c.kind) {
			put_value(to, &c, &rest);
		}
	}
	va_end(rest);
	return ferror(to) ? EOF : 0;
}

int kc_print(FILE *to, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = kc_vprint(to, format, args);
	va_end(args);
	return rc;
}

void kc_usage_error(const struct argp_state *state, const char *format, ...)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	va_list args;

	va_start(args, format);
	if (to) {
		kc_vprint(to, format, args);
		fclose(to);
	}
	va_end(args);
	argp_error(state, "%s", text ? text : "not enough memory");
	free(text);
}

static ssize_t write_shown(void *to, const char *bytes, size_t size)
{
	char *text = strndup(bytes, size);
	struct kc_printable shown;
	size_t n;

	for (const char *at = text; at && (n = kc_printable_char(at, &shown)) > 0; at += n) {
		if (*at == '\n')
			fputc('\n', to);
		else
			kc_print_char(to, &shown);
	}
	free(text);
	return (ssize_t)size;
}

FILE *kc_print_stream(FILE *to)
{
	FILE *stream = fopencookie(to, "w", (cookie_io_functions_t){.write = write_shown});

	if (stream)
		setvbuf(stream, NULL, _IOLBF, 0);
	return stream;
}
