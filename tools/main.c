#include "command.h"
#include "tools/input/mistyped.h"
#include "tools/system/config.h"

#include <stdio.h>
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

static void say_unknown(const char *typed)
{
	const char *meant = nearest(typed);

	if (meant)
		kc_error("unknown command \"%s\"; did you mean %s? (to run a program: kerncast run %s)", typed, meant,
			 typed);
	else
		kc_error("unknown command \"%s\"; `kerncast --help all` lists all (to run a program: kerncast run %s)",
			 typed, typed);
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

static void usage(FILE *to, int all)
{
	fputs("kerncast predicts how long each CUDA kernel will take before it runs, measures it,\n"
	      "and tells what was slow, what changed, and how good the predictions were.\n\n"
	      "Usage: kerncast COMMAND [OPTION...]     to begin: kerncast run ./app && kerncast report\n",
	      to);
	list_commands(to, KC_GROUP_RECORD, "Record", all);
	list_commands(to, KC_GROUP_ASK, "Ask what was recorded", all);
	list_commands(to, KC_GROUP_TUNE, "Tune, without running the program", all);
	list_commands(to, KC_GROUP_RESEARCH, "Research", all);
	if (!all)
		fputs("\n`kerncast --help all` lists the other commands, too.", to);
	fputs("\n`kerncast COMMAND --help` has a command's options and examples; `man kerncast` has the details.\n"
	      "Exit status: 0, 1 (the command failed) or 2 (wrong use); for run, the program's own.\n",
	      to);
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
