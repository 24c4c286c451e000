#include "mistyped.h"
#include "tools/command.h"

#include <string.h>

#define MOST 2u   /* letters that are left out, put in or changed */
#define BYTES 32u /* longer words are no mistyped ones */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned less = a < b ? a : b;

	return less < c ? less : c;
}

/* Levenshtein's distance. */
static unsigned distance(const char *word, const char *typed, size_t bytes)
{
	unsigned row[BYTES + 1], corner;

	for (unsigned k = 0; k <= bytes; k++)
		row[k] = k;
	for (unsigned i = 0; word[i]; i++) {
		corner = row[0]++;
		for (size_t k = 1; k <= bytes; k++) {
			unsigned changed = corner + (word[i] != typed[k - 1]);

			corner = row[k];
			row[k] = least(changed, row[k] + 1, row[k - 1] + 1);
		}
	}
	return row[bytes];
}

void kc_mistyped_try(struct kc_mistyped *mistyped, const char *word)
{
	size_t bytes = strlen(mistyped->typed);
	unsigned of = bytes <= BYTES ? distance(word, mistyped->typed, bytes) : MOST + 1;

	if (of > MOST || 2 * of > bytes || (mistyped->nearest && mistyped->distance <= of))
		return;
	mistyped->nearest = word;
	mistyped->distance = of;
}

static int is_end(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc;
}

/* A long option of which this is the beginning, as argp takes it too; NULL: there is none. */
static const struct argp_option *long_option(const struct argp_option *const lists[], const char *name, size_t length)
{
	for (; *lists; lists++)
		for (const struct argp_option *option = *lists; !is_end(option); option++)
			if (option->name && !strncmp(option->name, name, length))
				return option;
	return NULL;
}

/* Whether the last of short options takes the next word. */
static int short_takes_next(const struct argp_option *const lists[], const char *letters)
{
	for (; *lists; lists++)
		for (const struct argp_option *option = *lists; !is_end(option); option++)
			if (option->key == letters[strlen(letters) - 1] && option->arg)
				return !(option->flags & OPTION_ARG_OPTIONAL);
	return 0;
}

/* 1: something is near. */
static int say(const struct argp_option *const lists[], const char *name, size_t length)
{
	char typed[BYTES + 2];
	struct kc_mistyped mistyped = {.typed = typed};

	if (length > BYTES)
		length = BYTES + 1;
	memcpy(typed, name, length);
	typed[length] = '\0';
	for (; *lists; lists++)
		for (const struct argp_option *option = *lists; !is_end(option); option++)
			if (option->name && !(option->flags & OPTION_HIDDEN))
				kc_mistyped_try(&mistyped, option->name);
	if (mistyped.nearest)
		kc_error("unknown option --%s; did you mean --%s?", typed, mistyped.nearest);
	return mistyped.nearest != NULL;
}

int kc_mistyped_option(int argc, char **argv, const struct argp_option *const lists[], int argument_ends_options)
{
	for (int i = 1; i < argc && argv[i] && strcmp(argv[i], "--") != 0; i++) {
		const char *name = argv[i] + 2;
		size_t length;
		const struct argp_option *option;

		if (argv[i][0] != '-' || !argv[i][1]) {
			if (argument_ends_options)
				return 0;
			continue;
		}
		if (argv[i][1] != '-') {
			i += short_takes_next(lists, argv[i]);
			continue;
		}
		length = strcspn(name, "=");
		option = long_option(lists, name, length);
		if (!option)
			return say(lists, name, length);
		i += option->arg && !(option->flags & OPTION_ARG_OPTIONAL) && !name[length];
	}
	return 0;
}
