#include "program_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(const char *program, const struct option_of *options, FILE *to)
{
	static const char *const values[] = {"", " N", " N[,N...]", " NAME"};

	fprintf(to, "usage: %s [options]\n", program);
	for (; options->name; options++)
		fprintf(to, "  %s%-*s  %s\n", options->name, (int)(22 - strlen(options->name)), values[options->kind],
			options->means);
}

/* 0: not a number of 1 or more, followed by nothing or `after`. */
static long number(const char **text, char after)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(*text, &end, 10);
	if (end == *text || errno || value < 1 || value > INT_MAX || (*end && *end != after))
		return 0;
	*text = *end ? end + 1 : end;
	return value;
}

static int parse_list(struct list *list, const char *text)
{
	list->count = 0;
	do {
		long value = number(&text, ',');

		if (!value || list->count == LIST_MAX)
			return 0;
		list->values[list->count++] = value;
	} while (*text);
	return 1;
}

/* Returns how many arguments it took; 0: wrong. */
static int take(const struct option_of *option, const char *text)
{
	if (option->kind == OPTION_FLAG) {
		*(int *)option->value = 1;
		return 1;
	}
	if (!text)
		return 0;
	if (option->kind == OPTION_TEXT)
		*(const char **)option->value = text;
	else if (option->kind == OPTION_LIST)
		return parse_list(option->value, text) ? 2 : 0;
	else if (!(*(int *)option->value = (int)number(&text, '\0')))
		return 0;
	return 2;
}

static const struct option_of *find(const struct option_of *options, const char *name)
{
	while (options->name && strcmp(options->name, name))
		options++;
	return options->name ? options : NULL;
}

void options_parse(const char *program, const struct option_of *options, int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		const struct option_of *option = find(options, argv[i]);
		int taken = option ? take(option, argv[i + 1]) : 0;

		if (!strcmp(argv[i], "--help")) {
			usage(program, options, stdout);
			exit(0);
		}
		if (!taken) {
			fprintf(stderr, "%s: %s: %s\n", program, argv[i], option ? "wrong value" : "no such option");
			usage(program, options, stderr);
			exit(2);
		}
		i += taken;
	}
}
