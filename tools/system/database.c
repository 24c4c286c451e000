#include "database.h"
#include "merging.h"
#include "tools/command.h"

#include "store/code/waiting_code.h"
#include "store/common/options.h"
#include "store/common/remote.h"
#include "store/database/upkeep/recovery.h"
#include "store/query/kernel_names.h"
#include "store/replay/relay/quiet_thread.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHY_BYTES 512u

/* On a network or FUSE file system each host has a file of its own. */
static void find_here(const char *asked, char *path, size_t size)
{
	snprintf(path, size, "%s", asked);
	if (access(path, F_OK))
		kc_host_database(asked, path, size);
}

int kc_database_default(char *path, size_t size, char *why, size_t why_size)
{
	static struct kc_options options; /* too large for the stack */

	kc_options_read(&options, why, why_size); /* wrong values of other options are not reported here */
	find_here(options.db, path, size);
	return options.unnamed ? kc_store_own(path, why, why_size) : 0;
}

const char *kc_database_path(const char *given, char *path, size_t size)
{
	char why[PATH_MAX + WHY_BYTES];

	if (given) {
		find_here(given, path, size);
	} else if (kc_database_default(path, size, why, sizeof(why))) {
		kc_error("%s", why);
		exit(KC_EXIT_FAILED);
	}
	return path;
}

const char *kc_database_shown(const char *path)
{
	const char *merged = kc_merging_shown(path);
	char *folder = getcwd(NULL, 0);
	size_t n = folder ? strlen(folder) : 0;

	if (n > 1 && strncmp(path, folder, n) == 0 && path[n] == '/')
		path += n + 1;
	free(folder);
	return merged ? merged : path;
}

static const char *journals(uint32_t n)
{
	return n == 1 ? "journal" : "journals";
}

static void say_imported(const struct kc_recovered *r)
{
	unsigned long long launches = r->launches, processes = r->processes, killed = r->killed;
	const char *es = processes == 1 ? "" : "es";
	char whose[128];

	if (killed == processes)
		snprintf(whose, sizeof(whose), "%llu killed process%s", processes, es);
	else if (killed == 0)
		snprintf(whose, sizeof(whose), "%llu process%s that had exited", processes, es);
	else
		snprintf(whose, sizeof(whose), "%llu processes, %llu of them killed", processes, killed);
	kc_error("imported %llu launch%s from the %s of %s", launches, launches == 1 ? "" : "es",
		 journals((uint32_t)processes), whose);
}

/* A report is still useful without write access, so journals that could not be
 * imported are reported and not fatal. */
static struct kc_recovered import_journals(const char *path)
{
	struct kc_recovered recovered = {0};
	char why[WHY_BYTES] = "";
	int rc = kc_recover(path, false, &recovered, why, sizeof(why));

	if (recovered.processes)
		say_imported(&recovered);
	if (recovered.not_known)
		kc_error("%u %s beside %s not imported: it is not known whether the process still runs; "
			 "kerncast recover says more",
			 recovered.not_known, journals(recovered.not_known), path);
	if (recovered.unreadable)
		kc_error("%u %s beside %s not imported: %s", recovered.unreadable, journals(recovered.unreadable), path,
			 why);
	else if (rc < 0 && rc != -ENOENT)
		kc_error("the journals beside %s are not imported: %s", path, *why ? why : strerror(-rc));
	return recovered;
}

void kc_database_read_code(struct kc_store *store)
{
	struct kc_waiting_code code;

	kc_waiting_code_read(store, KC_WAITING_CODE_NS, &code);
	if (code.read)
		kc_error("read the code of %u kernel%s that had not been read yet", code.read,
			 code.read == 1 ? "" : "s");
	if (code.left)
		kc_error("the code of %u kernel%s is left for the next command", code.left, code.left == 1 ? "" : "s");
}

/* Whether a file that is no database may be a trace: gzip, or text that begins as JSON or has a comma, as CSV. */
static int may_be_trace(const char *path)
{
	char text[512];
	FILE *file = fopen(path, "re");
	size_t bytes = file ? fread(text, 1, sizeof(text), file) : 0, blank = 0;

	if (file)
		fclose(file);
	if (bytes > 1 && !memcmp(text, "\x1f\x8b", 2))
		return 1;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)text[i] < ' ' && !memchr("\t\r\n", text[i], 3))
			return 0;
	while (blank < bytes && isspace((unsigned char)text[blank]))
		blank++;
	return blank < bytes && (strchr("{[", text[blank]) || memchr(text, ',', bytes));
}

struct kc_store *kc_database_read(const char *path)
{
	struct kc_recovered recovered = import_journals(path);
	struct kc_store *store = NULL;
	char why[WHY_BYTES] = "";
	int rc;

	rc = kc_store_open(path, KC_STORE_READ, &store, why, sizeof(why));
	if (rc == 0) {
		kc_kernel_names(store, KC_NAMES_NS);
		kc_database_read_code(store);
		return store;
	}
	if ((rc == -ENODATA || rc == -ENOENT) && recovered.alive)
		kc_error("%s: a run has just begun and has stored nothing yet: try again in a moment", path);
	else if (rc == -EBADMSG && may_be_trace(path))
		kc_error("%s is not a kerncast database: if it is a trace, `kerncast import %s` makes one of it", path,
			 path);
	else if (*why)
		kc_error("%s", why);
	else
		kc_error("%s: %s", path, strerror(-rc));
	return NULL;
}

void kc_database_unreadable(const char *path, int rc)
{
	if (rc == -EBADMSG)
		kc_error(
		    "%s is damaged: extract what is readable with `sqlite3 %s .recover`, and record into another file",
		    path, path);
	else
		kc_error("%s cannot be read: %s", kc_database_shown(path), strerror(-rc));
}

static void *tell(void *arg)
{
	struct kc_database_working *working = arg;
	struct timespec next;

	pthread_mutex_lock(&working->lock);
	while (!working->is_over) {
		kc_progress(&working->progress, 0);
		kc_progress_time(&working->progress, &next);
		pthread_cond_timedwait(&working->ended, &working->lock, &next);
	}
	pthread_mutex_unlock(&working->lock);
	return NULL;
}

void kc_database_working_begin(struct kc_database_working *working, const char *path, const char *doing, int is_told)
{
	pthread_condattr_t monotonic;

	*working = (struct kc_database_working){.is_told = is_told && isatty(STDERR_FILENO)};
	if (!working->is_told)
		return;
	kc_progress_begin(&working->progress, kc_database_shown(path), doing, 0);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&working->lock, NULL);
	pthread_cond_init(&working->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (kc_quiet_thread(&working->thread, tell, working) == 0)
		return;
	working->is_told = 0; /* no thread is left: the work goes on in silence */
	pthread_cond_destroy(&working->ended);
	pthread_mutex_destroy(&working->lock);
}

void kc_database_working_end(struct kc_database_working *working)
{
	if (!working->is_told)
		return;
	pthread_mutex_lock(&working->lock);
	working->is_over = 1;
	pthread_cond_signal(&working->ended);
	pthread_mutex_unlock(&working->lock);
	pthread_join(working->thread, NULL);
	pthread_cond_destroy(&working->ended);
	pthread_mutex_destroy(&working->lock);
	kc_progress_end(&working->progress);
}

int kc_database_select(struct kc_store *store, const char *path, const char *which, struct kc_selection *out)
{
	char why[256];
	int rc = kc_query_select(store, which, out, why, sizeof(why));

	if (rc == -EINVAL || rc == -ENOENT)
		kc_error("%s: %s", kc_database_shown(path), why);
	else if (rc < 0)
		kc_database_unreadable(path, rc);
	return rc == -EINVAL ? KC_EXIT_USAGE : rc < 0 ? KC_EXIT_FAILED : KC_EXIT_OK;
}
