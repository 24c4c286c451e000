/*
 * The kerncast command: one struct kc_command a subcommand, each in the file
 * that carries its name. main.c finds the one that is asked for; man.c makes
 * the manual page from the same structs, so that --help and the manual cannot
 * disagree.
 */
#ifndef KC_COMMAND_H
#define KC_COMMAND_H

#include <argp.h>

enum kc_exit {
	KC_EXIT_OK = 0,
	KC_EXIT_FAILED = 1, /* it ran and failed */
	KC_EXIT_USAGE = 2,  /* wrong use */
};

struct kc_command {
	const char *name;
	const char *summary;   /* a few words, no full stop */
	const char *arguments; /* "[DB]" */
	const struct argp_option *options;
	const char *manual;                                           /* mdoc: what it does, after its synopsis */
	char *(*help_filter)(int key, const char *text, void *input); /* as in argp, or NULL */
	int (*run)(int argc, char **argv, const struct kc_command *self);
};

extern const struct kc_command kc_command_run;
extern const struct kc_command kc_command_report;
extern const struct kc_command kc_command_doctor;
extern const struct kc_command kc_command_devices;
extern const struct kc_command kc_command_recover;
extern const struct kc_command kc_command_export;
extern const struct kc_command kc_command_predict;
extern const struct kc_command kc_command_slowdown;
extern const struct kc_command kc_command_import;
extern const struct kc_command kc_command_replay;
extern const struct kc_command kc_command_calibrate;
extern const struct kc_command kc_command_explain;
extern const struct kc_command kc_command_basis;
extern const struct kc_command kc_command_experiment;

/* What each of them takes beside its own. */
extern const struct argp_option kc_help_options[];

/* The i-th command, NULL past the end. */
const struct kc_command *kc_command_at(unsigned i);

/* One line "kerncast: …" on stderr. */
void kc_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Parses argv with the command's options; parser as in argp, flags as for
 * argp_parse(). Ends the process with KC_EXIT_USAGE where they make no sense. */
void kc_command_parse(const struct kc_command *command, int argc, char **argv, unsigned flags, argp_parser_t parser,
		      void *input);

/* The manual page, mdoc, on stdout. */
void kc_manual_print(void);

/* What bash offers behind "kerncast", on stdout: a file for bash-completion. */
void kc_completion_print(void);

/* From here on, standard output that cannot be written (full disk) ends the
 * process with KC_EXIT_FAILED and a message instead of silence. Where nobody
 * reads it any more, what is being done is finished and the process ends by
 * SIGPIPE, as others do. Children get SIGPIPE as kerncast was given it. */
void kc_output_guard(void);
/* 0, or KC_EXIT_FAILED after a message: call it when all is printed. Does not return where nobody reads. */
int kc_output_finish(void);

#endif
