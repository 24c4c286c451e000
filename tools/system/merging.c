#include "merging.h"

#include "database.h"
#include "tools/command.h"
#include "tools/output/progress.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_MOST 2u /* as many as a command compares */

struct temporary {
	char folder[PATH_MAX - 32], path[PATH_MAX], log[PATH_MAX], memory[PATH_MAX]; /* "": there is none */
	char shown[PATH_MAX + 32];
};

static struct temporary temporaries[TEMPORARY_MOST];
static unsigned temporary_count;

static int is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int kc_merging_add(struct kc_store *to, const char *output, const char *given, struct kc_merged *total)
{
	struct kc_store *store;
	struct kc_merged merged;
	char path[PATH_MAX], *name;
	int rc = -ENOMEM;

	kc_database_path(given, path, sizeof(path));
	if (is_same_file(path, output)) {
		kc_error("%s: it is the database that is written", given);
		return -EINVAL;
	}
	store = kc_database_read(path);
	if (!store)
		return -EBADMSG;
	name = kc_store_attachable(store);
	kc_store_close(store);
	if (name)
		rc = kc_store_merge(to, name, &merged);
	sqlite3_free(name);
	if (rc < 0) {
		kc_database_unreadable(path, rc);
		return rc;
	}
	total->runs += merged.runs;
	total->joined += merged.joined;
	total->processes += merged.processes;
	total->known += merged.known;
	total->grown += merged.grown;
	total->launches += merged.launches;
	return 0;
}

int kc_merging_end(struct kc_store *to, const char *output)
{
	int rc = kc_store_order_merged(to);

	if (rc < 0)
		kc_error("%s: the runs cannot be put in order: %s", output, strerror(-rc));
	return rc;
}

/* May be called in a signal handler. */
static void delete_temporaries(void)
{
	for (const struct temporary *t = temporaries; t < temporaries + TEMPORARY_MOST; t++) {
		if (!t->folder[0])
			continue;
		unlink(t->path);
		unlink(t->log);
		unlink(t->memory);
		rmdir(t->folder);
	}
}

static void end_by_signal(int signal_number)
{
	delete_temporaries();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void delete_at_end(void)
{
	static const int ends[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

	kc_command_at_end(delete_temporaries);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (signal(ends[i], end_by_signal) == SIG_IGN)
			signal(ends[i], SIG_IGN);
}

static int make_temporary(struct temporary *t)
{
	const char *folder = getenv("TMPDIR");
	int n = snprintf(t->folder, sizeof(t->folder), "%s/kerncast-XXXXXX", folder && *folder ? folder : "/tmp");
	int rc = n < 0 || (size_t)n >= sizeof(t->folder) ? -ENAMETOOLONG : 0;

	if (rc == 0 && !mkdtemp(t->folder))
		rc = -errno;
	if (rc) {
		t->folder[0] = '\0';
		return rc;
	}
	snprintf(t->path, sizeof(t->path), "%s/merged.db", t->folder);
	snprintf(t->log, sizeof(t->log), "%s/merged.db-wal", t->folder);
	snprintf(t->memory, sizeof(t->memory), "%s/merged.db-shm", t->folder);
	if (temporary_count++ == 0)
		delete_at_end();
	return 0;
}

const char *kc_merging_temporary(char *const *databases, size_t count)
{
	struct temporary *t = temporaries + temporary_count;
	struct kc_merged total = {0};
	struct kc_progress progress;
	struct kc_store *to = NULL;
	char why[512] = "";
	int rc = temporary_count < TEMPORARY_MOST ? make_temporary(t) : -EMFILE;

	if (rc < 0) {
		kc_error("databases are merged in a temporary folder, and none can be made: %s", strerror(-rc));
		exit(KC_EXIT_FAILED);
	}
	rc = kc_store_open(t->path, KC_STORE_WRITE, &to, why, sizeof(why));
	if (rc < 0)
		kc_error("%s", why);
	kc_progress_begin(&progress, "the databases", "merged", 0);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = kc_merging_add(to, t->path, databases[i], &total);
		kc_progress(&progress, i + 1);
	}
	kc_progress_end(&progress);
	if (rc == 0)
		rc = kc_merging_end(to, t->path);
	kc_store_close(to);
	if (rc < 0)
		exit(KC_EXIT_FAILED);
	snprintf(t->shown, sizeof(t->shown), "%.4000s and %zu more", databases[0], count - 1);
	return t->path;
}

const char *kc_merging_shown(const char *path)
{
	for (unsigned i = 0; i < temporary_count; i++)
		if (strcmp(path, temporaries[i].path) == 0)
			return temporaries[i].shown;
	return NULL;
}
