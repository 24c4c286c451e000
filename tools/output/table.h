/*
 * Aligned tables for the terminal. A struct kc_table holds the cells of its
 * rows as text until all are known, since a column is as wide as its widest
 * cell. At most one column gives way (its cells are shortened
 * so that a line fits the width asked for, and so that different ones still read
 * differently: distinct.h).
 */
#ifndef KC_TABLE_H
#define KC_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define KC_TABLE_COLUMNS 16u

enum kc_align { KC_LEFT, KC_RIGHT };

struct kc_column {
	const char *head; /* NULL after the last column */
	enum kc_align align;
	int gives_way;
};

struct kc_table {
	const struct kc_column *columns;
	unsigned column_count;
	char **cells; /* row_count * column_count */
	char **notes; /* row_count, NULL: none */
	size_t row_count, row_capacity;
	int failed; /* out of memory: nothing is printed */
};

/* columns: up to KC_TABLE_COLUMNS, closed by a NULL head; kept, not copied. */
void kc_table_init(struct kc_table *table, const struct kc_column *columns);
/* One row: as many cells as columns, copied; NULL reads as "". */
void kc_table_row(struct kc_table *table, const char *const *cells);
/* Adds a line below the last row; "": none. Copied. */
void kc_table_note(struct kc_table *table, const char *note);
/* Every line starts with indent blanks and takes at most width columns, unless
 * what may not give way is wider. The cells that give way stay shortened. Returns 0 or -ENOMEM. */
int kc_table_print(struct kc_table *table, FILE *to, unsigned indent, unsigned width);
void kc_table_free(struct kc_table *table);
/* Prints the table on stdout for kc_page_width() and frees it. Returns 0, or KC_EXIT_FAILED after a message. */
int kc_table_finish(struct kc_table *table, unsigned indent);

/* The width to print for: that of the terminal, from 80 to 100; 100 if stdout is not a terminal. */
unsigned kc_page_width(void);

/* Prints lines of whole words as wide as that, each after indent blanks. */
void kc_print_wrapped(const char *text, unsigned indent);

#endif
