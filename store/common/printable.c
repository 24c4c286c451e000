#include "printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t kc_utf8_sequence(const char *text)
{
	static const struct {
		unsigned char first, last, low, high; /* range of lead bytes, and of the byte after them */
		size_t bytes;
	} forms[] = {
	    {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	const unsigned char *at = (const unsigned char *)text;

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (at[0] < forms[i].first || at[0] > forms[i].last)
			continue;
		if (forms[i].bytes > 1 && (at[1] < forms[i].low || at[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < forms[i].bytes; k++) {
			if ((at[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].bytes;
	}
	return 0;
}

/* The code point of a sequence of up to three bytes; characters that are spelled out have no more. */
static uint32_t code_point(const unsigned char *at, size_t bytes)
{
	if (bytes == 1)
		return at[0];
	if (bytes == 2)
		return (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
	return (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
}

/* Control characters (C0, DEL, C1), and Unicode's for the direction of text and for the ends of lines and paragraphs.
 */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void spell(struct kc_printable *shown, char kind, uint32_t value, unsigned digits)
{
	shown->text[0] = '\\';
	shown->text[1] = kind;
	for (unsigned i = 0; i < digits; i++)
		shown->text[2 + i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 0xf];
	shown->bytes = shown->columns = 2 + digits;
	shown->text[shown->bytes] = '\0';
}

static size_t keep(struct kc_printable *shown, const char *text, size_t n)
{
	memcpy(shown->text, text, n);
	shown->text[n] = '\0';
	shown->bytes = (unsigned)n;
	shown->columns = 1;
	return n;
}

size_t kc_printable_char(const char *text, struct kc_printable *shown)
{
	uint32_t c;
	size_t n;

	if (*text == '\0')
		return 0;
	if (*text >= 0x20 && *text < 0x7f)
		return keep(shown, text, 1);
	n = kc_utf8_sequence(text);
	if (n == 0) {
		spell(shown, 'x', (unsigned char)*text, 2);
		return 1;
	}
	c = n < 4 ? code_point((const unsigned char *)text, n) : 0;
	if (n == 4 || !is_control(c))
		return keep(shown, text, n);
	if (c == '\n' || c == '\t' || c == '\r')
		spell(shown, c == '\n' ? 'n' : c == '\t' ? 't' : 'r', 0, 0);
	else
		spell(shown, n == 1 ? 'x' : 'u', c, n == 1 ? 2 : 4);
	return n;
}

char *kc_printable_text(const char *text, char *out, size_t size)
{
	struct kc_printable shown;
	size_t used = 0, n;

	while ((n = kc_printable_char(text, &shown)) > 0 && used + shown.bytes < size) {
		memcpy(out + used, shown.text, shown.bytes);
		used += shown.bytes;
		text += n;
	}
	if (size > 0)
		out[used] = '\0';
	return out;
}
