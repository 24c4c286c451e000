/* Arguments as one line that a shell reads back. */
#ifndef KC_SHELL_WORDS_H
#define KC_SHELL_WORDS_H

#include <stddef.h>

/* Most bytes that an argument of so many takes. */
#define KC_QUOTED_BYTES(length) (4 * (length) + 2)

/* Writes an argument, in quotes if it needs them, without a NUL. Returns its length. */
size_t kc_shell_quote(const char *argument, size_t length, char *out);

/* arguments: until NULL. The arguments that do not fit as a whole are left out. Returns out. */
char *kc_shell_words(char *const *arguments, char *out, size_t size);

#endif
