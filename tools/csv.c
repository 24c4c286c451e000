#include "csv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void next_field(struct kc_csv *csv)
{
	if (csv->fields++ > 0)
		fputc(',', csv->to);
}

void kc_csv_text(struct kc_csv *csv, const char *text)
{
	next_field(csv);
	if (!text)
		return;
	if (!text[strcspn(text, "\",\r\n")]) {
		fputs(text, csv->to);
		return;
	}
	fputc('"', csv->to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', csv->to);
		fputc(*text, csv->to);
	}
	fputc('"', csv->to);
}

void kc_csv_integer(struct kc_csv *csv, int64_t value)
{
	next_field(csv);
	fprintf(csv->to, "%" PRId64, value);
}

void kc_csv_real(struct kc_csv *csv, double value)
{
	next_field(csv);
	if (isfinite(value))
		fprintf(csv->to, "%.9g", value);
}

void kc_csv_end_row(struct kc_csv *csv)
{
	fputs("\r\n", csv->to);
	csv->fields = 0;
}
