#include "completion.h"
#include "tools/program.h"

#include <stdio.h>
#include <string.h>

static const char head[] = "#compdef kerncast\n"
			   "# zsh completion for kerncast, made from its option tables: kerncast --completion zsh\n"
			   "\n"
			   "_kerncast_name_or_file() { # NAME...\n"
			   "\t_alternative \"names:name:($*)\" 'files:file:_files'\n"
			   "}\n"
			   "\n"
			   "_kerncast() {\n"
			   "\tlocal context state state_descr line ret=1\n"
			   "\tlocal -a choices\n"
			   "\ttypeset -A opt_args\n"
			   "\tchoices=(\n";

static const char middle[] = "\t)\n"
			     "\tif ((CURRENT == 2)); then\n"
			     "\t\t_describe -t commands 'kerncast command' choices\n"
			     "\t\treturn\n"
			     "\tfi\n"
			     "\tshift words\n"
			     "\t((CURRENT--))\n"
			     "\tcase $words[1] in\n";

static const char tail[] = "\tesac\n"
			   "\treturn ret\n"
			   "}\n"
			   "\n"
			   "# Loaded by its name as a function, or as a script.\n"
			   "if [[ $funcstack[1] == _kerncast ]]; then\n"
			   "\t_kerncast \"$@\"\n"
			   "else\n"
			   "\tcompdef _kerncast kerncast\n"
			   "fi\n";

/* Inside single quotes. special: what _arguments and _describe would read as their own. */
static void put_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (*text == '\\' || strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

/* What an option's value may be, in the words of _arguments. */
static void put_action(const struct argp_option *option)
{
	putchar(':');
	put_quoted(option->arg, ":");
	putchar(':');
	if (kc__option_has_known(option) && kc__option_takes_file(option)) {
		kc__put_named(" _kerncast_name_or_file ", '-');
		kc__put_known(option);
	} else if (kc__option_has_known(option)) {
		putchar('(');
		kc__put_known(option);
		putchar(')');
	} else {
		fputs(kc__option_takes_file(option) ? "_files" : " ", stdout);
	}
}

/* '(-o --output)'{-o+,--output=}'[help]:DB:_files' */
static void put_option(const struct argp_option *option)
{
	const char letter = kc__option_letter(option), *joined = option->arg ? "+" : "",
		   *equals = option->arg ? "=" : "";

	if (letter)
		printf("\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", letter, option->name, letter, joined, option->name,
		       equals);
	else
		printf("\t\t\t'--%s%s[", option->name, equals);
	put_quoted(option->doc ? option->doc : "", "[]");
	putchar(']');
	if (option->arg)
		put_action(option);
	puts("' \\");
}

static void put_options(const struct argp_option *option)
{
	for (; option && !kc__option_is_last(option); option++) {
		if (kc__option_is_shown(option))
			put_option(option);
	}
}

static void put_arguments(const struct kc_command *command)
{
	if (command->argument_ends_options) { /* what follows the program is the program's own */
		puts("\t\t\t'(-)1:program:_command_names -e' \\\n"
		     "\t\t\t'*::program argument:_normal' && ret=0");
		return;
	}
	fputs("\t\t\t'*:argument:_alternative \"words:word:(", stdout);
	kc__put_literals(command->arguments);
	fputs(")\"", stdout);
	if (kc__arguments_are_files(command->arguments))
		fputs(" \"files:file:_files\"", stdout);
	puts("' && ret=0");
}

void kc__completion_zsh(void)
{
	const struct kc_command *command;

	kc__put_named(head, '-');
	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		printf("\t\t'%s:", command->name);
		put_quoted(command->summary, ":");
		puts("'");
	}
	kc__put_named(middle, '-');
	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		printf("\t%s)\n\t\t_arguments -s -S%s \\\n", command->name,
		       command->argument_ends_options ? " -A \"-*\"" : "");
		put_options(command->options);
		put_options(kc_help_options);
		put_arguments(command);
		puts("\t\t;;");
	}
	kc__put_named(tail, '-');
}
