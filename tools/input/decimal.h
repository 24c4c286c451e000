/* Decimal numbers as profilers write them, taken exactly: a time of 1.6e15 µs
 * with three decimals has more digits than a double holds. */
#ifndef KC_DECIMAL_H
#define KC_DECIMAL_H

#include <stdint.h>

/* The number in text ("-12.5", "2.6912e-05") times multiplier (at most 2^40),
 * rounded to the nearest, halves away from zero. 0; -EINVAL: text is no
 * decimal number; -ERANGE: it does not fit. */
int kc_decimal_times(const char *text, uint64_t multiplier, int64_t *out);

#endif
