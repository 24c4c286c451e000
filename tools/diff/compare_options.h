/*
 * What commands that compare runs take on the command line beside what others do:
 * below which limits a change is too small to be told.
 */
#ifndef KC_DIFF_COMPARE_OPTIONS_H
#define KC_DIFF_COMPARE_OPTIONS_H

#include "compare.h"
#include "tools/input/run_options.h"

#include <argp.h>

enum { KC_KEY_OVER = 0x320, KC_KEY_FLOOR };

struct kc_compare_options {
	struct kc_run_options of;
	struct kc_diff_limits limits;
};

#define KC_DIFF_DEFAULT_LIMITS                                                                                         \
	{                                                                                                              \
		0.05, 1000                                                                                             \
	}

/* Rows of a table of struct argp_option; what: "changes" */
/* clang-format off */
#define KC_LIMIT_OPTIONS(what) \
	{"over", KC_KEY_OVER, "PERCENT", 0, "leave out " what " of at most this (default: 5)", 0}, \
	{"floor", KC_KEY_FLOOR, "TIME", 0, "leave out " what " of at most this for a launch (default: 1us)", 0}
/* clang-format on */

/* orders: those of --sort. 0; ARGP_ERR_UNKNOWN: none of these options. A wrong value ends the process with
 * KC_EXIT_USAGE. */
error_t kc_compare_option(struct kc_compare_options *options, const char *orders, int key, char *arg,
			  struct argp_state *state);

#endif
