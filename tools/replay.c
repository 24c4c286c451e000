#include "command.h"
#include "tools/input/run_options.h"
#include "tools/output/csv.h"
#include "tools/output/filter_shown.h"
#include "tools/system/database.h"
#include "tools/input/delay_spec.h"
#include "tools/input/files/prior_file.h"
#include "tools/output/colour.h"
#include "tools/input/device_spec.h"
#include "tools/output/format.h"
#include "tools/input/layer_spec.h"
#include "tools/report/replay_forms.h"
#include "tools/report/report_forms.h"
#include "tools/output/table.h"

#include "predictor/experience/outlook.h"
#include "store/replay/replay_run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ORDERS "time|error|count"

enum { KEY_BY = 'b', KEY_CSV = 0x100, KEY_FRESH, KEY_PRIOR, KEY_DELAY, KEY_WITHOUT };

struct request {
	struct kc_run_options of;
	const char *prior;
	enum kc_report_by by;
	struct kc_replay_delay delay;
	uint32_t without;
	int by_given, csv, fresh, delay_given;
};

static const struct argp_option options[] = {
    {"run", KC_KEY_RUN, "N|all", 0, "run N of the database, or all runs in order (default: all)", 0},
    {"by", KEY_BY, "kernel|model|case", 0,
     "one line per kernel, model or case instead of the models and the worst kernels", 0},
    KC_FILTER_OPTIONS,
    {"at-least", KC_KEY_MIN, "TIME", OPTION_HIDDEN, NULL, 0}, /* what --min was called */
    KC_SORT_OPTIONS(ORDERS),
    {"fresh", KEY_FRESH, NULL, 0, "start every process without what earlier ones taught", 0},
    {"prior", KEY_PRIOR, "FILE", 0, "every process begins with what kerncast learn wrote into FILE", 0},
    {"delay", KEY_DELAY, "TIME[,BATCH]", 0,
     "a measurement becomes known TIME after the end of its launch, or of the last of BATCH launches; 0: at once "
     "(default: as the run recorded it; where it did not, and with --fresh, --device or --without, 10ms)",
     0},
    {"without", KEY_WITHOUT, "LAYER[,LAYER]", 0,
     "for research: predict without parts of the prediction, of " KC_LAYER_NAMES, 0},
    {"device", KC_KEY_OF_DEVICE, "NAME|FILE", 0,
     "the GPU on which the launches ran, for traces that do not name it (default: one of its compute capability, or "
     "v100); not a prediction for another GPU. Numbers: only launches on GPUs of these numbers in the report",
     0},
    KC_JSON_OPTION,
    {"csv", KEY_CSV, NULL, 0, "print every launch with its prediction as CSV", 0},
    {0},
};

static void check(const struct request *request, struct argp_state *state)
{
	int is_text = !request->of.common.json && !request->csv;

	kc_json_or_csv(request->of.common.json, request->csv, state);
	if (!is_text && (request->by_given || request->of.sorting.by || request->of.sorting.top))
		argp_error(
		    state,
		    "--by, --sort and --top apply to text output only; --json prints all groups, --csv all launches");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_PRIOR:
		request->prior = arg;
		return 0;
	case KEY_BY:
		if (kc_report_by_name(arg, &request->by) < 0 || request->by == KC_BY_STREAM || request->by > KC_BY_CASE)
			argp_error(state, "--by takes kernel, model or case, not \"%s\"", arg);
		request->by_given = 1;
		return 0;
	case KEY_DELAY:
		if (kc_delay_spec(arg, &request->delay) < 0)
			argp_error(
			    state,
			    "--delay takes 0 or a time with its unit (ns, us, ms, s), and after a comma how many "
			    "launches become known at once, such as 10ms or 2ms,512; not \"%s\"",
			    arg);
		request->delay_given = 1;
		return 0;
	case KEY_WITHOUT:
		if (kc_layer_spec(arg, &request->without) < 0)
			argp_error(state, "--without takes one or more of %s, separated by commas, not \"%s\"",
				   KC_LAYER_NAMES, arg);
		return 0;
	case KEY_FRESH:
		request->fresh = 1;
		return 0;
	case KEY_CSV:
		request->csv = 1;
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		break;
	default:
		break;
	}
	return kc_run_option(&request->of, ORDERS, key, arg, state);
}

static void print_concurrency(const struct kc_replay *replay)
{
	const struct kc_replay_slowdown *s = &replay->slowdown;
	const struct kc_replay_makespan *m = &replay->makespan;
	char n[KC_FORMAT_BYTES], ours[KC_FORMAT_BYTES], other[KC_FORMAT_BYTES], third[KC_FORMAT_BYTES];

	if (s->n)
		printf("\nSlowdown of %s overlapped launches whose solo time was known: mean error %s\n"
		       "  (%s if none were predicted)\n",
		       kc_format_count(s->n, n), kc_format_percent(s->mape * 100, ours),
		       kc_format_percent(s->mape_no_slowdown * 100, other));
	if (m->n)
		printf("Makespan of %s groups of overlapping kernels: mean error %s\n"
		       "  (%s if they ran one after the other, %s if they did not slow one another down)\n",
		       kc_format_count(m->n, n), kc_format_percent(m->mape * 100, ours),
		       kc_format_percent(m->mape_serial * 100, other),
		       kc_format_percent(m->mape_no_contention * 100, third));
}

static const char *model_meaning(uint32_t model)
{
	static const char *const texts[KC_REPLAY_MODELS] = {
	    [KC_CANDIDATE_LAMBDA] = "\xce\xbb times the predicted slowdown",
	    [KC_CANDIDATE_CONTEXT] = "by the launches just before",
	    [KC_REPLAY_MIX] = "the prediction that is made",
	    [KC_REPLAY_LAST] = "repeated launches: as the last one",
	};

	return texts[model];
}

static void print_models(const struct kc_replay *replay)
{
	char n[KC_FORMAT_BYTES], mape[KC_FORMAT_BYTES], median[KC_FORMAT_BYTES], p90[KC_FORMAT_BYTES];

	kc_heading("Errors if each model had predicted on its own");
	printf("  %-12s %12s %9s %9s %9s\n", "model", "launches", "median", "p90", "mean");
	for (uint32_t i = 0; i < KC_REPLAY_MODELS; i++) {
		const struct kc_replay_accuracy *a = &replay->models[i];

		if (a->n)
			printf("  %-12s %12s %9s %9s %9s  %s\n", kc_replay_model_name(i), kc_format_count(a->n, n),
			       kc_format_percent(a->median * 100, median), kc_format_percent(a->p90 * 100, p90),
			       kc_format_percent(a->mape * 100, mape), model_meaning(i));
	}
	if (replay->models[KC_REPLAY_LAST].n)
		printf("  mix on the launches of last-value: mean %s\n",
		       kc_format_percent(replay->beside_last * 100, mape));
}

static void print_intervals(const struct kc_replay *replay)
{
	static const char *const names[KC_REPLAY_NOVELTIES] = {"first seen", "new size", "repeated"};
	char n[KC_FORMAT_BYTES], coverage[KC_FORMAT_BYTES], width[KC_FORMAT_BYTES];

	kc_heading("90 %% intervals: measured durations inside, and median width over measured duration");
	printf("  %-12s %12s %9s %9s\n", "launches", "matched", "inside", "width");
	for (uint32_t i = 0; i < KC_REPLAY_NOVELTIES; i++) {
		const struct kc_replay_interval *interval = &replay->intervals[i];

		if (interval->n)
			printf("  %-12s %12s %9s %9s\n", names[i], kc_format_count(interval->n, n),
			       kc_format_percent(interval->coverage * 100, coverage),
			       kc_format_percent(interval->width * 100, width));
	}
	if (replay->scored)
		printf(
		    "  interval score of %s launches, less is better: %.3f; of their shapes' quantiles so far: %.3f\n",
		    kc_format_count(replay->scored, n), replay->score, replay->past_score);
}

static void print_curve(const struct kc_replay *replay)
{
	char from[KC_FORMAT_BYTES], median[KC_FORMAT_BYTES], p90[KC_FORMAT_BYTES], mape[KC_FORMAT_BYTES];

	kc_heading("Learning curve: errors from this launch on, up to the next line's");
	printf("  %-12s %9s %9s %9s\n", "from launch", "median", "p90", "mean");
	for (uint32_t i = 0; i < KC_REPLAY_STAGES && replay->stages[i].n; i++)
		printf("  %-12s %9s %9s %9s\n", kc_format_count(1ull << i, from),
		       kc_format_percent(replay->stages[i].median * 100, median),
		       kc_format_percent(replay->stages[i].p90 * 100, p90),
		       kc_format_percent(replay->stages[i].mape * 100, mape));
}

static const char *article(const char *name)
{
	return strchr("AEIOU", *name) || strncmp(name, "NVIDIA", strlen("NVIDIA")) == 0 ? "an" : "a";
}

static void print_assumption(const struct kc_replay *replay, int device_given)
{
	printf("; assuming %s %s (%s)\n", article(replay->assumed_name), replay->assumed_name,
	       device_given ? "--device" : "--device names another");
}

static void print_unknown(const struct kc_replay *replay, int device_given)
{
	printf("Of the GPU that the trace calls \"%s\", ", replay->unknown_name);
	if (replay->assumed_cc_major)
		printf("no figures are known, but its compute capability, %u.%u", replay->assumed_cc_major,
		       replay->assumed_cc_minor);
	else
		fputs("nothing but the name is known", stdout);
	print_assumption(replay, device_given);
}

static void print_assumed(const struct kc_replay *replay, int device_given)
{
	char some[KC_FORMAT_BYTES], all[KC_FORMAT_BYTES];

	if (replay->assumed_nameless) {
		fputs("The trace does not say what GPU ", stdout);
		if (replay->assumed_nameless < replay->launches)
			printf("%s of %s launches", kc_format_count(replay->assumed_nameless, some),
			       kc_format_count(replay->launches, all));
		else
			fputs("it", stdout);
		fputs(" ran on", stdout);
		print_assumption(replay, device_given);
	}
	if (replay->assumed_device > replay->assumed_nameless)
		print_unknown(replay, device_given);
}

static void print_foreign(const struct kc_replay *replay)
{
	char some[KC_FORMAT_BYTES], all[KC_FORMAT_BYTES];

	if (replay->foreign)
		printf("%s of %s launches ran on \"%s\", which is not an NVIDIA GPU; they are not predicted\n",
		       kc_format_count(replay->foreign, some), kc_format_count(replay->launches, all),
		       replay->foreign_name);
}

static void print_beyond(const struct kc_replay *replay)
{
	const struct kc_replay_beyond *beyond = &replay->beyond;
	const struct {
		const char *of;
		uint64_t launches;
	} limits[] = {{"threads", beyond->threads},
		      {"registers", beyond->registers},
		      {"shared memory", beyond->shared},
		      {"clusters", beyond->clusters}};
	char some[KC_FORMAT_BYTES], all[KC_FORMAT_BYTES];
	int named = 0;

	if (!beyond->launches)
		return;
	printf("%s of %s launches ask for more than the GPU is known to have (",
	       kc_format_count(beyond->launches, some), kc_format_count(replay->launches, all));
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].launches)
			printf("%s%s: %s", named++ ? ", " : "", limits[i].of,
			       kc_format_count(limits[i].launches, some));
	}
	puts("); they are predicted as if they asked for the most that it has");
}

static void print_delay(const struct kc_replay_delay *delay)
{
	char ns[KC_FORMAT_BYTES], batch[KC_FORMAT_BYTES];

	if (delay->ns == 0)
		fputs("as soon as ", stdout);
	else
		printf("%s after ", kc_format_ns((double)delay->ns, ns));
	if (delay->batch > 1)
		printf("its batch of %s launches and copies has ended\n", kc_format_count(delay->batch, batch));
	else
		puts("its launch has ended");
}

static void print_known(const struct kc_replay *replay, const struct kc_replay_delay *delay)
{
	char recorded[KC_FORMAT_BYTES], all[KC_FORMAT_BYTES];

	if (replay->as_recorded == replay->launches && replay->launches) {
		puts("Each launch is predicted from the measurements that its process recorded as known by then");
		return;
	}
	if (replay->as_recorded)
		printf("%s of %s launches are predicted from the measurements that their process recorded as known by "
		       "then; for the others, a",
		       kc_format_count(replay->as_recorded, recorded), kc_format_count(replay->launches, all));
	else
		fputs("A", stdout);
	fputs(" measurement becomes known ", stdout);
	print_delay(delay);
}

static void print_chosen(const struct kc_replay *replay)
{
	char chosen[KC_FORMAT_BYTES];

	if (replay->chosen)
		printf(
		    "%s launches were chosen by --kernel or --every: what the others did to the timeline and taught is "
		    "not in the database, so these are not the predictions that the run made\n",
		    kc_format_count(replay->chosen, chosen));
}

static void print_incomplete(const struct kc_replay *replay)
{
	char launches[KC_FORMAT_BYTES];

	if (replay->incomplete)
		printf("%s launches are of processes whose journal had no room for all that they did (kerncast report "
		       "says what was dropped), so these may not be the predictions that the run made\n",
		       kc_format_count(replay->incomplete, launches));
}

static void print_past(const struct kc_replay *replay)
{
	char launches[KC_FORMAT_BYTES];

	if (replay->without_past)
		printf("%s launches are of processes that began with what an earlier run had learned, which is not in "
		       "the database any more, so these are not the predictions that the run made\n",
		       kc_format_count(replay->without_past, launches));
}

static void print_prior(const struct kc_replay *replay, const char *prior)
{
	char launches[KC_FORMAT_BYTES];

	if (prior)
		printf("Every process begins with what is in %s\n", prior);
	else if (replay->without_prior)
		printf("%s launches are of processes that began with a file of kerncast learn (checksum %016" PRIx64
		       "), which is not given (--prior FILE), so these are not the predictions that the run made\n",
		       kc_format_count(replay->without_prior, launches), replay->prior_missing);
}

static void print_without(uint32_t without)
{
	const char *before = "Predicted without ";

	for (uint32_t i = 0; i < KC_LAYERS; i++) {
		if (!kc_lacks(without, i))
			continue;
		printf("%s%s", before, kc_layer_name(i));
		before = ", ";
	}
	if (without)
		putchar('\n');
}

static const char *runs_text(const struct kc_selection *selection, char *out, size_t size)
{
	if (selection->first_run == selection->last_run)
		snprintf(out, size, "run %" PRId64, selection->first_run);
	else
		snprintf(out, size, "runs %" PRId64 " to %" PRId64, selection->first_run, selection->last_run);
	return out;
}

static void print_filter(const struct kc_filter *filter)
{
	if (!filter)
		return;
	kc_filter_print(filter);
	puts("; all are replayed, and the figures are of these");
}

static int print_text(const struct kc_replay *replay, const struct request *request, const char *path,
		      const struct kc_filter *filter)
{
	struct kc_report_view view = {
	    .database = kc_database_shown(path),
	    .data = replay->report,
	    .by_given = request->by_given,
	    .by = request->by,
	    .filter = filter,
	    .sorting = request->of.sorting,
	    .width = kc_page_width(),
	};
	char launches[KC_FORMAT_BYTES], predicted[KC_FORMAT_BYTES], rate[KC_FORMAT_BYTES], runs[64];
	double per_s = kc_replay_per_s(replay);
	int rc;

	if (replay->report->simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	printf("%s, %s: %s launches replayed, %s predicted; %s launches per second\n", view.database,
	       runs_text(&replay->report->selection, runs, sizeof(runs)), kc_format_count(replay->launches, launches),
	       kc_format_count(replay->predicted, predicted),
	       isnan(per_s) ? "-" : kc_format_count((uint64_t)per_s, rate));
	print_known(replay, &request->delay);
	print_chosen(replay);
	print_incomplete(replay);
	print_past(replay);
	print_prior(replay, request->prior);
	print_without(request->without);
	print_assumed(replay, request->of.device != NULL);
	print_foreign(replay);
	print_beyond(replay);
	print_filter(filter);
	rc = kc_report_text_figures(&view);
	if (rc < 0)
		return kc_failed(rc);
	print_models(replay);
	print_intervals(replay);
	print_concurrency(replay);
	print_curve(replay);
	return kc_output_finish();
}

/* 1: the database knows the GPU, so --device is refused, after a message. Negative errno: it cannot be read. */
static int device_is_known(struct kc_store *store, const struct kc_selection *selection, const char *path)
{
	char names[256];
	int known = kc_replay_knows_devices(store, selection, names, sizeof(names));

	if (known > 0)
		kc_error(
		    "--device names the GPU for traces that do not tell it, but the launches of %s ran on %s; replay "
		    "does not yet predict a run on another GPU",
		    kc_database_shown(path), names);
	return known;
}

static int replay_launches(const struct request *request, struct kc_store *store, const char *path,
			   struct kc_replay_options wanted)
{
	struct kc_csv csv = {.to = stdout};
	struct kc_database_working working;
	struct kc_replay *replay;
	int rc, status;

	if (request->csv) {
		kc_replay_csv_head(&csv);
		wanted.launch = kc_replay_csv_launch;
		wanted.arg = &csv;
	}
	kc_database_working_begin(&working, path, "replayed", !request->csv || !isatty(STDOUT_FILENO));
	rc = kc_replay_run(store, &wanted, &replay);
	kc_database_working_end(&working);
	if (rc < 0) {
		if (!ferror(stdout)) /* otherwise the output is at fault, which kc_output_finish() says */
			kc_database_unreadable(path, rc);
		return KC_EXIT_FAILED;
	}
	status = request->csv              ? kc_output_finish()
		 : request->of.common.json ? kc_replay_json(replay, &wanted, path)
					   : print_text(replay, request, path, wanted.filter);
	kc_replay_free(replay);
	return status;
}

static int replay_store(const struct request *request, struct kc_store *store, const char *path,
			const struct kc_device *device, const struct kc_knowledge *knowledge)
{
	struct kc_replay_options wanted = {
	    .as_recorded = !request->delay_given && !request->fresh && !request->without && !device,
	    .delay = request->delay,
	    .without = request->without,
	    .fresh = request->fresh,
	    .knowledge = knowledge,
	    .device = device,
	};
	int status = kc_database_select(store, path, request->of.run ? request->of.run : "all", &wanted.selection), rc;

	if (status != KC_EXIT_OK)
		return status;
	rc = device ? device_is_known(store, &wanted.selection, path) : 0;
	if (rc > 0)
		return KC_EXIT_USAGE;
	if (rc < 0) {
		kc_database_unreadable(path, rc);
		return KC_EXIT_FAILED;
	}
	status = kc_filter_open(&request->of.filter, store, path, &wanted.selection, &wanted.filter);
	if (status == KC_EXIT_OK)
		status = replay_launches(request, store, path, wanted);
	kc_filter_free(wanted.filter);
	return status;
}

static int replay_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.of.common.may_be_several = 1, .delay = {.ns = KC_REPLAY_DELAY_NS, .batch = 1}};
	struct kc_knowledge *knowledge;
	struct kc_device device;
	struct kc_store *store;
	char path[PATH_MAX], why[512];
	int rc, status;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.of.device && (rc = kc_device_spec(request.of.device, &device, why, sizeof(why))) < 0) {
		kc_error("%s", why);
		kc_filter_choice_free(&request.of.filter);
		return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
	}
	kc_database_path(kc_common_database(&request.of.common), path, sizeof(path));
	knowledge = request.prior ? kc_prior_read(request.prior) : NULL;
	store = !request.prior || knowledge ? kc_database_read(path) : NULL;
	status =
	    store ? replay_store(&request, store, path, request.of.device ? &device : NULL, knowledge) : KC_EXIT_FAILED;
	kc_store_close(store);
	kc_knowledge_free(knowledge);
	kc_filter_choice_free(&request.of.filter);
	return status;
}

const struct kc_command kc_command_replay = {
    .group = KC_GROUP_RESEARCH,
    .name = "replay",
    .summary = "predicts recorded launches again, as if they were made now",
    .arguments = "[DB...]",
    .options = options,
    .run = replay_main,
    .manual =
	"Predicts every launch of the database, recorded live or imported, in the order of the launch calls, with\n"
	"the functions of the live library. A launch knows only measurements that had become known by its launch\n"
	"call. Runs that kerncast recorded tell which these were, and are replayed so. For imported traces and older\n"
	"databases, and with\n"
	".Fl -fresh , -device\n"
	"or\n"
	".Fl -without ,\n"
	"a measurement becomes known 10 ms after its launch has ended, as a profiler hands measured times over in\n"
	"buffers.\n"
	".Fl -delay\n"
	"sets another delay, for all processes.\n"
	"Prints, over the matched launches:\n"
	".Bl -bullet -compact\n"
	".It\n"
	"the errors by class, by model and by kernel\n"
	".It\n"
	"the error of the predicted slowdown of overlapped launches whose solo time was known\n"
	".It\n"
	"the error of the makespan of groups of overlapping kernels, beside simpler rules\n"
	".It\n"
	"the error of each model had it predicted on its own, and of repeating the last known duration\n"
	".It\n"
	"how many measured durations lay inside their 90 % interval, and how wide it was relative to them\n"
	".It\n"
	"the mean interval score over measured duration (Gneiting and Raftery 2007; less is better) of repeated\n"
	"launches of shapes with 20 measurements or more\n"
	".It\n"
	"how the error fell as launches came in\n"
	".El\n"
	"What a process taught is known to the processes after it; imported processes follow one another.\n"
	".Pp\n"
	"Launches are predicted for the GPU on which they ran, and compared with what was measured there.\n"
	".Fl -device\n"
	"names that GPU for traces that do not, and is refused where the database knows it.\n"
	"Replay does not predict what the launches would take on another GPU.\n"
	".Pp\n"
	".Fl -without\n"
	"switches parts of the prediction off, to see what each is worth; it is meant for research.\n"
	"lambda: a kernel\\(aqs own \\(*l, so that the device\\(aqs remains; sizes: times of other sizes; contexts: "
	"durations by\n"
	"the launches before; mix: learning which model to believe; contention: learned slowdown, so that the one by\n"
	"room on the SMs remains; placement: launches wait for those of their stream alone; margins: learned widths\n"
	"of intervals.\n",
};
