/*
 * What commands that look at the launches of a run take on the command line: databases, which run of them, which of its
 * launches, the GPU of a trace that does not tell it, --sort, --top and --json. Such a command has the rows of the
 * options that it takes in its table, and gives what it does not know itself to kc_run_option().
 */
#ifndef KC_RUN_OPTIONS_H
#define KC_RUN_OPTIONS_H

#include "common_options.h"
#include "filter_options.h"

#include <argp.h>

enum { KC_KEY_RUN = 'r', KC_KEY_OF_DEVICE = 'd' };

/* Starts as zeros, but for common.may_be_several. */
struct kc_run_options {
	struct kc_common_options common;
	struct kc_filter_choice filter; /* to be freed */
	struct kc_sorting sorting;
	const char *run;    /* NULL: not given */
	const char *device; /* by its name or a file; NULL: not given, or a number, which is a filter */
};

/* A row of a table of struct argp_option. */
/* clang-format off */
#define KC_RUN_OPTION {"run", KC_KEY_RUN, "N", 0, "the run (default: the latest)", 0}
/* clang-format on */

/* orders: those of --sort. 0; ARGP_ERR_UNKNOWN: none of these options. A wrong value, and at ARGP_KEY_END a filter that
 * cannot hold, ends the process with KC_EXIT_USAGE. */
error_t kc_run_option(struct kc_run_options *options, const char *orders, int key, char *arg, struct argp_state *state);

#endif
