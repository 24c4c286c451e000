#include "fields.h"
#include "format.h"
#include "json.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE_COLUMNS 100u /* of a name in Markdown */
#define DIGITS 9
#define WHOLE 9007199254740992.0 /* below it, a double tells whole numbers apart */

static int is_text(const struct kc_field *field)
{
	return field->unit == KC_FIELD_TEXT || field->unit == KC_FIELD_NAME || field->unit == KC_FIELD_TITLE ||
	       field->unit == KC_FIELD_NOTE;
}

static int is_name(const struct kc_field *field)
{
	return field->unit == KC_FIELD_NAME || field->unit == KC_FIELD_TITLE;
}

static const char *text_at(const struct kc_field *field, const void *row)
{
	const char *const *at = (const void *)((const char *)row + field->at);

	return *at;
}

static int is_share(const struct kc_field *field)
{
	return field->unit == KC_FIELD_PERCENT || field->unit == KC_FIELD_SIGNED_PERCENT;
}

static double number_at(const struct kc_field *field, const void *row)
{
	const void *at = (const char *)row + field->at;

	switch (field->unit) {
	case KC_FIELD_COUNT64:
		return (double)*(const uint64_t *)at;
	case KC_FIELD_ID:
		return *(const int64_t *)at < 0 ? NAN : (double)*(const int64_t *)at;
	default:
		return *(const double *)at;
	}
}

double kc_field_number(const struct kc_field *field, const void *row)
{
	double value = number_at(field, row);

	if (field->unit == KC_FIELD_COUNT || field->unit == KC_FIELD_BYTES)
		value = round(value);
	return kc_shown_number(is_share(field) ? value * 100 : value);
}

double kc_shown_number(double value)
{
	char digits[32];

	if (!isfinite(value) || (value == floor(value) && fabs(value) < WHOLE))
		return value;
	snprintf(digits, sizeof(digits), "%.*g", DIGITS, value);
	return strtod(digits, NULL);
}

/* Of a text, itself, not what is in out. */
static const char *cell_of(const struct kc_field *field, const void *row, char out[static KC_FORMAT_BYTES])
{
	double value = is_text(field) ? NAN : kc_field_number(field, row);

	switch (field->unit) {
	case KC_FIELD_COUNT:
	case KC_FIELD_COUNT64:
		return isfinite(value) ? kc_format_count((uint64_t)fmin(value, 1e18), out) : "-";
	case KC_FIELD_MEAN:
		return kc_format_mean(value, out);
	case KC_FIELD_ID:
		snprintf(out, KC_FORMAT_BYTES, "%.0f", value);
		return isfinite(value) ? out : "-";
	case KC_FIELD_BYTES:
		return isfinite(value) ? kc_format_bytes((uint64_t)fmin(value, 1e18), out) : "-";
	case KC_FIELD_BYTES_PER_S:
		return kc_format_rate(value, "GB/s", out);
	case KC_FIELD_FLOPS_PER_S:
		return value < 1e13 ? kc_format_rate(value, "GFLOP/s", out)
				    : kc_format_rate(value / 1e3, "TFLOP/s", out);
	case KC_FIELD_NS:
		return kc_format_ns(value, out);
	case KC_FIELD_SIGNED_NS:
		return kc_format_signed_ns(value, out);
	case KC_FIELD_PERCENT:
		return kc_format_percent(value, out);
	case KC_FIELD_SIGNED_PERCENT:
		return kc_format_signed_percent(value, out);
	case KC_FIELD_RATIO:
		return kc_format_ratio(value, out);
	case KC_FIELD_P:
		snprintf(out, KC_FORMAT_BYTES, value < 1e-6 ? "< 1e-6" : "%.2g", value);
		return isfinite(value) ? out : "-";
	default:
		return text_at(field, row) ? text_at(field, row) : "";
	}
}

static const void *row_at(const struct kc_fields *fields, const void *rows, size_t i)
{
	return (const char *)rows + i * fields->row_bytes;
}

/* What is in the name's place of a row that has none; NULL: it has one, or no note. */
static const char *note_for_name(const struct kc_fields *fields, const void *row)
{
	const char *note = NULL;

	for (size_t i = 0; i < fields->count; i++) {
		const char *text = is_text(fields->at + i) ? text_at(fields->at + i, row) : NULL;

		if (is_name(fields->at + i) && text)
			return NULL;
		if (fields->at[i].unit == KC_FIELD_NOTE)
			note = text;
	}
	return note;
}

static int is_in(const struct kc_field *field, unsigned in)
{
	return !in || !field->in || (field->in & in);
}

static const char *head_of(const struct kc_fields *fields, const struct kc_field *field)
{
	return is_name(field) && fields->name ? fields->name : field->head;
}

static int is_column(const struct kc_field *field, unsigned in)
{
	return field->head && field->unit != KC_FIELD_NOTE && is_in(field, in);
}

int kc_fields_table(const struct kc_fields *fields, unsigned in, const void *rows, size_t n, unsigned indent)
{
	struct kc_column columns[KC_TABLE_COLUMNS + 1] = {0};
	char text[KC_TABLE_COLUMNS][KC_FORMAT_BYTES];
	struct kc_table table;
	unsigned count = 0;

	for (size_t i = 0; i < fields->count && count < KC_TABLE_COLUMNS; i++)
		if (is_column(fields->at + i, in))
			columns[count++] =
			    (struct kc_column){head_of(fields, fields->at + i),
					       is_text(fields->at + i) ? KC_LEFT : KC_RIGHT, is_name(fields->at + i)};
	kc_table_init(&table, columns);
	for (size_t r = 0; r < n; r++) {
		const void *row = row_at(fields, rows, r);
		const char *cells[KC_TABLE_COLUMNS] = {0}, *note = NULL, *for_name = note_for_name(fields, row);

		for (size_t i = 0, c = 0; i < fields->count && c < count; i++)
			if (is_column(fields->at + i, in)) {
				cells[c] = for_name && is_name(fields->at + i) ? for_name
									       : cell_of(fields->at + i, row, text[c]);
				c++;
			}
		kc_table_row(&table, cells);
		for (size_t i = 0; i < fields->count; i++)
			if (fields->at[i].unit == KC_FIELD_NOTE && is_in(fields->at + i, in))
				note = text_at(fields->at + i, row);
		kc_table_note(&table, note && !for_name ? note : "");
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

void kc_fields_markdown(const struct kc_fields *fields, unsigned in, const void *rows, size_t n)
{
	char text[KC_FORMAT_BYTES];

	for (int line = 0; n > 0 && line < 2; line++) {
		fputs(line == 0 ? "\n|" : "|", stdout);
		for (size_t i = 0; i < fields->count; i++)
			if (is_column(fields->at + i, in))
				printf(line == 0                 ? " %s |"
				       : is_text(fields->at + i) ? "---|"
								 : "--:|",
				       head_of(fields, fields->at + i));
		putchar('\n');
	}
	for (size_t r = 0; r < n; r++) {
		const char *for_name = note_for_name(fields, row_at(fields, rows, r));

		putchar('|');
		for (size_t i = 0; i < fields->count; i++) {
			const struct kc_field *field = fields->at + i;
			const char *cell = cell_of(field, row_at(fields, rows, r), text);

			if (!is_column(field, in))
				continue;
			putchar(' ');
			if (is_name(field) && for_name)
				printf("%s", for_name);
			else if (field->unit == KC_FIELD_NAME)
				kc_markdown_code(cell);
			else
				printf("%s", cell);
			fputs(" |", stdout);
		}
		putchar('\n');
	}
}

static json_t *value_json(const struct kc_field *field, const void *row)
{
	double value;

	if (is_text(field))
		return kc_json_text(text_at(field, row));
	value = kc_field_number(field, row);
	if (value == floor(value) && fabs(value) < WHOLE)
		return json_integer((json_int_t)value);
	return kc_json_real(value);
}

/* Without what is before a point. */
static const char *last_part(const char *key)
{
	const char *point = strrchr(key, '.');

	return point ? point + 1 : key;
}

/* The object that the key's last part is of, made where it is not there. */
static json_t *object_of(json_t *out, const char *key)
{
	const char *last = last_part(key);
	json_t *inner;
	char name[64];

	if (last == key)
		return out;
	snprintf(name, sizeof(name), "%.*s", (int)(last - 1 - key), key);
	inner = json_object_get(out, name);
	if (!inner) {
		json_object_set_new(out, name, json_object());
		inner = json_object_get(out, name);
	}
	return inner;
}

json_t *kc_fields_json(const struct kc_fields *fields, const void *row)
{
	json_t *out = json_object();

	for (size_t i = 0; i < fields->count; i++) {
		const struct kc_field *field = fields->at + i;

		if (field->key)
			json_object_set_new(object_of(out, field->key), last_part(field->key), value_json(field, row));
	}
	return out;
}

json_t *kc_fields_json_list(const struct kc_fields *fields, const void *rows, size_t n)
{
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(out, kc_fields_json(fields, row_at(fields, rows, i)));
	return out;
}

static const char *csv_name(const struct kc_field *field)
{
	if (field->csv)
		return *field->csv ? field->csv : NULL;
	return field->key ? last_part(field->key) : NULL;
}

static void csv_head(const struct kc_fields *fields, struct kc_csv *csv)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct kc_field *field = fields->at + i;
		char text[64];

		if (!csv_name(field))
			continue;
		snprintf(text, sizeof(text), is_share(field) ? "%s_percent" : "%s", csv_name(field));
		kc_csv_text(csv, is_name(field) && fields->name ? fields->name : text);
	}
	kc_csv_text(csv, "simulated");
	kc_csv_end_row(csv);
}

static void csv_field(const struct kc_field *field, const void *row, struct kc_csv *csv)
{
	double value = is_text(field) ? NAN : kc_field_number(field, row);

	if (is_text(field))
		kc_csv_text(csv, text_at(field, row));
	else if (value == floor(value) && fabs(value) < WHOLE)
		kc_csv_integer(csv, (int64_t)value);
	else
		kc_csv_real(csv, value);
}

void kc_fields_csv(const struct kc_fields *fields, const void *rows, size_t n, int simulated, FILE *to)
{
	struct kc_csv csv = {.to = to};

	csv_head(fields, &csv);
	for (size_t r = 0; r < n; r++) {
		for (size_t i = 0; i < fields->count; i++)
			if (csv_name(fields->at + i))
				csv_field(fields->at + i, row_at(fields, rows, r), &csv);
		kc_csv_integer(&csv, simulated);
		kc_csv_end_row(&csv);
	}
}

int kc_fields_put(const struct kc_fields *fields, unsigned in, const void *rows, size_t n, struct kc_fields_form form)
{
	if (!form.csv)
		return kc_fields_table(fields, in, rows, n, form.indent);
	kc_fields_csv(fields, rows, n, form.simulated, stdout);
	return 0;
}

json_t *kc_fields_of_page(const struct kc_fields *fields, unsigned in)
{
	static const char *const units[] = {
	    [KC_FIELD_TEXT] = "text",
	    [KC_FIELD_NAME] = "name",
	    [KC_FIELD_TITLE] = "text",
	    [KC_FIELD_COUNT] = "count",
	    [KC_FIELD_COUNT64] = "count",
	    [KC_FIELD_MEAN] = "mean",
	    [KC_FIELD_ID] = "id",
	    [KC_FIELD_BYTES] = "bytes",
	    [KC_FIELD_BYTES_PER_S] = "rate",
	    [KC_FIELD_FLOPS_PER_S] = "flops",
	    [KC_FIELD_NS] = "ns",
	    [KC_FIELD_SIGNED_NS] = "signed_ns",
	    [KC_FIELD_PERCENT] = "percent",
	    [KC_FIELD_SIGNED_PERCENT] = "signed_percent",
	    [KC_FIELD_RATIO] = "ratio",
	    [KC_FIELD_P] = "p",
	    [KC_FIELD_NOTE] = "text",
	};
	json_t *out = json_array();

	for (size_t i = 0; i < fields->count; i++) {
		const struct kc_field *field = fields->at + i;
		json_t *column;

		if (!field->key || !field->head || !is_in(field, in))
			continue;
		column = json_object();
		json_object_set_new(column, "key", json_string(field->key));
		json_object_set_new(column, "head", json_string(head_of(fields, field)));
		json_object_set_new(column, "unit", json_string(units[field->unit]));
		if (field->about)
			json_object_set_new(column, "about", json_string(field->about));
		json_array_append_new(out, column);
	}
	return out;
}
