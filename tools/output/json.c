#include "json.h"
#include "tools/command.h"
#include "print.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 9                   /* digits of numbers for people */
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
	kc_json_write(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
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
