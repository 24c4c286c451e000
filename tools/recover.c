#include "command.h"
#include "tools/input/common_options.h"
#include "tools/system/database.h"
#include "tools/output/format.h"
#include "tools/system/journals.h"

#include "store/database/upkeep/recovery.h"
#include "store/database/store.h"
#include "store/query/kernel_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return kc_common_option(state->input, key, arg, state);
}

/* A journal that no longer exists was imported. */
static void print_journal(const struct kc_journal_found *found)
{
	char count[KC_FORMAT_BYTES];
	const char *launches = found->launches == 1 ? "launch" : "launches";

	if (found->foreign)
		printf("%s: left alone because it belongs to another user\n", found->path);
	else if (found->unreadable)
		printf("%s: kept because it cannot be read\n", found->path);
	else if (found->alive)
		printf("%s: in use by pid %u (%s)\n", found->path, found->pid, found->command);
	else if (access(found->path, F_OK) == 0)
		printf("%s: not imported, pid %u (%s), %s %s\n", found->path, found->pid, found->command,
		       kc_format_count(found->launches, count), launches);
	else
		printf("%s: imported, pid %u (%s), %s %s\n", found->path, found->pid, found->command,
		       kc_format_count(found->launches, count), launches);
}

static void name_kernels(const char *path)
{
	struct kc_store *store;

	if (kc_store_open(path, KC_STORE_READ, &store, NULL, 0) == 0) {
		kc_kernel_names(store, KC_NAMES_NS);
		kc_store_close(store);
	}
}

static int recover_main(int argc, char **argv, const struct kc_command *self)
{
	struct kc_recovered recovered = {0};
	struct kc_journals journals;
	struct kc_common_options common = {0};
	char path[PATH_MAX], why[512] = "";
	int rc;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &common);
	kc_database_path(common.database, path, sizeof(path));
	rc = kc_journals_find(path, 1, &journals);
	if (rc < 0) {
		kc_error("cannot look for journals beside %s: %s", path, strerror(-rc));
		return KC_EXIT_FAILED;
	}
	if (journals.count == 0 && common.database && access(path, F_OK) < 0) { /* perhaps a typo */
		kc_error("%s: no such database, and no journal beside it", path);
		kc_journals_free(&journals);
		return KC_EXIT_FAILED;
	}
	if (journals.count > 0)
		rc = kc_recover(path, &recovered, why, sizeof(why));
	if (recovered.processes)
		name_kernels(path);
	for (size_t i = 0; i < journals.count; i++)
		print_journal(journals.at + i);
	if (journals.count == 0)
		printf("nothing to import: no journal beside %s\n", path);
	kc_journals_free(&journals);
	if (*why)
		kc_error("%s", why);
	else if (rc < 0)
		kc_error("%s: %s", path, strerror(-rc));
	if (rc < 0 || recovered.unreadable)
		return KC_EXIT_FAILED;
	return kc_output_finish();
}

const struct kc_command kc_command_recover = {
    .name = "recover",
    .summary = "imports launches that ended processes left in journals",
    .arguments = "[DB]",
    .run = recover_main,
    .manual =
	"Launches that a process recorded and could not store, because it was killed or the database could not be\n"
	"written when it exited, are in a journal beside the database (DB.*.kcj).\n"
	"This command writes them into the database and deletes the journals. Journals in use are left alone, and\n"
	"so are journals of other users, even by root.\n"
	"Other commands do the same before they read the database.\n",
};
