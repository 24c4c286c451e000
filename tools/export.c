#include "tools/report/export.h"
#include "command.h"
#include "tools/input/common_options.h"
#include "tools/input/filter_options.h"
#include "tools/system/database.h"
#include "tools/output/format.h"
#include "tools/output/output_file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_RUN = 'r', KEY_CSV = 0x100, KEY_CHROME };

struct request {
	struct kc_common_options common;
	struct kc_filter_choice filter;
	const char *run, *output;
	int csv, chrome;
};

static const struct argp_option options[] = {
    {"csv", KEY_CSV, NULL, 0, "one line per launch: the columns of the view `launch`, and the kernel's name", 0},
    {"chrome", KEY_CHROME, NULL, 0, "a trace for Perfetto (ui.perfetto.dev) or chrome://tracing", 0},
    {"run", KEY_RUN, "N|all", 0, "run N of the database, or all runs (default: the latest)", 0},
    KC_FILTER_OPTIONS,
    KC_DEVICE_FILTER_OPTION,
    {"output", KEY_OUTPUT, "FILE", 0, "write to FILE instead of standard output, compressed if its name ends in .gz",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;
	error_t rc;

	switch (key) {
	case KEY_CSV:
		request->csv = 1;
		return 0;
	case KEY_CHROME:
		request->chrome = 1;
		return 0;
	case KEY_RUN:
		request->run = arg;
		return 0;
	case KEY_OUTPUT:
		request->output = arg;
		return 0;
	case ARGP_KEY_END:
		if (request->csv == request->chrome)
			argp_error(state, "no format given; choose --csv or --chrome");
		kc_filter_options_check(&request->filter, state);
		return 0;
	default:
		rc = kc_filter_option(&request->filter, key, arg, state);
		return rc == ARGP_ERR_UNKNOWN ? kc_common_option(&request->common, key, arg, state) : rc;
	}
}

static void say_refused(const char *output, int rc)
{
	if (rc == -EEXIST)
		kc_error("%s is a database or belongs to one and is not overwritten; choose another file with -o",
			 output);
	else
		kc_error("cannot write %s: %s", output, strerror(-rc));
}

/* Predictions that nobody recorded are no part of the database. */
static void tell_replay(const struct kc_export_replay *replay, const char *path)
{
	char launches[KC_FORMAT_BYTES], assumed[KC_FORMAT_BYTES];

	if (!replay->launches)
		return;
	kc_error("%s: %s imported launches have no predictions of their own; those in the trace are what kerncast "
		 "replay predicts for them",
		 kc_database_shown(path), kc_format_count(replay->launches, launches));
	if (replay->assumed_launches)
		kc_error("%s: of the device of %s of them too little is known; predicted as on a %s",
			 kc_database_shown(path), kc_format_count(replay->assumed_launches, assumed),
			 replay->assumed_device);
}

static int write_file(const struct request *request, struct kc_store *store, const char *path,
		      const struct kc_selection *selection, struct kc_filter *filter)
{
	struct kc_export_replay replay = {0};
	struct kc_database_working working;
	struct kc_output_file file;
	int rc = kc_output_file_open(&file, request->output, KC_OUTPUT_COMPRESSED | KC_OUTPUT_PRIVATE);

	if (rc < 0) {
		say_refused(request->output, rc);
		return KC_EXIT_FAILED;
	}
	kc_database_working_begin(&working, path, "exported", file.to != stdout);
	rc = request->csv ? kc_export_csv(store, selection, filter, file.to)
			  : kc_export_chrome(store, selection, filter, file.to, &replay);
	kc_database_working_end(&working);
	if (rc == -ENOSPC)
		kc_error("no room for temporary files: SQLITE_TMPDIR names another folder for them");
	else if (rc < 0)
		kc_database_unreadable(path, rc);
	if (rc < 0) {
		kc_output_file_drop(&file);
		return KC_EXIT_FAILED;
	}
	rc = kc_output_file_finish(&file);
	if (rc < 0) {
		say_refused(request->output, rc);
		return KC_EXIT_FAILED;
	}
	tell_replay(&replay, path);
	return kc_output_finish();
}

static int export_launches(const struct request *request, struct kc_store *store, const char *path,
			   const struct kc_selection *selection)
{
	struct kc_filter *filter = NULL;
	int status = kc_filter_open(&request->filter, store, path, selection, &filter);

	if (status == KC_EXIT_OK)
		status = write_file(request, store, path, selection, filter);
	kc_filter_free(filter);
	return status;
}

static int export_main(int argc, char **argv, const struct kc_command *self)
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
		status = export_launches(&request, store, path, &selection);
	kc_filter_choice_free(&request.filter);
	kc_store_close(store);
	return status;
}

const struct kc_command kc_command_export = {
    .name = "export",
    .summary = "writes launches as CSV, or as a trace for Perfetto",
    .arguments = "[DB...]",
    .options = options,
    .run = export_main,
    .manual =
	"Writes every launch of a run, or those that match a filter.\n"
	"CSV follows RFC 4180; its first line names the columns.\n"
	"The trace has two tracks per stream, predicted and measured, and one per thread with its calls; a flow\n"
	"joins call, prediction and measurement of each launch. The arguments of a slice hold error, case and model,\n"
	"and slices that were mispredicted by more than 20 % are coloured, where the viewer takes colours. Counters\n"
	"show the SMs in use, predicted and measured, and the error.\n"
	"Imported launches have no predictions of their own: the trace shows those of\n"
	".Cm replay .\n"
	"A file given with\n"
	".Fl o\n"
	"appears when it is complete; a database is never overwritten.\n",
};
