#include "tools/program.h"

#include "store/common/options.h"
#include "store/common/version.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The character's number, as roff names it: "\[u00B5]". at: the beginning of a sequence of UTF-8. */
static void put_character(const unsigned char *at, size_t bytes)
{
	uint32_t number = at[0] & (0xffu >> (bytes + 1));

	for (size_t i = 1; i < bytes; i++)
		number = number << 6 | (at[i] & 0x3fu);
	printf("\\[u%04" PRIX32 "]", number);
}

/* Prints text that roff must not read as a request or an escape. */
static void put_text(const char *text)
{
	int line_begins = 1;

	while (*text) {
		size_t bytes = kc_utf8_sequence(text);

		if (line_begins && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		line_begins = *text == '\n';
		if (bytes > 1)
			put_character((const unsigned char *)text, bytes);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
		text += bytes ? bytes : 1;
	}
}

/* A line may end between alternatives: there may be more of them than fit one. */
static void put_argument(const char *text)
{
	fputs(" Ns = Ns Ar ", stdout);
	for (; *text; text++) {
		putchar(*text);
		if (*text == '|')
			fputs("\\:", stdout);
	}
}

static void put_options(const struct argp_option *option)
{
	for (; option->name || option->key; option++) {
		if (option->flags & OPTION_HIDDEN)
			continue;
		printf(".It ");
		if (option->key > ' ' && option->key < 0x7f)
			printf("Fl %c , ", option->key);
		printf("Fl -%s", option->name);
		if (option->arg)
			put_argument(option->arg);
		putchar('\n');
		put_text(option->doc);
		putchar('\n');
	}
}

static void put_command(const struct kc_command *command)
{
	printf(".It Nm Cm %s Oo Ar option ... Oc Ar %s\n", command->name, command->arguments);
	fputs(command->manual, stdout);
	if (!command->options)
		return;
	puts(".Bl -tag -width indent");
	put_options(command->options);
	puts(".El");
}

static void put_synopsis(void)
{
	const struct kc_command *command;

	puts(".Sh SYNOPSIS");
	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		printf(".Nm\n.Cm %s\n.Op Ar option ...\n.Ar %s\n", command->name, command->arguments);
	puts(".Nm\n.Fl -help | -version | -library | -man | -schema");
}

static void put_environment(void)
{
	puts(".Sh ENVIRONMENT\n"
	     "The options of\n"
	     ".Nm Cm run\n"
	     "are passed to libkerncast.so in these variables. It reads them as well when it is preloaded without\n"
	     ".Nm Cm run .\n"
	     ".Bl -tag -width indent");
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const struct kc_option_info *info = kc_option_info(i);

		printf(".It Ev %s\n", info->env);
		put_text(info->help);
		if (*info->value)
			printf(" (default: %s)", info->value);
		putchar('\n');
	}
	puts(".It Ev KERNCAST_CONFIG\n"
	     "file to read in place of\n"
	     ".Pa ~/.config/kerncast.conf ;\n"
	     "empty: none. Read by\n"
	     ".Nm\n"
	     "alone.\n"
	     ".It Ev NO_COLOR , TERM\n"
	     "Output on a terminal has some colour unless\n"
	     ".Ev NO_COLOR\n"
	     "is set, or\n"
	     ".Ev TERM\n"
	     "is not set or dumb.\n"
	     ".It Ev CUDA_INJECTION64_PATH\n"
	     "NVIDIA's driver loads the library that this variable names. With the path of libkerncast.so, programs\n"
	     "can be watched where LD_PRELOAD cannot be used.\n"
	     "Launches and graph launches are then seen by CUPTI's callbacks. Transfers and the events that order\n"
	     "streams are not, so overlap is predicted less well, and a profiler that the program itself starts\n"
	     "finds CUPTI in use.\n"
	     "If LD_PRELOAD is used as well, a launch is recorded once.\n"
	     ".Nm Fl -library\n"
	     "prints that path.\n"
	     ".It Ev NVTX_INJECTION64_PATH\n"
	     "The library that gets the ranges that a program marks with NVTX.\n"
	     ".Nm Cm run\n"
	     "sets it to libkerncast.so, unless it names another tool's.\n"
	     ".El");
}

/* Their output is from real GPUs or, where it says so, from the stand-in. */
static void put_examples(void)
{
	const struct kc_example *example;

	puts(".Sh EXAMPLES");
	fputs(kc_program.manual->examples, stdout);
	puts(".Bd -literal -offset indent");
	for (unsigned i = 0; (example = kc_example_at(i)); i++) {
		size_t first = strcspn(example->commands, "\n");

		if (i)
			putchar('\n');
		printf("$%.*s\n", (int)first - 1, example->commands + 1);
		put_text(example->output);
	}
	puts(".Ed");
}

static void put_head(void)
{
	printf(".Dd " KC_RELEASED "\n"
	       ".Dt %s 1\n"
	       ".Os kerncast " KC_VERSION "\n"
	       ".Sh NAME\n"
	       ".Nm %s\n"
	       ".Nd %s\n",
	       kc_program.manual->title, kc_program.name, kc_program.manual->purpose);
}

void kc_manual_print(void)
{
	const struct kc_manual *manual = kc_program.manual;
	const struct kc_command *command;

	put_head();
	put_synopsis();
	fputs(manual->description, stdout);
	puts(".Bl -tag -width indent");
	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		put_command(command);
	puts(".El");
	fputs(manual->notes, stdout);
	if (kc_command_that_runs())
		put_environment();
	fputs(manual->tail, stdout);
	put_examples();
}
