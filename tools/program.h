/*
 * What is linked: kerncast (kerncast.c) or kerncast-lab (lab/lab.c).
 *
 *   kc_program   its commands, and what its help and its manual say beside them
 *   kc_manual    the parts of the manual that are no command's, in mdoc
 *
 * main.c finds the command that is asked for; the help, the manual and the completion of shells (help/) are made of
 * this.
 */
#ifndef KC_PROGRAM_H
#define KC_PROGRAM_H

#include "command.h"
#include "tools/help/examples.h"

#define KC_MOVED_MAX 4u

struct kc_manual {
	const char *title;       /* in capitals */
	const char *purpose;     /* of the line NAME: no full stop */
	const char *description; /* section DESCRIPTION, up to the list of commands */
	const char *notes;       /* sections after the commands */
	const char *tail;        /* the last sections before the examples */
	const char *examples;    /* what they are of */
};

struct kc_program {
	const char *name;         /* as it is typed */
	const char *introduction; /* of its help, up to the list of commands; ends with "\n" */
	const char *closing;      /* the last line of its help; ends with "\n" */
	struct {
		const char *heading; /* none: the last was before */
		enum kc_command_group group;
	} lists[KC_GROUPS + 1];                   /* of its help, in this order */
	const struct kc_command *const *commands; /* NULL ends them */
	const struct kc_example *examples;        /* one without a command ends them */
	const struct kc_manual *manual;
	/* Names of commands that another program has. */
	const char *moved[KC_MOVED_MAX], *moved_to;
};

extern const struct kc_program kc_program;

/* Of kerncast, in help/. */
extern const struct kc_example kc_examples_of_kerncast[];
extern const struct kc_manual kc_manual_of_kerncast;

/* The i-th command, NULL past the end. */
const struct kc_command *kc_command_at(unsigned i);
/* The command that runs other programs, NULL if there is none. */
const struct kc_command *kc_command_that_runs(void);

/* Its examples, NULL if there are none. */
const struct kc_example *kc_example_of(const char *command);
/* The i-th, NULL past the end. */
const struct kc_example *kc_example_at(unsigned i);

#endif
