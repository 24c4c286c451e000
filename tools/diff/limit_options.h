/* --over and --floor: which changes are too small to be told. */
#ifndef KC_DIFF_LIMIT_OPTIONS_H
#define KC_DIFF_LIMIT_OPTIONS_H

#include "compare.h"

#include <argp.h>

enum { KC_KEY_OVER = 0x320, KC_KEY_FLOOR };

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

/* 0; ARGP_ERR_UNKNOWN: none of these. A wrong value ends the process with KC_EXIT_USAGE. */
error_t kc_limit_option(struct kc_diff_limits *limits, int key, const char *arg, struct argp_state *state);

#endif
