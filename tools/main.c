#include "program.h"
#include "tools/input/mistyped.h"
#include "tools/system/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kc_command *find(const char *name)
{
	const struct kc_command *command;

	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

/* NULL: none is near. */
static const char *nearest(const char *typed)
{
	struct kc_mistyped mistyped = {.typed = typed};
	const struct kc_command *command;

	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		kc_mistyped_try(&mistyped, command->name);
	return mistyped.nearest;
}

static int has_moved(const char *typed)
{
	for (unsigned i = 0; i < KC_MOVED_MAX && kc_program.moved[i]; i++) {
		if (strcmp(kc_program.moved[i], typed) == 0)
			return 1;
	}
	return 0;
}

static void say_unknown(const char *typed)
{
	const struct kc_command *runs = kc_command_that_runs();
	const char *meant = nearest(typed), *name = kc_program.name;
	char *to_run = NULL;

	if (runs && asprintf(&to_run, " (to run a program: %s %s %s)", name, runs->name, typed) < 0)
		to_run = NULL;
	if (has_moved(typed))
		kc_error("%s %s is %s %s now", name, typed, kc_program.moved_to, typed);
	else if (meant)
		kc_error("unknown command \"%s\"; did you mean %s?%s", typed, meant, to_run ? to_run : "");
	else
		kc_error("unknown command \"%s\"; `%s --help all` lists all%s", typed, name, to_run ? to_run : "");
	free(to_run);
}

static void list_commands(FILE *to, enum kc_command_group group, const char *heading, int all)
{
	const struct kc_command *command;

	fprintf(to, "\n%s\n", heading);
	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		if (command->group == group && (all || !command->seldom))
			fprintf(to, "  %-10s %s\n", command->name, command->summary);
	}
}

static int has_seldom(void)
{
	const struct kc_command *command;
	unsigned i = 0;

	while ((command = kc_command_at(i)) && !command->seldom)
		i++;
	return command != NULL;
}

static void usage(FILE *to, int all)
{
	fputs(kc_program.introduction, to);
	for (unsigned i = 0; kc_program.lists[i].heading; i++)
		list_commands(to, kc_program.lists[i].group, kc_program.lists[i].heading, all);
	if (!all && has_seldom())
		fprintf(to, "\n`%s --help all` lists the other commands, too.", kc_program.name);
	fprintf(to, "\n`%s COMMAND --help` has a command's options and examples; `man %s` has the details.\n",
		kc_program.name, kc_program.name);
	fputs(kc_program.closing, to);
}

static int is(const char *arg, const char *shortly, const char *fully)
{
	return strcmp(arg, fully) == 0 || (shortly && strcmp(arg, shortly) == 0);
}

int main(int argc, char **argv)
{
	const struct kc_command *command = argc > 1 ? find(argv[1]) : NULL;

	setvbuf(stderr, NULL, _IOLBF, 0); /* each line in one write */
	if (command && kc_config_use() < 0)
		return KC_EXIT_USAGE;
	if (command)
		return command->run(argc - 1, argv + 1, command);
	kc_output_guard();
	if (argc < 2) {
		usage(stderr, 0);
		return KC_EXIT_USAGE;
	}
	if (is(argv[1], "-h", "--help") || is(argv[1], NULL, "help")) {
		usage(stdout, argc > 2 && is(argv[2], NULL, "all"));
	} else if (is(argv[1], "-V", "--version") || is(argv[1], "-v", "version")) {
		kc_version_print();
	} else if (is(argv[1], NULL, "--library")) {
		return kc_library_print();
	} else if (is(argv[1], NULL, "--schema")) {
		return kc_schema_print();
	} else if (is(argv[1], NULL, "--man")) {
		kc_manual_print();
	} else if (is(argv[1], NULL, "--completion")) {
		if (argc != 3 || kc_completion_print(argv[2]) < 0) {
			kc_error("--completion takes the name of a shell: bash, zsh or fish");
			return KC_EXIT_USAGE;
		}
	} else {
		say_unknown(argv[1]);
		return KC_EXIT_USAGE;
	}
	return kc_output_finish();
}
