/* RFC 4180. A row is its fields one after the other, then the line end. */
#ifndef KC_CSV_H
#define KC_CSV_H

#include <stdint.h>
#include <stdio.h>

struct kc_csv {
	FILE *to;
	int fields; /* of the current row */
};

/* NULL: an empty field. Control characters are spelled out (store/common/printable.h), and
 * "'" goes before what a spreadsheet would read as a formula. */
void kc_csv_text(struct kc_csv *csv, const char *text);
void kc_csv_integer(struct kc_csv *csv, int64_t value);
/* NAN: an empty field. */
void kc_csv_real(struct kc_csv *csv, double value);
void kc_csv_end_row(struct kc_csv *csv);

#endif
