#include "command.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct kc_command *kc_command_at(unsigned i)
{
	static const struct kc_command *const commands[] = {
	    &kc_command_run,     &kc_command_report,     &kc_command_doctor,    &kc_command_devices,
	    &kc_command_recover, &kc_command_export,     &kc_command_predict,   &kc_command_slowdown,
	    &kc_command_import,  &kc_command_replay,     &kc_command_calibrate, &kc_command_explain,
	    &kc_command_basis,   &kc_command_experiment,
	};

	return i < sizeof(commands) / sizeof(*commands) ? commands[i] : NULL;
}

void kc_error(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("kerncast: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void kc_command_parse(const struct kc_command *command, int argc, char **argv, unsigned flags, argp_parser_t parser,
		      void *input)
{
	char name[64], doc[256];
	struct argp argp = {
	    .options = command->options,
	    .parser = parser,
	    .args_doc = command->arguments,
	    .doc = doc,
	    .help_filter = command->help_filter,
	};

	snprintf(name, sizeof(name), "kerncast %s", command->name);
	snprintf(doc, sizeof(doc), "%s.\v`man kerncast` says more.", command->summary);
	doc[0] = (char)toupper((unsigned char)doc[0]);
	argv[0] = name;
	argp_err_exit_status = KC_EXIT_USAGE;
	argp_parse(&argp, argc, argv, flags, NULL, input);
	argv[0] = NULL; /* name ends here */
}

int kc_output_finish(void)
{
	int failed = ferror(stdout);

	if (fflush(stdout) == 0 && !failed)
		return KC_EXIT_OK;
	fprintf(stderr, "kerncast: cannot write to standard output: %s\n", strerror(errno));
	clearerr(stdout);
	return KC_EXIT_FAILED;
}

static void finish_at_exit(void)
{
	if (kc_output_finish() != KC_EXIT_OK)
		_exit(KC_EXIT_FAILED);
}

void kc_output_guard(void)
{
	signal(SIGPIPE, SIG_IGN);
	atexit(finish_at_exit);
}
