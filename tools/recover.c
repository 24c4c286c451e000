#include "command.h"
#include "tools/input/common_options.h"
#include "tools/system/database.h"
#include "tools/output/format.h"
#include "tools/system/journals.h"

#include "store/database/recovery.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return kc_common_option(state->input, key, arg, state);
}

/* What became of a journal shows in whether it is still there. */
static void print_journal(const struct kc_journal_found *found)
{
	char count[KC_FORMAT_BYTES];
	const char *launches = found->launches == 1 ? "launch" : "launches";

	if (found->foreign)
		printf("%s: left alone, it belongs to another user\n", found->path);
	else if (found->unreadable)
		printf("%s: kept, it cannot be read\n", found->path);
	else if (found->alive)
		printf("%s: in use, pid %u (%s) still runs\n", found->path, found->pid, found->command);
	else if (access(found->path, F_OK) == 0)
		printf("%s: left, pid %u (%s), %s %s\n", found->path, found->pid, found->command,
		       kc_format_count(found->launches, count), launches);
	else
		printf("%s: imported, pid %u (%s), %s %s\n", found->path, found->pid, found->command,
		       kc_format_count(found->launches, count), launches);
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
	if (journals.count == 0 && common.database && access(path, F_OK) < 0) { /* mistyped, perhaps */
		kc_error("%s: no such database, and no journal beside it", path);
		kc_journals_free(&journals);
		return KC_EXIT_FAILED;
	}
	if (journals.count > 0)
		rc = kc_recover(path, &recovered, why, sizeof(why));
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
    .summary = "imports what ended processes left in their journals",
    .arguments = "[DB]",
    .run = recover_main,
    .manual =
	"Every launch that a process recorded and could not store, because it was killed or the database could not\n"
	"be written when it exited, is in a journal beside the database (DB.*.kcj).\n"
	"Their launches are written into the database and the journals deleted; a journal in use is left alone,\n"
	"and so is another user's, by root, too.\n"
	"The other commands do the same before they read.\n",
};
