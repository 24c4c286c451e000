#include "tools/output/json.h"
#include "chrome_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES ((size_t)128 << 10)
#define WRITTEN_BYTES ((size_t)64 << 10) /* at a time */
#define DIGITS 20                        /* of 2^64 - 1 */

int kc__chrome_grow(struct kc__chrome_text *text, size_t size)
{
	size_t wanted = text->capacity ? text->capacity : FIRST_BYTES;
	char *at;

	while (wanted < text->used + size)
		wanted *= 2;
	at = realloc(text->at, wanted);
	if (!at) {
		text->failed = 1;
		return 0;
	}
	text->at = at;
	text->capacity = wanted;
	return 1;
}

static void put_unsigned(struct kc__chrome_text *text, uint64_t value, unsigned least_digits)
{
	char digits[DIGITS];
	size_t i = sizeof(digits);

	while (value > 0 || i > sizeof(digits) - least_digits) {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	}
	kc__chrome_put_bytes(text, digits + i, sizeof(digits) - i);
}

static uint64_t size_of(struct kc__chrome_text *text, int64_t value)
{
	if (value < 0)
		kc__chrome_put(text, "-");
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

void kc__chrome_put_integer(struct kc__chrome_text *text, int64_t value)
{
	put_unsigned(text, size_of(text, value), 1);
}

void kc__chrome_put_us(struct kc__chrome_text *text, int64_t ns)
{
	uint64_t size = size_of(text, ns);

	put_unsigned(text, size / 1000, 1);
	kc__chrome_put(text, ".");
	put_unsigned(text, size % 1000, 3);
}

/* Length of the text if it stands in JSON as it is; 0: it does not, or is empty. */
static size_t plain_length(const char *string)
{
	size_t n = 0;

	for (; string[n]; n++) {
		if (string[n] < ' ' || string[n] > '~' || string[n] == '"' || string[n] == '\\')
			return 0;
	}
	return n;
}

static void put_escaped(struct kc__chrome_text *text, const char *string)
{
	char *escaped = NULL;
	size_t size = 0;
	json_t *value = kc_json_text(string);
	FILE *to = value ? open_memstream(&escaped, &size) : NULL;

	if (to) {
		kc_json_write(value, to, JSON_ENCODE_ANY);
		if (fclose(to) == 0)
			kc__chrome_put_bytes(text, escaped, size);
		else
			text->failed = 1;
	} else {
		text->failed = 1;
	}
	free(escaped);
	json_decref(value);
}

void kc__chrome_put_string(struct kc__chrome_text *text, const char *string)
{
	size_t plain = plain_length(string);

	if (!plain) {
		put_escaped(text, string);
		return;
	}
	kc__chrome_put(text, "\"");
	kc__chrome_put_bytes(text, string, plain);
	kc__chrome_put(text, "\"");
}

void kc__chrome_named(struct kc__chrome_text *text, const char *key, const char *string)
{
	if (!string)
		return;
	kc__chrome_key(text, key);
	kc__chrome_put_string(text, string);
}

void kc__chrome_number(struct kc__chrome_text *text, const char *key, int64_t value)
{
	kc__chrome_key(text, key);
	kc__chrome_put_integer(text, value);
}

void kc__chrome_id(struct kc__chrome_text *text, uint64_t id)
{
	static const char hexadecimal[] = "0123456789abcdef";
	char digits[DIGITS];
	size_t i = sizeof(digits);

	do {
		digits[--i] = hexadecimal[id & 15];
	} while (id >>= 4);
	kc__chrome_put(text, ",\"id\":\"0x");
	kc__chrome_put_bytes(text, digits + i, sizeof(digits) - i);
	kc__chrome_put(text, "\"");
}

void kc__chrome_real(struct kc__chrome_text *text, const char *key, double value, int decimals)
{
	static const double scales[] = {1, 10, 100, 1000, 10000};
	char digits[400]; /* of any double */
	double scaled = value * scales[decimals];

	kc__chrome_key(text, key);
	/* As most are, and in a tenth of the time; halves are printf()'s to round. */
	if (value >= 0 && value < 1e9 && fabs(scaled - floor(scaled) - 0.5) > 1e-5) {
		uint64_t rounded = (uint64_t)(scaled + 0.5), scale = (uint64_t)scales[decimals];

		put_unsigned(text, rounded / scale, 1);
		kc__chrome_put(text, ".");
		put_unsigned(text, rounded % scale, (unsigned)decimals);
		return;
	}
	snprintf(digits, sizeof(digits), "%.*f", decimals, value);
	kc__chrome_put(text, digits);
}

void kc__chrome_begin(struct kc__chrome_out *out, const char *phase, int64_t pid, int64_t tid)
{
	struct kc__chrome_text *text = &out->text;

	kc__chrome_put(text, out->events++ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	kc__chrome_put(text, phase);
	kc__chrome_put(text, "\"");
	kc__chrome_number(text, "pid", pid);
	kc__chrome_number(text, "tid", tid);
}

int kc__chrome_flush(struct kc__chrome_out *out, int all)
{
	if (out->text.failed)
		return -ENOMEM;
	if (!out->text.used || (!all && out->text.used < WRITTEN_BYTES))
		return 0;
	fwrite(out->text.at, 1, out->text.used, out->to);
	out->text.used = 0;
	return 0;
}
