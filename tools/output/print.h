/*
 * printf() for what people read. The Makefile includes this file ahead of every
 * source of tools/: a name, a path or an option's value that holds control
 * characters is spelled out (store/common/printable.h) wherever it is printed, so no name
 * moves the cursor, begins a line or turns the direction of reading. Formats
 * are ours and printed as they are, as is what goes through puts() and fputs().
 */
#ifndef KC_PRINT_H
#define KC_PRINT_H

#include <argp.h> /* before the names below mean something else */
#include <stdarg.h>
#include <stdio.h>

#include "store/common/printable.h"

/* As fprintf(), but every %s is escaped, and padded by its width in columns. Conversions are those of C, without %n
 * and long double. Returns 0 or EOF. */
int kc_print(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int kc_vprint(FILE *to, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* One character, escaped if need be. */
void kc_print_char(FILE *to, const struct kc_printable *shown);
/* As argp_error(), with names escaped in the same way. */
void kc_usage_error(const struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A stream that writes to another one with everything escaped but line ends: for messages of the C library about a
 * command line. NULL: no memory. */
FILE *kc_print_stream(FILE *to);

#define printf(...) kc_print(stdout, __VA_ARGS__)
#define fprintf(...) kc_print(__VA_ARGS__)
#define vprintf(...) kc_vprint(stdout, __VA_ARGS__)
#define vfprintf(...) kc_vprint(__VA_ARGS__)
#define argp_error(...) kc_usage_error(__VA_ARGS__)

#endif
