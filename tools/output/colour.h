/*
 * Colour for people at a terminal, and for nobody else: not in pipes and files,
 * and not where NO_COLOR is set (no-color.org), TERM is not set, or TERM=dumb.
 * Cells of tables have none, so that their widths are those of their text.
 */
#ifndef KC_COLOUR_H
#define KC_COLOUR_H

#include <stdio.h>

enum kc_colour { KC_PLAIN, KC_BOLD, KC_RED, KC_GREEN, KC_YELLOW };

/* no_color, term: the values of these variables, NULL where they are not set. */
int kc_colour_wanted(int is_terminal, const char *no_color, const char *term);

/* As fprintf() of print.h, in colour where `to` is a terminal that wants it. Without the line's end, which has none. */
void kc_colour_print(FILE *to, enum kc_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define KC_SIMULATED_ALL "these times come from a stand-in device, not from a GPU."
#define KC_SIMULATED_SOME "some of these times come from a stand-in device, not from a GPU."
/* "SIMULATED: …" and an empty line on standard output: above everything else that a stand-in device gave. */
void kc_say_simulated(const char *what);

/* An empty line and a line in bold on standard output. */
void kc_heading(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
