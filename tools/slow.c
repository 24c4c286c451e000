#include "command.h"
#include "tools/diff/compare_options.h"
#include "tools/output/filter_shown.h"
#include "tools/slow/forms/slow_steps.h"
#include "tools/slow/slow_search.h"
#include "tools/system/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOP 10u        /* rows of a table */
#define TOP_JSON 1000u /* launches in a document */
#define ORDERS "lost|time|count"

enum { KEY_OLD = 0x100, KEY_BY = 'b' };

struct request {
	struct kc_compare_options options;
	const char *old;
	enum kc_slow_by by;
};

static const struct argp_option options[] = {
    KC_RUN_OPTION,
    {"old", KEY_OLD, "N[,N...]", 0,
     "earlier runs to compare it with (default: up to five of the same command line); none: without any", 0},
    {"by", KEY_BY, "rank|process|gpu|step", 0,
     "one line per rank (process), GPU or step: what its launches lost; instead of the kernels and launches", 0},
    KC_LIMIT_OPTIONS("losses"),
    KC_FILTER_OPTIONS,
    KC_DEVICE_FILTER_OPTION,
    {"sort", KC_KEY_SORT, ORDERS, 0, "order of the kernels, or of what --by asks for, the largest first", 0},
    {"top", KC_KEY_TOP, "N", 0, "list so many rows of a table (default: 10; with --json 1000)", 0},
    KC_JSON_OPTION,
    {0},
};

static enum kc_slow_by by_of(const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "gpu"))
		return KC_SLOW_BY_GPU;
	if (!strcmp(arg, "step"))
		return KC_SLOW_BY_STEP;
	if (strcmp(arg, "rank") != 0 && strcmp(arg, "process") != 0)
		argp_error(state, "--by takes rank, process, gpu or step, not \"%s\"", arg);
	return KC_SLOW_BY_RANK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_OLD:
		request->old = arg;
		return 0;
	case KEY_BY:
		request->by = by_of(arg, state);
		return 0;
	default:
		return kc_compare_option(&request->options, ORDERS, key, arg, state);
	}
}

/* Where they are asked for. */
static int find_steps(struct kc_slow_search *s, struct kc_slow_view *view, struct kc_slow_steps *steps)
{
	int rc;

	if (view->by != KC_SLOW_BY_STEP)
		return KC_EXIT_OK;
	rc = kc_slow_steps(view, steps);
	view->steps = steps;
	if (rc < 0)
		kc_database_unreadable(s->this.path, rc);
	else if (steps->are < KC_STEPS_ARE_TOLD)
		kc_error("%s: %s", view->path, KC_NO_STEPS);
	return rc < 0 || steps->are < KC_STEPS_ARE_TOLD ? KC_EXIT_FAILED : KC_EXIT_OK;
}

static int print(struct kc_slow_search *s, const struct request *request)
{
	const struct kc_compare_options *options = &request->options;
	struct kc_slow_view view = {
	    .runs = &s->runs,
	    .slow = &s->slow,
	    .gpu_states = &s->gpu_states,
	    .store = s->this.store,
	    .limits = options->limits,
	    .path = kc_database_shown(s->this.path),
	    .filter = s->this.filter,
	    .top = options->of.sorting.top   ? options->of.sorting.top
		   : options->of.common.json ? TOP_JSON
					     : TOP,
	    .by = request->by,
	    .order = options->of.sorting.by,
	    .other_devices = s->other_devices,
	};
	struct kc_slow_steps steps = {.are = KC_STEPS_ARE_NOT_ASKED};
	int status;

	kc_slow_sort(&s->slow, options->of.sorting.by);
	status = kc_slow_search_worst(s, view.top, options->of.common.json ? 0 : KC_SLOW_ALIKE);
	if (status == KC_EXIT_OK)
		status = find_steps(s, &view, &steps);
	if (status == KC_EXIT_OK) {
		view.worst = s->worst;
		view.worst_count = s->worst_count;
		status = options->of.common.json ? kc_slow_json(&view) : kc_slow_text(&view);
	}
	kc_slow_steps_free(&steps);
	return status;
}

static int slow_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.options = {.limits = KC_DIFF_DEFAULT_LIMITS, .of.common.may_be_several = 1}};
	struct kc_slow_search *s = calloc(1, sizeof(*s));
	struct kc_slow_asked asked;
	int status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (!s) {
		kc_filter_choice_free(&request.options.of.filter);
		return kc_failed(-ENOMEM);
	}
	asked = (struct kc_slow_asked){
	    .run = request.options.of.run,
	    .old = request.old,
	    .filter = &request.options.of.filter,
	    .limits = request.options.limits,
	};
	status = kc_side_open(&s->this, kc_common_database(&request.options.of.common));
	if (status == KC_EXIT_OK)
		status = kc_slow_search(s, &asked);
	if (status == KC_EXIT_OK)
		status = print(s, &request);
	kc_slow_search_free(s);
	kc_filter_choice_free(&request.options.of.filter);
	free(s);
	return status;
}

const struct kc_command kc_command_slow = {
    .name = "slow",
    .summary = "shows which launches took longer than they should, and why",
    .arguments = "[DB...]",
    .options = options,
    .run = slow_main,
    .manual =
	"What a launch should have taken is the median of its peers: launches of the same kernel, grid, block and\n"
	"dynamic shared memory that came after the same launches on their stream and ran alone, in earlier runs\n"
	"of the same command line or, where those have none, in the same run.\n"
	"Predictions have no part in it: they learn from what is slow.\n"
	".Pp\n"
	"The time beyond that is divided among causes, where it is more than\n"
	".Fl -over\n"
	"and more than\n"
	".Fl -floor :\n"
	".Bl -tag -width Ds\n"
	".It a new size\n"
	"earlier runs did not have this grid, block and dynamic shared memory, or these arguments on which the\n"
	"kernel's cost depends; without earlier runs, the kernel had repeated others for a quarter of its launches.\n"
	"The kernel takes longer with it.\n"
	".It slower than before\n"
	"the launch shape is slower than in earlier runs, by the test of\n"
	".Nm\n"
	".Cm diff .\n"
	".It drift\n"
	"the launch shape was faster in another part of this run.\n"
	".It first launch\n"
	"it was the kernel's first launch in its process: loading, cold caches.\n"
	".It overlapped\n"
	"longer than alone: other kernels ran at the same time on the device.\n"
	"No more than the time during which they ran is put down to them.\n"
	".It slower rank or GPU\n"
	"other processes of the run, on the same model of GPU, took less for the same launches,\n"
	"throughout or from some launch on.\n"
	"Of two processes, which one is as it should be is not known.\n"
	".It not explained\n"
	"none of these, and far outside of what its launch shape usually takes.\n"
	".El\n"
	".Pp\n"
	"Launches with too few peers, less than four at their position and eight in all, are counted as not known.\n",
};
