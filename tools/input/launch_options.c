#include "launch_options.h"

#include "tools/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* CUDA C++ programming guide, "Features and technical specifications per compute capability". */
static const uint32_t grid_most[3] = {INT32_MAX, 65535, 65535}, block_most[3] = {1024, 1024, 64};
#define BLOCK_THREADS_MOST 1024u

static int read_u32(const char *text, char **end, uint32_t *value)
{
	unsigned long number;

	errno = 0;
	number = strtoul(text, end, 10);
	if (!isdigit((unsigned char)*text) || errno || number > UINT32_MAX)
		return -EINVAL;
	*value = (uint32_t)number;
	return 0;
}

static int read_dimensions(const char *text, const uint32_t most[3], uint32_t dimensions[3])
{
	char *end;

	dimensions[0] = dimensions[1] = dimensions[2] = 1;
	for (unsigned i = 0; i < 3; i++) {
		if (read_u32(text, &end, &dimensions[i]) < 0 || !dimensions[i] || dimensions[i] > most[i])
			return -EINVAL;
		if (!*end)
			return 0;
		if (*end != ',')
			return -EINVAL;
		text = end + 1;
	}
	return -EINVAL;
}

int kc_launch_grid(const char *text, uint32_t grid[3])
{
	return read_dimensions(text, grid_most, grid);
}

int kc_launch_block(const char *text, uint32_t block[3])
{
	int rc = read_dimensions(text, block_most, block);

	return rc == 0 && (uint64_t)block[0] * block[1] * block[2] > BLOCK_THREADS_MOST ? -EINVAL : rc;
}

int kc_launch_shared(const char *text, uint32_t *bytes)
{
	char *end;

	return read_u32(text, &end, bytes) < 0 || *end ? -EINVAL : 0;
}

int kc_launch_arguments(char *text, struct kc_explain_launch *launch)
{
	for (launch->argument_count = 0; text;) {
		if (launch->argument_count == KC_EXPLAIN_ARGUMENTS)
			return -E2BIG;
		launch->arguments[launch->argument_count++] = strsep(&text, ",");
	}
	return 0;
}

static void set_grid(struct kc_launch_options *options, const char *arg, struct argp_state *state)
{
	options->has_grid = 1;
	if (kc_launch_grid(arg, options->launch.grid) < 0)
		argp_error(state, "--grid takes one to three numbers above 0, such as 64,64, not \"%s\"", arg);
}

static void set_block(struct kc_launch_options *options, const char *arg, struct argp_state *state)
{
	options->has_block = 1;
	if (kc_launch_block(arg, options->launch.block) < 0)
		argp_error(state,
			   "--block takes one to three numbers, at most %u threads together, such as 16,16, not \"%s\"",
			   BLOCK_THREADS_MOST, arg);
}

static void set_shared(struct kc_launch_options *options, const char *arg, struct argp_state *state)
{
	options->has_shared = 1;
	if (kc_launch_shared(arg, &options->launch.dynamic_shared_bytes) < 0)
		argp_error(state, "--shared takes a number of bytes, not \"%s\"", arg);
}

static void set_arguments(struct kc_launch_options *options, const char *arg, struct argp_state *state)
{
	free(options->arguments);
	options->arguments = strdup(arg);
	if (!options->arguments)
		argp_failure(state, KC_EXIT_FAILED, ENOMEM, "--args");
	else if (kc_launch_arguments(options->arguments, &options->launch) < 0)
		argp_error(state, "--args takes %u arguments at most", KC_EXPLAIN_ARGUMENTS);
}

error_t kc_launch_option(struct kc_launch_options *options, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KC_KEY_GRID:
		set_grid(options, arg, state);
		return 0;
	case KC_KEY_BLOCK:
		set_block(options, arg, state);
		return 0;
	case KC_KEY_ARGS:
		set_arguments(options, arg, state);
		return 0;
	case KC_KEY_SHARED:
		set_shared(options, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void kc_launch_options_check(struct kc_launch_options *options, struct argp_state *state)
{
	if (options->has_grid != options->has_block)
		argp_error(state, "a launch needs both --grid and --block");
	if (!options->has_grid && (options->arguments || options->has_shared))
		argp_error(state, "--args and --shared need a launch: give --grid and --block");
	options->launch.given = options->has_grid;
}

void kc_launch_options_free(struct kc_launch_options *options)
{
	free(options->arguments);
	options->arguments = NULL;
}
