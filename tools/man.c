#include "command.h"
#include "version.h"

#include "store/common/options.h"

#include <stdio.h>

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
    "Every report begins by accounting for each launch:\n"
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
    "Every document and its keys are described in tools/README.md of the sources.\n";

static const char tail[] =
    ".Sh FILES\n"
    ".Bl -tag -width \"kerncast.db\"\n"
    ".It Pa kerncast.db\n"
    "the database (SQLite)\n"
    ".It Pa kerncast.db.*.kcj\n"
    "journal of a process that is running, was killed, or could not store all of its launches\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    "0 on success, 1 where the command failed, 2 for wrong use.\n"
    ".Nm Cm run\n"
    "ends with the program's own status: 128 + N where signal N ended it, 127 where it was not found,\n"
    "126 where it could not be executed.\n"
    ".Sh EXAMPLES\n"
    ".Bd -literal -offset indent\n"
    "kerncast run ./app --steps 100\n"
    "kerncast report\n"
    "kerncast export --chrome -o trace.json\n"
    "kerncast predict --device h200 blocks=4096,threads=256,fma=1024,ld_global=2048,st_global=1\n"
    "kerncast slowdown --device k40 blocks=110,threads=256,smem=1024 blocks=450,threads=256\n"
    "kerncast explain ./app --kernel saxpy --grid 64 --block 256 --args 16384,2.5,0x1000,0x20000\n"
    "kerncast import trace.csv.gz -o traces.db && kerncast replay traces.db\n"
    ".Ed\n";

/* Prints text that roff must not read as a request or an escape. */
static void put_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
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
			printf(" Ns = Ns Ar %s", option->arg);
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
	puts(".Nm\n.Fl -help | -version | -man");
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
	puts(".It Ev CUDA_INJECTION64_PATH\n"
	     "NVIDIA's driver loads the library that this variable names. With the path of libkerncast.so, programs\n"
	     "can be watched where LD_PRELOAD cannot be used.\n"
	     "Launches and graph launches are then seen by CUPTI's callbacks. Transfers and the events that order\n"
	     "streams are not, so overlap is predicted less well, and a profiler that the program itself starts\n"
	     "finds CUPTI in use.\n"
	     "If LD_PRELOAD is used as well, a launch is recorded once.\n"
	     ".El");
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
}
