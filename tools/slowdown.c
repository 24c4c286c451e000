#include "tools/input/common_options.h"
#include "tools/input/calibrated.h"
#include "command.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/input/kernel_spec.h"
#include "tools/output/table.h"

#include "predictor/papers/leftover.h"
#include "predictor/concurrency/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DEVICE = 'd', KEY_DB = 0x100, KEY_PLACEMENT };

#define KERNELS_MAX 16u

struct request {
	struct kc_common_options common;
	const char *device;
	enum kc_spreading spreading;
	struct kc_kernel_spec kernels[KERNELS_MAX];
	unsigned count;
};

struct answer {
	struct kc_device device;
	struct kc_work works[KERNELS_MAX];
	struct kc_leftover pairs[KERNELS_MAX]; /* [i]: kernel i beside kernel i - 1 */
	struct kc_placement placed[KERNELS_MAX];
	int timed; /* all times were given, so placed is filled in */
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "a built-in device (`kerncast devices` lists them) or a file of attribute=number lines", 0},
    {"db", KEY_DB, "DB", 0, KC_CALIBRATED_HELP, 0},
    {"placement", KEY_PLACEMENT, "spread|packed", 0,
     "whether the first kernel's blocks are spread over all SMs (default) or packed onto as few as possible", 0},
    KC_JSON_OPTION,
    {0},
};

static void add_kernel(struct request *request, const char *arg, struct argp_state *state)
{
	char why[256];

	if (request->count == KERNELS_MAX)
		argp_error(state, "expected %u kernels at most", KERNELS_MAX);
	else if (kc_kernel_spec(arg, &request->kernels[request->count++], why, sizeof(why)) < 0)
		argp_error(state, "%s", why);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;
	int spreading;

	switch (key) {
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case KEY_DB:
		request->common.database = arg;
		return 0;
	case KEY_PLACEMENT:
		spreading = kc_spreading_by_name(arg);
		if (spreading < 0)
			argp_error(state, "--placement takes spread or packed, not \"%s\"", arg);
		request->spreading = (enum kc_spreading)spreading;
		return 0;
	case ARGP_KEY_ARG:
		add_kernel(request, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!request->device)
			argp_error(state, "no device given; --device takes a built-in name or a file");
		if (request->count < 2)
			argp_error(state, "give two kernels or more, such as blocks=110,threads=256,smem=1024");
		return 0;
	default:
		return kc_common_option(&request->common, key, arg, state);
	}
}

/* Returns how many kernels cannot run, after naming each. */
static unsigned make_works(const struct request *request, struct answer *answer)
{
	unsigned refused = 0;
	char why[256];

	for (unsigned i = 0; i < request->count; i++) {
		const struct kc_kernel_spec *spec = &request->kernels[i];

		if (kc_kernel_spec_work(spec, &answer->device, &answer->works[i], why, sizeof(why)) == 0)
			continue;
		kc_error("kernel %u (%s) cannot run on %s: %s", i + 1, spec->text, answer->device.name, why);
		refused++;
	}
	return refused;
}

/* Places all kernels as if launched at the same moment, in this order, each in its own stream. */
static int place_on_timeline(const struct request *request, struct answer *answer)
{
	struct kc_timeline *timeline;

	for (unsigned i = 0; i < request->count; i++) {
		if (!request->kernels[i].time_ns)
			return 0;
	}
	timeline = calloc(1, kc_timeline_size());
	if (!timeline)
		return -ENOMEM;
	kc_timeline_init(timeline, &answer->device);
	for (unsigned i = 0; i < request->count; i++) {
		kc_timeline_stream(timeline, i, KC_STREAM_NONBLOCKING, 0);
		kc_timeline_kernel(timeline, i, 0, &answer->works[i], request->kernels[i].time_ns, &answer->placed[i]);
	}
	answer->timed = 1;
	free(timeline);
	return 0;
}

static int find_answer(const struct request *request, struct answer *answer)
{
	int rc = 0;

	for (unsigned i = 1; rc == 0 && i < request->count; i++)
		rc = kc_leftover_pair(&answer->pairs[i], &answer->device, &answer->works[i - 1].grid,
				      (double)request->kernels[i - 1].time_ns, &answer->works[i].grid,
				      request->spreading);
	return rc ? rc : place_on_timeline(request, answer);
}

static void set_pair(json_t *out, const struct kc_leftover *pair)
{
	json_object_set_new(out, "case", json_string(kc_case_name(pair->concurrency_case)));
	json_object_set_new(out, "slots", json_integer(pair->slots));
	json_object_set_new(out, "waves", json_integer((json_int_t)pair->waves));
	json_object_set_new(out, "waves_limited", json_integer((json_int_t)pair->waves_limited));
	json_object_set_new(out, "slowdown", json_real(pair->slowdown));
}

static json_t *timeline_json(const struct request *request, const struct answer *answer)
{
	json_t *out = json_array();

	for (unsigned i = 0; answer->timed && i < request->count; i++) {
		const struct kc_placement *placed = &answer->placed[i];
		json_t *one = json_object();

		json_object_set_new(one, "start_ns", json_integer(placed->start_ns));
		json_object_set_new(one, "end_ns", json_integer(placed->end_ns));
		json_object_set_new(one, "slowdown", json_real((double)placed->slowdown));
		json_object_set_new(one, "case", json_string(kc_case_name(placed->concurrency_case)));
		json_array_append_new(out, one);
	}
	return out;
}

/* The top-level keys are about the second kernel beside the first; `pairs` has every kernel beside its predecessor. */
static int print_json(const struct request *request, const struct answer *answer)
{
	json_t *out = kc_json_document("slowdown", 1), *pairs = json_array();

	json_object_set_new(out, "simulated", json_boolean(answer->device.simulated));
	json_object_set_new(out, "device", kc_json_text(answer->device.name));
	json_object_set_new(out, "placement", json_string(request->spreading == KC_PACKED ? "packed" : "spread"));
	set_pair(out, &answer->pairs[1]);
	for (unsigned i = 1; i < request->count; i++) {
		json_t *pair = json_object();

		set_pair(pair, &answer->pairs[i]);
		json_array_append_new(pairs, pair);
	}
	json_object_set_new(out, "pairs", pairs);
	json_object_set_new(out, "timeline", timeline_json(request, answer));
	return kc_json_print(out);
}

static void add_row(struct kc_table *table, const struct request *request, const struct answer *answer, unsigned i)
{
	const struct kc_leftover *pair = &answer->pairs[i];
	const struct kc_placement *placed = &answer->placed[i];
	char case_text[KC_FORMAT_BYTES] = "", slots[KC_FORMAT_BYTES] = "", waves[KC_FORMAT_BYTES],
	     limited[KC_FORMAT_BYTES] = "", slowdown[KC_FORMAT_BYTES] = "", start[KC_FORMAT_BYTES] = "",
	     end[KC_FORMAT_BYTES] = "", timed[KC_FORMAT_BYTES] = "";

	kc_format_count(answer->works[i].grid.waves, waves);
	if (i) {
		snprintf(case_text, sizeof(case_text), "%s", kc_format_case(pair->concurrency_case));
		kc_format_count(pair->slots, slots);
		kc_format_count(pair->waves_limited, limited);
		snprintf(slowdown, sizeof(slowdown), "%.2f", pair->slowdown);
	}
	if (answer->timed) {
		kc_format_ns((double)placed->start_ns, start);
		kc_format_ns((double)placed->end_ns, end);
		snprintf(timed, sizeof(timed), "%.2f", (double)placed->slowdown);
	}
	kc_table_row(table, (const char *const[]){request->kernels[i].text, case_text, slots, waves, limited, slowdown,
						  start, end, timed});
}

static int print_table(const struct request *request, const struct answer *answer)
{
	static const struct kc_column columns[] = {
	    {"kernel", KC_LEFT, 1},    {"case", KC_LEFT, 0},
	    {"slots", KC_RIGHT, 0},    {"waves", KC_RIGHT, 0},
	    {"limited", KC_RIGHT, 0},  {"wave model", KC_RIGHT, 0},
	    {"start", KC_RIGHT, 0},    {"end", KC_RIGHT, 0},
	    {"timeline", KC_RIGHT, 0}, {0},
	};
	struct kc_table table;

	if (answer->device.simulated)
		puts(KC_SIMULATED_CALIBRATION);
	printf("%s, placement %s: each kernel beside the one before it; slowdown by the wave model%s\n\n",
	       answer->device.name, request->spreading == KC_PACKED ? "packed" : "spread",
	       answer->timed ? ", and on the timeline" : "");
	kc_table_init(&table, columns);
	for (unsigned i = 0; i < request->count; i++)
		add_row(&table, request, answer, i);
	if (kc_table_finish(&table, 0))
		return KC_EXIT_FAILED;
	if (!answer->timed)
		puts("\nGive every kernel's solo time (time=1.5ms) to see when each starts and ends on the timeline.");
	return kc_output_finish();
}

static int slowdown_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {0};
	struct answer answer = {0};
	int rc, status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	status = kc_calibrated_device(request.device, request.common.database, &answer.device);
	if (status != KC_EXIT_OK)
		return status;
	if (make_works(&request, &answer))
		return KC_EXIT_FAILED;
	rc = find_answer(&request, &answer);
	if (rc < 0) {
		kc_error("%s", strerror(-rc));
		return KC_EXIT_FAILED;
	}
	return request.common.json ? print_json(&request, &answer) : print_table(&request, &answer);
}

const struct kc_command kc_command_slowdown = {
    .group = KC_GROUP_TUNE,
    .name = "slowdown",
    .summary = "predicts how kernels launched together slow one another down",
    .arguments = "KERNEL KERNEL...",
    .options = options,
    .run = slowdown_main,
    .manual =
	"Each kernel is blocks=N,threads=N[,regs=N][,smem=BYTES][,cluster=N][,time=T]: registers per thread, bytes\n"
	"of shared memory per block, blocks per thread block cluster, and its solo time with a unit (ns, us, ms, s).\n"
	"For each kernel beside the one launched just before it are printed: how they share the device (together\n"
	"from the start, in the other's last wave, or one after the other), the slots (blocks that fit beside the\n"
	"other kernel), its waves alone and with these slots only, and the ratio of the two, which is the slowdown\n"
	"by the wave model (Quintanilla 2017, eq. 5.1).\n"
	"That model is a bound for kernels that share the device from start to end. Where every kernel has a solo\n"
	"time, the timeline adds when each starts and ends, counted from the launch, and how many times its solo\n"
	"time it takes.\n",
};
