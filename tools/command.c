#include "program.h"
#include "tools/input/mistyped.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHELL_SIGNAL_BASE 128 /* of an exit status */
#define LONGEST_ARGUMENT 50   /* columns, of an option's in its help */

const struct kc_command *kc_command_at(unsigned i)
{
	return kc_program.commands[i];
}

const struct kc_command *kc_command_that_runs(void)
{
	const struct kc_command *command;
	unsigned i = 0;

	while ((command = kc_command_at(i)) && !command->argument_ends_options)
		i++;
	return command;
}

const struct kc_example *kc_example_at(unsigned i)
{
	return kc_program.examples[i].command ? &kc_program.examples[i] : NULL;
}

const struct kc_example *kc_example_of(const char *command)
{
	const struct kc_example *example;

	for (unsigned i = 0; (example = kc_example_at(i)); i++) {
		if (strcmp(example->command, command) == 0)
			return example;
	}
	return NULL;
}

void kc_error(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", kc_program.name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int kc_failed(int rc)
{
	kc_error("%s", strerror(-rc));
	return KC_EXIT_FAILED;
}

/* Options of every command, instead of argp's own, which lack -h. */
enum { KEY_USAGE = 0x400 };
const struct argp_option kc_help_options[] = {
    {"help", 'h', NULL, 0, "print this help", -1},
    {NULL, '?', NULL, OPTION_ALIAS, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "print a short usage message", -1},
    {0},
};

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'h' && key != '?' && key != KEY_USAGE)
		return ARGP_ERR_UNKNOWN;
	argp_state_help(state, state->out_stream,
			key == KEY_USAGE ? ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK : ARGP_HELP_STD_HELP);
	return 0;
}

/* The options as help shows them: words to choose from that have no room in a line are told by the option's description
 * alone. NULL: no memory. */
static struct argp_option *options_of_help(const struct argp_option *options)
{
	struct argp_option *out;
	size_t n = 1;

	while (options[n - 1].name || options[n - 1].key || options[n - 1].doc)
		n++;
	out = calloc(n, sizeof(*out));
	for (size_t i = 0; out && i < n; i++) {
		out[i] = options[i];
		if (out[i].arg && strlen(out[i].arg) > LONGEST_ARGUMENT)
			out[i].arg = "WHAT";
	}
	return out;
}

static const struct kc_command *parsed;

/* Argp's remark on optional arguments does not apply to these commands. */
static char *filter_help(int key, const char *text, void *input)
{
	if (key == ARGP_KEY_HELP_DUP_ARGS_NOTE)
		return NULL;
	return parsed->help_filter ? parsed->help_filter(key, text, input) : (char *)text;
}

void kc_command_parse(const struct kc_command *command, int argc, char **argv, unsigned flags, argp_parser_t parser,
		      void *input)
{
	static const struct argp help = {.options = kc_help_options, .parser = parse_help};
	const struct argp_child children[] = {{&help, 0, NULL, -1}, {0}};
	const struct argp_option *const lists[] = {command->options, kc_help_options, NULL};
	const struct kc_example *example = kc_example_of(command->name);
	char name[64], doc[1024];
	FILE *plain = stderr, *shown = kc_print_stream(plain);
	struct argp_option *options = options_of_help(command->options);
	struct argp argp = {
	    .options = options ? options : command->options,
	    .parser = parser,
	    .args_doc = command->arguments,
	    .doc = doc,
	    .help_filter = filter_help,
	    .children = children,
	};

	snprintf(name, sizeof(name), "%s %s", kc_program.name, command->name);
	snprintf(doc, sizeof(doc), "%s.\v`man %s` has the details.%s%s", command->summary, kc_program.name,
		 example ? "\n\nExamples:\n" : "", example ? example->commands : "");
	doc[0] = (char)toupper((unsigned char)doc[0]);
	argv[0] = name;
	parsed = command;
	argp_err_exit_status = KC_EXIT_USAGE;
	if (kc_mistyped_option(argc, argv, lists, command->argument_ends_options))
		exit(KC_EXIT_USAGE);
	stderr = shown ? shown : plain; /* the C library quotes the command line in its errors */
	argp_parse(&argp, argc, argv, flags | ARGP_NO_HELP, NULL, input);
	free(options);
	stderr = plain;
	if (shown)
		fclose(shown);
	argv[0] = NULL; /* name is local */
}

static void (*at_end)(void);

void kc_command_at_end(void (*end)(void))
{
	at_end = end;
	atexit(end);
}

/* Ends the process as other programs end when the reader of their output is gone: silently, by the signal. */
static void end_by_sigpipe(void)
{
	if (at_end)
		at_end();
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
	_exit(SHELL_SIGNAL_BASE + SIGPIPE); /* it is blocked */
}

static int reader_is_gone(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&output, 1, 0) == 1 && output.revents & POLLERR;
}

int kc_output_finish(void)
{
	int failed = ferror(stdout);

	if (fflush(stdout) == 0 && !failed)
		return KC_EXIT_OK;
	if (errno == EPIPE || reader_is_gone())
		end_by_sigpipe();
	kc_error("cannot write to standard output: %s", strerror(errno));
	clearerr(stdout);
	return KC_EXIT_FAILED;
}

static void finish_at_exit(void)
{
	if (kc_output_finish() != KC_EXIT_OK)
		_exit(KC_EXIT_FAILED);
}

static struct sigaction found; /* the disposition of SIGPIPE when kerncast was started */

static void give_sigpipe_back(void)
{
	sigaction(SIGPIPE, &found, NULL);
}

void kc_output_guard(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGPIPE, &ignore, &found);
	pthread_atfork(NULL, NULL, give_sigpipe_back);
	atexit(finish_at_exit);
}
