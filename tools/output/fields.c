#include "fields.h"
#include "format.h"
#include "json.h"
#include "print.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CODE_COLUMNS 100u /* of a name in Markdown */

static int is_text(const struct kc_field *field)
{
	return field->unit == KC_FIELD_TEXT || field->unit == KC_FIELD_NAME || field->unit == KC_FIELD_NOTE;
}

static const char *text_at(const struct kc_field *field, const void *row)
{
	const char *const *at = (const void *)((const char *)row + field->at);

	return *at;
}

static double number_at(const struct kc_field *field, const void *row)
{
	const double *at = (const void *)((const char *)row + field->at);

	return *at;
}

/* Of a text, itself, not what is in out. */
static const char *cell_of(const struct kc_field *field, const void *row, char out[static KC_FORMAT_BYTES])
{
	double value = is_text(field) ? NAN : number_at(field, row);

	switch (field->unit) {
	case KC_FIELD_COUNT:
		return isnan(value) ? "-" : kc_format_count((uint64_t)llround(value), out);
	case KC_FIELD_NS:
		return kc_format_ns(value, out);
	case KC_FIELD_SIGNED_NS:
		return kc_format_signed_ns(value, out);
	case KC_FIELD_SIGNED_PERCENT:
		return kc_format_signed_percent(value, out);
	case KC_FIELD_P:
		snprintf(out, KC_FORMAT_BYTES, value < 1e-6 ? "< 1e-6" : "%.2g", value);
		return isnan(value) ? "-" : out;
	default:
		return text_at(field, row) ? text_at(field, row) : "";
	}
}

static const void *row_at(const struct kc_fields *fields, const void *rows, size_t i)
{
	return (const char *)rows + i * fields->row_bytes;
}

static int is_column(const struct kc_field *field)
{
	return field->head && field->unit != KC_FIELD_NOTE;
}

int kc_fields_table(const struct kc_fields *fields, const void *rows, size_t n, unsigned indent)
{
	struct kc_column columns[KC_TABLE_COLUMNS + 1] = {0};
	char text[KC_TABLE_COLUMNS][KC_FORMAT_BYTES];
	struct kc_table table;
	unsigned count = 0;

	for (size_t i = 0; i < fields->count && count < KC_TABLE_COLUMNS; i++)
		if (is_column(fields->at + i))
			columns[count++] =
			    (struct kc_column){fields->at[i].head, is_text(fields->at + i) ? KC_LEFT : KC_RIGHT,
					       fields->at[i].unit == KC_FIELD_NAME};
	kc_table_init(&table, columns);
	for (size_t r = 0; r < n; r++) {
		const void *row = row_at(fields, rows, r);
		const char *cells[KC_TABLE_COLUMNS] = {0}, *note = NULL;

		for (size_t i = 0, c = 0; i < fields->count && c < count; i++)
			if (is_column(fields->at + i)) {
				cells[c] = cell_of(fields->at + i, row, text[c]);
				c++;
			}
		kc_table_row(&table, cells);
		for (size_t i = 0; i < fields->count; i++)
			if (fields->at[i].unit == KC_FIELD_NOTE)
				note = text_at(fields->at + i, row);
		kc_table_note(&table, note ? note : "");
	}
	return kc_table_finish(&table, indent);
}

/* No line ends (printf escapes them), and neither backticks nor bars as they are. */
void kc_markdown_code(const char *text)
{
	char shown[512], out[2 * sizeof(shown)];
	size_t n = 0;

	kc_shorten_middle(text, CODE_COLUMNS, shown, sizeof(shown));
	for (const char *at = shown; *at; at++) {
		if (*at == '|')
			out[n++] = '\\';
		out[n++] = *at == '`' ? '\'' : *at;
	}
	out[n] = '\0';
	printf(*out ? "`%s`" : "%s", out);
}

void kc_fields_markdown(const struct kc_fields *fields, const void *rows, size_t n)
{
	char text[KC_FORMAT_BYTES];

	for (int line = 0; n > 0 && line < 2; line++) {
		fputs(line == 0 ? "\n|" : "|", stdout);
		for (size_t i = 0; i < fields->count; i++)
			if (is_column(fields->at + i))
				printf(line == 0                 ? " %s |"
				       : is_text(fields->at + i) ? "---|"
								 : "--:|",
				       fields->at[i].head);
		putchar('\n');
	}
	for (size_t r = 0; r < n; r++) {
		putchar('|');
		for (size_t i = 0; i < fields->count; i++) {
			const struct kc_field *field = fields->at + i;
			const char *cell = cell_of(field, row_at(fields, rows, r), text);

			if (!is_column(field))
				continue;
			putchar(' ');
			if (field->unit == KC_FIELD_NAME)
				kc_markdown_code(cell);
			else
				printf("%s", cell);
			fputs(" |", stdout);
		}
		putchar('\n');
	}
}

json_t *kc_fields_json(const struct kc_fields *fields, const void *row)
{
	json_t *out = json_object();

	for (size_t i = 0; i < fields->count; i++) {
		const struct kc_field *field = fields->at + i;

		if (field->key)
			json_object_set_new(out, field->key,
					    is_text(field) ? kc_json_text(text_at(field, row))
					    : field->unit == KC_FIELD_SIGNED_PERCENT
						? kc_json_percent(number_at(field, row))
						: kc_json_real(number_at(field, row)));
	}
	return out;
}
