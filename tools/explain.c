#include "command.h"
#include "device_spec.h"
#include "explain.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DEVICE = 'd', KEY_KERNEL = 'k', KEY_GRID = 0x100, KEY_BLOCK, KEY_ARGS, KEY_SHARED, KEY_JSON };

/* CUDA C++ programming guide, "Features and technical specifications per compute capability". */
static const uint32_t grid_most[3] = {INT32_MAX, 65535, 65535}, block_most[3] = {1024, 1024, 64};
#define BLOCK_THREADS_MOST 1024u

struct request {
	const char *path, *kernel, *device;
	int json, has_grid, has_block, has_shared;
	char *arguments; /* split in place */
	struct kc_explain_launch launch;
};

static const struct argp_option options[] = {
    {"kernel", KEY_KERNEL, "NAME", 0, "this kernel only; mangled or readable, the parameter list may be left out", 0},
    {"grid", KEY_GRID, "X,Y,Z", 0, "blocks; Y and Z are 1 where left out", 0},
    {"block", KEY_BLOCK, "X,Y,Z", 0, "threads of a block", 0},
    {"args", KEY_ARGS, "V0,V1,...", 0,
     "the arguments by position: integers decimal or 0x..., numbers as 1.5, structs as the hexadecimal digits of their "
     "bytes, _ for one not known",
     0},
    {"shared", KEY_SHARED, "BYTES", 0, "dynamic shared memory of a block", 0},
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "take the code that this device would; a built-in device (`kerncast devices`), or a file of attribute=number "
     "lines",
     0},
    {"json", KEY_JSON, NULL, 0, "one JSON document", 0},
    {0},
};

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

static void set_grid(struct request *request, const char *arg, struct argp_state *state)
{
	request->has_grid = 1;
	if (read_dimensions(arg, grid_most, request->launch.grid) < 0)
		argp_error(state, "--grid takes up to three numbers from 1 on, such as 64,64; not \"%s\"", arg);
}

static void set_block(struct request *request, const char *arg, struct argp_state *state)
{
	const uint32_t *block = request->launch.block;

	request->has_block = 1;
	if (read_dimensions(arg, block_most, request->launch.block) < 0 ||
	    (uint64_t)block[0] * block[1] * block[2] > BLOCK_THREADS_MOST)
		argp_error(state, "--block takes up to three numbers, %u threads in all, such as 16,16; not \"%s\"",
			   BLOCK_THREADS_MOST, arg);
}

static void set_shared(struct request *request, const char *arg, struct argp_state *state)
{
	char *end;

	request->has_shared = 1;
	if (read_u32(arg, &end, &request->launch.dynamic_shared_bytes) < 0 || *end)
		argp_error(state, "--shared takes a number of bytes, not \"%s\"", arg);
}

static void set_arguments(struct request *request, const char *arg, struct argp_state *state)
{
	struct kc_explain_launch *launch = &request->launch;
	char *rest;

	free(request->arguments);
	request->arguments = rest = strdup(arg);
	if (!rest)
		argp_failure(state, KC_EXIT_FAILED, ENOMEM, "--args");
	for (launch->argument_count = 0; rest;) {
		if (launch->argument_count == KC_EXPLAIN_ARGUMENTS)
			argp_error(state, "--args: more than %u arguments", KC_EXPLAIN_ARGUMENTS);
		launch->arguments[launch->argument_count++] = strsep(&rest, ",");
	}
}

static void check(struct request *request, struct argp_state *state)
{
	if (!request->path)
		argp_error(state, "which file? An executable, shared object, fatbin, cubin or PTX");
	if (request->has_grid != request->has_block)
		argp_error(state, "a launch has a --grid and a --block");
	if (!request->has_grid && (request->arguments || request->has_shared))
		argp_error(state, "--args and --shared belong to a launch: --grid and --block are missing");
	request->launch.given = request->has_grid;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_KERNEL:
		request->kernel = arg;
		return 0;
	case KEY_GRID:
		set_grid(request, arg, state);
		return 0;
	case KEY_BLOCK:
		set_block(request, arg, state);
		return 0;
	case KEY_ARGS:
		set_arguments(request, arg, state);
		return 0;
	case KEY_SHARED:
		set_shared(request, arg, state);
		return 0;
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case KEY_JSON:
		request->json = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (request->path)
			argp_error(state, "one file at a time");
		request->path = arg;
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int find_device(const struct request *request, struct kc_device *device)
{
	char why[512];
	int rc = kc_device_spec(request->device, device, why, sizeof(why));

	if (rc == 0)
		return KC_EXIT_OK;
	kc_error("%s", why);
	return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
}

static int explain(const struct request *request, struct kc_explanation *explanation)
{
	char why[1024];

	if (kc_explain_read(explanation, request->kernel, why, sizeof(why)) < 0) {
		kc_error("%s", why);
		return KC_EXIT_FAILED;
	}
	if (request->arguments && explanation->kernel_count > 1) {
		kc_error("%s has %u kernels%s%s: with --args, --kernel must name one", request->path,
			 explanation->kernel_count, request->kernel ? " that are called " : "",
			 request->kernel ? request->kernel : "");
		return KC_EXIT_USAGE;
	}
	if (request->launch.given) {
		int rc = kc_explain_count(explanation, why, sizeof(why));

		if (rc < 0) {
			kc_error("%s", why);
			return rc == -EINVAL ? KC_EXIT_USAGE : KC_EXIT_FAILED;
		}
	}
	return request->json ? kc_explain_print_json(explanation) : kc_explain_print_text(explanation);
}

static int explain_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {0};
	struct kc_explanation explanation = {0};
	struct kc_device device = {0};
	int status = KC_EXIT_OK;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.device)
		status = find_device(&request, &device);
	explanation.path = request.path;
	explanation.device = request.device ? &device : NULL;
	explanation.launch = &request.launch;
	if (status == KC_EXIT_OK)
		status = explain(&request, &explanation);
	kc_explain_free(&explanation);
	free(request.arguments);
	return status;
}

const struct kc_command kc_command_explain = {
    .name = "explain",
    .summary = "reads the GPU code in a file: what each kernel does, as a formula",
    .arguments = "FILE",
    .options = options,
    .run = explain_main,
    .manual =
	"FILE is an executable or shared object, a fatbin, a cubin, or PTX text.\n"
	"Where it has code for several architectures, that is read which the device of\n"
	".Fl -device\n"
	"would take, or else the newest.\n"
	"For each kernel: its parameters, its loops and how often they go round, and what one thread does, as\n"
	"formulas over the parameters (p0, p1, ... by position, since the code has no names), tid, ctaid, ntid and\n"
	"nctaid (thread index, block index, threads of a block, blocks of the grid), gid (ctaid * ntid + tid), the\n"
	"counters of loops (k0, k1, ...) and trip counts without a closed form (n0, n1, ...).\n"
	"[condition] is 1 where it holds, else 0; sum(k0 < n: ...) is over k0 from 0 on.\n"
	"What depends on values in memory cannot be known before the kernel runs; it is listed, with what is\n"
	"assumed instead.\n"
	".Pp\n"
	"With\n"
	".Fl -grid\n"
	"and\n"
	".Fl -block\n"
	"the formulas are evaluated for a launch: averages per thread, the sum over all threads, the 32-byte\n"
	"sectors that a warp's global request touches beside those that it would if the lanes' addresses were dense,\n"
	"and how many passes a warp's shared request takes (1: no bank conflict).\n"
	"A kernel of which only machine code is there (code=sm_90) has no formula: what the code tells is shown.\n",
};
