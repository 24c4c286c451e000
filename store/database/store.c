#include "internal.h"

#include "store/common/remote.h"
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* When the write-ahead log has this many pages, it is copied into the database: 16 MiB. */
#define CHECKPOINT_PAGES 4096
/* Whoever opens a database first reads its write-ahead log from end to end, and nothing interrupts that: 64 MiB take
 * some 50 ms. */
#define PEEK_WAL_BYTES (64 << 20)
/* No entry of a journal is longer, hence no row. */
#define PEEK_ROW_BYTES (1 << 20)
/* In pages. Hardly any is read twice, and memory that was never touched is slow. */
#define PEEK_CACHE "PRAGMA cache_size = 64"
#define WAL_TRIES 200
#define WAL_PAUSE_MS 10

struct complaint {
	char *why;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int complain(struct complaint *c, int rc, const char *format, ...)
{
	va_list arguments;

	if (!c->why || !c->size)
		return rc;
	va_start(arguments, format);
	vsnprintf(c->why, c->size, format, arguments);
	va_end(arguments);
	return rc;
}

#define ELSEWHERE "choose another place with --output or KERNCAST_DB"

/* reason: what is wrong with the schema, or "". */
static int explain(struct complaint *c, int rc, const char *path, enum kc_store_mode mode, const char *reason)
{
	if (*reason)
		return complain(c, rc, "%s: %s: undo that, or " ELSEWHERE, path, reason);
	switch (rc) {
	case -ENOENT:
		if (mode == KC_STORE_WRITE)
			return complain(c, rc, "%s: its folder does not exist: make it, or " ELSEWHERE, path);
		return complain(
		    c, rc, "%s: no such file or directory: record one with `kerncast run`, or give its path", path);
	case -ENOLINK:
		return complain(c, rc, "%s is a symbolic link to a file that does not exist: " ELSEWHERE, path);
	case -EISDIR:
		return complain(c, rc, "%s is a directory: give the path of a file in it", path);
	case -ENODEV:
		return complain(c, rc, "%s is not a file but a device, a pipe or a socket: " ELSEWHERE, path);
	case -ENOTDIR:
		return complain(c, rc, "%s: a part of the path is not a directory: " ELSEWHERE, path);
	case -EACCES:
	case -EPERM:
		return complain(c, rc, "%s: permission denied: change its permissions or " ELSEWHERE, path);
	case -EROFS:
		return complain(c, rc, "%s is on a read-only file system: " ELSEWHERE, path);
	case -ENOSPC:
	case -EDQUOT:
		return complain(c, rc, "%s: no space left on the disk: make room or " ELSEWHERE, path);
	case -EFBIG:
		return complain(c, rc, "%s: the process may not write files that large: raise `ulimit -f`", path);
	case -EBUSY:
		return complain(c, rc, "%s is locked by another process: try again when it has finished", path);
	case -EBADMSG:
		return complain(c, rc,
				"%s is not a kerncast database, or it is damaged: " ELSEWHERE
				" (a damaged one can be read in part with `sqlite3 FILE .recover`)",
				path);
	case -EPROTO:
		return complain(c, rc, "%s was written by a newer kerncast: use that one to read it", path);
	case -ENODATA:
		return complain(c, rc, "%s is empty: nothing recorded", path);
	case -ESTALE:
		return complain(c, rc, "%s is of an older version%s", path,
				mode == KC_STORE_READ
				    ? ", and may not be written to bring it up to date: read a copy that may"
				    : " until a process has written to it");
	case -ETIME:
		return complain(c, rc, "%s: reading it takes too long", path);
	default:
		return complain(c, rc, "%s: %s", path, strerror(-rc));
	}
}

/* The umask would change the permissions of a file that SQLite makes. */
static int create_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc = 0;

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	if (fchmod(fd, 0600))
		rc = -errno;
	close(fd);
	return rc;
}

static int look_at_file(const char *path, enum kc_store_mode mode)
{
	struct stat st;
	int rc = stat(path, &st) ? -errno : 0;

	if (rc == -ENOENT && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return -ENOLINK;
	if (rc == -ENOENT && mode == KC_STORE_WRITE) {
		rc = create_file(path);
		if (rc == 0 && stat(path, &st))
			rc = -errno;
	}
	if (rc)
		return rc;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENODEV;
	if (mode != KC_STORE_WRITE && st.st_size == 0)
		return -ENODATA;
	return access(path, mode == KC_STORE_READ ? R_OK : R_OK | W_OK) ? -errno : 0;
}

static int set(struct kc_store *s, const char *sql)
{
	return kc__errno(s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

/* The process that switches a new database to WAL locks it for a moment, and others
 * get SQLITE_BUSY without the busy timeout. Where the file system has no shared
 * memory, the rollback journal stays. */
static int use_wal(struct kc_store *s)
{
	int rc = -EINVAL, tries = kc_is_remote(s->path) ? 0 : WAL_TRIES;

	for (int i = 0; i < tries; i++) {
		rc = set(s, "PRAGMA journal_mode = WAL");
		if (rc != -EBUSY)
			break;
		sqlite3_sleep(WAL_PAUSE_MS);
	}
	if (rc && rc != -EBUSY && rc != -ENOSPC && rc != -EBADMSG)
		rc = set(s, "PRAGMA journal_mode = DELETE");
	if (rc)
		return rc;
	sqlite3_wal_autocheckpoint(s->db, CHECKPOINT_PAGES);
	rc = set(s, "PRAGMA locking_mode = NORMAL");
	return rc ? rc : set(s, "PRAGMA synchronous = NORMAL");
}

static int check_schema(struct kc_store *s, enum kc_schema_state *state)
{
	int rc = kc__errno(s->db, kc_schema_state(s->db, state));

	if (rc)
		return rc;
	switch (*state) {
	case KC_SCHEMA_FOREIGN:
		return -EBADMSG;
	case KC_SCHEMA_NEWER:
		return -EPROTO;
	case KC_SCHEMA_EMPTY:
		return s->mode == KC_STORE_WRITE ? 0 : -ENODATA;
	default:
		return kc_schema_trusted(s->db, s->reason, sizeof(s->reason));
	}
}

/* The tables and views of the older version have been checked, so an error comes from an object that the user added. */
static int apply_schema(struct kc_store *s)
{
	int rc = kc_schema_apply(s->db);

	if (rc != SQLITE_ERROR)
		return kc__errno(s->db, rc);
	snprintf(s->reason, sizeof(s->reason), "it cannot be brought up to date: %s", sqlite3_errmsg(s->db));
	return -EBADMSG;
}

/* Another process may have done it before we got the lock. */
static int bring_up_schema(struct kc_store *s)
{
	enum kc_schema_state state;
	int rc = set(s, "BEGIN IMMEDIATE");

	if (rc)
		return rc;
	rc = check_schema(s, &state);
	if (rc == 0 && state != KC_SCHEMA_OURS)
		rc = apply_schema(s);
	if (rc == 0)
		rc = set(s, "COMMIT");
	if (rc && !sqlite3_get_autocommit(s->db))
		set(s, "ROLLBACK");
	return rc;
}

/* Its index would be mapped. Under an exclusive lock SQLite has it on the heap (sqlite.org/wal.html, "Use of WAL
 * Without Shared-Memory"). */
static int avoid_mapping(struct kc_store *s)
{
	char version = 0; /* of the file format, for reading: 2 is WAL (sqlite.org/fileformat.html) */
	int fd = kc_is_remote(s->path) ? open(s->path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	if (pread(fd, &version, 1, 19) < 0)
		version = 0;
	close(fd);
	return version == 2 ? set(s, "PRAGMA locking_mode = EXCLUSIVE") : 0;
}

static int prepare_database(struct kc_store *s)
{
	enum kc_schema_state state;
	int rc = avoid_mapping(s);

	if (rc)
		return rc;

	sqlite3_busy_timeout(s->db, s->mode == KC_STORE_PEEK ? 0 : KC__BUSY_MS);
	if (s->mode == KC_STORE_PEEK)
		sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, PEEK_ROW_BYTES);
	kc_database_within(s->db, &s->bound);
	rc = check_schema(s, &state);
	if (rc == 0 && s->mode == KC_STORE_PEEK)
		rc = set(s, PEEK_CACHE);
	if (rc)
		return rc;
	if (s->mode == KC_STORE_PEEK && state != KC_SCHEMA_OURS)
		return -ESTALE;
	if (s->mode == KC_STORE_WRITE) {
		if (sqlite3_db_readonly(s->db, "main"))
			return -EACCES;
		rc = use_wal(s);
	}
	if (rc == 0 && state != KC_SCHEMA_OURS)
		rc = bring_up_schema(s);
	if (rc == -EACCES && s->mode == KC_STORE_READ && state == KC_SCHEMA_OLDER)
		return -ESTALE;
	if (rc == 0 && s->mode == KC_STORE_PEEK)
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (rc == 0 && s->mode != KC_STORE_WRITE)
		rc = set(s, "PRAGMA query_only = 1");
	return rc;
}

static int connect_to(struct kc_store *s, const char *name, int flags)
{
	int rc = kc_database_connect(name, flags | SQLITE_OPEN_URI, &s->db); /* for ATTACH, too */

	rc = s->db ? kc__errno(s->db, rc) : -ENOMEM;
	return rc ? rc : prepare_database(s);
}

static void disconnect(struct kc_store *s)
{
	sqlite3_close_v2(s->db);
	s->db = NULL;
}

static char *immutable_name(const struct kc_store *s)
{
	sqlite3_str *uri = sqlite3_str_new(NULL);

	sqlite3_str_appendall(uri, "file:");
	for (const char *p = s->path; *p; p++)
		sqlite3_str_appendf(uri, strchr("%?#", *p) ? "%%%02x" : "%c", *p);
	sqlite3_str_appendall(uri, "?immutable=1");
	return sqlite3_str_finish(uri);
}

char *kc_store_attachable(const struct kc_store *s)
{
	return sqlite3_uri_boolean(sqlite3_db_filename(s->db, "main"), "immutable", 0) ? immutable_name(s)
										       : sqlite3_mprintf("%s", s->path);
}

/* Reading in WAL mode needs a -shm file, which cannot be made in a read-only
 * directory. Where there is no -wal either, the database is complete without them. */
static int connect_immutable(struct kc_store *s)
{
	char *wal = sqlite3_mprintf("%s-wal", s->path), *name = immutable_name(s);
	int rc = -EACCES;

	if (name && wal && access(wal, F_OK) != 0)
		rc = connect_to(s, name, SQLITE_OPEN_READONLY);
	sqlite3_free(name);
	sqlite3_free(wal);
	return rc;
}

int kc__take(struct kc_store *s, size_t bytes)
{
	if (!s || !s->bound.bytes)
		return 0;
	if (bytes > s->bound.bytes - s->taken)
		return s->exceeded = -ENOMEM;
	s->taken += bytes;
	return 0;
}

int kc__within(const struct kc_store *s)
{
	if (s->exceeded)
		return s->exceeded;
	return kc_database_is_late(&s->bound) ? -ETIME : 0;
}

static void close_store(struct kc_store *s)
{
	kc__held_lengthen(s);
	if (s->in_transaction)
		kc_store_rollback(s);
	kc__finalize(s);
	disconnect(s);
	kc__forget(s);
	kc__solos_free(s->solos);
	free(s->waiting);
	free(s->path);
	free(s);
}

static int make_store(const char *path, enum kc_store_mode mode, const struct kc_store_bound *bound,
		      struct kc_store **out, char *why, size_t why_size)
{
	struct complaint c = {why, why_size};
	struct kc_store *s;
	int rc;

	*out = NULL;
	complain(&c, 0, "%s", "");
	rc = look_at_file(path, mode);
	if (rc)
		return explain(&c, rc, path, mode, "");
	s = calloc(1, sizeof(*s));
	if (!s)
		return explain(&c, -ENOMEM, path, mode, "");
	s->mode = mode;
	s->bound = *bound;
	s->solos = kc__solos_new(KC__SOLOS_BYTES);
	s->path = realpath(path, NULL);
	if (!s->path)
		rc = -errno; /* we may have no permission for a folder above */
	else
		rc = s->solos ? connect_to(s, s->path, SQLITE_OPEN_READWRITE) : -ENOMEM;
	if (rc && mode == KC_STORE_READ && s->path && access(s->path, W_OK)) {
		disconnect(s);
		rc = connect_immutable(s);
	}
	if (rc) {
		explain(&c, rc, path, mode, s->reason);
		close_store(s);
		return rc;
	}
	kc__held_find(s);
	*out = s;
	return 0;
}

/* What reads a store uses SQLite without functions of store.h, so it is inside until the store is closed. */
static int open_within(const char *path, enum kc_store_mode mode, const struct kc_store_bound *bound,
		       struct kc_store **out, char *why, size_t why_size)
{
	int rc;

	kc__enter();
	rc = make_store(path, mode, bound, out, why, why_size);
	if (rc || mode == KC_STORE_WRITE)
		kc__leave();
	return rc;
}

int kc_store_open(const char *path, enum kc_store_mode mode, struct kc_store **out, char *why, size_t why_size)
{
	return open_within(path, mode, &(const struct kc_store_bound){0}, out, why, why_size);
}

int kc_store_peek(const char *path, const struct kc_store_bound *bound, struct kc_store **out, char *why,
		  size_t why_size)
{
	struct complaint c = {why, why_size};
	char wal[PATH_MAX];
	struct stat st;
	int n = snprintf(wal, sizeof(wal), "%s-wal", path);

	*out = NULL;
	if (n > 0 && (size_t)n < sizeof(wal) && stat(wal, &st) == 0 && st.st_size > PEEK_WAL_BYTES)
		return complain(&c, -EFBIG, "%s is longer than %d MiB", wal, PEEK_WAL_BYTES >> 20);
	return open_within(path, KC_STORE_PEEK, bound, out, why, why_size);
}

/* Journals and the write-ahead log are made beside the database, so it must be possible to make files there. */
static int try_folder(const char *path)
{
	char probe[PATH_MAX];
	int n = snprintf(probe, sizeof(probe), "%s.XXXXXX", path), fd;

	if (n < 0 || (size_t)n >= sizeof(probe))
		return -ENAMETOOLONG;
	fd = mkostemp(probe, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return unlink(probe) ? -errno : 0;
}

/* A missing or older schema is no obstacle: the writer brings it up to date. Locks are not held for long. */
static int try_database(const char *path, struct kc_store *s)
{
	enum kc_schema_state state;
	int rc = look_at_file(path, KC_STORE_PEEK);

	if (rc)
		return rc == -ENODATA || rc == -ENOENT ? 0 : rc;
	rc = kc_database_connect(path, SQLITE_OPEN_READWRITE, &s->db);
	rc = s->db ? kc__errno(s->db, rc) : -ENOMEM;
	if (rc == 0)
		rc = check_schema(s, &state);
	disconnect(s);
	return rc == -EBUSY ? 0 : rc;
}

int kc_store_try(const char *path, char *why, size_t why_size)
{
	struct complaint c = {why, why_size};
	struct kc_store s = {.mode = KC_STORE_WRITE};
	int rc = try_folder(path);

	if (rc == 0)
		rc = try_database(path, &s);
	return rc ? explain(&c, rc, path, KC_STORE_WRITE, s.reason) : 0;
}

int kc_store_place(const char *path, char *why, size_t why_size)
{
	struct complaint c = {why, why_size};
	int rc = stat(path, &(struct stat){0}) ? 0 : look_at_file(path, KC_STORE_READ);

	return rc == -EISDIR || rc == -ENODEV ? explain(&c, rc, path, KC_STORE_WRITE, "") : 0;
}

void kc_store_close(struct kc_store *s)
{
	if (!s)
		return;
	if (s->mode == KC_STORE_WRITE)
		kc__enter();
	close_store(s);
	kc__leave();
}

static void remove_files(const char *path)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char name[PATH_MAX];

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		if ((size_t)snprintf(name, sizeof(name), "%s%s", path, ends[i]) < sizeof(name))
			unlink(name);
	}
}

/* Under the lock nobody else can begin to write. */
void kc_store_discard(struct kc_store *s)
{
	sqlite3_stmt *stmt = NULL;
	int64_t processes = 1;

	if (set(s, "BEGIN EXCLUSIVE") == 0)
		sqlite3_prepare_v2(s->db, "SELECT count(*) FROM process", -1, &stmt, NULL);
	if (stmt && kc__run_value(s, stmt, &processes) == 0 && !processes)
		remove_files(s->path);
	sqlite3_finalize(stmt);
	kc_store_close(s);
}

struct sqlite3 *kc_store_db(struct kc_store *s)
{
	return s->db;
}
