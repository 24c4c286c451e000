#include "table.h"
#include "tools/command.h"
#include "tools/output/names/distinct.h"
#include "format.h"
#include "store/common/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE_MIN 80u
#define PAGE_MAX 100u
#define GAP 2u /* blanks between columns */
#define NOTE_INDENT 2u
#define NARROWEST 12u    /* the least width of the column that gives way */
#define CELL_BYTES 1024u /* bytes of a shortened cell */

void kc_table_init(struct kc_table *table, const struct kc_column *columns)
{
	*table = (struct kc_table){.columns = columns};
	while (table->column_count < KC_TABLE_COLUMNS && columns[table->column_count].head)
		table->column_count++;
}

static int grow(struct kc_table *table)
{
	size_t rows = table->row_capacity ? table->row_capacity * 2 : 16;
	char **cells = reallocarray(table->cells, rows * table->column_count, sizeof(*cells));
	char **notes = reallocarray(table->notes, rows, sizeof(*notes));

	if (cells)
		table->cells = cells;
	if (notes)
		table->notes = notes;
	if (!cells || !notes)
		return -ENOMEM;
	table->row_capacity = rows;
	return 0;
}

void kc_table_row(struct kc_table *table, const char *const *cells)
{
	char **row;

	if (table->row_count == table->row_capacity && grow(table) < 0) {
		table->failed = 1;
		return;
	}
	row = table->cells + table->row_count * table->column_count;
	table->notes[table->row_count++] = NULL;
	for (unsigned i = 0; i < table->column_count; i++) {
		row[i] = strdup(cells[i] ? cells[i] : "");
		if (!row[i])
			table->failed = 1;
	}
}

void kc_table_note(struct kc_table *table, const char *note)
{
	if (table->row_count > 0 && *note && !(table->notes[table->row_count - 1] = strdup(note)))
		table->failed = 1;
}

static const char *cell(const struct kc_table *table, size_t row, unsigned column)
{
	return row == 0 ? table->columns[column].head : table->cells[(row - 1) * table->column_count + column];
}

/* The number of cells without empty ones at the end, so that no line ends in blanks. */
static unsigned cells_used(const struct kc_table *table, size_t row)
{
	unsigned used = table->column_count;

	while (used > 0 && !*cell(table, row, used - 1))
		used--;
	return used;
}

static void measure(const struct kc_table *table, size_t *widths, unsigned indent, unsigned width)
{
	size_t total = indent;

	for (unsigned i = 0; i < table->column_count; i++) {
		widths[i] = 0;
		for (size_t row = 0; row <= table->row_count; row++) {
			size_t w = kc_text_width(cell(table, row, i));

			widths[i] = w > widths[i] ? w : widths[i];
		}
		total += widths[i] + (i ? GAP : 0);
	}
	for (unsigned i = 0; i < table->column_count && total > width; i++) {
		size_t excess = total - width;

		if (table->columns[i].gives_way)
			widths[i] = widths[i] > excess + NARROWEST ? widths[i] - excess : NARROWEST;
	}
}

static void print_cell(FILE *to, const char *text, size_t width, enum kc_align align, int last)
{
	char shortened[CELL_BYTES];
	size_t blanks;

	if (kc_text_width(text) > width)
		text = kc_shorten_middle(text, width, shortened, sizeof(shortened));
	blanks = width - kc_text_width(text);
	if (align == KC_RIGHT)
		fprintf(to, "%*s%s", (int)blanks, "", text);
	else
		fprintf(to, "%s%*s", text, last ? 0 : (int)blanks, "");
}

static int shorten_column(struct kc_table *table, unsigned column, size_t width)
{
	char **texts = calloc(table->row_count + 1, sizeof(*texts)),
	     **shown = calloc(table->row_count + 1, sizeof(*shown));
	int rc = texts && shown ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < table->row_count; i++)
		texts[i] = table->cells[i * table->column_count + column];
	if (rc == 0)
		rc = kc_shorten_distinct((const char *const *)texts, table->row_count, width, shown);
	for (size_t i = 0; rc == 0 && i < table->row_count; i++) {
		free(texts[i]);
		table->cells[i * table->column_count + column] = shown[i];
	}
	free(texts);
	free(shown);
	return rc;
}

/* Bytes of the text that a line of so many columns takes: up to the last blank there, or as many as fit. */
static size_t line_bytes(const char *text, size_t columns)
{
	struct kc_printable shown;
	size_t at = 0, used = 0, blank = 0, n;

	for (; (n = kc_printable_char(text + at, &shown)) > 0; at += n) {
		used += shown.columns;
		if (text[at] == ' ')
			blank = at;
		else if (used > columns && at > 0)
			return blank > 0 ? blank : at;
	}
	return at;
}

static void print_lines(FILE *to, const char *text, unsigned indent, unsigned width)
{
	while (*text) {
		size_t bytes = line_bytes(text, width > indent ? width - indent : 1);

		fprintf(to, "%*s%.*s\n", (int)indent, "", (int)bytes, text);
		text += bytes;
		text += strspn(text, " ");
	}
}

int kc_table_print(struct kc_table *table, FILE *to, unsigned indent, unsigned width)
{
	size_t widths[KC_TABLE_COLUMNS];
	int rc = table->failed ? -ENOMEM : 0;

	if (rc == 0)
		measure(table, widths, indent, width);
	for (unsigned i = 0; rc == 0 && i < table->column_count; i++)
		rc = table->columns[i].gives_way ? shorten_column(table, i, widths[i]) : 0;
	if (rc < 0)
		return rc;
	for (size_t row = 0; row <= table->row_count; row++) {
		unsigned used = cells_used(table, row);

		fprintf(to, "%*s", (int)indent, "");
		for (unsigned i = 0; i < used; i++) {
			if (i > 0)
				fprintf(to, "%*s", (int)GAP, "");
			print_cell(to, cell(table, row, i), widths[i], table->columns[i].align, i + 1 == used);
		}
		fputc('\n', to);
		if (row > 0 && table->notes[row - 1])
			print_lines(to, table->notes[row - 1], indent + NOTE_INDENT, width);
	}
	return 0;
}

void kc_table_free(struct kc_table *table)
{
	for (size_t i = 0; i < table->row_count * table->column_count; i++)
		free(table->cells[i]);
	for (size_t i = 0; i < table->row_count; i++)
		free(table->notes[i]);
	free(table->notes);
	free(table->cells);
	*table = (struct kc_table){0};
}

unsigned kc_page_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_col > PAGE_MAX)
		return PAGE_MAX;
	return size.ws_col < PAGE_MIN ? PAGE_MIN : size.ws_col;
}

void kc_print_wrapped(const char *text, unsigned indent)
{
	print_lines(stdout, text, indent, kc_page_width());
}

int kc_table_finish(struct kc_table *table, unsigned indent)
{
	int rc = kc_table_print(table, stdout, indent, kc_page_width());

	kc_table_free(table);
	return rc ? kc_failed(rc) : 0;
}
