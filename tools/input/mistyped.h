/* What may have been meant where a word is none of those that are known. */
#ifndef KC_MISTYPED_H
#define KC_MISTYPED_H

#include <argp.h>

struct kc_mistyped {
	const char *typed;
	const char *nearest; /* of the words so far; NULL: none is near */
	unsigned distance;
};

/* Starts with {.typed = …}. */
void kc_mistyped_try(struct kc_mistyped *mistyped, const char *word);

/* Looks through a command line for a long option that is in none of the lists, and says what it may mean.
 * argument_ends_options: as in struct kc_command. 1: it has said so; 0: there is none, or nothing is near. */
int kc_mistyped_option(int argc, char **argv, const struct argp_option *const lists[], int argument_ends_options);

#endif
