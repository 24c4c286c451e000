/*
 * Makes text from others (names of kernels, devices and files, values of options)
 * safe to print on a terminal. Characters that would move the cursor, end the
 * line or change the direction of text, and bytes that are not UTF-8, are spelled
 * out as "\x1b", "\n" or "\u202e". Everything else is left as it is, backslashes
 * included, so a second pass changes nothing.
 */
#ifndef KC_STORE_PRINTABLE_H
#define KC_STORE_PRINTABLE_H

#include <stddef.h>

#define KC_PRINTABLE_BYTES 8u /* room for one character: "\u202e" and its NUL */

struct kc_printable {
	char text[KC_PRINTABLE_BYTES];
	unsigned bytes;   /* of text, without the NUL */
	unsigned columns; /* on the terminal: 1, or as many as bytes where it is spelled out */
};

/* Length of the well-formed UTF-8 sequence at text (RFC 3629); 0: there is none. */
size_t kc_utf8_sequence(const char *text);

/* Converts the character at text. Returns how many bytes of text it took; 0 at the end. */
size_t kc_printable_char(const char *text, struct kc_printable *shown);

/* Converts a whole text. Characters that do not fit into size bytes are left out as a
 * whole. Returns out. Allocates nothing and leaves errno alone. */
char *kc_printable_text(const char *text, char *out, size_t size);

#endif
