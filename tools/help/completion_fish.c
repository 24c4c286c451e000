#include "completion.h"
#include "tools/program.h"

#include <stdio.h>

static const char head[] =
    "# fish completion for kerncast, made from its option tables: kerncast --completion fish\n"
    "\n"
    "# Whether the command line is that of a command; of run, before the program's name.\n"
    "function __kerncast_is -a command\n"
    "\tset -l words (commandline -opc)\n"
    "\ttest \"$words[2]\" = \"$command\"; and test (__kerncast_program) -eq 0\n"
    "end\n"
    "\n"
    "function __kerncast_runs\n"
    "\tset -l words (commandline -opc)\n"
    "\ttest \"$words[2]\" = run\n"
    "end\n"
    "\n"
    "# The index of the program that `kerncast run` runs; 0: not typed yet, or another command.\n"
    "function __kerncast_program\n"
    "\tset -l words (commandline -opc)\n"
    "\tset -l value no\n"
    "\tif test \"$words[2]\" != run; or test (count $words) -lt 3\n"
    "\t\techo 0\n"
    "\t\treturn\n"
    "\tend\n"
    "\tfor i in (seq 3 (count $words))\n"
    "\t\tif test $value = yes\n"
    "\t\t\tset value no\n"
    "\t\telse if test \"$words[$i]\" = --\n"
    "\t\t\tmath $i + 1\n"
    "\t\t\treturn\n"
    "\t\telse if contains -- \"$words[$i]\" $__kerncast_run_valued\n"
    "\t\t\tset value yes\n"
    "\t\telse if not string match -q -- '-*' \"$words[$i]\"\n"
    "\t\t\techo $i\n"
    "\t\t\treturn\n"
    "\t\tend\n"
    "\tend\n"
    "\techo 0\n"
    "end\n"
    "\n"
    "# What fish offers for the program alone.\n"
    "function __kerncast_offer_program\n"
    "\tset -l words (commandline -opc)\n"
    "\tset -l program (__kerncast_program)\n"
    "\tset -l before\n"
    "\tif test $program -gt 0; and test $program -le (count $words)\n"
    "\t\tset before (string escape -- $words[$program..-1])\n"
    "\tend\n"
    "\tcomplete --do-complete=(string join ' ' -- $before (commandline -ct | string collect -a))\n"
    "end\n"
    "\n"
    "complete -c kerncast -f\n";

/* Inside single quotes. */
static void put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void put_option(const char *command, const struct argp_option *option)
{
	kc__put_named("complete -c kerncast -n '__kerncast_is ", '_');
	printf("%s' -l %s", command, option->name);
	if (kc__option_letter(option))
		printf(" -s %c", kc__option_letter(option));
	if (option->arg)
		fputs(kc__option_takes_file(option) ? " -r -F" : " -x", stdout);
	if (option->arg && kc__option_has_known(option)) {
		fputs(" -a '", stdout);
		kc__put_known(option);
		putchar('\'');
	}
	fputs(" -d ", stdout);
	put_quoted(option->doc ? option->doc : "");
	putchar('\n');
}

static void put_options(const char *command, const struct argp_option *option)
{
	for (; option && !kc__option_is_last(option); option++) {
		if (kc__option_is_shown(option))
			put_option(command, option);
	}
}

static void put_arguments(const struct kc_command *command)
{
	if (command->argument_ends_options) {
		kc__put_named("complete -c kerncast -n '__kerncast_runs' -a '(__kerncast_offer_program)'\n", '_');
		return;
	}
	kc__put_named("complete -c kerncast -n '__kerncast_is ", '_');
	printf("%s'%s -a '", command->name, kc__arguments_are_files(command->arguments) ? " -F" : "");
	kc__put_literals(command->arguments);
	puts("'");
}

/* Options of run whose value is the next word. */
static void put_valued(void)
{
	const struct kc_command *runs = kc_command_that_runs();

	kc__put_named("set -g __kerncast_run_valued", '_');
	for (const struct argp_option *o = runs ? runs->options : NULL; o && !kc__option_is_last(o); o++) {
		if (!o->name || !o->arg)
			continue;
		printf(" --%s", o->name);
		if (kc__option_letter(o))
			printf(" -%c", kc__option_letter(o));
	}
	putchar('\n');
}

void kc__completion_fish(void)
{
	const struct kc_command *command;

	kc__put_named(head, '_');
	put_valued();
	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		printf("complete -c %s -n 'test (count (commandline -opc)) -eq 1' -a %s -d ", kc_program.name,
		       command->name);
		put_quoted(command->summary);
		putchar('\n');
		put_options(command->name, command->options);
		put_options(command->name, kc_help_options);
		put_arguments(command);
	}
}
