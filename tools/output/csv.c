#include "csv.h"
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void next_field(struct kc_csv *csv)
{
	if (csv->fields++ > 0)
		fputc(',', csv->to);
}

/* What a spreadsheet would run as a formula when the file is opened (OWASP, "CSV Injection"). */
static int begins_formula(const char *text)
{
	return *text && strchr("=+-@", *text);
}

void kc_csv_text(struct kc_csv *csv, const char *text)
{
	struct kc_printable shown;
	int quoted;
	size_t n;

	next_field(csv);
	if (!text)
		return;
	quoted = strpbrk(text, "\",") != NULL;
	fputs(quoted ? "\"" : "", csv->to);
	fputs(begins_formula(text) ? "'" : "", csv->to);
	for (; (n = kc_printable_char(text, &shown)) > 0; text += n) {
		if (*text == '"')
			fputc('"', csv->to);
		kc_print_char(csv->to, &shown);
	}
	fputs(quoted ? "\"" : "", csv->to);
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
