#include "command.h"
#include "tools/input/common_options.h"
#include "tools/input/device_spec.h"
#include "tools/explain/explain.h"
#include "tools/input/launch_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { KEY_DEVICE = 'd', KEY_KERNEL = 'k' };

struct request {
	struct kc_common_options common;
	const char *path, *kernel, *device;
	struct kc_launch_options launch;
};

static const struct argp_option options[] = {
    {"kernel", KEY_KERNEL, "NAME", 0, "only this kernel; mangled or readable, with or without its parameter list", 0},
    KC_LAUNCH_OPTIONS,
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "read the code that this device would load, and predict how long a launch takes there; a built-in device "
     "(`kerncast devices` lists them) or a file of attribute=number lines",
     0},
    KC_JSON_OPTION,
    {0},
};

static void check(struct request *request, struct argp_state *state)
{
	if (!request->path)
		argp_error(state, "no file given; give an executable, shared object, fatbin, cubin or PTX");
	kc_launch_options_check(&request->launch, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_KERNEL:
		request->kernel = arg;
		return 0;
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case KC_KEY_JSON:
		return kc_common_option(&request->common, key, arg, state);
	case ARGP_KEY_ARG:
		kc_only_argument(&request->path, "file", arg, state);
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return kc_launch_option(&request->launch, key, arg, state);
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

static int failed(int rc, const char *why)
{
	kc_error("%s", why);
	return rc == -EINVAL ? KC_EXIT_USAGE : KC_EXIT_FAILED;
}

static int print_kernel(struct kc_explanation *explanation, uint32_t i, const struct kc_explain_form *form, char *why,
			size_t why_size)
{
	struct kc_explained kernel;
	int rc = kc_explain_kernel(explanation, i, &kernel, why, why_size), read = rc;

	if (rc == 0 && i == 0)
		rc = form->begin(explanation);
	if (rc == 0)
		rc = form->kernel(explanation, &kernel);
	if (read == 0 && rc < 0)
		snprintf(why, why_size, "%s", strerror(-rc));
	kc_explained_free(&kernel);
	return rc;
}

/* A library's formulas do not fit into memory together. Nothing is printed if arguments do not fit the kernel: only a
 * single one can have them. */
static int print_kernels(struct kc_explanation *explanation, const struct kc_explain_form *form)
{
	char why[1024];
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < explanation->kernel_count && !ferror(stdout); i++)
		rc = print_kernel(explanation, i, form, why, sizeof(why));
	return rc < 0 ? failed(rc, why) : form->end(explanation);
}

static int explain(const struct request *request, struct kc_explanation *explanation)
{
	char why[1024];

	if (kc_explain_read(explanation, request->kernel, why, sizeof(why)) < 0)
		return failed(-ENOENT, why);
	if (request->launch.arguments && explanation->kernel_count > 1) {
		kc_error("%s has %u kernels%s%s: --args needs --kernel to choose one", request->path,
			 explanation->kernel_count, request->kernel ? " with the name " : "",
			 request->kernel ? request->kernel : "");
		return KC_EXIT_USAGE;
	}
	return print_kernels(explanation, request->common.json ? &kc_explain_json : &kc_explain_text);
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
	explanation.launch = &request.launch.launch;
	explanation.lambda = KC_LAMBDA_NOT_LEARNED;
	if (status == KC_EXIT_OK)
		status = explain(&request, &explanation);
	kc_explain_free(&explanation);
	kc_launch_options_free(&request.launch);
	return status;
}

const struct kc_command kc_command_explain = {
    .group = KC_GROUP_TUNE,
    .name = "explain",
    .summary = "shows as formulas what the kernels in a file do",
    .arguments = "FILE",
    .options = options,
    .run = explain_main,
    .manual =
	"FILE is an executable or shared object, a fatbin, a cubin, or PTX text.\n"
	"Where it has code for several architectures, the code that the device of\n"
	".Fl -device\n"
	"would load is read, or else the newest.\n"
	"Printed for each kernel are its parameters, its loops and their trip counts, and what one thread does, as\n"
	"formulas over the parameters (p0, p1, ... by position, since the code has no names), tid, ctaid, ntid and\n"
	"nctaid (thread index, block index, threads per block, blocks in the grid), gid (ctaid * ntid + tid), the\n"
	"counters of loops (k0, k1, ...) and trip counts without a closed form (n0, n1, ...).\n"
	"[condition] is 1 where it holds, else 0; sum(k0 < n: ...) runs over k0 = 0 to n - 1.\n"
	"What depends on values in memory cannot be known before the kernel runs; it is listed together with what\n"
	"is assumed instead.\n"
	".Pp\n"
	"With\n"
	".Fl -grid\n"
	"and\n"
	".Fl -block\n"
	"the formulas are evaluated for a launch: averages per thread, sums over all threads, the 32-byte sectors\n"
	"that a global request of a warp touches beside the minimum for its active lanes, and the passes that a\n"
	"shared request of a warp takes beside the minimum for its width.\n"
	"Where\n"
	".Fl -device\n"
	"names one, the times that\n"
	".Nm Cm predict\n"
	"gives for that launch follow. They use no measurements; where counts rest on assumptions, so do the times.\n"
	"A kernel for which the file has only machine code (code=sm_90) has no formula; what its machine code tells\n"
	"is shown.\n",
};
