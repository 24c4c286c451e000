/* Small things that every --json needs. */
#ifndef KC_JSON_H
#define KC_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* The object of a whole document, which begins with its "schema": "kerncast.NAME/VERSION". The version goes up when
 * a key is removed or changes its meaning, not when one is added. */
json_t *kc_json_document(const char *name, unsigned version);
/* A number; null where it is not known (NAN). */
json_t *kc_json_real(double value);
/* The same in percent, for a share 0..1. */
json_t *kc_json_percent(double share);
/* Text whose bytes that are not UTF-8 become U+FFFD; NULL becomes null. */
json_t *kc_json_text(const char *text);
/* Writes the value with jansson's flags; control characters in it are escaped, also those that JSON allows. */
void kc_json_write(const json_t *value, FILE *to, size_t flags);
/* Prints the document and a line end on stdout, and releases it. Returns an exit status. */
int kc_json_print(json_t *document);
/* The same with all 15 digits that a double is sure to hold, for numbers that others compute with. */
int kc_json_print_precise(json_t *document);

/* The same piece by piece, for a document whose last key is a long list: the other keys, then the elements of the list
 * one by one, and the end. Both release what they print. 0, -ENOMEM */
int kc_json_open(json_t *document, const char *list);
int kc_json_element(json_t *element, int is_first);
/* Returns an exit status. */
int kc_json_close(void);

#endif
