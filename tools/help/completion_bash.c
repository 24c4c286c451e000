#include "completion.h"
#include "tools/program.h"

#include <stdio.h>
#include <string.h>

static const char head[] = "# bash completion for kerncast, made from its option tables: kerncast --completion bash\n";

static const char tail[] =
    "\n"
    "# Sets program, the index of the program that `kerncast run` runs; 0: not typed yet.\n"
    "_kerncast_find_program() {\n"
    "\tlocal i\n"
    "\tprogram=0\n"
    "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
    "\t\tcase ${COMP_WORDS[i]} in\n"
    "\t\t--) program=$((i + 1)) ;;\n"
    "\t\t-*)\n"
    "\t\t\tif [[ $valued == *\" ${COMP_WORDS[i]} \"* ]]; then\n"
    "\t\t\t\t[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
    "\t\t\t\t((i++))\n"
    "\t\t\tfi\n"
    "\t\t\tcontinue\n"
    "\t\t\t;;\n"
    "\t\t*) program=$i ;;\n"
    "\t\tesac\n"
    "\t\tbreak\n"
    "\tdone\n"
    "}\n"
    "\n"
    "_kerncast() {\n"
    "\tlocal command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "\tlocal options='' valued='' arguments='' values='' program=0\n"
    "\tCOMPREPLY=()\n"
    "\tif ((COMP_CWORD == 1)); then\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -W \"$(_kerncast_commands)\" -- \"$word\")\n"
    "\t\treturn\n"
    "\tfi\n"
    "\t_kerncast_command \"$command\"\n"
    "\t[[ $command == run ]] && _kerncast_find_program\n"
    "\tif ((program && program < COMP_CWORD)); then # files: its arguments are its own\n"
    "\t\treturn\n"
    "\tfi\n"
    "\t# --option=value comes as three words.\n"
    "\t[[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "\t[[ $word == = ]] && word=''\n"
    "\tif [[ $valued == *\" $option \"* ]]; then\n"
    "\t\t_kerncast_values \"$command\" \"$option\"\n"
    "\telif ((!program)) && [[ $word == -* ]]; then\n"
    "\t\tvalues=$options\n"
    "\telif [[ $command == run ]]; then\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n"
    "\t\treturn\n"
    "\telse\n"
    "\t\tvalues=$arguments\n"
    "\tfi\n"
    "\tmapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\")\n"
    "}\n"
    "\n"
    "complete -o bashdefault -o default -F _kerncast kerncast\n";

static void put_long_names(const struct argp_option *option)
{
	for (; option && !kc__option_is_last(option); option++) {
		if (kc__option_is_shown(option))
			printf("--%s ", option->name);
	}
}

/* Each with a blank on either side. */
static void put_valued(const struct argp_option *option)
{
	putchar(' ');
	for (; option && !kc__option_is_last(option); option++) {
		if (!option->name || !option->arg)
			continue;
		printf("--%s ", option->name);
		if (kc__option_letter(option))
			printf("-%c ", kc__option_letter(option));
	}
}

static void put_commands(void)
{
	const struct kc_command *command;

	kc__put_named("\n_kerncast_commands() {\n\techo '", '_');
	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		printf("%s ", command->name);
	fputs("help version --help --version'\n}\n", stdout);
	kc__put_named("\n# Sets options; valued, those of them that take a value; and known arguments.\n"
		      "_kerncast_command() { # COMMAND\n\tcase $1 in\n",
		      '_');
	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		printf("\t%s)\n\t\toptions='", command->name);
		put_long_names(command->options);
		put_long_names(kc_help_options);
		fputs("'\n\t\tvalued='", stdout);
		put_valued(command->options);
		fputs("'\n\t\targuments='", stdout);
		kc__put_literals(command->arguments);
		fputs("'\n\t\t;;\n", stdout);
	}
	fputs("\tesac\n}\n", stdout);
}

static void put_values_of(const struct kc_command *command, const struct argp_option *option)
{
	printf("\t'%s --%s'", command->name, option->name);
	if (kc__option_letter(option))
		printf(" | '%s -%c'", command->name, kc__option_letter(option));
	fputs(") values='", stdout);
	kc__put_known(option);
	fputs("' ;;\n", stdout);
}

static void put_values(void)
{
	const struct kc_command *command;

	kc__put_named("\n# Sets values, the known values of an option.\n"
		      "_kerncast_values() { # COMMAND OPTION\n\tcase \"$1 $2\" in\n",
		      '_');
	for (unsigned i = 0; (command = kc_command_at(i)); i++) {
		for (const struct argp_option *o = command->options; o && !kc__option_is_last(o); o++) {
			if (o->name && o->arg && strchr(o->arg, '|'))
				put_values_of(command, o);
		}
	}
	fputs("\tesac\n}\n", stdout);
}

void kc__completion_bash(void)
{
	kc__put_named(head, '_');
	put_commands();
	put_values();
	kc__put_named(tail, '_');
}
