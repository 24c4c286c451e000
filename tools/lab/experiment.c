#include "experiment/experiment.h"
#include "lab.h"
#include "tools/input/common_options.h"
#include "tools/output/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_DIR = 'd', KEY_SIMULATED = 0x100, KEY_SMALL, KEY_FULL, KEY_PROGRAMS, KEY_LIMIT };

#define FOLDER "kerncast-experiments"
#define NAMES 16u

struct request {
	struct kc_common_options common;
	const char *folder, *programs;
	const char *names[NAMES];
	unsigned count;
	int simulated, full, small, list, figures_only;
	unsigned limit_s; /* 0: none */
};

static const struct argp_option options[] = {
    {"dir", KEY_DIR, "DIR", 0, "folder of databases and figures (default: ./" FOLDER ")", 0},
    {"simulated", KEY_SIMULATED, NULL, 0, "use the simulated device even if there is a GPU", 0},
    {"small", KEY_SMALL, NULL, 0, "run small sizes (default on the simulated device)", 0},
    {"full", KEY_FULL, NULL, 0, "run the papers' sizes (default on a GPU)", 0},
    {"limit", KEY_LIMIT, "SECONDS", 0, "start no program after this time; running the command again continues", 0},
    {"programs", KEY_PROGRAMS, "DIR", 0, "folder of the programs (default: experiments, beside kerncast)", 0},
    KC_JSON_OPTION,
    {0},
};

const struct kc_experiment *kc_experiment_at(unsigned i)
{
	static const struct kc_experiment *const all[] = {
	    &kc_experiment_bsp,        &kc_experiment_cycles, &kc_experiment_boat_hull,  &kc_experiment_pairs,
	    &kc_experiment_real_pairs, &kc_experiment_lambda, &kc_experiment_block_size,
	};

	return i < sizeof(all) / sizeof(*all) ? all[i] : NULL;
}

static const struct kc_experiment *find(const char *name)
{
	const struct kc_experiment *experiment;

	for (unsigned i = 0; (experiment = kc_experiment_at(i)); i++)
		if (strcmp(experiment->name, name) == 0)
			return experiment;
	return NULL;
}

static void add_name(struct request *request, const char *arg, struct argp_state *state)
{
	if (strcmp(arg, "list") == 0) {
		request->list = 1;
	} else if (strcmp(arg, "figures") == 0) {
		request->figures_only = 1;
	} else {
		if (strcmp(arg, "all") != 0 && !find(arg))
			argp_error(state, "there is no experiment \"%s\"; `kerncast-lab experiment list` lists all",
				   arg);
		if (request->count == NAMES)
			argp_error(state, "expected %u names at most", NAMES);
		request->names[request->count++] = arg;
	}
}

static unsigned read_limit(const char *arg, struct argp_state *state)
{
	char *end;
	unsigned long seconds = strtoul(arg, &end, 10);

	if (end == arg || *end || seconds == 0 || seconds > INT_MAX)
		argp_error(state, "--limit takes a number of seconds, not \"%s\"", arg);
	return (unsigned)seconds;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_DIR:
		request->folder = arg;
		return 0;
	case KEY_PROGRAMS:
		request->programs = arg;
		return 0;
	case KEY_LIMIT:
		request->limit_s = read_limit(arg, state);
		return 0;
	case KEY_SIMULATED:
		request->simulated = 1;
		return 0;
	case KEY_SMALL:
		request->small = 1;
		return 0;
	case KEY_FULL:
		request->full = 1;
		return 0;
	case ARGP_KEY_ARG:
		add_name(request, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (request->small && request->full)
			argp_error(state, "--small and --full exclude each other");
		if (!request->count && !request->list && !request->figures_only)
			argp_error(state, "no experiment given; give the name of one, all, or list");
		return 0;
	default:
		return kc_common_option(&request->common, key, arg, state);
	}
}

static int is_asked_for(const struct request *request, const struct kc_experiment *experiment)
{
	for (unsigned i = 0; i < request->count; i++)
		if (strcmp(request->names[i], "all") == 0 || strcmp(request->names[i], experiment->name) == 0)
			return 1;
	return request->count == 0; /* "figures" alone: of every experiment in the folder */
}

static int print_list(void)
{
	const struct kc_experiment *experiment;

	for (unsigned i = 0; (experiment = kc_experiment_at(i)); i++)
		printf("%-11s %s\n%-11s %s\n", experiment->name, experiment->title, "", experiment->paper);
	return kc_output_finish();
}

static int has_wrong(const struct kc_observations *evidence)
{
	for (uint32_t i = 0; i < evidence->step_count; i++)
		if (evidence->steps[i].wrong)
			return 1;
	return 0;
}

/* Returns an exit status; a missing gnuplot is reported and is no failure. */
static int draw(const struct kc_laboratory *lab, struct kc_shown *shown)
{
	char why[512] = "";
	int rc;

	if (shown->finding->point_count == 0 || lab->full)
		return KC_EXIT_OK;
	rc = kc_figure_draw(lab, shown, why, sizeof(why));
	if (rc < 0)
		kc_error("%s: no figure: %s", shown->experiment->name, *why ? why : strerror(-rc));
	return rc < 0 && rc != -ENOENT ? KC_EXIT_FAILED : KC_EXIT_OK;
}

/* Which plan was measured: the one with more complete steps, since the options do not tell where nothing is run. */
static int load(const struct kc_laboratory *lab, const struct kc_experiment *experiment, int measured_before,
		struct kc_step steps[static KC_STEPS], struct kc_observations *evidence)
{
	enum kc_plan other = lab->plan == KC_PLAN_SMALL ? KC_PLAN_FULL : KC_PLAN_SMALL;
	uint32_t count = experiment->plan(lab->plan, steps), complete;
	int rc = kc_observations_load(evidence, lab, experiment->name, steps, count);

	if (rc < 0 || !measured_before || evidence->step_count == count)
		return rc;
	complete = evidence->step_count;
	kc_observations_free(evidence);
	count = experiment->plan(other, steps);
	rc = kc_observations_load(evidence, lab, experiment->name, steps, count);
	if (rc < 0 || evidence->step_count > complete ||
	    (evidence->step_count == complete && evidence->step_count == count))
		return rc;
	kc_observations_free(evidence);
	count = experiment->plan(lab->plan, steps);
	return kc_observations_load(evidence, lab, experiment->name, steps, count);
}

/* Of all experiments that were shown. */
struct tally {
	unsigned hold, fail, unmeasured;
	int simulated;
};

static void count_claims(struct tally *tally, const struct kc_finding *finding, const struct kc_observations *evidence)
{
	for (uint32_t i = 0; i < finding->claim_count; i++) {
		tally->hold += finding->claims[i].verdict == KC_HOLDS;
		tally->fail += finding->claims[i].verdict == KC_FAILS;
		tally->unmeasured += finding->claims[i].verdict == KC_NOT_MEASURED;
	}
	tally->simulated |= evidence->simulated;
}

static void print_tally(const struct tally *tally)
{
	printf("%u of %u measured claims hold here%s", tally->hold, tally->hold + tally->fail,
	       tally->simulated ? ", on the simulated device" : "");
	if (tally->unmeasured)
		printf("; %u not measured", tally->unmeasured);
	puts(".");
}

/* Judges what is measured already. document: NULL for text. */
static int show(const struct kc_laboratory *lab, const struct kc_experiment *experiment, int measured_before,
		json_t *document, struct tally *tally)
{
	struct kc_step steps[KC_STEPS];
	struct kc_observations evidence;
	struct kc_finding finding = {0};
	struct kc_shown shown = {.experiment = experiment, .evidence = &evidence, .finding = &finding};
	int status = KC_EXIT_OK, rc;

	rc = load(lab, experiment, measured_before, steps, &evidence);
	kc_experiment_path(lab, experiment->name, "db", shown.database, sizeof(shown.database));
	if (rc < 0 && rc != -ENOENT && rc != -ENODATA) {
		kc_error("%s cannot be read: %s", shown.database, strerror(-rc));
		status = KC_EXIT_FAILED;
	}
	experiment->judge(&evidence, &finding);
	count_claims(tally, &finding, &evidence);
	if (finding.failed) {
		kc_error("%s", strerror(ENOMEM));
		status = KC_EXIT_FAILED;
	}
	if (draw(lab, &shown) != KC_EXIT_OK)
		status = KC_EXIT_FAILED;
	if (document)
		json_array_append_new(document, kc_shown_json(&shown));
	else if (kc_shown_text(&shown) != KC_EXIT_OK)
		status = KC_EXIT_FAILED;
	if (has_wrong(&evidence)) {
		kc_error("%s: a program computed a wrong result", experiment->name);
		status = KC_EXIT_FAILED;
	}
	if (finding.uncounted) {
		kc_error("%s: cannot read its programs' code in %s", experiment->name, lab->programs);
		status = KC_EXIT_FAILED;
	}
	kc_finding_free(&finding);
	kc_observations_free(&evidence);
	return status;
}

static int do_all(struct kc_laboratory *lab, const struct request *request)
{
	json_t *document = request->common.json ? kc_json_document("experiment", 1) : NULL;
	json_t *experiments = json_array();
	const struct kc_experiment *experiment;
	struct tally tally = {0};
	int status = KC_EXIT_OK;

	for (unsigned i = 0; (experiment = kc_experiment_at(i)); i++) {
		if (!is_asked_for(request, experiment))
			continue;
		if (!request->figures_only && kc_experiment_measure(lab, experiment))
			status = KC_EXIT_FAILED;
		if (show(lab, experiment, request->figures_only, document ? experiments : NULL, &tally) != KC_EXIT_OK)
			status = KC_EXIT_FAILED;
		fflush(stdout);
	}
	if (document) {
		json_object_set(document, "experiments", experiments);
		if (kc_json_print_precise(document) != KC_EXIT_OK)
			status = KC_EXIT_FAILED;
	} else {
		print_tally(&tally);
	}
	json_decref(experiments);
	return kc_output_finish() == KC_EXIT_OK ? status : KC_EXIT_FAILED;
}

static int experiment_main(int argc, char **argv, const struct kc_command *self)
{
	static struct kc_laboratory lab; /* too large for the stack */
	struct request request = {.folder = FOLDER};
	struct timespec now;
	int status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.list)
		return print_list();
	lab.simulated = request.simulated;
	snprintf(lab.programs, sizeof(lab.programs), "%s", request.programs ? request.programs : "");
	if (request.folder[0] == '/')
		snprintf(lab.folder, sizeof(lab.folder), "%s", request.folder);
	else if (getcwd(lab.folder, sizeof(lab.folder) - strlen(request.folder) - 2))
		snprintf(lab.folder + strlen(lab.folder), sizeof(lab.folder) - strlen(lab.folder), "/%s",
			 request.folder);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (request.limit_s)
		lab.deadline_ns = ((int64_t)now.tv_sec + request.limit_s) * 1000000000;
	status = kc_laboratory_open(&lab, !request.figures_only);
	if (status == KC_EXIT_OK) {
		lab.plan = request.full || (!lab.simulated && !request.small) ? KC_PLAN_FULL : KC_PLAN_SMALL;
		status = do_all(&lab, &request);
	}
	kc_laboratory_close(&lab);
	return status;
}

const struct kc_command kc_command_experiment = {
    .group = KC_GROUP_RESEARCH,
    .name = "experiment",
    .summary = "repeats the experiments of five papers on this device",
    .arguments = "NAME...|all|list|figures",
    .options = options,
    .run = experiment_main,
    .manual =
	"Runs the programs of the papers' experiments with libkerncast.so preloaded, as run of\n"
	".Xr kerncast 1\n"
	"does, and prints for each experiment what the paper claims, what was measured here, and whether the claim\n"
	"holds here.\n"
	".Cm list\n"
	"names the experiments,\n"
	".Cm all\n"
	"runs every one of them, and\n"
	".Cm figures ,\n"
	"alone or with names, prints and draws what is in the folder already, on any machine.\n"
	"The experiments bsp and cycles take their counts from the programs' code and so need the programs.\n"
	"Without a GPU the programs run on the simulated device, and the output says SIMULATED.\n"
	".Pp\n"
	"Each experiment has a database in the folder, DIR/NAME.db, which kerncast reads as any other, and a\n"
	"figure, DIR/NAME.svg and DIR/NAME.png, if\n"
	".Xr gnuplot 1\n"
	"is installed; a figure that cannot be written ends the command with status 1.\n"
	"An interrupted experiment continues when it is started again: complete steps are not measured again, and\n"
	"half-finished ones are discarded.\n",
};
