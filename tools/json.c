#include "json.h"
#include "command.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 9                   /* of numbers that people read */
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

json_t *kc_json_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *kc_json_percent(double share)
{
	return kc_json_real(share * 100);
}

/* Bytes of the well-formed UTF-8 sequence at text (RFC 3629), 0 where there is none. */
static size_t sequence(const unsigned char *text)
{
	static const struct {
		unsigned char first, last, low, high; /* lead bytes; bounds of the byte behind them */
		size_t bytes;
	} forms[] = {
	    {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (forms[i].bytes > 1 && (text[1] < forms[i].low || text[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].bytes; k++) {
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].bytes;
	}
	return 0;
}

json_t *kc_json_text(const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
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
	for (to = clean; *from;) {
		size_t n = sequence(from);

		memcpy(to, n ? (const char *)from : REPLACEMENT, n ? n : strlen(REPLACEMENT));
		to += n ? n : strlen(REPLACEMENT);
		from += n ? n : 1;
	}
	*to = '\0';
	out = json_string(clean);
	free(clean);
	return out;
}

static int print(json_t *document, size_t digits)
{
	if (!document) {
		kc_error("not enough memory");
		return KC_EXIT_FAILED;
	}
	json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
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
