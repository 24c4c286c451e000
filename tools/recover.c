#include "command.h"
#include "tools/input/common_options.h"
#include "tools/system/database.h"
#include "tools/output/format.h"
#include "tools/system/journals.h"

#include "store/database/upkeep/recovery.h"
#include "store/database/store.h"
#include "store/query/kernel_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_FORCE = 0x100 };

struct request {
	struct kc_common_options common;
	bool force;
};

static const struct argp_option options[] = {
    {"force", KEY_FORCE, NULL, 0,
     "import also where it is not known whether the process still runs; if it does, what it launches from then on is "
     "lost",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	if (key != KEY_FORCE)
		return kc_common_option(&request->common, key, arg, state);
	request->force = true;
	return 0;
}

/* A journal that no longer exists was imported. */
static void print_journal(const struct kc_journal_found *found, bool force)
{
	char count[KC_FORMAT_BYTES];
	const char *launches = found->launches == 1 ? "launch" : "launches";

	if (found->foreign)
		printf("%s: left alone because it belongs to another user\n", found->path);
	else if (found->unreadable)
		printf("%s: kept because it cannot be read\n", found->path);
	else if (found->life == KC_LIFE_RUNS)
		printf("%s: in use by pid %u (%s)\n", found->path, found->pid, found->command);
	else if (found->life == KC_LIFE_NOT_KNOWN && !force)
		printf("%s: left alone because it is not known whether pid %u (%s) still runs, %s %s\n", found->path,
		       found->pid, found->command, kc_format_count(found->launches, count), launches);
	else if (access(found->path, F_OK) == 0)
		printf("%s: not imported, pid %u (%s), %s %s\n", found->path, found->pid, found->command,
		       kc_format_count(found->launches, count), launches);
	else
		printf("%s: imported, pid %u (%s), %s %s\n", found->path, found->pid, found->command,
		       kc_format_count(found->launches, count), launches);
}

static void complete_kernels(const char *path)
{
	struct kc_store *store;

	if (kc_store_open(path, KC_STORE_READ, &store, NULL, 0) == 0) {
		kc_kernel_names(store, KC_NAMES_NS);
		kc_database_read_code(store);
		kc_store_close(store);
	}
}

/* given: NULL: the database of the working directory. */
static int recover(const char *given, bool force)
{
	struct kc_recovered recovered = {0};
	struct kc_journals journals;
	char path[PATH_MAX], why[512] = "";
	int rc;

	kc_database_path(given, path, sizeof(path));
	rc = kc_journals_find(path, 1, &journals);
	if (rc < 0) {
		kc_error("cannot look for journals beside %s: %s", path, strerror(-rc));
		return KC_EXIT_FAILED;
	}
	if (journals.count == 0 && given && access(path, F_OK) < 0) { /* perhaps a typo */
		kc_error("%s: neither this database nor a journal of it (%s.*.kcj) exists", path, path);
		kc_journals_free(&journals);
		return KC_EXIT_FAILED;
	}
	if (journals.count > 0)
		rc = kc_recover(path, force, &recovered, why, sizeof(why));
	if (recovered.processes)
		complete_kernels(path);
	for (size_t i = 0; i < journals.count; i++)
		print_journal(journals.at + i, force);
	if (journals.count == 0)
		printf("nothing to import: there is no journal of %s\n", path);
	kc_journals_free(&journals);
	if (*why)
		kc_error("%s", why);
	else if (rc < 0)
		kc_error("%s: %s", path, strerror(-rc));
	if (recovered.not_known)
		kc_error("if these processes have ended, run kerncast recover --force%s%s", given ? " " : "",
			 given ? given : "");
	return rc < 0 || recovered.unreadable || recovered.not_known ? KC_EXIT_FAILED : KC_EXIT_OK;
}

static int recover_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {.common.may_be_several = 1};
	const struct kc_databases *databases = &request.common.databases;
	int status = KC_EXIT_OK;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	for (size_t i = 0; i < databases->count || i == 0; i++)
		if (recover(databases->count ? databases->at[i] : NULL, request.force) != KC_EXIT_OK)
			status = KC_EXIT_FAILED;
	free(databases->at);
	return status == KC_EXIT_OK ? kc_output_finish() : status;
}

const struct kc_command kc_command_recover = {
    .group = KC_GROUP_RECORD,
    .seldom = 1,
    .name = "recover",
    .summary = "imports launches that ended processes left in journals",
    .arguments = "[DB...]",
    .options = options,
    .run = recover_main,
    .manual =
	"Launches that a process recorded and could not store, because it was killed or the database could not be\n"
	"written when it exited, are in a journal beside the database (DB.*.kcj).\n"
	"This command writes them into the database, or into each of several, and deletes the journals. Journals in "
	"use are left alone, and\n"
	"so are journals of other users, even by root.\n"
	"Other commands do the same before they read the database.\n"
	"Where the kernel does not tell whether a process still runs, its journal is left alone, too, and the exit\n"
	"status is 1: a copied journal, one on a network file system from another machine, or one of a process in a\n"
	"container that could not be watched. --force imports and deletes those. If such a process does still run,\n"
	"what it launches from then on is lost. Journals that are known to be in use are left alone all the same.\n",
};
