/*
 * Completion of the command line in shells, made from the option tables. completion.c has what all shells need to know
 * of an option, completion_SHELL.c writes the file of one.
 */
#ifndef KC_COMPLETION_H
#define KC_COMPLETION_H

#include <argp.h>

/* The end of a table of options. */
int kc__option_is_last(const struct argp_option *option);
/* Whether a user may type it. */
int kc__option_is_shown(const struct argp_option *option);
/* Its letter; 0: it has none. */
char kc__option_letter(const struct argp_option *option);

/* Prints the words of an argument that are literal: those in lower case, as "all" of "N|all". */
void kc__put_literals(const char *argument);
/* Prints the values of an option that are known: its literals, and the built-in devices where it takes one. */
void kc__put_known(const struct argp_option *option);
/* Whether kc__put_known() prints anything. */
int kc__option_has_known(const struct argp_option *option);
/* Whether its value may be the name of a file. */
int kc__option_takes_file(const struct argp_option *option);

/* Prints a part of a script written for "kerncast": its name within names of functions, such as _kerncast_values,
 * becomes the program's with joint in place of "-"; elsewhere the program's as it is. */
void kc__put_named(const char *text, char joint);

/* Whether each FILE, DB, DIR, … of a command is a file. */
int kc__arguments_are_files(const char *arguments);

void kc__completion_bash(void);
void kc__completion_zsh(void);
void kc__completion_fish(void);

#endif
