#include "tools/input/common_options.h"
#include "tools/input/filter_options.h"
#include "tools/report/html/html.h"
#include "tools/report/report_forms.h"
#include "store/query/report/kernel_work.h"
#include "store/query/report/operator_class.h"
#include "command.h"
#include "tools/system/database.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include <limits.h>
#include <string.h>

#define ORDERS "time|error|count"

enum { KEY_RUN = 'r', KEY_BY = 'b', KEY_CSV = 0x100, KEY_EXACT, KEY_HTML, KEY_OLD, KEY_ANONYMOUS };

struct request {
	struct kc_common_options common;
	struct kc_filter_choice filter;
	struct kc_sorting sorting;
	const char *run, *html, *old;
	enum kc_report_by by;
	int by_given, csv, exact, anonymous;
};

static const struct argp_option options[] = {
    {"run", KEY_RUN, "N|all", 0, "run N of the database, or all runs together (default: the latest)", 0},
    {"by", KEY_BY, "kernel|model|stream|case|rank|gpu|class|time|gap|copy|step|range|operator", 0,
     "one line per kernel, model, stream, case, rank (or process, which is the same), gpu or class (of kernels); or "
     "time (per GPU, process and stream whose time is told), gap (idle, of a GPU), copy (each kind), step, range, or "
     "operator (of a trace); instead of the kernels that took most time and the worst predicted",
     0},
    KC_FILTER_OPTIONS,
    KC_DEVICE_FILTER_OPTION,
    KC_SORT_OPTIONS(ORDERS),
    KC_JSON_OPTION,
    {"csv", KEY_CSV, NULL, 0, "print the lines of --by (default: kernel) as CSV, with full names", 0},
    {"exact", KEY_EXACT, NULL, 0,
     "read every launch; without it, median and 90th percentile are within 1 % of the exact ones", 0},
    {"html", KEY_HTML, "FILE", 0, "write one page with figures, for a browser, that needs no network", 0},
    {"old", KEY_OLD, "N[,N...]", 0,
     "earlier runs that the page compares with (default: up to five of the same command line); none: without any", 0},
    {"anonymous", KEY_ANONYMOUS, NULL, 0,
     "hash the kernels' names on the page, and leave out paths, command lines and texts of messages", 0},
    {0},
};

static error_t parse_by(const char *arg, struct argp_state *state, struct request *request)
{
	if (kc_report_by_name(arg, &request->by) < 0)
		argp_error(
		    state,
		    "--by takes kernel, model, stream, case, rank, process, gpu, class, time, gap, copy, step, range "
		    "or operator, not \"%s\"",
		    arg);
	request->by_given = 1;
	return 0;
}

static void check_html(const struct request *request, struct argp_state *state)
{
	if (request->html && (request->common.json || request->csv || request->by_given))
		argp_error(state, "--html writes a page of its own: leave out --json, --csv and --by");
	if (request->html && (request->sorting.by || request->sorting.top))
		argp_error(state, "the table of the page is sorted there: leave out --sort and --top");
	if (!request->html && (request->old || request->anonymous))
		argp_error(state, "--old and --anonymous are for --html");
}

static void check(const struct request *request, struct argp_state *state)
{
	kc_json_or_csv(request->common.json, request->csv, state);
	check_html(request, state);
	kc_filter_options_check(&request->filter, state);
	kc_sort_options_check(&request->sorting, request->common.json, state);
}

static error_t parse_other(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;
	error_t rc = kc_filter_option(&request->filter, key, arg, state);

	if (rc == ARGP_ERR_UNKNOWN)
		rc = kc_sort_option(&request->sorting, ORDERS, key, arg, state);
	return rc == ARGP_ERR_UNKNOWN ? kc_common_option(&request->common, key, arg, state) : rc;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_RUN:
		request->run = arg;
		return 0;
	case KEY_BY:
		return parse_by(arg, state, request);
	case KEY_CSV:
		request->csv = 1;
		return 0;
	case KEY_EXACT:
		request->exact = 1;
		return 0;
	case KEY_HTML:
		request->html = arg;
		return 0;
	case KEY_OLD:
		request->old = arg;
		return 0;
	case KEY_ANONYMOUS:
		request->anonymous = 1;
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return parse_other(key, arg, state);
	}
}

static int print(const struct request *request, const char *path, const struct kc_report *data,
		 const struct kc_activity *activity, const struct kc_steps_report *steps,
		 struct kc_scopes_report *const scopes[static KC_SCOPE_KINDS], const struct kc_filter *filter)
{
	struct kc_report_view view = {
	    .database = kc_database_shown(path),
	    .data = data,
	    .activity = activity,
	    .steps = steps,
	    .scopes = {scopes[KC_SCOPE_RANGE], scopes[KC_SCOPE_OPERATOR]},
	    .by_given = request->by_given,
	    .by = request->by,
	    .filter = filter,
	    .sorting = request->sorting,
	    .width = kc_page_width(),
	};
	int rc;

	if (request->common.json)
		return kc_json_print(kc_report_json(&view));
	rc = request->csv ? kc_report_csv(&view) : kc_report_text(&view);
	if (rc < 0)
		return kc_failed(rc);
	return rc > 0 ? rc : kc_output_finish();
}

static int write_html(const struct request *request, struct kc_store *store, const char *path, struct kc_report *data,
		      struct kc_activity *activity, struct kc_filter *filter)
{
	const struct kc_html_request page = {
	    .file = request->html,
	    .database = kc_database_shown(path),
	    .old = request->old,
	    .anonymous = request->anonymous,
	};

	return kc_report_html(&page, store, data, activity, filter);
}

static int report_of(const struct request *request, struct kc_store *store, const char *path,
		     const struct kc_selection *selection)
{
	struct kc_report *data = NULL;
	struct kc_activity *activity = NULL;
	struct kc_steps_report *steps = NULL;
	struct kc_scopes_report *scopes[KC_SCOPE_KINDS] = {NULL};
	struct kc_database_working working;
	struct kc_filter *filter = NULL;
	int status = kc_filter_open(&request->filter, store, path, selection, &filter), rc;

	if (status != KC_EXIT_OK)
		return status;
	kc_database_working_begin(&working, path, "read", 1);
	if (filter)
		rc = kc_query_report_matching(store, selection, filter, &data);
	else
		rc = kc_query_report(store, selection, request->exact, &data);
	if (rc == 0)
		rc = kc_query_work(store, filter, data);
	if (rc == 0)
		rc = kc_query_operator_classes(store, filter, data);
	if (rc == 0 && (!request->csv || kc_report_is_activity(request->by)))
		rc = kc_query_activity(store, data, &activity);
	if (rc == 0 && (request->common.json || request->by == KC_BY_STEP))
		rc = kc_query_steps(store, data, filter, request->by == KC_BY_STEP, &steps);
	if (rc == 0 && (request->common.json || request->by == KC_BY_RANGE))
		rc = kc_query_scopes(store, data, filter, KC_SCOPE_RANGE, &scopes[KC_SCOPE_RANGE]);
	if (rc == 0 && (request->common.json || request->by == KC_BY_OPERATOR))
		rc = kc_query_scopes(store, data, filter, KC_SCOPE_OPERATOR, &scopes[KC_SCOPE_OPERATOR]);
	kc_database_working_end(&working);
	if (rc < 0) {
		kc_database_unreadable(path, rc);
		status = KC_EXIT_FAILED;
	} else if (request->html) {
		status = write_html(request, store, path, data, activity, filter);
	} else {
		status = print(request, path, data, activity, steps, scopes, filter);
	}
	kc_activity_free(activity);
	kc_steps_report_free(steps);
	kc_scopes_report_free(scopes[KC_SCOPE_RANGE]);
	kc_scopes_report_free(scopes[KC_SCOPE_OPERATOR]);
	kc_report_free(data);
	kc_filter_free(filter);
	return status;
}

static int report_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.common.may_be_several = 1};
	struct kc_selection selection;
	struct kc_store *store;
	char path[PATH_MAX];
	int status = KC_EXIT_FAILED;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	kc_database_path(kc_common_database(&request.common), path, sizeof(path));
	store = kc_database_read(path);
	if (store)
		status = kc_database_select(store, path, request.run, &selection);
	if (status == KC_EXIT_OK)
		status = report_of(&request, store, path, &selection);
	kc_filter_choice_free(&request.filter);
	kc_store_close(store);
	return status;
}

const struct kc_command kc_command_report = {
    .name = "report",
    .summary = "shows what ran, what took the time, and how well it was predicted",
    .arguments = "[DB...]",
    .options = options,
    .run = report_main,
    .manual =
	"Prints where the time of the GPUs went; the kernels that took most of it; the accuracy of the predictions\n"
	"and the kernels that were predicted worst; the predicted concurrency beside the measured one; and the\n"
	"ledger: what was launched, predicted and measured, and why anything is missing.\n"
	"A GPU is busy while a kernel or copy runs. While it is idle, it is launch-bound as long as the host has\n"
	"not launched what runs next; after that, the launch waits for an event or another stream, or is on its\n"
	"way. The times go from the start of the first measured kernel or copy to the end of the last; of more\n"
	"than 2,000,000 launches and copies, they are shown with --exact only.\n"
	".Pp\n"
	"With\n"
	".Fl -html ,\n"
	"all of this is written as one page for a browser, together with what\n"
	".Nm\n"
	".Cm slow\n"
	"and\n"
	".Nm\n"
	".Cm diff\n"
	"find, figures of the accuracy, a timeline of the streams, predicted above measured, and a table of all "
	"kernels\n"
	"to sort and search.\n"
	"It is one file that asks the network for nothing; of many launches, it says which part is shown.\n"
	"A launch of an imported trace is shown with the prediction of\n"
	".Nm\n"
	".Cm replay .\n"
	".Pp\n"
	"Where neither the trace nor NVTX tells steps,\n"
	".Fl -by Cm step\n"
	"finds them by what repeats, if anything tells them from layers, and says by what.\n"
	".Pp\n"
	"Launches that processes left in their journals, because they were killed or could not store them, are\n"
	"imported first.\n",
};
