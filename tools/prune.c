#include "prune.h"

#include "command.h"
#include "tools/input/common_options.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/system/database.h"
#include "tools/system/journals.h"

#include "store/database/upkeep/prune.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_COLUMNS 50u

enum { KEY_KEEP = 0x100, KEY_DRY_RUN };

static const struct argp_option options[] = {
    {"keep", KEY_KEEP, "TIME|RUNS|SIZE", 0,
     "what stays: runs that ended within this time (30d, 12h), so many of the newest (20), or as many of the newest as "
     "fit into this size (2G); given several times, what all of them keep",
     0},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "say what would be removed, and remove nothing", 0},
    KC_JSON_OPTION,
    {0},
};

struct request {
	struct kc_common_options common;
	struct kc_keep keep;
	int any, dry_run;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_KEEP:
		if (kc_parse_keep(arg, &request->keep) < 0)
			argp_error(state, "--keep takes a time (30d), a number of runs (20) or a size (2G), not \"%s\"",
				   arg);
		request->any = 1;
		return 0;
	case KEY_DRY_RUN:
		request->dry_run = 1;
		return 0;
	case ARGP_KEY_END:
		if (!request->any)
			argp_error(state, "nothing is removed without a rule: --keep 30d, --keep 20 or --keep 2G");
		if (request->common.json && request->common.databases.count > 1)
			argp_error(state, "--json takes one database, as its document is of one");
		return 0;
	default:
		return kc_common_option(&request->common, key, arg, state);
	}
}

struct sizes {
	uint64_t used, file;
};

static int has_journal(const char *token, void *arg)
{
	const struct kc_journals *journals = arg;

	for (size_t i = 0; i < journals->count; i++)
		if (!strcmp(journals->at[i].run, token))
			return 1;
	return 0;
}

static int make_plan(struct kc_store *store, const char *path, const struct kc_keep *keep, int weigh,
		     struct kc_prune_plan *plan)
{
	struct kc_journals journals;
	struct timespec now;
	int rc = kc_journals_find(path, 0, &journals);

	if (rc < 0)
		return rc;
	clock_gettime(CLOCK_REALTIME, &now);
	rc = kc_prune_plan(store, keep, now.tv_sec * 1000000000ll + now.tv_nsec, weigh, has_journal, &journals, plan);
	kc_journals_free(&journals);
	return rc;
}

/* What it says about a run beside its number. */
static const char *what_text(enum kc_pruned what, int dry_run)
{
	switch (what) {
	case KC_PRUNE_REMOVE:
		return dry_run ? "would be removed" : "removed";
	case KC_PRUNE_NEWEST:
		return "kept: the newest of its program, which the next one learns from";
	case KC_PRUNE_RUNNING:
		return "kept: it is being recorded, or has a journal";
	case KC_PRUNE_IMPORTED:
	case KC_PRUNE_KEEP:
		break;
	}
	return NULL;
}

static const char *what_name(enum kc_pruned what)
{
	static const char *const names[] = {[KC_PRUNE_KEEP] = "kept",
					    [KC_PRUNE_REMOVE] = "removed",
					    [KC_PRUNE_NEWEST] = "newest",
					    [KC_PRUNE_RUNNING] = "running",
					    [KC_PRUNE_IMPORTED] = "imported"};

	return names[what];
}

static void print_runs(const struct kc_prune_plan *plan, int dry_run)
{
	char launches[KC_FORMAT_BYTES], bytes[KC_FORMAT_BYTES], command[4 * NAME_COLUMNS + 4];

	for (size_t i = 0; i < plan->count; i++) {
		const struct kc_prunable *run = &plan->at[i];

		if (what_text(run->what, dry_run))
			printf("run %lld, %s, %s launch%s, about %s: %s\n", (long long)run->run,
			       kc_shorten_middle(run->command_line, NAME_COLUMNS, command, sizeof(command)),
			       kc_format_count(run->launches, launches), run->launches == 1 ? "" : "es",
			       kc_format_bytes(run->bytes, bytes), what_text(run->what, dry_run));
	}
}

static json_t *run_json(const struct kc_prunable *run)
{
	json_t *out = json_object();

	json_object_set_new(out, "run", json_integer(run->run));
	json_object_set_new(out, "command_line", kc_json_text(run->command_line));
	json_object_set_new(out, "ended_unix_ns", run->ended_unix_ns ? json_integer(run->ended_unix_ns) : json_null());
	json_object_set_new(out, "launches", json_integer((json_int_t)run->launches));
	json_object_set_new(out, "bytes", json_integer((json_int_t)run->bytes));
	json_object_set_new(out, "what", json_string(what_name(run->what)));
	return out;
}

static int print_json(const struct request *request, const struct kc_prune_plan *plan, const struct sizes *before,
		      const struct sizes *after)
{
	json_t *out = kc_json_document("prune", 1), *runs = json_array();

	json_object_set_new(out, "dry_run", json_boolean(request->dry_run));
	for (size_t i = 0; i < plan->count; i++)
		json_array_append_new(runs, run_json(&plan->at[i]));
	json_object_set_new(out, "runs", runs);
	json_object_set_new(out, "removed", json_integer((json_int_t)plan->removed));
	json_object_set_new(out, "used_bytes_before", json_integer((json_int_t)before->used));
	json_object_set_new(out, "used_bytes", json_integer((json_int_t)after->used));
	json_object_set_new(out, "file_bytes_before", json_integer((json_int_t)before->file));
	json_object_set_new(out, "file_bytes", json_integer((json_int_t)after->file));
	return kc_json_print(out);
}

static void print_sizes(const char *path, const struct kc_prune_plan *plan, const struct sizes *before,
			const struct sizes *after)
{
	char texts[4][KC_FORMAT_BYTES];

	printf("%s: %zu of %zu run%s removed; %s of %s in use, before %s of %s\n", kc_database_shown(path),
	       plan->removed, plan->count, plan->count == 1 ? "" : "s", kc_format_bytes(after->used, texts[0]),
	       kc_format_bytes(after->file, texts[1]), kc_format_bytes(before->used, texts[2]),
	       kc_format_bytes(before->file, texts[3]));
}

/* A process that records would have to wait for as long as the copy takes. */
static int is_recorded_into(const char *path)
{
	struct kc_journals journals;
	int alive = 0;

	if (kc_journals_find(path, 0, &journals) < 0)
		return 1;
	for (size_t i = 0; i < journals.count; i++)
		alive |= journals.at[i].life != KC_LIFE_ENDED || journals.at[i].foreign;
	kc_journals_free(&journals);
	return alive;
}

static void shrink(struct kc_store *store, const char *path)
{
	int rc = is_recorded_into(path) ? -EBUSY : kc_prune_shrink(store, path);

	if (rc == -EBUSY)
		kc_error("the file keeps its size, as it is in use; what is free in it is used for the next launches");
	else if (rc == -ENOSPC)
		kc_error("the file keeps its size, as the disk has no room for a copy of it (twice what is in use); "
			 "what is free in it is used for the next launches");
	else if (rc < 0)
		kc_error("the file keeps its size: %s", strerror(-rc));
}

static int sizes_of(struct kc_store *store, struct sizes *sizes)
{
	return kc_prune_size(store, &sizes->used, &sizes->file);
}

static int do_prune(const struct request *request, struct kc_store *store, const char *path)
{
	struct kc_prune_plan plan;
	struct sizes before, after;
	int rc = sizes_of(store, &before), status = KC_EXIT_FAILED;

	if (rc == 0)
		rc = make_plan(store, path, &request->keep, 1, &plan);
	if (rc < 0) {
		kc_database_unreadable(path, rc);
		return KC_EXIT_FAILED;
	}
	if (!request->dry_run) {
		rc = kc_prune(store, &plan);
		if (rc == 0)
			shrink(store, path);
	}
	if (rc == 0)
		rc = sizes_of(store, &after);
	if (rc < 0) {
		kc_error("%s: %s; what was removed until then stays removed, and the same command goes on%s", path,
			 strerror(-rc), rc == -ENOSPC ? " once there is a little room" : "");
	} else if (request->common.json) {
		status = print_json(request, &plan, &before, &after);
	} else {
		print_runs(&plan, request->dry_run);
		if (!request->dry_run)
			print_sizes(path, &plan, &before, &after);
		else if (!plan.removed)
			puts("no run would be removed");
		status = kc_output_finish();
	}
	kc_prune_plan_free(&plan);
	return status;
}

/* given: NULL: the database of the working directory. */
static int prune(const char *given, const struct request *request)
{
	char path[PATH_MAX], why[512] = "";
	struct kc_store *store;
	int status;

	kc_database_path(given, path, sizeof(path));
	store = kc_database_read(path); /* imports journals */
	if (store && !request->dry_run) {
		kc_store_close(store);
		if (kc_store_open(path, KC_STORE_WRITE, &store, why, sizeof(why)) < 0)
			kc_error("%s", why);
	}
	if (!store)
		return KC_EXIT_FAILED;
	status = do_prune(request, store, path);
	kc_store_close(store);
	return status;
}

static int prune_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.common.may_be_several = 1};
	const struct kc_databases *databases = &request.common.databases;
	int status = KC_EXIT_OK;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	for (size_t i = 0; i < databases->count || i == 0; i++) {
		if (i)
			putchar('\n');
		if (databases->count > 1)
			printf("%s\n", databases->at[i]);
		if (prune(databases->count ? databases->at[i] : NULL, &request) != KC_EXIT_OK)
			status = KC_EXIT_FAILED;
	}
	free(databases->at);
	return status;
}

void kc_prune_after_run(const char *path, const struct kc_keep *keep, int quiet)
{
	struct kc_prune_plan plan;
	struct kc_store *store;
	char why[512] = "";
	int rc;

	if (kc_store_open(path, KC_STORE_READ, &store, NULL, 0) < 0)
		return; /* nothing was recorded */
	kc_store_close(store);
	if (kc_store_open(path, KC_STORE_WRITE, &store, why, sizeof(why)) < 0) {
		kc_error("old runs are not removed: %s", why);
		return;
	}
	rc = make_plan(store, path, keep, 0, &plan);
	if (rc == 0) {
		rc = kc_prune(store, &plan);
		if (rc == 0 && plan.removed && !quiet)
			kc_error("removed %zu old run%s (--keep)", plan.removed, plan.removed == 1 ? "" : "s");
		kc_prune_plan_free(&plan);
	}
	if (rc < 0)
		kc_error("old runs are not removed: %s", strerror(-rc));
	kc_store_close(store);
}

const struct kc_command kc_command_prune = {
    .group = KC_GROUP_RECORD,
    .seldom = 1,
    .name = "prune",
    .summary = "removes old runs from a database",
    .arguments = "[DB...]",
    .options = options,
    .run = prune_main,
    .manual =
	"Removes whole runs, the oldest first, with all that was recorded of them, and gives the space back.\n"
	"A run's age counts from its end, or from its last launch if it was killed. These stay, whatever the\n"
	"rule says: the newest run of each program, which the next run of it begins with; runs that are being\n"
	"recorded or have a journal left; imported traces.\n"
	"What runs have in common (devices, kernels, launch shapes) stays, too.\n"
	"Of several databases, each is treated by itself.\n"
	".Pp\n"
	"The database is locked for some tens of milliseconds at a time, so that programs can go on recording into "
	"it.\n"
	"Interrupted at any moment, it is whole, and the same command goes on.\n"
	"The file gets smaller where a sixteenth of it or more is free, nothing records into it and the disk has\n"
	"room for twice what stays; else the free part of it is used for the next launches.\n"
	".Nm Cm run Fl -keep\n"
	"does the same each time after the program has ended, without making the file smaller.\n",
};
