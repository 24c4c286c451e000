#include "command.h"
#include "count_spec.h"
#include "device_spec.h"
#include "format.h"
#include "models_json.h"
#include "table.h"

#include "predictor/models.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DEVICE = 'd', KEY_LAMBDA = 'l', KEY_JSON = 0x100 };

#define KERNELS_MAX 64u

struct request {
	const char *device;
	double lambda;
	int json;
	struct kc_count_spec kernels[KERNELS_MAX];
	unsigned count;
};

struct answer {
	struct kc_device device;
	struct kc_work works[KERNELS_MAX];
	struct kc_model_times times[KERNELS_MAX];
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "a built-in device (`kerncast devices`), or a file of attribute=number lines", 0},
    {"lambda", KEY_LAMBDA, "NUMBER", 0, "of the BSP model; 1 (default) before anything was measured", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON document", 0},
    {0},
};

static void add_kernel(struct request *request, const char *arg, struct argp_state *state)
{
	char why[256];

	if (request->count == KERNELS_MAX)
		argp_error(state, "more than %u kernels", KERNELS_MAX);
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
	case KEY_JSON:
		request->json = 1;
		return 0;
	case ARGP_KEY_ARG:
		add_kernel(request, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!request->device)
			argp_error(state, "which device? --device takes a built-in name or a file");
		if (!request->count)
			argp_error(state, "a kernel, such as blocks=4096,threads=256,fma=1024,ld_global=2048");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* 0, or the number of kernels that have no times, each named with the reason. */
static unsigned find_times(const struct request *request, struct answer *answer)
{
	unsigned refused = 0;
	char why[256];

	for (unsigned i = 0; i < request->count; i++) {
		const struct kc_count_spec *spec = &request->kernels[i];
		int rc = kc_kernel_spec_work(&spec->kernel, &answer->device, &answer->works[i], why, sizeof(why));

		if (rc < 0)
			kc_error("kernel %u (%s) cannot run on %s: %s", i + 1, spec->kernel.text, answer->device.name,
				 why);
		else if ((rc = kc_model_times(&answer->device, spec->kernel.blocks, spec->kernel.threads, &spec->counts,
					      request->lambda, &answer->times[i])) < 0)
			kc_error("%s has no clock_khz; the models cannot do without", answer->device.name);
		refused += rc < 0;
	}
	return refused;
}

static int print_json(const struct request *request, const struct answer *answer)
{
	json_t *out = json_object(), *kernels = json_array();

	json_object_set_new(out, "device", kc_json_text(answer->device.name));
	json_object_set_new(out, "lambda", json_real(request->lambda));
	for (unsigned i = 0; i < request->count; i++) {
		json_t *kernel = json_object();

		json_object_set_new(kernel, "kernel", kc_json_text(request->kernels[i].kernel.text));
		json_object_set_new(kernel, "blocks_per_sm", json_integer(answer->works[i].blocks_per_sm));
		json_object_set_new(kernel, "waves", kc_json_real(answer->works[i].waves));
		json_object_set_new(kernel, "counts", kc_counts_json(&request->kernels[i].counts));
		json_object_set_new(kernel, "models", kc_models_json(&answer->times[i]));
		json_array_append_new(kernels, kernel);
	}
	json_object_set_new(out, "kernels", kernels);
	return kc_json_print(out);
}

static void add_row(struct kc_table *table, const char *model, const char *meaning, double low_ns, double high_ns)
{
	char low[KC_FORMAT_BYTES], high[KC_FORMAT_BYTES];

	kc_format_ns(low_ns, low);
	kc_format_ns(high_ns, high);
	kc_table_row(table, (const char *const[]){model, low, low_ns == high_ns ? "" : high, meaning});
}

static int print_kernel(const struct kc_count_spec *spec, const struct kc_model_times *times)
{
	static const struct kc_column columns[] = {
	    {"model", KC_LEFT, 0}, {"from", KC_RIGHT, 0}, {"to", KC_RIGHT, 0}, {"", KC_LEFT, 1}, {0}};
	struct kc_table table;
	char class[64];
	int rc;

	printf("\n%s\n", spec->kernel.text);
	snprintf(class, sizeof(class), "class %s", kc_boathull_class_name(times->boathull_class));
	kc_table_init(&table, columns);
	add_row(&table, "BSP", "Equation 3", times->bsp_ns, times->bsp_ns);
	add_row(&table, "cycles", "memory latency hidden, and not", times->cycle_max_ns, times->cycle_sum_ns);
	if (times->boathull_class == KC_BOATHULL_NONE)
		kc_table_row(&table, (const char *const[]){"boat hull", "-", "", "fits none of the classes"});
	else
		add_row(&table, "boat hull", class, times->boathull_low_ns, times->boathull_high_ns);
	add_row(&table, "roofline", "at best, and with no cache", times->roofline_low_ns, times->roofline_high_ns);
	rc = kc_table_print(&table, stdout, 2, kc_page_width());
	kc_table_free(&table);
	return rc;
}

static int print_text(const struct request *request, const struct answer *answer)
{
	printf("%s, \xce\xbb = %g: time alone, without what a launch costs\n", answer->device.name, request->lambda);
	for (unsigned i = 0; i < request->count; i++) {
		int rc = print_kernel(&request->kernels[i], &answer->times[i]);

		if (rc < 0) {
			kc_error("%s", strerror(-rc));
			return KC_EXIT_FAILED;
		}
	}
	return kc_output_finish();
}

static int predict_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request = {.lambda = 1};
	static struct answer answer;
	char why[512];
	int rc;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	rc = kc_device_spec(request.device, &answer.device, why, sizeof(why));
	if (rc < 0) {
		kc_error("%s", why);
		return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
	}
	if (find_times(&request, &answer))
		return KC_EXIT_FAILED;
	return request.json ? print_json(&request, &answer) : print_text(&request, &answer);
}

const struct kc_command kc_command_predict = {
    .name = "predict",
    .summary = "says how long a kernel takes alone, by each model",
    .arguments = "KERNEL...",
    .options = options,
    .run = predict_main,
    .manual =
	"Each kernel is blocks=N,threads=N[,regs=N][,smem=BYTES] and what one of its threads does on average:\n"
	"fma, add, mul, int, divmod, special, convert, double, half, tensor, control, ld_global, st_global,\n"
	"ld_shared, st_shared, ld_local, st_local, atomics, atomics_shared, barriers, each =NUMBER.\n"
	"Loads and stores are taken as coalesced, of 4 bytes and without bank conflicts, unless bytes_loaded,\n"
	"bytes_stored, requests, sectors, shared_requests, shared_passes, sectors_per_request or\n"
	"bank_conflict_degree says otherwise.\n"
	"The models: BSP (a time that is to be divided by what lambda turns out to be), the cycle model's two\n"
	"bounds, the boat hull model where the counts fit one of its classes, and a roofline as a sanity range.\n",
};
