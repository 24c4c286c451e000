/*
 * Tables whose columns are said once, as fields of a struct that is a row: text,
 * Markdown and JSON are made of them.
 */
#ifndef KC_FIELDS_H
#define KC_FIELDS_H

#include <jansson.h>
#include <stddef.h>

enum kc_field_unit {
	KC_FIELD_TEXT, /* const char *, NULL: none; all others are double, NAN where not known */
	KC_FIELD_NAME, /* the same, of a kernel: the text's column gives way, Markdown shows code */
	KC_FIELD_COUNT,
	KC_FIELD_NS,
	KC_FIELD_SIGNED_NS,      /* "+4.70 ms" */
	KC_FIELD_SIGNED_PERCENT, /* of a share: 0.262 is "+26.2 %" */
	KC_FIELD_P,              /* how likely by chance */
	KC_FIELD_NOTE,           /* const char *: a line below the row in text, nothing in Markdown */
};

struct kc_field {
	const char *key;  /* of JSON; NULL: not there */
	const char *head; /* of the column; NULL: in JSON alone */
	enum kc_field_unit unit;
	size_t at; /* its offset in the row */
};

/* Fields of rows of this many bytes. */
struct kc_fields {
	const struct kc_field *at;
	size_t count, row_bytes;
};

/* A table on stdout. 0, or KC_EXIT_FAILED after a message. */
int kc_fields_table(const struct kc_fields *fields, const void *rows, size_t n, unsigned indent);
/* The same in Markdown, after an empty line. Nothing where there are no rows. */
void kc_fields_markdown(const struct kc_fields *fields, const void *rows, size_t n);
/* A name or path as code in Markdown, in a table or outside of one. */
void kc_markdown_code(const char *text);
/* An object of all fields that have a key. NULL: out of memory. */
json_t *kc_fields_json(const struct kc_fields *fields, const void *row);

#endif
