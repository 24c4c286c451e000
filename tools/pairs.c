#include "command.h"
#include "tools/input/device_spec.h"
#include "tools/input/run_options.h"
#include "tools/together/pairs_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOP 5u

enum { KEY_CSV = 0x100 };

struct request {
	struct kc_run_options of;
	int csv;
};

static const struct argp_option options[] = {
    KC_RUN_OPTION,
    KC_FILTER_OPTIONS,
    {"device", KC_KEY_OF_DEVICE, "NAME|FILE", 0,
     "the GPU, for traces that do not tell it (`kerncast devices` lists names); by its number, as --gpu", 0},
    {"top", KC_KEY_TOP, "N", 0, "of so many kernels, those that took most time, 26 at most (default: 5)", 0},
    {"csv", KEY_CSV, NULL, 0, "print one row per pair", 0},
    KC_JSON_OPTION,
    {0},
};

static void check(const struct request *request, struct argp_state *state)
{
	kc_json_or_csv(request->of.common.json, request->csv, state);
	if (request->of.sorting.top > KC_PAIR_KERNELS_MAX)
		argp_error(state, "--top takes a number from 1 to %u", KC_PAIR_KERNELS_MAX);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	if (key == KEY_CSV) {
		request->csv = 1;
		return 0;
	}
	if (key == ARGP_KEY_END)
		check(request, state);
	return kc_run_option(&request->of, "", key, arg, state);
}

static int print(const struct kc_pair_search *search, const struct request *request)
{
	if (request->csv)
		return kc_pairs_csv(search);
	return request->of.common.json ? kc_pairs_json(search) : kc_pairs_text(search);
}

static int find_pairs(struct request *request, struct kc_pair_search *search)
{
	struct kc_device device = {0};
	struct kc_pair_asked asked = {
	    .run = request->of.run,
	    .filter = &request->of.filter,
	    .device = request->of.device ? &device : NULL,
	    .most = request->of.sorting.top ? (unsigned)request->of.sorting.top : TOP,
	};
	char why[512];
	int status;

	if (request->of.device && kc_device_spec(request->of.device, &device, why, sizeof(why)) < 0) {
		kc_error("%s", why);
		return KC_EXIT_USAGE;
	}
	status = kc_side_open(&search->side, kc_common_database(&request->of.common));
	if (status == KC_EXIT_OK)
		status = kc_pair_search(search, &asked);
	return status == KC_EXIT_OK ? print(search, request) : status;
}

static int pairs_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.of.common.may_be_several = 1};
	struct kc_pair_search *search = calloc(1, sizeof(*search));
	int status = KC_EXIT_FAILED;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (search) {
		status = find_pairs(&request, search);
		kc_pair_search_free(search);
	} else {
		kc_error("%s", strerror(ENOMEM));
	}
	kc_filter_choice_free(&request.of.filter);
	free(search);
	return status;
}

const struct kc_command kc_command_pairs = {
    .name = "pairs",
    .summary = "tells which kernels of a run would gain from running together",
    .arguments = "[DB...]",
    .options = options,
    .run = pairs_main,
    .manual =
	"Of the kernels that took most time, each as the launch shape and arguments that took most of it, are told:\n"
	"their time alone, the waves of blocks in which the GPU runs them, and what they need of it meanwhile: the\n"
	"share of their time for which a unit, cache or memory would be busy at its data sheet's rate, or at the\n"
	"bandwidth that was calibrated. It is known where their code told their work.\n"
	".Pp\n"
	"Two at a time, in the better order: one after the other, the range of both together on two streams, what is\n"
	"gained, in percent, and why.\n"
	"A kernel of more blocks than the GPU holds leaves room in its last wave only. Kernels that need the same\n"
	"resource gain what it is idle.\n"
	"No gain is told where what they need is not known, nor where what both have in L1 or L2 is more than it\n"
	"holds, for then they may be slower than one after the other, by factors. The line below a pair says which.\n"
	"What is better is one after the other, unless at least 3 % are sure.\n"
	"Beside it: how often launches of both were measured to run at the same time, and what those gained that did "
	"so\n"
	"beside no other kernel (the median, of their times alone).\n"
	".Pp\n"
	"It is of two streams. What one kernel that does the work of both would gain depends on how it is compiled.\n",
};
