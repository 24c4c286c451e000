/*
 * Examples of a command: for the end of its --help, and for the manual.
 */
#ifndef KC_EXAMPLES_H
#define KC_EXAMPLES_H

struct kc_example {
	const char *command;  /* its name */
	const char *commands; /* command lines that work, each begun with two blanks and ended with "\n" */
	const char *output;   /* what the first of them prints; where it is shortened, "…" */
};

#endif
