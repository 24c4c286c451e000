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

/* Of a decimal number. One of n bits has n log10(2) digits, rounded down, or one more; 1233 / 4096 is near enough to
 * log10(2) up to 64 bits (Anderson, "Bit Twiddling Hacks"). */
static unsigned digits_of(uint64_t value)
{
	static const uint64_t powers[DIGITS] = {0u,
						10u,
						100u,
						1000u,
						10000u,
						100000u,
						1000000u,
						10000000u,
						100000000u,
						1000000000u,
						10000000000u,
						100000000000u,
						1000000000000u,
						10000000000000u,
						100000000000000u,
						1000000000000000u,
						10000000000000000u,
						100000000000000000u,
						1000000000000000000u,
						10000000000000000000u};
	unsigned least = (64u - (unsigned)__builtin_clzll(value | 1)) * 1233 / 4096;

	return least + (value >= powers[least]);
}

static char *room_for(struct kc__chrome_text *text, size_t size)
{
	if (size > text->capacity - text->used && !kc__chrome_grow(text, size))
		return NULL;
	text->used += size;
	return text->at + text->used - size;
}

/* From the last digits to the first, two at a time; zeros in front where there are more digits than the value has. */
static void write_digits(char *at, unsigned digits, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

	for (; digits > 1; digits -= 2) {
		memcpy(at + digits - 2, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (digits)
		*at = (char)('0' + value);
}

static void put_unsigned(struct kc__chrome_text *text, uint64_t value)
{
	unsigned digits = digits_of(value);
	char *at = room_for(text, digits);

	if (at)
		write_digits(at, digits, value);
}

/* With a point in front. */
static void put_decimals(struct kc__chrome_text *text, uint64_t value, unsigned decimals)
{
	char *at = room_for(text, 1 + decimals);

	if (!at)
		return;
	*at = '.';
	write_digits(at + 1, decimals, value);
}

static uint64_t size_of(struct kc__chrome_text *text, int64_t value)
{
	if (value < 0)
		kc__chrome_put(text, "-");
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

void kc__chrome_put_integer(struct kc__chrome_text *text, int64_t value)
{
	put_unsigned(text, size_of(text, value));
}

void kc__chrome_put_us(struct kc__chrome_text *text, int64_t ns)
{
	uint64_t size = size_of(text, ns);

	put_unsigned(text, size / 1000);
	put_decimals(text, size % 1000, 3);
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

		put_unsigned(text, rounded / scale);
		put_decimals(text, rounded % scale, (unsigned)decimals);
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
	kc__chrome_put(text, "\",\"pid\":");
	kc__chrome_put_integer(text, pid);
	kc__chrome_put(text, ",\"tid\":");
	kc__chrome_put_integer(text, tid);
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
