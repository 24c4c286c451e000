#include "command.h"
#include "tools/diff/baseline.h"
#include "tools/diff/forms/diff_forms.h"
#include "tools/diff/compare_options.h"
#include "tools/diff/side.h"
#include "tools/diff/steps_compared.h"
#include "tools/output/output_file.h"
#include "tools/system/database.h"

#include "store/query/renumbered.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_SLOWER 3
#define ORDERS "lost|time|count"

enum { KEY_OLD = 0x100, KEY_NEW, KEY_BASELINE, KEY_PER, KEY_FAIL, KEY_MD };

struct request {
	struct kc_compare_options options;
	struct kc_databases given;               /* OLD, NEW; one: both; before --old and --new name any */
	struct kc_databases databases[KC_SIDES]; /* that these name */
	struct kc_databases *named;              /* of the option before; NULL: there was none */
	const char *old, *new, *baseline;        /* old, new: runs */
	enum kc_diff_per per;
	int fail, markdown;
};

static const struct argp_option options[] = {
    {"old", KEY_OLD, "N[,N...]|DB...", 0,
     "runs of OLD (default: of another database its latest; of the same one up to five earlier runs of the same "
     "command line, or the run before NEW); or its databases, such as those of several hosts: all up to the next "
     "option "
     "are shown as one",
     0},
    {"new", KEY_NEW, "N|DB...", 0, "run of NEW (default: the latest); or its databases, as for OLD", 0},
    {"baseline", KEY_BASELINE, "FILE", 0,
     "compare with this file in place of OLD; where there is none yet, and without --fail, --json and --md, write it "
     "from NEW",
     0},
    {"per", KEY_PER, "step|run", 0,
     "compare what steps took, or whole runs (default: steps, where both sides have them, told or found)", 0},
    KC_LIMIT_OPTIONS("changes"),
    KC_FILTER_OPTIONS,
    KC_DEVICE_FILTER_OPTION,
    KC_SORT_OPTIONS(ORDERS),
    {"fail", KEY_FAIL, NULL, 0, "end with status 3 if a kernel, or a launch shape of one, is slower", 0},
    KC_JSON_OPTION,
    {"md", KEY_MD, NULL, 0, "print Markdown, for pull requests", 0},
    {0},
};

/* Those that stand before --old and --new, or alone, are of the side that is not named: of both, one of each. */
static error_t place_given(struct request *request, struct argp_state *state)
{
	struct kc_databases *given = &request->given, *old = request->databases + KC_OLD,
			    *new = request->databases + KC_NEW;
	int neither = !old->count && !new->count, of_old = new->count > 0;

	if (neither && given->count > KC_SIDES)
		argp_error(state, "expected two databases, got a third (%s); several of a side follow --old or --new",
			   given->at[KC_SIDES]);
	if (old->count && new->count && given->count)
		argp_error(state, "%s is neither of --old nor of --new", given->at[0]);
	if (old->count && !new->count && !given->count && !request->baseline)
		argp_error(state, "the databases of NEW are missing: --new DB...");
	for (size_t i = 0; i < given->count; i++) {
		int is_old = neither ? i + 1 < given->count : of_old;
		error_t rc = kc_databases_add(is_old ? old : new, given->at[i]);

		if (rc)
			return rc;
	}
	free(given->at);
	return 0;
}

static error_t check(struct request *request, struct argp_state *state)
{
	error_t rc = place_given(request, state);

	if (request->options.of.common.json && request->markdown)
		argp_error(state, "--json and --md exclude each other");
	if (request->baseline && (!*request->baseline || !strcmp(request->baseline, "-")))
		argp_error(state, "--baseline takes the name of a file");
	if (request->baseline && (request->old || request->databases[KC_OLD].count))
		argp_error(state, "--baseline stands for OLD: name the database of NEW alone");
	if (request->baseline && kc_filter_needs_launches(&request->options.of.filter))
		argp_error(
		    state,
		    "a baseline has kernels, not single launches: beside --baseline, only --kernel and --exclude "
		    "choose what is compared");
	if (request->baseline && request->per == KC_PER_STEP)
		argp_error(state, "a baseline has no steps: --baseline and --per step exclude each other");
	kc_sort_options_check(&request->options.of.sorting, request->options.of.common.json, state);
	return rc ? rc : kc_compare_option(&request->options, ORDERS, ARGP_KEY_END, NULL, state);
}

/* Whether a value of --old or --new is a database, not runs. */
static int is_database(const char *arg)
{
	char path[PATH_MAX];

	if (!arg[strspn(arg, "0123456789,")])
		return 0;
	return strpbrk(arg, "./") || access(kc_database_path(arg, path, sizeof(path)), F_OK) == 0;
}

static error_t parse_side(struct request *request, int side, const char **runs, char *arg)
{
	request->named = is_database(arg) ? request->databases + side : NULL;
	if (request->named)
		return kc_databases_add(request->named, arg);
	*runs = arg;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	if (key != ARGP_KEY_ARG && key != KEY_OLD && key != KEY_NEW)
		request->named = NULL;
	switch (key) {
	case KEY_OLD:
		return parse_side(request, KC_OLD, &request->old, arg);
	case KEY_NEW:
		return parse_side(request, KC_NEW, &request->new, arg);
	case KEY_BASELINE:
		request->baseline = arg;
		return 0;
	case KEY_PER:
		if (strcmp(arg, "step") != 0 && strcmp(arg, "run") != 0)
			argp_error(state, "--per takes step or run, not \"%s\"", arg);
		request->per = *arg == 's' ? KC_PER_STEP : KC_PER_RUN;
		return 0;
	case KEY_FAIL:
		request->fail = 1;
		return 0;
	case KEY_MD:
		request->markdown = 1;
		return 0;
	case ARGP_KEY_ARG:
		return kc_databases_add(request->named ? request->named : &request->given, arg);
	case ARGP_KEY_END:
		return check(request, state);
	default:
		return kc_compare_option(&request->options, ORDERS, key, arg, state);
	}
}

/* --- which runs */

struct comparison {
	struct request *request;
	struct kc_side sides[KC_SIDES];
	struct kc_measured_names names;
	struct kc_baseline baseline;
	struct kc_diff_steps steps;
	struct kc_diff diff;
};

static int select_earlier(struct kc_side *old, const struct kc_side *new)
{
	int n = kc_measured_earlier(new->store, new->ids[0], old->ids, KC_SIDE_EARLIER_MOST);

	if (n == 0)
		n = kc_measured_before(new->store, new->ids[0], old->ids);
	if (n < 0) {
		kc_database_unreadable(new->path, n);
		return KC_EXIT_FAILED;
	}
	if (n == 0) {
		kc_error("%s has no run before run %lld to compare it with; give the database of the earlier run "
			 "first, or --baseline",
			 kc_database_shown(new->path), (long long)new->ids[0]);
		return KC_EXIT_FAILED;
	}
	old->count = (size_t)n;
	return KC_EXIT_OK;
}

static int select_runs(struct comparison *c)
{
	struct request *request = c->request;
	struct kc_side *old = c->sides + KC_OLD, *new = c->sides + KC_NEW;
	const char *other = kc_databases_one(request->databases + KC_OLD);
	int status = kc_side_open(new, kc_databases_one(request->databases + KC_NEW));

	if (status == KC_EXIT_OK)
		status = kc_side_select(new, request->new);
	if (status != KC_EXIT_OK || request->baseline)
		return status;
	status = kc_side_open(old, other ? other : new->path);
	if (status != KC_EXIT_OK)
		return status;
	if (request->old)
		status = kc_side_select_listed(old, "--old", request->old);
	else
		status = other ? kc_side_select(old, NULL) : select_earlier(old, new);
	return status == KC_EXIT_OK ? kc_side_check(old, new) : status;
}

/* --- baselines */

static int write_baseline(struct comparison *c)
{
	const char *path = c->request->baseline;
	const struct kc_side *new = c->sides + KC_NEW;
	struct kc_output_file file;
	char source[512];
	int rc = kc_output_file_open(&file, path, 0);

	if (rc == 0) {
		snprintf(source, sizeof(source), "run %lld of %s", (long long)new->ids[0],
			 kc_database_shown(new->path));
		rc = kc_baseline_write(&c->names, new->runs, source, file.to);
		if (rc < 0)
			kc_output_file_drop(&file);
		else
			rc = kc_output_file_finish(&file);
	}
	if (rc < 0) {
		kc_error("cannot write %s: %s", path,
			 rc == -EEXIST ? "it is a database or belongs to one" : strerror(-rc));
		return KC_EXIT_FAILED;
	}
	kc_error("wrote the baseline %s from run %lld of %s; later runs are compared with it", path,
		 (long long)new->ids[0], kc_database_shown(new->path));
	return KC_EXIT_OK;
}

static int use_baseline(struct comparison *c, int *written)
{
	const struct request *request = c->request;
	char why[256] = "";
	int rc = kc_baseline_read(request->baseline, &c->names, &c->baseline, why, sizeof(why));

	*written = rc == -ENOENT;
	if (rc == -ENOENT && (request->fail || request->options.of.common.json || request->markdown ||
			      kc_filter_is_given(&request->options.of.filter)))
		kc_error(
		    "there is no baseline %s to compare with; leave out --fail, --json, --md, --kernel and --exclude "
		    "to write it",
		    request->baseline);
	else if (rc == -ENOENT)
		return write_baseline(c);
	else if (rc == -EINVAL)
		kc_error("%s is not a baseline: %s", request->baseline, why);
	else if (rc < 0)
		kc_error("cannot read %s: %s", request->baseline, strerror(-rc));
	if (rc == 0)
		rc = kc_baseline_choose(&c->baseline, &c->names, &request->options.of.filter);
	if (rc == 0 && c->baseline.items.count == 0) {
		kc_filter_say_none(&request->options.of.filter, NULL, request->baseline, "kernel");
		return KC_EXIT_FAILED;
	}
	if (rc == 0)
		rc = kc_baseline_leave_out(&c->baseline, &c->names, c->sides[KC_NEW].runs);
	return rc == 0 ? KC_EXIT_OK : KC_EXIT_FAILED;
}

static int use_steps(struct comparison *c)
{
	struct kc_side *const sides[KC_SIDES] = {c->sides + KC_OLD, c->sides + KC_NEW};
	int status = kc_diff_steps(&c->names, sides, c->request->per, &c->steps);

	if (status != KC_EXIT_OK || c->request->per != KC_PER_STEP || c->steps.verdict == KC_STEPS_COMPARED)
		return status;
	kc_error(
	    "%s: no steps are told, and none were found by what repeats; without --per step, whole runs are compared",
	    kc_database_shown(c->sides[c->steps.of[KC_OLD].steps > 0 ? KC_NEW : KC_OLD].path));
	return KC_EXIT_FAILED;
}

/* --- output */

static int print(struct comparison *c)
{
	const struct request *request = c->request;
	struct kc_diff_view view = {
	    .names = &c->names,
	    .diff = &c->diff,
	    .steps = &c->steps,
	    .limits = request->options.limits,
	    .filter = &request->options.of.filter,
	    .sorting = request->options.of.sorting,
	    .left_out = c->baseline.other_count,
	    .left_out_ns = c->baseline.other_ns,
	    .simulated = c->baseline.simulated,
	    .markdown = request->markdown,
	};

	for (int i = 0; i < KC_SIDES; i++) {
		const struct kc_side *side = c->sides + i;

		view.sources[i] = (struct kc_diff_source){
		    .path = kc_database_shown(side->path),
		    .runs = side->runs,
		    .count = side->count,
		    .devices = side->count ? side->runs[0].devices : c->baseline.devices,
		    .filter = side->filter,
		};
		for (size_t k = 0; k < side->count; k++)
			view.simulated |= side->runs[k].simulated;
	}
	if (request->baseline) {
		view.sources[KC_OLD].path = request->baseline;
		view.sources[KC_OLD].baseline = c->baseline.source;
	}
	return request->options.of.common.json ? kc_diff_json(&view) : kc_diff_text(&view);
}

/* The status with --fail. */
static int judge(const struct kc_diff *diff)
{
	int slower = 0;

	for (size_t i = 0; i < diff->count; i++)
		slower |= diff->kernels[i].what == KC_DIFF_SLOWER;
	for (size_t i = 0; i < diff->shape_count; i++)
		slower |= diff->shapes[i].what == KC_DIFF_SLOWER;
	if (slower)
		return EXIT_SLOWER;
	if (diff->compared)
		return KC_EXIT_OK;
	kc_error("no kernel could be compared");
	return KC_EXIT_FAILED;
}

static int compare(struct comparison *c)
{
	struct kc_diff_input inputs[KC_SIDES] = {
	    {c->sides[KC_OLD].runs, c->sides[KC_OLD].count, c->request->baseline ? &c->baseline.items : NULL, 0},
	    {c->sides[KC_NEW].runs, c->sides[KC_NEW].count, NULL, 0},
	};
	int rc = kc_measured_names_tell_apart(&c->names), status;

	if (rc == 0 && !c->request->baseline)
		rc = kc_measured_renumber(&c->names, c->sides[KC_OLD].runs, c->sides[KC_OLD].count,
					  c->sides[KC_NEW].runs);
	for (int side = 0; c->steps.verdict == KC_STEPS_COMPARED && side < KC_SIDES; side++)
		inputs[side].steps = c->steps.of[side].steps;
	if (rc == 0)
		rc = kc_diff_compare(&c->names, inputs, &c->request->options.limits, &c->diff);
	if (rc < 0)
		return kc_failed(rc);
	kc_diff_sort(&c->diff, c->request->options.of.sorting.by);
	status = print(c);
	return status == KC_EXIT_OK && c->request->fail ? judge(&c->diff) : status;
}

static int diff_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.options.limits = KC_DIFF_DEFAULT_LIMITS};
	struct comparison *c = calloc(1, sizeof(*c));
	int status = KC_EXIT_FAILED, written = 0;

	kc_output_guard();
	kc_command_parse(self, argc, argv, ARGP_IN_ORDER, parse, &request);
	if (!c) {
		kc_filter_choice_free(&request.options.of.filter);
		return kc_failed(-ENOMEM);
	}
	c->request = &request;
	status = select_runs(c);
	c->steps.verdict = KC_STEPS_NOT_WANTED;
	for (int i = 0; status == KC_EXIT_OK && i < KC_SIDES; i++) {
		c->sides[i].with_steps = !request.baseline && request.per != KC_PER_RUN;
		status = kc_side_read(c->sides + i, &request.options.of.filter, 0, &c->names);
	}
	if (status == KC_EXIT_OK && request.baseline)
		status = use_baseline(c, &written);
	else if (status == KC_EXIT_OK)
		status = use_steps(c);
	if (status == KC_EXIT_OK && !written)
		status = compare(c);
	kc_diff_free(&c->diff);
	for (int i = 0; i < KC_SIDES; i++)
		kc_side_close(c->sides + i);
	kc_measured_names_free(&c->names);
	kc_baseline_free(&c->baseline);
	kc_filter_choice_free(&request.options.of.filter);
	free(c);
	return status;
}

const struct kc_command kc_command_diff = {
    .name = "diff",
    .summary = "shows which kernels became slower or faster between runs",
    .arguments = "[OLD] [NEW]",
    .options = options,
    .run = diff_main,
    .manual =
	"Compares measured durations with measured durations.\n"
	"OLD and NEW are databases; with one, or none (./kerncast.db), runs of the same database are compared: the\n"
	"latest with up to five earlier ones of the same command line that were measured.\n"
	"Databases of a job on several hosts, one each, are a side together where they follow\n"
	".Fl -old\n"
	"or\n"
	".Fl -new ,\n"
	"up to the next option. Without those of OLD, its runs are looked for in those of NEW.\n"
	".Pp\n"
	"Each launch is compared with those of the other side that have the same kernel, grid, block and dynamic\n"
	"shared memory, ran alone or overlapped like it, and came after the same launches on their stream.\n"
	"A kernel is called slower or faster where the change is larger than\n"
	".Fl -over\n"
	"and\n"
	".Fl -floor ,\n"
	"and more than chance explains: of all kernels that are reported, 5 % at most are reported by chance, on\n"
	"average.\n"
	"The last lines say how large a change would have been found.\n"
	"A kernel that several processes launched is compared again on each that has a name of its own, the\n"
	"same one in both runs: the rank, label or file of an imported process, the command line of a live one; of\n"
	"several GPUs of one process on each, and of processes of one command line by the GPU that each has to "
	"itself.\n"
	"Where all kernels of one process changed, they are one line at the top, and what others then wait longer for\n"
	"it in collectives (NCCL) is the next.\n"
	"Several OLD runs also tell how much runs of the same program differ; one run against one cannot tell that.\n"
	".Pp\n"
	"The time lost by a kernel is that of its launches in NEW over what they took in OLD.\n"
	"The lines at the top, the largest part first, add up to the difference between the runs: what each kernel\n"
	"took in NEW more than in OLD, and the reason that makes most of that.\n"
	".Pp\n"
	"Where both sides have steps, told or found, a step is compared with a step: times and numbers of launches "
	"are\n"
	"means over the steps of each side, so that runs may differ in length. Launches in no step are counted, and "
	"not\n"
	"compared;\n"
	".Fl -per Cm run\n"
	"compares whole runs.\n"
	".Pp\n"
	"A baseline is a JSON file of some 16 KiB, to be committed in place of a database; kernels that took least\n"
	"time may have no room in it, and are not compared then.\n"
	"It is never overwritten: delete it to have a new one written.\n"
	".Pp\n"
	"The exit status with\n"
	".Fl -fail\n"
	"is 3 if at least one kernel, or a launch shape of one, is slower, and 1 if no kernel could be compared.\n",
};
