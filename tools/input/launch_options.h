/*
 * A launch as one writes it on the command line: --grid, --block, --args,
 * --shared of `kerncast explain` and `kerncast predict`.
 */
#ifndef KC_LAUNCH_OPTIONS_H
#define KC_LAUNCH_OPTIONS_H

#include "tools/explain/explain.h"

#include <argp.h>

struct kc_launch_options {
	struct kc_explain_launch launch;
	int has_grid, has_block, has_shared;
	char *arguments; /* split in place; NULL: none were given */
};

enum { KC_KEY_GRID = 0x200, KC_KEY_BLOCK, KC_KEY_ARGS, KC_KEY_SHARED };

#define KC_ARGS_DOC                                                                                                    \
	"the arguments by position: integers decimal or 0x..., numbers as 1.5, structs as the hexadecimal digits of "  \
	"their bytes, _ for an unknown one"

/* Rows of a table of struct argp_option. */
/* clang-format off */
#define KC_LAUNCH_OPTIONS                                                                                              \
	{"grid", KC_KEY_GRID, "X,Y,Z", 0, "blocks in the grid; Y and Z default to 1", 0},                                  \
	{"block", KC_KEY_BLOCK, "X,Y,Z", 0, "threads per block", 0},                                                  \
	{"args", KC_KEY_ARGS, "V0,V1,...", 0, KC_ARGS_DOC, 0},                                                         \
	{"shared", KC_KEY_SHARED, "BYTES", 0, "dynamic shared memory per block", 0}
/* clang-format on */

/* The values of these options elsewhere. "64,64": 0 or -EINVAL. Arguments are split in place, and text must stay: 0;
 * -E2BIG: more than KC_EXPLAIN_ARGUMENTS. */
int kc_launch_grid(const char *text, uint32_t grid[3]);
int kc_launch_block(const char *text, uint32_t block[3]);
int kc_launch_shared(const char *text, uint32_t *bytes);
int kc_launch_arguments(char *text, struct kc_explain_launch *launch);

/* 0; ARGP_ERR_UNKNOWN: none of these options. A wrong value ends the process with KC_EXIT_USAGE. */
error_t kc_launch_option(struct kc_launch_options *options, int key, char *arg, struct argp_state *state);
/* Once all options are read: checks that they make a launch. */
void kc_launch_options_check(struct kc_launch_options *options, struct argp_state *state);
void kc_launch_options_free(struct kc_launch_options *options);

#endif
