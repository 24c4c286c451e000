#include "command.h"
#include "tools/diff/compare_options.h"
#include "tools/diff/side.h"
#include "tools/slow/slow_forms.h"
#include "tools/system/database.h"

#include "store/database/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOP 10u        /* rows of a table */
#define TOP_JSON 1000u /* launches in a document */
#define ORDERS "lost|time|count"

enum { KEY_OLD = 0x100 };

struct request {
	struct kc_compare_options options;
	const char *run, *old;
};

static const struct argp_option options[] = {
    {"run", 'r', "N", 0, "the run (default: the latest)", 0},
    {"old", KEY_OLD, "N[,N...]", 0,
     "earlier runs to compare it with (default: up to five of the same command line); none: without any", 0},
    KC_LIMIT_OPTIONS("losses"),
    KC_FILTER_OPTIONS,
    {"sort", KC_KEY_SORT, ORDERS, 0, "order of the kernels, the largest first", 0},
    {"top", KC_KEY_TOP, "N", 0, "list so many kernels and launches (default: 10; with --json 1000)", 0},
    KC_JSON_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case 'r':
		request->run = arg;
		return 0;
	case KEY_OLD:
		request->old = arg;
		return 0;
	case ARGP_KEY_END:
		kc_filter_options_check(&request->options.filter, state);
		return 0;
	default:
		return kc_compare_option(&request->options, ORDERS, key, arg, state);
	}
}

struct searching {
	const struct request *request;
	struct kc_side earlier, this;
	struct kc_measured_names names;
	struct kc_slow_runs runs;
	struct kc_diff diff;
	struct kc_slow slow;
	struct kc_slow_where *worst;
	size_t worst_count;
	int other_devices;
};

/* --- which runs */

static int select_earlier(struct searching *s)
{
	struct kc_side *earlier = &s->earlier;
	int status = kc_side_open(earlier, s->request->options.common.database), n;

	if (status != KC_EXIT_OK)
		return status;
	if (s->request->old) {
		status = kc_side_select_listed(earlier, "--old", s->request->old);
		return status == KC_EXIT_OK ? kc_side_check(earlier, &s->this) : status;
	}
	n = kc_measured_earlier(earlier->store, s->this.ids[0], earlier->ids, KC_SIDE_EARLIER_MOST);
	if (n < 0) {
		kc_database_unreadable(earlier->path, n);
		return KC_EXIT_FAILED;
	}
	earlier->count = (size_t)n;
	return KC_EXIT_OK;
}

/* Durations on other devices say nothing about this one. */
static void drop_other_devices(struct searching *s)
{
	struct kc_side *earlier = &s->earlier;
	size_t kept = 0;

	for (size_t i = 0; i < earlier->read; i++) {
		if (strcmp(earlier->runs[i].devices, s->this.runs[0].devices) != 0) {
			kc_measured_run_free(earlier->runs + i);
			s->other_devices++;
		} else {
			earlier->runs[kept++] = earlier->runs[i];
		}
	}
	earlier->count = earlier->read = kept;
}

static int read_runs(struct searching *s)
{
	const char *old = s->request->old;
	int status = kc_side_open(&s->this, s->request->options.common.database);

	if (status == KC_EXIT_OK)
		status = kc_side_select(&s->this, s->request->run);
	if (status == KC_EXIT_OK && !(old && !strcmp(old, "none")))
		status = select_earlier(s);
	if (status == KC_EXIT_OK)
		status = kc_side_read(&s->this, &s->request->options.filter, 1, &s->names);
	if (status == KC_EXIT_OK)
		status = kc_side_read(&s->earlier, NULL, 1, &s->names);
	if (status == KC_EXIT_OK)
		drop_other_devices(s);
	return status;
}

/* --- what is slow */

static int find(struct searching *s)
{
	const struct kc_diff_input inputs[KC_SIDES] = {
	    {s->earlier.runs, s->earlier.read, NULL},
	    {s->this.runs, 1, NULL},
	};
	const struct kc_diff_limits *limits = &s->request->options.limits;
	int has_earlier = s->earlier.read > 0, rc = 0;

	s->runs = (struct kc_slow_runs){&s->names, s->earlier.runs, s->earlier.read, s->this.runs};
	if (has_earlier)
		rc = kc_diff_compare(&s->names, inputs, limits, &s->diff);
	if (rc == 0)
		rc = kc_slow_find(&s->runs, has_earlier ? &s->diff : NULL, limits, &s->slow);
	return rc;
}

static int locate(struct searching *s, const struct kc_slow_found *found, struct kc_slow_where *out)
{
	const struct kc_measured_moment *moment =
	    (const struct kc_measured_moment *)s->this.runs[0].moments.at + found->place;

	out->found = found;
	out->after_ns = kc_minus_ns(moment->start_ns, s->slow.intervals.earliest_ns);
	kc_slow_find_beside(&s->slow.intervals, found->place, &out->beside);
	return kc_measured_origin(s->this.store, moment->id, &out->origin);
}

/* alike: at most so many of a kernel and cause; 0: any number. */
static int locate_worst(struct searching *s, size_t most, size_t alike)
{
	size_t *met = calloc(s->names.kernels.count * KC_SLOW_CAUSES + 1, sizeof(*met));
	int rc = 0;

	if (most > s->slow.found_count)
		most = s->slow.found_count;
	s->worst = calloc(most + 1, sizeof(*s->worst));
	if (!s->worst || !met)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < s->slow.found_count && s->worst_count < most; i++) {
		const struct kc_slow_found *found = s->slow.found + i;
		size_t kernel = kc_measured_shape(&s->names, found->shape)->kernel;

		if (alike && met[kernel * KC_SLOW_CAUSES + found->cause]++ >= alike)
			continue;
		rc = locate(s, found, s->worst + s->worst_count);
		s->worst_count++;
	}
	free(met);
	return rc;
}

static int search_and_print(struct searching *s)
{
	const struct request *request = s->request;
	struct kc_slow_view view = {
	    .runs = &s->runs,
	    .slow = &s->slow,
	    .limits = request->options.limits,
	    .path = kc_database_shown(s->this.path),
	    .filter = s->this.filter,
	    .top = request->options.sorting.top   ? request->options.sorting.top
		   : request->options.common.json ? TOP_JSON
						  : TOP,
	};
	int rc = find(s);

	if (rc == 0)
		kc_slow_sort(&s->slow, request->options.sorting.by);
	if (rc == 0)
		rc = locate_worst(s, view.top, request->options.common.json ? 0 : KC_SLOW_ALIKE);
	if (rc == -ENOMEM)
		kc_error("%s", strerror(ENOMEM));
	else if (rc < 0)
		kc_database_unreadable(s->this.path, rc);
	if (rc < 0)
		return KC_EXIT_FAILED;
	view.worst = s->worst;
	view.worst_count = s->worst_count;
	view.other_devices = s->other_devices;
	return request->options.common.json ? kc_slow_json(&view) : kc_slow_text(&view);
}

static int slow_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.options.limits = KC_DIFF_DEFAULT_LIMITS};
	struct searching *s = calloc(1, sizeof(*s));
	int status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (!s) {
		kc_filter_choice_free(&request.options.filter);
		kc_error("%s", strerror(ENOMEM));
		return KC_EXIT_FAILED;
	}
	s->request = &request;
	status = read_runs(s);
	if (status == KC_EXIT_OK)
		status = search_and_print(s);
	free(s->worst);
	kc_slow_free(&s->slow);
	kc_diff_free(&s->diff);
	kc_side_close(&s->earlier);
	kc_side_close(&s->this);
	kc_measured_names_free(&s->names);
	kc_filter_choice_free(&request.options.filter);
	free(s);
	return status;
}

const struct kc_command kc_command_slow = {
    .name = "slow",
    .summary = "shows which launches took longer than they should, and why",
    .arguments = "[DB]",
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
	"other kernels ran at the same time on the device.\n"
	"No more than the time during which they ran is put down to them.\n"
	".It not explained\n"
	"none of these, and far outside of what its launch shape usually takes.\n"
	".El\n"
	".Pp\n"
	"Launches with too few peers, less than four at their position and eight in all, are counted as not known.\n",
};
