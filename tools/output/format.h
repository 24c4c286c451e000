/*
 * Numbers and names as people read them. Every function writes into a buffer
 * of the caller's and returns it. A value that is not known (NAN) reads "-".
 */
#ifndef KC_FORMAT_H
#define KC_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define KC_FORMAT_BYTES 32u /* room for any number */

/* A duration: three significant digits and its unit, "812 ns", "1.23 µs", "45.6 ms", "2.10 s". */
char *kc_format_ns(double ns, char out[static KC_FORMAT_BYTES]);

/* "1,234,567" */
char *kc_format_count(uint64_t count, char out[static KC_FORMAT_BYTES]);

/* percent: 4.23 for 4.23 %. "0.42 %", "4.2 %", "42 %", "1,234 %". */
char *kc_format_percent(double percent, char out[static KC_FORMAT_BYTES]);

/* With a sign: "+4.70 ms", "+4.2 %". */
char *kc_format_signed_ns(double ns, char out[static KC_FORMAT_BYTES]);
char *kc_format_signed_percent(double percent, char out[static KC_FORMAT_BYTES]);

/* "1.08", "12.5", "340": a ratio, three significant digits. */
char *kc_format_ratio(double ratio, char out[static KC_FORMAT_BYTES]);
/* "18.5", "1,798": how many on average; a whole number as a count, others as a ratio. */
char *kc_format_mean(double count, char out[static KC_FORMAT_BYTES]);

/* "512 B", "64.0 KiB", "3.2 GiB" */
char *kc_format_bytes(uint64_t bytes, char out[static KC_FORMAT_BYTES]);

/* "12.4 GB/s": unit "GB/s", of 1e9 each second */
char *kc_format_rate(double per_s, const char *unit, char out[static KC_FORMAT_BYTES]);

/* What enum kc_case means: "alone", "together", "in the last wave", "one after the other"; else "-". */
const char *kc_format_case(uint32_t concurrency_case);

/* Adds to the text as printf() would print it; what has no room in its `size` bytes is left out. */
void kc_add_text(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Columns that the text takes when it is shown (store/common/printable.h), one for each other character. */
size_t kc_text_width(const char *text);

/* The text as it is shown, in at most width columns: its middle is replaced by
 * "…" where it is longer; no character is cut in two. size: of out, in bytes. */
char *kc_shorten_middle(const char *text, size_t width, char *out, size_t size);

#endif
