#include "format.h"

#include "store/common/printable.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define MICRO "\xc2\xb5"

/* Three significant digits without an exponent, for 0 ≤ value < 1000. */
static int decimals(double value)
{
	if (value < 9.995)
		return 2;
	return value < 99.95 ? 1 : 0;
}

char *kc_format_ns(double ns, char out[static KC_FORMAT_BYTES])
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1, "ns"}, {1e3, MICRO "s"}, {1e6, "ms"}, {1e9, "s"}};
	double size = fabs(ns);
	unsigned unit = 0;

	if (!isfinite(ns))
		return strcpy(out, "-");
	if (size < 999.5) {
		snprintf(out, KC_FORMAT_BYTES, "%.0f ns", ns);
		return out;
	}
	while (unit < 3 && size / units[unit].ns >= 999.5)
		unit++;
	if (size / units[unit].ns >= 1e12)
		snprintf(out, KC_FORMAT_BYTES, "%.3g %s", ns / units[unit].ns, units[unit].name);
	else
		snprintf(out, KC_FORMAT_BYTES, "%.*f %s", decimals(size / units[unit].ns), ns / units[unit].ns,
			 units[unit].name);
	return out;
}

char *kc_format_count(uint64_t count, char out[static KC_FORMAT_BYTES])
{
	char digits[KC_FORMAT_BYTES];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *to = out;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return out;
}

char *kc_format_percent(double percent, char out[static KC_FORMAT_BYTES])
{
	double size = fabs(percent);

	if (!isfinite(percent))
		return strcpy(out, "-");
	if (size >= 1e15) {
		snprintf(out, KC_FORMAT_BYTES, "%.3g %%", percent);
	} else if (size >= 999.5) {
		char digits[KC_FORMAT_BYTES];

		snprintf(out, KC_FORMAT_BYTES, "%s%s %%", percent < 0 ? "-" : "",
			 kc_format_count((uint64_t)(size + 0.5), digits));
	} else {
		int places = size >= 99.95 ? 0 : size >= 0.9995 || size == 0 ? 1 : 2;

		snprintf(out, KC_FORMAT_BYTES, "%.*f %%", places, percent);
	}
	return out;
}

static char *with_sign(double value, const char *size, char out[static KC_FORMAT_BYTES])
{
	snprintf(out, KC_FORMAT_BYTES, "%s%s", isnan(value) ? "" : value < 0 ? "-" : "+", size);
	return out;
}

char *kc_format_signed_ns(double ns, char out[static KC_FORMAT_BYTES])
{
	char text[KC_FORMAT_BYTES];

	return with_sign(ns, kc_format_ns(fabs(ns), text), out);
}

char *kc_format_signed_percent(double percent, char out[static KC_FORMAT_BYTES])
{
	char text[KC_FORMAT_BYTES];

	return with_sign(percent, kc_format_percent(fabs(percent), text), out);
}

char *kc_format_ratio(double ratio, char out[static KC_FORMAT_BYTES])
{
	if (!isfinite(ratio))
		return strcpy(out, "-");
	if (fabs(ratio) >= 1e9)
		snprintf(out, KC_FORMAT_BYTES, "%.3g", ratio);
	else
		snprintf(out, KC_FORMAT_BYTES, "%.*f", decimals(fabs(ratio)), ratio);
	return out;
}

char *kc_format_mean(double count, char out[static KC_FORMAT_BYTES])
{
	return count >= 0 && count < 1e18 && count == floor(count) ? kc_format_count((uint64_t)count, out)
								   : kc_format_ratio(count, out);
}

char *kc_format_bytes(uint64_t bytes, char out[static KC_FORMAT_BYTES])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = bytes;
	unsigned unit = 0;

	while (unit < 6 && value >= 1023.95) {
		value /= 1024;
		unit++;
	}
	snprintf(out, KC_FORMAT_BYTES, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
	return out;
}

char *kc_format_rate(double per_s, const char *unit, char out[static KC_FORMAT_BYTES])
{
	if (!isfinite(per_s))
		return strcpy(out, "-");
	snprintf(out, KC_FORMAT_BYTES, per_s < 1e10 ? "%.2f %s" : "%.1f %s", fmin(per_s, 1e30) / 1e9, unit);
	return out;
}

void kc_add_text(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

size_t kc_text_width(const char *text)
{
	struct kc_printable shown;
	size_t width = 0, n;

	for (; (n = kc_printable_char(text, &shown)) > 0; text += n)
		width += shown.columns;
	return width;
}

const char *kc_format_case(uint32_t concurrency_case)
{
	static const char *const names[] = {"alone", "together", "in the last wave", "one after the other"};

	return concurrency_case < sizeof(names) / sizeof(*names) ? names[concurrency_case] : "-";
}

/* Copies characters as long as they fit into columns and size; returns the bytes written. */
static size_t copy_shown(const char *text, size_t columns, char *out, size_t size)
{
	struct kc_printable shown;
	size_t used = 0, n;

	for (; (n = kc_printable_char(text, &shown)) > 0; text += n) {
		if (shown.columns > columns || used + shown.bytes >= size)
			break;
		columns -= shown.columns;
		memcpy(out + used, shown.text, shown.bytes);
		used += shown.bytes;
	}
	out[used] = '\0';
	return used;
}

/* The end of the text that fits into columns. */
static const char *last_columns(const char *text, size_t columns)
{
	size_t have = kc_text_width(text);
	struct kc_printable shown;

	while (have > columns) {
		text += kc_printable_char(text, &shown);
		have -= shown.columns;
	}
	return text;
}

char *kc_shorten_middle(const char *text, size_t width, char *out, size_t size)
{
	size_t tail, used;

	if (kc_text_width(text) <= width) {
		copy_shown(text, width, out, size);
		return out;
	}
	if (width == 0)
		width = 1;
	tail = (width - 1) / 2;
	used = copy_shown(text, width - 1 - tail, out, size);
	used += copy_shown(ELLIPSIS, 1, out + used, size - used);
	copy_shown(last_columns(text, tail), tail, out + used, size - used);
	return out;
}
