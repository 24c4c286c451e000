#include "tools/input/common_options.h"
#include "tools/input/calibrated.h"
#include "command.h"
#include "tools/input/count_spec.h"
#include "tools/explain/explain.h"
#include "tools/input/launch_options.h"
#include "tools/output/models_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DEVICE = 'd', KEY_LAMBDA = 'l', KEY_KERNEL = 'k', KEY_DB = 0x100 };

#define KERNELS_MAX 64u

struct request {
	struct kc_common_options common;
	const char *device;
	double lambda;
	const char *in_file; /* FILE[:NAME], a kernel whose code is read; NULL: none */
	struct kc_launch_options launch;
	struct kc_count_spec kernels[KERNELS_MAX];
	unsigned count;
};

struct prediction {
	const char *text; /* the kernel as the user typed it */
	struct kc_counts counts;
	struct kc_launch_times times;
};

struct answer {
	struct kc_device device;
	struct prediction predictions[KERNELS_MAX + 1];
	unsigned count;
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "a built-in device (`kerncast devices` lists them) or a file of attribute=number lines", 0},
    {"db", KEY_DB, "DB", 0, KC_CALIBRATED_HELP, 0},
    {"lambda", KEY_LAMBDA, "NUMBER", 0,
     "the BSP model's \xce\xbb as learned from measurements; without it BSP is left out", 0},
    {"kernel", KEY_KERNEL, "FILE[:NAME]", 0,
     "a kernel in this file, launched with --grid, --block, --args and --shared; counted as by kerncast explain", 0},
    KC_LAUNCH_OPTIONS,
    KC_JSON_OPTION,
    {0},
};

static void add_kernel(struct request *request, const char *arg, struct argp_state *state)
{
	char why[256];

	if (request->count == KERNELS_MAX)
		argp_error(state, "expected %u kernels at most", KERNELS_MAX);
	else if (kc_count_spec(arg, &request->kernels[request->count++], why, sizeof(why)) < 0)
		argp_error(state, "%s", why);
}

static double parse_lambda(const char *arg, struct argp_state *state)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end || !(value > 0) || !isfinite(value))
		argp_error(state, "--lambda takes a number above 0, not \"%s\"", arg);
	return value;
}

static void check(struct request *request, struct argp_state *state)
{
	if (!request->device)
		argp_error(state, "no device given; --device takes a built-in name or a file");
	kc_launch_options_check(&request->launch, state);
	if (request->in_file && !request->launch.launch.given)
		argp_error(state, "--kernel needs a launch: give --grid and --block");
	if (!request->in_file && request->launch.launch.given)
		argp_error(state, "--grid, --block, --args and --shared belong to --kernel FILE[:NAME]");
	if (!request->in_file && !request->count)
		argp_error(state, "no kernel given; give its counts, such as "
				  "blocks=4096,threads=256,fma=1024,ld_global=2048, or --kernel FILE");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case KEY_LAMBDA:
		request->lambda = parse_lambda(arg, state);
		return 0;
	case KEY_DB:
		request->common.database = arg;
		return 0;
	case KC_KEY_JSON:
		return kc_common_option(&request->common, key, arg, state);
	case ARGP_KEY_ARG:
		add_kernel(request, arg, state);
		return 0;
	case KEY_KERNEL:
		kc_only_argument(&request->in_file, "--kernel", arg, state);
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return kc_launch_option(&request->launch, key, arg, state);
	}
}

/* Predicts the only kernel of that name. An exit status. */
static int predict_explained(struct kc_explanation *explanation, const char *name, struct prediction *prediction)
{
	struct kc_explained kernel;
	char why[1024];
	int rc;

	if (kc_explain_read(explanation, name, why, sizeof(why)) < 0) {
		kc_error("%s", why);
		return KC_EXIT_FAILED;
	}
	if (explanation->kernel_count > 1) {
		kc_error("%s has %u kernels%s%s: choose one with --kernel %s:NAME; `kerncast explain` lists them",
			 explanation->path, explanation->kernel_count, name ? " with the name " : "", name ? name : "",
			 explanation->path);
		return KC_EXIT_USAGE;
	}
	rc = kc_explain_kernel(explanation, 0, &kernel, why, sizeof(why));
	if (rc < 0)
		kc_error("%s", why);
	else if (kc_explain_refusal(&kernel, why)) {
		kc_error("%s: %s", kernel.readable, why);
		rc = -ENOTSUP;
	}
	prediction->counts = kernel.counts;
	prediction->times = kernel.times;
	kc_explained_free(&kernel);
	return rc == 0 ? KC_EXIT_OK : rc == -EINVAL ? KC_EXIT_USAGE : KC_EXIT_FAILED;
}

static int predict_in_file(const struct request *request, struct answer *answer)
{
	char *path = strdup(request->in_file);
	struct prediction *prediction = &answer->predictions[answer->count++];
	struct kc_explanation explanation = {
	    .path = path, .device = &answer->device, .launch = &request->launch.launch, .lambda = request->lambda};
	int status = KC_EXIT_FAILED;

	prediction->text = request->in_file;
	if (path)
		status = predict_explained(&explanation, kc_explain_split(path), prediction);
	else
		kc_error("%s", strerror(ENOMEM));
	kc_explain_free(&explanation);
	free(path);
	return status;
}

/* What is given counts as exact: nothing is assumed of it here. */
static struct kc_counted_launch launch_of(const struct kc_count_spec *spec)
{
	struct kc_counted_launch launch = {
	    .resources = {.registers = spec->kernel.registers, .static_shared_bytes = spec->kernel.shared_bytes},
	    .shape = {.grid = {spec->kernel.blocks, 1, 1}, .block = {spec->kernel.threads, 1, 1}},
	    .counts = spec->counts,
	};

	launch.counts.exact = 1;
	return launch;
}

/* Predicts the kernels given as counts; names each that has no times, with the reason. An exit status. */
static int predict_counted(const struct request *request, struct answer *answer)
{
	int status = KC_EXIT_OK;
	char why[512];

	for (unsigned i = 0; i < request->count; i++) {
		struct prediction *prediction = &answer->predictions[answer->count++];
		struct kc_counted_launch launch = launch_of(&request->kernels[i]);

		prediction->text = request->kernels[i].kernel.text;
		prediction->counts = launch.counts;
		if (kc_launch_times(&answer->device, &launch, request->lambda, &prediction->times, why, sizeof(why)) ==
		    0)
			continue;
		kc_error("kernel %u (%s): %s", i + 1, prediction->text, why);
		status = KC_EXIT_FAILED;
	}
	return status;
}

static int print_json(const struct request *request, const struct answer *answer)
{
	json_t *out = kc_json_document("predict", 1), *kernels = json_array();

	json_object_set_new(out, "simulated", json_boolean(answer->device.simulated));
	json_object_set_new(out, "device", kc_json_text(answer->device.name));
	json_object_set_new(out, "lambda", json_real(request->lambda));
	for (unsigned i = 0; i < answer->count; i++) {
		const struct prediction *prediction = &answer->predictions[i];
		json_t *kernel = json_object();

		json_object_set_new(kernel, "kernel", kc_json_text(prediction->text));
		json_object_set_new(kernel, "blocks_per_sm", json_integer(prediction->times.work.blocks_per_sm));
		json_object_set_new(kernel, "waves", kc_json_real(prediction->times.work.waves));
		json_object_set_new(kernel, "counts", kc_counts_json(&prediction->counts));
		json_object_set_new(kernel, "assumed", json_boolean(prediction->counts.assumed));
		json_object_set_new(kernel, "models", kc_models_json(&prediction->times));
		json_array_append_new(kernels, kernel);
	}
	json_object_set_new(out, "kernels", kernels);
	return kc_json_print_precise(out);
}

static int print_text(const struct request *request, const struct answer *answer)
{
	if (answer->device.simulated)
		puts(KC_SIMULATED_CALIBRATION);
	printf("On %s, running alone, without launch overhead\n", answer->device.name);
	for (unsigned i = 0; i < answer->count; i++) {
		const struct prediction *prediction = &answer->predictions[i];

		printf("\n%s\n", prediction->text);
		if (kc_models_print(&prediction->times, &prediction->counts, request->lambda, 2) < 0)
			return kc_failed(-ENOMEM);
	}
	return kc_output_finish();
}

static int predict(const struct request *request, struct answer *answer)
{
	int status = KC_EXIT_OK;

	if (request->in_file)
		status = predict_in_file(request, answer);
	if (status == KC_EXIT_OK)
		status = predict_counted(request, answer);
	if (status != KC_EXIT_OK)
		return status;
	return request->common.json ? print_json(request, answer) : print_text(request, answer);
}

static int predict_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request = {.lambda = KC_LAMBDA_NOT_LEARNED};
	static struct answer answer;
	int status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	status = kc_calibrated_device(request.device, request.common.database, &answer.device);
	if (status == KC_EXIT_OK)
		status = predict(&request, &answer);
	kc_launch_options_free(&request.launch);
	return status;
}

const struct kc_command kc_command_predict = {
    .group = KC_GROUP_TUNE,
    .name = "predict",
    .summary = "predicts how long a kernel takes when it runs alone",
    .arguments = "[KERNEL...]",
    .options = options,
    .run = predict_main,
    .manual =
	"Each kernel is blocks=N,threads=N[,regs=N][,smem=BYTES] and what one of its threads does on average:\n"
	"fma, add, mul, int, divmod, special, convert, double, half, tensor, control, ld_global, st_global,\n"
	"ld_shared, st_shared, ld_local, st_local, atomics, atomics_shared, barriers, each =NUMBER.\n"
	"Loads and stores are assumed to be of 4 bytes, coalesced and free of bank conflicts, unless bytes_loaded,\n"
	"bytes_stored, requests, sectors, shared_requests, shared_passes, sectors_per_request or\n"
	"bank_conflict_degree says otherwise.\n"
	"With\n"
	".Fl -kernel ,\n"
	"the code of a kernel in an executable, shared object, fatbin, cubin or PTX file is read instead, and\n"
	"counted for the launch that\n"
	".Fl -grid , -block , -args\n"
	"and\n"
	".Fl -shared\n"
	"describe, as\n"
	".Nm Cm explain\n"
	"does. NAME is mangled or readable; it can be left out where the file has one kernel.\n"
	"The estimate is the time that the launch's demand on each resource of the GPU takes, with what limits it;\n"
	"or, with\n"
	".Fl -lambda ,\n"
	"BSP's time. Beside it are the models of papers: the cycle model's two bounds, the boat hull model where the\n"
	"counts fit one of its classes, a roofline, and, with\n"
	".Fl -lambda ,\n"
	"BSP. None of them knows what a launch costs.\n",
};
