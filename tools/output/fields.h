/*
 * Tables whose columns are said once, as fields of a struct that is a row. Text,
 * Markdown, JSON, CSV and the page are made of them, and each has every number
 * from one place: kc_field_number(). What is added to a list of fields is in all.
 */
#ifndef KC_FIELDS_H
#define KC_FIELDS_H

#include "csv.h"

#include <jansson.h>
#include <stddef.h>

enum kc_field_unit {
	KC_FIELD_TEXT,  /* const char *, NULL: none; numbers are double, NAN where not known, unless said otherwise */
	KC_FIELD_NAME,  /* the same, of a kernel: the text's column gives way, Markdown shows code */
	KC_FIELD_TITLE, /* the same, of a process, stream or GPU: no code */
	KC_FIELD_COUNT,
	KC_FIELD_COUNT64, /* uint64_t */
	KC_FIELD_MEAN,    /* of counts: "18.5", and whole ones as these */
	KC_FIELD_ID,      /* int64_t, shown as it is; below 0: not known */
	KC_FIELD_BYTES,
	KC_FIELD_BYTES_PER_S, /* "12.4 GB/s" */
	KC_FIELD_FLOPS_PER_S, /* "12.4 GFLOP/s", from 1e13 on "12.4 TFLOP/s" */
	KC_FIELD_NS,
	KC_FIELD_SIGNED_NS,      /* "+4.70 ms" */
	KC_FIELD_PERCENT,        /* of a share: 0.262 is "26.2 %", and 26.2 in JSON and CSV */
	KC_FIELD_SIGNED_PERCENT, /* "+26.2 %" */
	KC_FIELD_RATIO,          /* "1.08" */
	KC_FIELD_P,              /* how likely by chance */
	KC_FIELD_NOTE,           /* const char *: a line below the row in text, nothing in Markdown; of a row without
				    a name, in its place in both, never as code */
};

struct kc_field {
	const char *key;  /* of JSON, the page and CSV; "a.b": b of the object a, in CSV b; NULL: not there */
	const char *head; /* of the column; NULL: in JSON and CSV alone */
	enum kc_field_unit unit;
	size_t at;   /* its offset in the row */
	unsigned in; /* the tables, as bits, whose column it is; 0: of all */
	const char
	    *csv; /* the column of CSV, where it is not the key; "": not there. Of a share, "_percent" is added */
	const char *about; /* what it means, for the page; NULL: the head says it */
};

/* KC_FIELD_OF(struct row, "key", "head", NS, member, .about = "…") */
#define KC_FIELD_OF(type, key_, head_, unit_, member, ...)                                                             \
	{                                                                                                              \
		.key = key_, .head = head_, .unit = KC_FIELD_##unit_, .at = offsetof(type, member), __VA_ARGS__        \
	}

/* Fields of rows of this many bytes. */
struct kc_fields {
	const struct kc_field *at;
	size_t count, row_bytes;
	const char *name; /* what the names are of: their head, in CSV, too; NULL: as the field says */
};

#define KC_FIELDS(list, type, ...)                                                                                     \
	{                                                                                                              \
		.at = list, .count = sizeof(list) / sizeof(*(list)), .row_bytes = sizeof(type), __VA_ARGS__            \
	}

/* A number as every output has it: whole, or of nine digits; a share in percent. */
double kc_field_number(const struct kc_field *field, const void *row);
/* The same of a number that is not in a table. */
double kc_shown_number(double value);

/* A table on stdout, of the columns in these tables (bits; 0: all). 0, or KC_EXIT_FAILED after a message. */
int kc_fields_table(const struct kc_fields *fields, unsigned in, const void *rows, size_t n, unsigned indent);
/* The same in Markdown, after an empty line. Nothing where there are no rows. */
void kc_fields_markdown(const struct kc_fields *fields, unsigned in, const void *rows, size_t n);
/* A name or path as code in Markdown, in a table or outside of one. */
void kc_markdown_code(const char *text);
/* An object of all fields that have a key. NULL: out of memory. */
json_t *kc_fields_json(const struct kc_fields *fields, const void *row);
/* An array of these. NULL: out of memory. */
json_t *kc_fields_json_list(const struct kc_fields *fields, const void *rows, size_t n);
/* Of all fields that have a column in CSV: the line of their heads, and those of the rows. The last column says of each
 * row whether a stand-in device was used. */
void kc_fields_csv(const struct kc_fields *fields, const void *rows, size_t n, int simulated, FILE *to);
/* As CSV on stdout, or as kc_fields_table() does. */
struct kc_fields_form {
	int csv, simulated;
	unsigned indent;
};
int kc_fields_put(const struct kc_fields *fields, unsigned in, const void *rows, size_t n, struct kc_fields_form form);
/* What the page makes the columns in these tables of: an array of `key`, `head`, `unit` and `about`. NULL: out of
 * memory. */
json_t *kc_fields_of_page(const struct kc_fields *fields, unsigned in);

#endif
