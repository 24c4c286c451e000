#include "command.h"
#include "tools/input/common_options.h"
#include "tools/input/device_spec.h"
#include "tools/input/filter_options.h"
#include "tools/whatif/whatif_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DEVICE = 'd', KEY_CSV = 0x100, KEY_FROM, KEY_ANCHOR };

struct request {
	struct kc_common_options common;
	struct kc_filter_choice filter;
	struct kc_sorting sorting;
	const char *run, *device, *from, *anchor;
	int csv;
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME|FILE", 0, "the other GPU (`kerncast devices` lists names)", 0},
    {"anchor", KEY_ANCHOR, "DB", 0, "a database whose latest run is the same program on the other GPU", 0},
    {"from", KEY_FROM, "NAME|FILE", 0, "the run's own GPU, for traces that do not tell it", 0},
    {"run", 'r', "N", 0, "the run (default: the latest)", 0},
    KC_FILTER_OPTIONS,
    {"top", KC_KEY_TOP, "N", 0, "print so many kernels, those that took most time (default: 10)", 0},
    {"csv", KEY_CSV, NULL, 0, "print one row per kernel", 0},
    KC_JSON_OPTION,
    {0},
};

static void check(const struct request *request, struct argp_state *state)
{
	kc_filter_options_check(&request->filter, state);
	kc_json_or_csv(request->common.json, request->csv, state);
	if (!request->device)
		argp_error(state, "--device is missing: which GPU? `kerncast devices` lists names");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 'r':
		request->run = arg;
		return 0;
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case KEY_FROM:
		request->from = arg;
		return 0;
	case KEY_ANCHOR:
		request->anchor = arg;
		return 0;
	case KEY_CSV:
		request->csv = 1;
		return 0;
	case KC_KEY_TOP:
		return kc_sort_option(&request->sorting, "", key, arg, state);
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		if (kc_filter_option(&request->filter, key, arg, state) == 0)
			return 0;
		return kc_common_option(&request->common, key, arg, state);
	}
}

static int read_device(const char *what, struct kc_device *device)
{
	char why[512];

	if (kc_device_spec(what, device, why, sizeof(why)) == 0)
		return KC_EXIT_OK;
	kc_error("%s", why);
	return KC_EXIT_USAGE;
}

static int print(const struct kc_whatif *w, const struct request *request)
{
	if (request->csv)
		return kc_whatif_csv(w);
	return request->common.json ? kc_whatif_json(w) : kc_whatif_text(w, (unsigned)request->sorting.top);
}

static int ask(struct request *request, struct kc_whatif *w)
{
	struct kc_device from = {0};
	const struct kc_whatif_asked asked = {
	    .run = request->run,
	    .filter = &request->filter,
	    .from = request->from ? &from : NULL,
	    .anchor = request->anchor,
	};
	int status = read_device(request->device, &w->there);

	if (status == KC_EXIT_OK && request->from)
		status = read_device(request->from, &from);
	if (status == KC_EXIT_OK)
		status = kc_side_open(&w->side, kc_common_database(&request->common));
	if (status == KC_EXIT_OK)
		status = kc_whatif_search(w, &asked);
	return status == KC_EXIT_OK ? print(w, request) : status;
}

static int whatif_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.common.may_be_several = 1};
	struct kc_whatif *w = calloc(1, sizeof(*w));
	int status = KC_EXIT_FAILED;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (w) {
		status = ask(&request, w);
		kc_whatif_free(w);
	} else {
		kc_error("%s", strerror(ENOMEM));
	}
	kc_filter_choice_free(&request.filter);
	free(w);
	return status;
}

const struct kc_command kc_command_whatif = {
    .name = "whatif",
    .summary = "tells what a recorded run would take on another GPU",
    .arguments = "--device NAME [DB...]",
    .options = options,
    .run = whatif_main,
    .manual =
	"For each kernel, for all of them and for the whole run: the measured time, the time that is expected on the\n"
	"other GPU with a 90 % range, whether it is faster or slower there, or that this cannot be told, and what\n"
	"that rests on: the same launches were timed there; the kernel was at another size; five or more other\n"
	"kernels were; or a law, within the architecture or from another one.\n"
	"The law takes from the measured time how much of it may be waiting for memory, and scales that by the\n"
	"bandwidth, the rest by SMs, clock and the waves of blocks.\n"
	".Pp\n"
	"The anchor is a database of the same program, recorded or imported, on the other GPU; some of its launches\n"
	"are enough. One other kernel that was timed there changes nothing.\n"
	"What an anchor tells is printed beside what would have been told without it.\n"
	".Pp\n"
	"The time in which no kernel runs is taken to stay as it is. Whether the run's memory fits is not told.\n",
};
