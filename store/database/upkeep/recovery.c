#include "recovery.h"
#include "unmade.h"
#include "store/journal/journal.h"
#include "store/common/process.h"
#include "store/common/remote.h"
#include "store/database/store.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_PER_TRANSACTION 50000u
/* A journal older than this that has no header will not get one any more. */
#define UNBORN_AGE_S 60
/* Threads of a process that is killed end one after the other: each as soon as its processor is told, which a host that
 * has suspended a virtual processor delays. Not waited for where all are known to have ended. */
#define ENDING_US 100000

/* A file named as a journal of the database. */
struct found {
	char *path;
	uint32_t pid;
	uint64_t pid_start;
	bool was_ending; /* ENDING_US ago */
};

struct recovery {
	const char *database;
	bool force;
	struct kc_store *store; /* opened at the first journal that needs it */
	struct kc_recovered *out;
	char *why;
	size_t why_size;
};

struct drain { /* of one journal, in two passes: dictionary entries first, then launches and transfers */
	struct kc_store *store;
	int store_rc;
	int entries_pass;
	int ended;          /* the process ended by itself */
	uint64_t next_part; /* index of the slot that would continue the current entry */
	uint32_t pending;
	uint64_t launches, transfers;
	struct kc__unmade unmade;
};

static int is_entry(const struct kc_slot *slot)
{
	return slot->kind != KC_KIND_LAUNCH && slot->kind != KC_KIND_TRANSFER;
}

/* Completes a launch or transfer for which no more CUPTI records will come. */
static void settle(int ended, uint32_t state, int32_t *result, int64_t measured_end_ns, uint8_t *unmeasured)
{
	if (state == KC_SLOT_CALLED)
		*result = INT32_MIN;
	if (state >= KC_SLOT_FINAL || measured_end_ns != 0 || *unmeasured != KC_MEASURED)
		return;
	if (state == KC_SLOT_RETURNED && *result != 0)
		*unmeasured = KC_CALL_FAILED;
	else
		*unmeasured = ended ? KC_NOT_DELIVERED : KC_PROCESS_KILLED;
}

static int store_slot(struct drain *d, const struct kc_slot *slot)
{
	int rc = 0;

	if (d->pending == 0)
		rc = kc_store_begin(d->store);
	if (rc == 0) {
		d->pending++;
		rc = kc_store_slot(d->store, slot);
	}
	if (rc == 0 && d->pending >= SLOTS_PER_TRANSACTION) {
		rc = kc_store_commit(d->store);
		if (rc == 0)
			d->pending = 0;
	}
	return d->store_rc = rc;
}

static uint32_t state_of(const struct kc_slot *slot)
{
	return atomic_load_explicit(&((struct kc_slot *)slot)->state, memory_order_relaxed);
}

static int drain_graph_launch(struct drain *d, const struct kc_slot *slot)
{
	struct kc_slot settled;

	memcpy(&settled, slot, sizeof(settled));
	if (settled.graph_launch.whole)
		settle(d->ended, state_of(slot), &settled.graph_launch.result, settled.graph_launch.measured_end_ns,
		       &settled.graph_launch.unmeasured);
	return store_slot(d, &settled);
}

static int drain_entry(struct drain *d, const struct kc_slot *slot)
{
	if (slot->kind == KC_KIND_GRAPH)
		return kc__unmade_graph(&d->unmade, slot);
	if (slot->kind == KC_KIND_GRAPH_LAUNCH)
		return drain_graph_launch(d, slot);
	/* Its first parts are marked as stored, so the whole entry is in the database. */
	if (slot->kind < KC_KIND_COUNT && slot->part.index > 0 && slot->index != d->next_part)
		return 0;
	d->next_part = slot->index + 1;
	return store_slot(d, slot);
}

static int drain_event(const struct kc_slot *slot, void *arg)
{
	uint32_t state = state_of(slot);
	struct drain *d = arg;
	struct kc_slot settled;

	if (kc_slot_not_asked(slot))
		return 0;
	memcpy(&settled, slot, sizeof(settled));
	if (slot->kind == KC_KIND_LAUNCH) {
		d->launches++;
		settle(d->ended, state, &settled.launch.result, settled.launch.measured_end_ns,
		       &settled.launch.unmeasured);
	} else {
		d->transfers++;
		settle(d->ended, state, &settled.transfer.result, settled.transfer.measured_end_ns,
		       &settled.transfer.unmeasured);
	}
	return store_slot(d, &settled);
}

static int drain_slot(const struct kc_slot *slot, void *arg)
{
	struct drain *d = arg;
	int rc = d->entries_pass ? 0 : kc__unmade_before(&d->unmade, slot, drain_event, d);

	if (rc || state_of(slot) == KC_SLOT_STORED)
		return rc;
	if (!d->entries_pass && slot->kind == KC_KIND_GRAPH_LAUNCH)
		kc__unmade_launch(&d->unmade, slot);
	if (is_entry(slot) != d->entries_pass)
		return 0;
	return d->entries_pass ? drain_entry(d, slot) : drain_event(slot, d);
}

static int drain_pass(struct drain *d, struct kc_journal_file *file, int entries)
{
	int rc;

	d->entries_pass = entries;
	rc = kc_journal_file_each(file, drain_slot, d);
	if (rc == 0 && !entries)
		rc = kc__unmade_before(&d->unmade, NULL, drain_event, d);
	if (rc == 0 && d->pending > 0)
		rc = d->store_rc = kc_store_commit(d->store);
	if (rc && d->pending > 0)
		kc_store_rollback(d->store);
	d->pending = 0;
	return rc;
}

static int drain_file(struct drain *d, struct kc_journal_file *file)
{
	const struct kc_journal_header *header = kc_journal_file_header(file);
	int64_t row;
	int rc;

	d->ended = atomic_load(&((struct kc_journal_header *)header)->ended) != 0;
	rc = d->store_rc = kc_store_process(d->store, header, &row);
	if (rc == 0)
		rc = drain_pass(d, file, 1);
	if (rc == 0)
		rc = drain_pass(d, file, 0);
	kc__unmade_free(&d->unmade);
	if (rc == 0)
		rc = d->store_rc = kc_store_process_gone(d->store, header, d->ended ? "exit" : "killed");
	return rc;
}

static const char *reason(int rc)
{
	switch (rc) {
	case -EINVAL:
		return "not a journal, damaged, or of another version";
	case -EPERM:
		return "it belongs to another user";
	default:
		return strerror(-rc);
	}
}

static void name_unreadable(struct recovery *r, const char *path, int rc)
{
	size_t used = strlen(r->why);

	r->out->unreadable++;
	if (used + 1 < r->why_size)
		snprintf(r->why + used, r->why_size - used, "%s%s: %s: kept", used ? "; " : "", path, reason(rc));
}

static int import(struct recovery *r, const char *path, struct kc_journal_file *file)
{
	struct drain d = {0};
	char why[1024] = "";
	int rc = 0;

	if (!r->store)
		rc = kc_store_open(r->database, KC_STORE_WRITE, &r->store, why, sizeof(why));
	if (rc && rc != -EBUSY) {
		snprintf(r->why, r->why_size, "%s", why);
		return rc;
	}
	d.store = r->store;
	if (rc)
		d.store_rc = rc;
	else
		rc = drain_file(&d, file);
	if (rc && rc != d.store_rc) {
		name_unreadable(r, path, rc);
		return 0;
	}
	if (rc == -EBUSY) {
		snprintf(r->why, r->why_size,
			 "%s is locked by another process: %s is kept, and the next kerncast command imports it",
			 r->database, path);
		return rc;
	}
	if (rc) {
		snprintf(r->why, r->why_size, "%s: cannot be imported into %s: %s", path, r->database, strerror(-rc));
		return rc;
	}
	if (kc_journal_file_is(file, path) && unlink(path)) {
		rc = -errno;
		snprintf(r->why, r->why_size, "%s is in the database but cannot be deleted: %s", path, strerror(-rc));
		return rc;
	}
	/* A process that ended by itself may have left nothing but its counts. */
	r->out->processes += !d.ended || d.launches || d.transfers;
	r->out->killed += !d.ended;
	r->out->launches += d.launches;
	r->out->transfers += d.transfers;
	return 0;
}

/* Whether the process ended before it had written the header, which is before any launch. */
static int was_never_born(const char *path)
{
	char magic[sizeof(KC_JOURNAL_MAGIC)] = "";
	struct stat st;
	FILE *f;
	size_t n;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_size > (off_t)KC_HEADER_BYTES ||
	    time(NULL) - st.st_mtime < UNBORN_AGE_S)
		return 0;
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		if (magic[i])
			return 0;
	return 1;
}

static void look_at_unreadable(struct recovery *r, const struct found *f, int rc)
{
	struct kc_process_identity who = {f->pid, f->pid_start, kc_pid_namespace(), kc_time_namespace()};
	enum kc_process_seen seen;

	if (rc == -ENOENT)
		return;
	seen = kc_process_look(&who);
	if (seen == KC_PROCESS_THERE)
		r->out->alive++;
	else if (rc == -EPERM || (seen == KC_PROCESS_UNSEEN && !r->force) || !was_never_born(f->path) ||
		 unlink(f->path))
		name_unreadable(r, f->path, rc);
}

/* Whether a journal is to be imported; counts it if it is not. */
static bool may_import(struct recovery *r, const struct found *f, const struct kc_journal_file *file)
{
	switch (kc_journal_file_life(file)) {
	case KC_LIFE_ENDED:
		return true;
	case KC_LIFE_ENDING:
		r->out->alive += !f->was_ending; /* by the next command */
		return f->was_ending;
	case KC_LIFE_NOT_KNOWN:
		r->out->not_known += !r->force;
		return r->force;
	case KC_LIFE_RUNS:
		break;
	}
	r->out->alive++;
	return false;
}

static int look_at(struct recovery *r, const struct found *f)
{
	struct kc_journal_file *file;
	int rc = kc_journal_open(f->path, &file);

	if (rc) {
		look_at_unreadable(r, f, rc);
		return 0;
	}
	if (may_import(r, f, file)) {
		if (kc_journal_file_lock(file))
			r->out->busy++;
		else if (kc_journal_file_is(file, f->path))
			rc = import(r, f->path, file);
	}
	kc_journal_file_close(file);
	return rc;
}

static bool is_ending(const char *path)
{
	struct kc_journal_file *file;
	bool ending;

	if (kc_journal_open(path, &file))
		return false;
	ending = (atomic_load(&kc_journal_file_header(file)->holder) & KC_HOLDER_ENDED) &&
		 kc_journal_file_life(file) == KC_LIFE_ENDING;
	kc_journal_file_close(file);
	return ending;
}

static void wait_for_ending(struct found *found, int count)
{
	int ending = 0;

	for (int i = 0; i < count; i++)
		ending += found[i].was_ending = is_ending(found[i].path);
	if (ending)
		usleep(ENDING_US);
}

/* "<base>.<pid>-<pid_start>.kcj"; one of a process whose pid and start another journal has has
 * one more number before the suffix. */
static int is_journal_name(const char *name, const char *base, uint32_t *pid, uint64_t *pid_start)
{
	size_t length = strlen(name), base_length = strlen(base), suffix_length = strlen(".kcj");
	char *end;

	if (length < base_length + 1 + suffix_length || strncmp(name, base, base_length) != 0 ||
	    name[base_length] != '.' || strcmp(name + length - suffix_length, ".kcj") != 0)
		return 0;
	length -= base_length + 1 + suffix_length;
	name += base_length + 1;
	if (strspn(name, "0123456789.-") < length)
		return 0;
	*pid = (uint32_t)strtoul(name, &end, 10);
	if (end == name || *end != '-')
		return 0;
	*pid_start = strtoull(end + 1, NULL, 10);
	return 1;
}

/* How many journals of the database there are in a folder, or -errno. */
static int find(const char *folder, const char *base, struct found **out)
{
	struct dirent **names = NULL;
	int count = scandir(folder, &names, NULL, alphasort), found = 0;
	struct found *f = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(*f));

	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		if (f && is_journal_name(names[i]->d_name, base, &f[found].pid, &f[found].pid_start) &&
		    asprintf(&f[found].path, "%s%s", folder, names[i]->d_name) >= 0)
			found++;
		free(names[i]);
	}
	free(names);
	*out = f;
	return f ? found : -ENOMEM;
}

static int recover_at(struct recovery *r, int place)
{
	char base[PATH_MAX], folder[PATH_MAX], *slash;
	struct found *found = NULL;
	int count, rc = 0;

	if (!kc_journal_base(r->database, place, base, sizeof(base)))
		return -ENAMETOOLONG;
	slash = strrchr(base, '/');
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - base) + 1 : 2, slash ? base : "./");
	count = find(folder, slash ? slash + 1 : base, &found);
	if (count == -ENOENT && place) /* a machine need not have each of the local folders */
		return 0;
	if (count < 0) {
		snprintf(r->why, r->why_size, "%s: %s", folder, strerror(-count));
		return count;
	}
	wait_for_ending(found, count);
	for (int i = 0; i < count; i++) {
		if (rc == 0)
			rc = look_at(r, found + i);
		free(found[i].path);
	}
	free(found);
	return rc;
}

int kc_recover(const char *database, bool force, struct kc_recovered *out, char *why, size_t why_size)
{
	struct recovery r = {database, force, NULL, out, why, why_size};
	int rc, places = kc_is_remote(database) ? KC_JOURNAL_PLACES : 1;

	memset(out, 0, sizeof(*out));
	why[0] = 0;
	rc = recover_at(&r, 0);
	for (int place = 1; place < places && rc == 0; place++)
		rc = recover_at(&r, place);
	if (r.store)
		kc_store_close(r.store);
	return rc;
}
