#include "tools/input/common_options.h"
#include "tools/input/calibrated.h"
#include "command.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/input/count_spec.h"
#include "tools/output/table.h"
#include "tools/together/together_row.h"

#include "predictor/papers/leftover.h"
#include "predictor/concurrency/timeline.h"
#include "predictor/math/duration.h"

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
	struct kc_count_spec kernels[KERNELS_MAX];
	unsigned count;
};

struct answer {
	struct kc_device device;
	struct kc_work works[KERNELS_MAX];
	struct kc_leftover pairs[KERNELS_MAX]; /* [i]: kernel i beside kernel i - 1 */
	struct kc_placement placed[KERNELS_MAX];
	int timed;                    /* all times are known, so placed is filled in */
	int64_t solo_ns[KERNELS_MAX]; /* as given, or else by the counters; 0: neither was given */
	struct kc_shares shares[KERNELS_MAX];
	int is_demand_known[KERNELS_MAX];
	struct kc_together_row rows[KERNELS_MAX]; /* of kernel i beside kernel i - 1, where both have a time */
	char names[KERNELS_MAX][12];
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
	else if (kc_neighbour_spec(arg, &request->kernels[request->count++], why, sizeof(why)) < 0)
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
		const struct kc_kernel_spec *spec = &request->kernels[i].kernel;

		if (kc_kernel_spec_work(spec, &answer->device, &answer->works[i], why, sizeof(why)) == 0)
			continue;
		kc_error("kernel %u (%s) cannot run on %s: %s", i + 1, spec->text, answer->device.name, why);
		refused++;
	}
	return refused;
}

/* What a kernel needs of the device, where counters tell it, and its time alone by them, where none is given. */
static void find_demand(const struct kc_count_spec *spec, struct answer *answer, unsigned i)
{
	const struct kc_work *work = &answer->works[i];
	struct kc_counts counts = spec->counts;
	struct kc_resource_times times;

	answer->solo_ns[i] = spec->kernel.time_ns;
	if (!spec->has_counters)
		return;
	counts.exact = 1; /* what is given: nothing is assumed of it here */
	if (!answer->solo_ns[i] && kc_resource_times(&answer->device, work, &counts, &times) == 0)
		answer->solo_ns[i] = kc__whole_ns(times.total_ns);
	answer->is_demand_known[i] = kc_shares_of(&answer->device, work, &counts, spec->footprint_bytes,
						  (double)answer->solo_ns[i], &answer->shares[i]) == 0;
}

static void find_demands(const struct request *request, struct answer *answer)
{
	answer->timed = 1;
	for (unsigned i = 0; i < request->count; i++) {
		find_demand(&request->kernels[i], answer, i);
		answer->timed = answer->timed && answer->solo_ns[i];
	}
}

/* Places all kernels as if launched at the same moment, in this order, each in its own stream. */
static int place_on_timeline(const struct request *request, struct answer *answer)
{
	struct kc_timeline *timeline;

	if (!answer->timed)
		return 0;
	timeline = calloc(1, kc_timeline_size());
	if (!timeline)
		return -ENOMEM;
	kc_timeline_init(timeline, &answer->device);
	for (unsigned i = 0; i < request->count; i++) {
		kc_timeline_stream(timeline, i, KC_STREAM_NONBLOCKING, 0);
		kc_timeline_kernel(timeline, i, 0, &answer->works[i], answer->solo_ns[i], &answer->placed[i]);
	}
	free(timeline);
	return 0;
}

/* A row where both have a time; 1: there is one. */
static int put_together(const struct request *request, struct answer *answer, unsigned i)
{
	struct kc_neighbour pair[2];
	struct kc_together together;

	for (unsigned k = 0; k < 2; k++) {
		unsigned at = i - 1 + k;

		pair[k] = (struct kc_neighbour){&answer->works[at], (double)answer->solo_ns[at],
						answer->is_demand_known[at] ? &answer->shares[at] : NULL};
		snprintf(answer->names[at], sizeof(answer->names[at]), "%u", at + 1);
	}
	if (kc_together(&answer->device, &pair[0], &pair[1], &together))
		return 0;
	answer->rows[i].first = request->kernels[i - 1].kernel.text;
	answer->rows[i].second = request->kernels[i].kernel.text;
	kc_together_row(&answer->rows[i], &together, &pair[0], &pair[1],
			(const char *const[]){answer->names[i - 1], answer->names[i]});
	return 1;
}

static int find_answer(const struct request *request, struct answer *answer)
{
	int rc = 0;

	for (unsigned i = 1; rc == 0 && i < request->count; i++)
		rc = kc_leftover_pair(&answer->pairs[i], &answer->device, &answer->works[i - 1].grid,
				      (double)request->kernels[i - 1].kernel.time_ns, &answer->works[i].grid,
				      request->spreading);
	if (rc)
		return rc;
	find_demands(request, answer);
	for (unsigned i = 1; i < request->count; i++)
		if (!put_together(request, answer, i))
			answer->rows[i].label = NULL;
	return place_on_timeline(request, answer);
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
		json_object_set_new(pair, "together",
				    answer->rows[i].label ? kc_fields_json(&kc_together_fields, &answer->rows[i])
							  : json_null());
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
	kc_table_row(table, (const char *const[]){request->kernels[i].kernel.text, case_text, slots, waves, limited,
						  slowdown, start, end, timed});
}

/* Of each kernel beside the one before it, by what they need of the device. */
static int print_together(const struct request *request, const struct answer *answer)
{
	struct kc_together_row rows[KERNELS_MAX];
	size_t n = 0;

	for (unsigned i = 1; i < request->count; i++)
		if (answer->rows[i].label)
			rows[n++] = answer->rows[i];
	if (!n)
		return 0;
	puts("\nTwo at a time, one after the other and together, by what they need of the GPU");
	return kc_fields_table(&kc_together_fields, 0, rows, n, 2);
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
	printf("%s, placement %s: each kernel beside the one before it; slowdown by room on the SMs alone\n\n",
	       answer->device.name, request->spreading == KC_PACKED ? "packed" : "spread");
	kc_table_init(&table, columns);
	for (unsigned i = 0; i < request->count; i++)
		add_row(&table, request, answer, i);
	if (kc_table_finish(&table, 0) || print_together(request, answer))
		return KC_EXIT_FAILED;
	if (!answer->timed)
		puts(
		    "\nGive every kernel's solo time (time=1.5ms) or what its threads do (fma=1024,ld_global=2) to see "
		    "when each\nstarts and ends, and what is gained together.");
	return kc_output_finish();
}

static int slowdown_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request;
	static struct answer answer;
	int rc, status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	status = kc_calibrated_device(request.device, request.common.database, &answer.device);
	if (status != KC_EXIT_OK)
		return status;
	if (make_works(&request, &answer))
		return KC_EXIT_FAILED;
	rc = find_answer(&request, &answer);
	if (rc < 0)
		return kc_failed(rc);
	return request.common.json ? print_json(&request, &answer) : print_table(&request, &answer);
}

const struct kc_command kc_command_slowdown = {
    .group = KC_GROUP_TUNE,
    .seldom = 1,
    .name = "slowdown",
    .summary = "predicts how kernels launched together slow one another down",
    .arguments = "KERNEL KERNEL...",
    .options = options,
    .run = slowdown_main,
    .manual =
	"Each kernel is blocks=N,threads=N[,regs=N][,smem=BYTES][,cluster=N][,time=T]: registers per thread, bytes\n"
	"of shared memory per block, blocks per thread block cluster, and its solo time with a unit (ns, us, ms, s).\n"
	"What one of its threads does can be added as in\n"
	".Nm Cm predict ;\n"
	"without a time, the one that it needs for that is taken.\n"
	"For each kernel beside the one launched just before it are printed: how they share the device (together\n"
	"from the start, in the other's last wave, or one after the other), the slots (blocks that fit beside the\n"
	"other kernel), its waves alone and with these slots only, and the ratio of the two, which is the slowdown\n"
	"by the wave model (Quintanilla 2017, eq. 5.1).\n"
	"That model is a bound for kernels that share the device from start to end. Where every kernel has a solo\n"
	"time, the timeline adds when each starts and ends, counted from the launch, and how many times its solo\n"
	"time it takes. Both know of room on the SMs alone.\n"
	".Pp\n"
	"What two kernels gain when they run together depends on what both need of each unit, cache and memory of the\n"
	"GPU: it is told as a range where counters tell that, with the reason, and not told else.\n"
	"footprint=BYTES says how much global memory a block goes through before it comes back to the same; without\n"
	"it, nothing is told of kernels that may have more in a cache than both together find room for.\n",
};
