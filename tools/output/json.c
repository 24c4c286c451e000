#include "json.h"
#include "tools/command.h"
#include "print.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 9 /* digits of numbers for people */
#define LAYOUT JSON_INDENT(2)
#define LIST_END "]\n}" /* of a document that ends in a list */
#define ELEMENT_INDENT "    "
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

json_t *kc_json_document(const char *name, unsigned version)
{
	json_t *out = json_object();

	json_object_set_new(out, "schema", json_sprintf("kerncast.%s/%u", name, version));
	return out;
}

json_t *kc_json_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *kc_json_percent(double share)
{
	return kc_json_real(share * 100);
}

json_t *kc_json_text(const char *text)
{
	char *clean, *to;
	json_t *out;

	if (!text)
		return json_null();
	out = json_string(text);
	if (out)
		return out;
	clean = malloc(strlen(text) * strlen(REPLACEMENT) + 1);
	if (!clean)
		return NULL;
	for (to = clean; *text;) {
		size_t n = kc_utf8_sequence(text);

		memcpy(to, n ? text : REPLACEMENT, n ? n : strlen(REPLACEMENT));
		to += n ? n : strlen(REPLACEMENT);
		text += n ? n : 1;
	}
	*to = '\0';
	out = json_string(clean);
	free(clean);
	return out;
}

/* Inside a string, \u007f means the same as the byte, and has no effect on a terminal. */
static int write_shown(const char *text, size_t size, void *to)
{
	struct kc_printable shown;
	size_t n;

	for (size_t i = 0; i < size && (n = kc_printable_char(text + i, &shown)) > 0; i += n) {
		if (text[i] == '\n')
			fputc('\n', to); /* a line end of the layout, not of a string */
		else if (text[i] == '\x7f')
			fputs("\\u007f", to);
		else
			kc_print_char(to, &shown);
	}
	return ferror((FILE *)to) ? -1 : 0;
}

void kc_json_write(const json_t *value, FILE *to, size_t flags)
{
	json_dump_callback(value, write_shown, to, flags);
}

static int print(json_t *document, size_t digits)
{
	if (!document) {
		kc_error("not enough memory");
		return KC_EXIT_FAILED;
	}
	kc_json_write(document, stdout, LAYOUT | JSON_REAL_PRECISION(digits));
	json_decref(document);
	fputc('\n', stdout);
	return kc_output_finish();
}

int kc_json_print(json_t *document)
{
	return print(document, DIGITS);
}

int kc_json_print_precise(json_t *document)
{
	return print(document, DBL_DIG);
}

/* The value as it stands in a document; NULL: no memory. */
static char *piece_of(json_t *value)
{
	char *text = NULL;
	size_t size;
	FILE *to = value ? open_memstream(&text, &size) : NULL;

	if (to) {
		kc_json_write(value, to, LAYOUT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DBL_DIG));
		fclose(to);
	}
	json_decref(value);
	return text;
}

int kc_json_open(json_t *document, const char *list)
{
	char *text;

	json_object_set_new(document, list, json_array());
	text = piece_of(document);
	if (!text)
		return -ENOMEM;
	fwrite(text, 1, strlen(text) - strlen(LIST_END), stdout);
	free(text);
	return 0;
}

/* Only the layout has line ends; in strings they are escaped. */
int kc_json_element(json_t *element, int is_first)
{
	char *text = piece_of(element);

	if (!text)
		return -ENOMEM;
	fputs(is_first ? "\n" ELEMENT_INDENT : ",\n" ELEMENT_INDENT, stdout);
	for (const char *at = text; *at; at++) {
		putchar(*at);
		if (*at == '\n')
			fputs(ELEMENT_INDENT, stdout);
	}
	free(text);
	return 0;
}

int kc_json_close(void)
{
	puts("\n  " LIST_END);
	return kc_output_finish();
}
