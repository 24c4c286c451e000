#include "tools/command.h"
#include "examples.h"
#include "store/common/version.h"

#include "store/common/options.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char head[] = ".Dd " KC_RELEASED "\n"
			   ".Dt KERNCAST 1\n"
			   ".Os kerncast " KC_VERSION "\n"
			   ".Sh NAME\n"
			   ".Nm kerncast\n"
			   ".Nd predicts how long CUDA kernels take, and measures what they took\n";

static const char description[] =
    ".Sh DESCRIPTION\n"
    ".Nm\n"
    "watches an unmodified CUDA program: it predicts how long each kernel will take before the kernel runs,\n"
    "alone and beside other kernels on the GPU, measures how long it took, learns from the difference, and\n"
    "reports how good its predictions were.\n"
    ".Pp\n"
    "Commands that take a database use, if none is given, the one that\n"
    ".Ev KERNCAST_DB\n"
    "names, or else\n"
    ".Pa kerncast.db\n"
    "in the working folder.\n"
    ".Pp\n"
    "The commands:\n";

static const char ledger[] =
    ".Sh LEDGER\n"
    "Every report ends by accounting for each launch:\n"
    ".Bd -literal -offset indent\n"
    "launches      = predicted + unpredictable\n"
    "predicted     = matched + unmeasured + awaited\n"
    "CUPTI records = measured + unmatched + records awaited\n"
    ".Ed\n"
    ".Pp\n"
    "A launch is matched when it was predicted and measured.\n"
    "Accuracy is over matched launches; an error is |predicted \\- measured| / measured duration.\n"
    "First seen: no measurement of the kernel was known when it was predicted.\n"
    "New size: of the kernel, but not of this launch shape.\n"
    "Repeated: of both.\n"
    "Overlapped: another kernel ran on the device at the same time. By earlier: at least one of them was launched\n"
    "before; by later: all of them were launched after, which could not be known when it was predicted.\n"
    "In JSON, CSV and the database these two are called behind and overtaken.\n"
    "\"by time\" weights each launch by its duration; \"pred/meas\" is the geometric mean of predicted/measured,\n"
    "below 1 where predictions are too short.\n"
    "Median and 90th percentile are computed from summaries and are within 1 % of the exact values, which\n"
    ".Fl -exact\n"
    "prints.\n";

static const char filters[] =
    ".Sh FILTERS\n"
    ".Nm Cm report , replay , export\n"
    "and\n"
    ".Cm diff\n"
    "take the same options for which launches they look at; all that are given must hold.\n"
    "The expressions of\n"
    ".Fl -kernel\n"
    "and\n"
    ".Fl -exclude\n"
    "are POSIX extended ones.\n"
    "The times of\n"
    ".Fl -since\n"
    "and\n"
    ".Fl -until\n"
    "are those of launch calls, from the start of the run, which is that of its first process and time 0 of\n"
    ".Cm export Fl -chrome ;\n"
    "of an imported trace, from time 0 of the trace.\n"
    "A launch that was not measured does not match\n"
    ".Fl -min .\n"
    ".Pp\n"
    "The ledger of a report is of all launches, its figures are of those that match.\n"
    "A replay replays all launches, and its figures are of those that match.\n"
    ".Cm diff\n"
    "knows which launches came before those that it compares, whether they match or not; beside\n"
    ".Fl -baseline\n"
    "it takes\n"
    ".Fl -kernel\n"
    "and\n"
    ".Fl -exclude\n"
    "only.\n"
    "Where no launch matches, the exit status is 1, and nothing is written.\n";

static const char json[] =
    ".Sh JSON\n"
    "A document begins with its schema, such as kerncast.report/1: its name, and a version that goes up when a key\n"
    "is removed or changes its meaning, not when one is added.\n"
    "Shares and errors are in percent, times in nanoseconds; unknown values are null.\n"
    "Every document and its keys are described in tools/manual of the sources.\n"
    ".Pp\n"
    ".Nm Fl -schema\n"
    "prints, as JSON, the tables and views of a database, as SQLite's sqlite_schema has them, for programs that\n"
    "read one themselves and want to know that it is as kerncast makes it.\n";

static const char tail[] =
    ".Sh FILES\n"
    ".Bl -tag -width \"kerncast.db\"\n"
    ".It Pa ~/.config/kerncast.conf\n"
    "options, in\n"
    ".Ev XDG_CONFIG_HOME\n"
    "if that is set.\n"
    "A line is \"key = value\", where key is a flag of\n"
    ".Nm Cm run\n"
    "without its dashes and value is what it takes, or on or off where it takes nothing; or it begins with #.\n"
    "For example\n"
    ".Ql measure = kernels ,\n"
    ".Ql keep = 30d ,\n"
    ".Ql quiet = on .\n"
    "What the command line says goes before what a variable says, and that before the file, for all commands.\n"
    "A line that is not understood ends the command with status 2. A file that is not yours, that others can\n"
    "write, or that is longer than 64 KiB is not read, and one line says so.\n"
    "The library does not read it: it counts for programs started by\n"
    ".Nm Cm run .\n"
    ".It Pa kerncast.db\n"
    "the database (SQLite)\n"
    ".It Pa kerncast.HOST.db\n"
    "what a host records on a network or FUSE file system, in place of\n"
    ".Pa kerncast.db .\n"
    ".It Pa kerncast.db.*.kcj\n"
    "journal of a process that is running, was killed, or could not store all of its launches\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    "0 on success, 1 where the command failed, 2 for wrong use.\n"
    ".Nm Cm run\n"
    "ends with the program's own status: 128 + N where signal N ended it, 127 where it was not found,\n"
    "126 where it could not be executed.\n";

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
	     ".El");
}

/* Their output is from real GPUs or, where it says so, from the stand-in. */
static void put_examples(void)
{
	const struct kc_example *example;

	puts(".Sh EXAMPLES\n"
	     "trace.csv.gz is the beginning of a trace of ResNet-50 on a V100; bf16.db and int8.db hold traces of a\n"
	     "vision transformer on an A100, kerncast.db of slow and export one of a training on an A100. Where lines\n"
	     "are left out, it says \\[u2026].\n"
	     ".Bd -literal -offset indent");
	for (unsigned i = 0; (example = kc_example_at(i)); i++) {
		size_t first = strcspn(example->commands, "\n");

		if (i)
			putchar('\n');
		printf("$%.*s\n", (int)first - 1, example->commands + 1);
		put_text(example->output);
	}
	puts(".Ed");
}

void kc_manual_print(void)
{
	const struct kc_command *command;

	fputs(head, stdout);
	put_synopsis();
	fputs(description, stdout);
	puts(".Bl -tag -width indent");
	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		put_command(command);
	puts(".El");
	fputs(ledger, stdout);
	fputs(filters, stdout);
	fputs(json, stdout);
	put_environment();
	fputs(tail, stdout);
	put_examples();
}
