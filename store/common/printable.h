/*
 * Text that others chose (names of kernels, devices and files, values of
 * options) as a terminal may be given it: what would move the cursor, end the
 * line, change the direction of reading or is not UTF-8 is spelled out, as in
 * "\x1b", "\n" or "\u202e". Everything else, a backslash included, stays, so
 * that what has been spelled out once is not changed again.
 */
#ifndef KC_STORE_PRINTABLE_H
#define KC_STORE_PRINTABLE_H

#include <stddef.h>

#define KC_PRINTABLE_BYTES 8u /* room for one character: "\u202e" and its NUL */

struct kc_printable {
	char text[KC_PRINTABLE_BYTES];
	unsigned bytes;   /* of text, without the NUL */
	unsigned columns; /* that it takes: 1, or bytes where it is spelled out */
};

/* Bytes of the well-formed UTF-8 sequence at text (RFC 3629); 0: there is none. */
size_t kc_utf8_sequence(const char *text);

/* The character at text, and how many bytes of text it is: 0 at its end. */
size_t kc_printable_char(const char *text, struct kc_printable *shown);

/* The whole text; what does not fit into size bytes is left out, no character
 * and no spelling is cut. Returns out. Allocates nothing, touches no errno. */
char *kc_printable_text(const char *text, char *out, size_t size);

#endif
