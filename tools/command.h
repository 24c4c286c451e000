/*
 * A command, such as `kerncast run`: one struct kc_command, in the file of its
 * name. program.h has those of a program, of which main.c runs the one that is
 * asked for; man.c makes the manual page from the same structs, so that --help
 * and the manual cannot disagree.
 */
#ifndef KC_COMMAND_H
#define KC_COMMAND_H

#include <argp.h>

enum kc_exit {
	KC_EXIT_OK = 0,
	KC_EXIT_FAILED = 1, /* the command failed */
	KC_EXIT_USAGE = 2,  /* wrong use */
};

/* What a command is for; the first unless it says otherwise. */
enum kc_command_group { KC_GROUP_ASK, KC_GROUP_RECORD, KC_GROUP_TUNE, KC_GROUP_RESEARCH, KC_GROUPS };

struct kc_command {
	enum kc_command_group group;
	int seldom; /* listed by `kerncast --help all` alone */
	const char *name;
	const char *summary;   /* a few words, no full stop */
	const char *arguments; /* "[DB]" */
	const struct argp_option *options;
	const char *manual;                                           /* mdoc: what it does, after its synopsis */
	char *(*help_filter)(int key, const char *text, void *input); /* as in argp, or NULL */
	int argument_ends_options;                                    /* what follows belongs to another program */
	int (*run)(int argc, char **argv, const struct kc_command *self);
};

extern const struct kc_command kc_command_run;
extern const struct kc_command kc_command_report;
extern const struct kc_command kc_command_diff;
extern const struct kc_command kc_command_slow;
extern const struct kc_command kc_command_pairs;
extern const struct kc_command kc_command_whatif;
extern const struct kc_command kc_command_doctor;
extern const struct kc_command kc_command_devices;
extern const struct kc_command kc_command_recover;
extern const struct kc_command kc_command_merge;
extern const struct kc_command kc_command_prune;
extern const struct kc_command kc_command_learn;
extern const struct kc_command kc_command_export;
extern const struct kc_command kc_command_predict;
extern const struct kc_command kc_command_slowdown;
extern const struct kc_command kc_command_import;
extern const struct kc_command kc_command_replay;
extern const struct kc_command kc_command_calibrate;
extern const struct kc_command kc_command_explain;
extern const struct kc_command kc_command_tune;

/* Options that every command has beside its own. */
extern const struct argp_option kc_help_options[];

/* One line "kerncast: …" on stderr, begun with the program's name. */
void kc_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says what a negative errno means. Returns KC_EXIT_FAILED. */
int kc_failed(int rc);

/* Parses argv with the command's options; parser as in argp, flags as for
 * argp_parse(). Ends the process with KC_EXIT_USAGE where they are wrong. */
void kc_command_parse(const struct kc_command *command, int argc, char **argv, unsigned flags, argp_parser_t parser,
		      void *input);

/* The manual page, mdoc, on stdout. */
void kc_manual_print(void);

/* The version, and what of the installation matters to it, on stdout. */
void kc_version_print(void);

/* The path of libkerncast.so, on stdout. Returns an exit status. */
int kc_library_print(void);

/* What a database of this version consists of, for readers in other languages: one JSON document on stdout. Returns an
 * exit status. */
int kc_schema_print(void);

/* Completion of the command line in a shell ("bash", "zsh", "fish"), on stdout: a file for where the shell looks for
 * such. -EINVAL: for another shell. */
int kc_completion_print(const char *shell);

/* From here on, standard output that cannot be written (full disk) ends the
 * process with KC_EXIT_FAILED and a message. Where the reader is gone, the
 * command finishes its work and then ends by SIGPIPE, as other programs do.
 * Children inherit the disposition of SIGPIPE that kerncast was started with. */
void kc_output_guard(void);

/* Calls end when the command exits, and before it ends because the reader of its output is gone. Once in a command. */
void kc_command_at_end(void (*end)(void));

/* To be called when all is printed: 0, or KC_EXIT_FAILED after a message. Does not return where the reader is gone. */
int kc_output_finish(void);

#endif
