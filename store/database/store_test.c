#include "internal.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct fixture {
	char *directory;
	char path[256];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	snprintf(f->path, sizeof(f->path), "%s/k.db", f->directory);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	remove_scratch(f->directory);
	free(f);
	return 0;
}

static struct kc_store *open_store(const char *path)
{
	struct kc_store *s;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	return s;
}

static int open_error(const char *path, enum kc_store_mode mode, const char *expected)
{
	struct kc_store *s;
	char why[400];
	int rc = kc_store_open(path, mode, &s, why, sizeof(why));

	assert_null(s);
	assert_non_null(strstr(why, path));
	assert_non_null(strstr(why, expected));
	return rc;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void the_file_is_private_whatever_the_umask(void **state)
{
	static const mode_t masks[] = {0, 022, 0777};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		mode_t before = umask(masks[i]);
		struct kc_store *s = open_store(f->path);
		char wal[300];
		struct stat st;

		umask(before);
		assert_int_equal(stat(f->path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		snprintf(wal, sizeof(wal), "%s-wal", f->path);
		assert_int_equal(stat(wal, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(number_of(s, "PRAGMA application_id"), KC_APPLICATION_ID);
		assert_int_equal(number_of(s, "PRAGMA user_version"), KC_SCHEMA_VERSION);
		kc_store_close(s);
		assert_int_equal(unlink(f->path), 0);
	}
}

/* Somebody made it so, perhaps to share it with a group. */
static void an_existing_file_keeps_its_mode(void **state)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	struct fixture *f = *state;
	struct kc_store *s;
	struct stat st;

	write_file(f->path, "");
	assert_int_equal(chmod(f->path, 0640), 0);
	s = open_store(f->path);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char name[300];

		snprintf(name, sizeof(name), "%s%s", f->path, ends[i]);
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0640);
	}
	kc_store_close(s);
}

static void each_bad_file_has_its_own_answer(void **state)
{
	struct fixture *f = *state;
	char path[300];

	assert_int_equal(open_error(f->path, KC_STORE_READ, "kerncast run"), -ENOENT);
	assert_int_equal(open_error(f->directory, KC_STORE_READ, "directory"), -EISDIR);
	assert_int_equal(open_error(f->directory, KC_STORE_WRITE, "directory"), -EISDIR);
	snprintf(path, sizeof(path), "%s/none/k.db", f->directory);
	assert_int_equal(open_error(path, KC_STORE_WRITE, "its folder does not exist"), -ENOENT);
	write_file(f->path, "");
	assert_int_equal(open_error(f->path, KC_STORE_READ, "empty: nothing recorded"), -ENODATA);
	snprintf(path, sizeof(path), "%s/k.db/k.db", f->directory);
	assert_int_equal(open_error(path, KC_STORE_WRITE, "not a directory"), -ENOTDIR);
	write_file(f->path, "this is no database, and long enough to be sure of that: "
			    "one hundred bytes are what an SQLite header takes up.");
	assert_int_equal(open_error(f->path, KC_STORE_READ, "not a kerncast database"), -EBADMSG);
	assert_int_equal(open_error(f->path, KC_STORE_WRITE, "not a kerncast database"), -EBADMSG);
	unlink(f->path);
	run_sql(f->path, "CREATE TABLE theirs(x)");
	assert_int_equal(open_error(f->path, KC_STORE_READ, "not a kerncast database"), -EBADMSG);
	assert_int_equal(open_error(f->path, KC_STORE_WRITE, "not a kerncast database"), -EBADMSG);
}

static void a_foreign_database_is_not_changed(void **state)
{
	struct fixture *f = *state;
	struct stat before, after;
	struct kc_store *s;

	run_sql(f->path, "CREATE TABLE theirs(x); PRAGMA user_version = 1");
	assert_int_equal(stat(f->path, &before), 0);
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, NULL, 0), -EBADMSG);
	assert_int_equal(stat(f->path, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

static void an_empty_file_becomes_a_database(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;

	write_file(f->path, "");
	s = open_store(f->path);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch"), 0);
	kc_store_close(s);
}

static void a_newer_schema_is_refused(void **state)
{
	struct fixture *f = *state;

	kc_store_close(open_store(f->path));
	run_sql(f->path, "PRAGMA user_version = 1000");
	assert_int_equal(open_error(f->path, KC_STORE_READ, "newer"), -EPROTO);
	assert_int_equal(open_error(f->path, KC_STORE_WRITE, "newer"), -EPROTO);
}

static void a_damaged_database_is_said_to_be(void **state)
{
	struct fixture *f = *state;
	int fd;

	kc_store_close(open_store(f->path));
	fd = open(f->path, O_WRONLY);
	assert_int_equal(pwrite(fd, "damaged", 7, 100), 7); /* the first page's B-tree header */
	close(fd);
	assert_int_equal(open_error(f->path, KC_STORE_READ, "damaged"), -EBADMSG);
}

static void kernels_are_shared_and_local_ids_are_not(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path);
	struct kc_journal_header first = make_header(1, "a"), second = make_header(2, "b");
	struct kc_slot launch = make_launch(50, 7, 1000, 100, 100);
	uint64_t index = 0;
	int64_t process;

	assert_int_equal(kc_store_process(s, &first, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_kernel(s, &index, 3, "axpy", "/a/libm.so");
	put_kernel(s, &index, 3, "axpy", "/a/libm.so");
	put_kernel(s, &index, 4, "axpy", "/a/other.so");
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(kc_store_process(s, &second, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_kernel(s, &index, 7, "axpy", "/b/libm.so");
	assert_int_equal(kc_store_slot(s, &launch), 0);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM kernel"), 2);
	assert_int_equal(number_of(s, "SELECT count(*) FROM device"), 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM stream"), 4);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch WHERE kernel = 1 AND stream = 3 AND process = 2"),
			 1);
	kc_store_close(s);
}

static void lambda_history(void **state)
{
	struct fixture *f = *state;
	struct kc_journal_header h = make_header(1, "a");
	struct kc_store *s = open_store(f->path);
	struct kc_lambda_entry of_device = {.state = 1, .level = KC_MODEL_BSP_DEVICE, .count = 3, .variance = 0.25};
	struct kc_lambda_entry of_shape = {.state = 2,
					   .level = KC_MODEL_BSP_SHAPE,
					   .kernel = 3,
					   .block = {32, 8, 1},
					   .grid = {64, 1, 1},
					   .dynamic_shared_bytes = 48,
					   .log_value = -0.6931471805599453, /* ln 0.5 */
					   .variance = 0.01,
					   .count = 7,
					   .time_ns = BASE_NS + 5};
	uint64_t index = 0;
	int64_t process;

	assert_int_equal(kc_store_process(s, &h, &process), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kc_store_begin(s), 0);
		put_device_and_streams(s, &index, 0);
		put_kernel(s, &index, 3, "axpy", "libm.so");
		put_entry(s, &index, KC_KIND_LAMBDA, &of_device, sizeof(of_device));
		put_entry(s, &index, KC_KIND_LAMBDA, &of_shape, sizeof(of_shape));
		assert_int_equal(kc_store_commit(s), 0);
	}
	assert_int_equal(number_of(s, "SELECT count(*) FROM lambda"), 2);
	assert_int_equal(
	    number_of(s, "SELECT count(*) FROM lambda WHERE process = 1 AND state = 1 AND value = 1 AND device = 1"
			 " AND kernel IS NULL AND block_x IS NULL AND grid_x IS NULL AND uncertainty = 0.5"
			 " AND dynamic_shared_bytes IS NULL AND count = 3 AND time_ns IS NULL"),
	    1);
	assert_int_equal(number_of(s,
				   "SELECT count(*) FROM lambda WHERE state = 2 AND value = 0.5 AND uncertainty = 0.1"
				   " AND kernel = 1 AND block_x = 32 AND block_y = 8 AND block_z = 1 AND grid_x = 64"
				   " AND dynamic_shared_bytes = 48 AND count = 7 AND time_ns = 1000000005"),
			 1);
	kc_store_close(s);
}

/* What the dictionary said is still known when a process goes on after its
 * handle was lost, or is recovered by another. */
static void local_ids_survive_the_handle(void **state)
{
	struct fixture *f = *state;
	struct kc_journal_header h = make_header(1, "a");
	struct kc_slot launch = make_launch(50, 3, 1000, 100, 100);
	struct kc_store *s = open_store(f->path);
	uint64_t index = 0;
	int64_t process;

	assert_int_equal(kc_store_process(s, &h, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_kernel(s, &index, 3, "axpy", "libm.so");
	assert_int_equal(kc_store_commit(s), 0);
	kc_store_close(s);
	s = open_store(f->path);
	assert_int_equal(kc_store_process(s, &h, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &launch), 0);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch WHERE kernel = 1 AND stream = 1 AND device = 1"), 1);
	kc_store_close(s);
}

/* Of a journal that was tampered with. */
static void times_past_the_largest_number_are_the_largest(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path);
	struct kc_journal_header h = make_header(1, "a");
	struct kc_slot early = make_launch(1, 0, 0, 100, 100), late = make_launch(2, 0, 0, 100, 100);
	int64_t process;

	early.launch.launched_ns = INT64_MIN; /* the process began at BASE_NS */
	late.launch.solo_ns = INT64_MAX;
	late.launch.solo_low_ns = -1;
	assert_int_equal(kc_store_process(s, &h, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &early), 0);
	assert_int_equal(kc_store_slot(s, &late), 0);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(number_of(s, "SELECT launched = -9223372036854775807 - 1 FROM launch_row WHERE id & 255 = 1"),
			 1);
	assert_int_equal(number_of(s, "SELECT below = 9223372036854775807 FROM launch_row WHERE id & 255 = 2"), 1);
	kc_store_close(s);
}

static void torn_and_unknown_slots_are_said(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path);
	struct kc_journal_header h = make_header(1, "a");
	struct kc_slot torn = {.kind = KC_KIND_KERNEL, .index = 5}, unknown = {.kind = 99, .index = 6};
	struct kc_slot wild = make_launch(7, 1, 1000, 100, 100);
	int64_t process;

	torn.part.index = 1; /* its first part is not there */
	torn.part.count = 2;
	wild.launch.unpredictable = 200;
	assert_int_equal(kc_store_process(s, &h, &process), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kc_store_begin(s), 0);
		assert_int_equal(kc_store_slot(s, &torn), 0);
		assert_int_equal(kc_store_slot(s, &unknown), 0);
		assert_int_equal(kc_store_slot(s, &wild), 0);
		assert_int_equal(kc_store_commit(s), 0);
	}
	assert_int_equal(number_of(s, "SELECT count(*) FROM message WHERE code = 'TORN'"), 3);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch"), 0);
	kc_store_close(s);
}

static void an_entry_in_parts_survives_a_rollback(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path);
	struct kc_journal_header h = make_header(1, "a");
	struct kc_device_entry device = {.device = {.name = "Parts"}};
	size_t room = sizeof(((struct kc_slot *)0)->part.payload);
	struct kc_slot parts[2] = {{.kind = KC_KIND_DEVICE, .index = 0}, {.kind = KC_KIND_DEVICE, .index = 1}};
	int64_t process;

	assert_true(sizeof(device) > room && sizeof(device) <= 2 * room);
	for (uint16_t i = 0; i < 2; i++) {
		parts[i].part.index = i;
		parts[i].part.count = 2;
		parts[i].part.bytes = (uint32_t)(i ? sizeof(device) - room : room);
		memcpy(parts[i].part.payload, (const char *)&device + i * room, parts[i].part.bytes);
	}
	assert_int_equal(kc_store_process(s, &h, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &parts[0]), 0);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &parts[1]), 0);
	kc_store_rollback(s);
	assert_int_equal(number_of(s, "SELECT count(*) FROM device"), 0);
	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &parts[1]), 0);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM device WHERE name = 'Parts'"), 1);
	kc_store_close(s);
}

static void store_one(struct kc_store *s, const struct kc_journal_header *h, uint64_t index)
{
	struct kc_slot slot = make_launch(index, 0, 1000, 100, 100);
	int64_t process;

	assert_int_equal(kc_store_process(s, h, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &slot), 0);
	assert_int_equal(kc_store_commit(s), 0);
}

#define ROWS_PER_BATCH 10

static int append_batch(struct kc_store *s, uint64_t first)
{
	int rc;

	do {
		rc = kc_store_begin(s);
	} while (rc == -EBUSY);
	for (uint64_t i = 0; rc == 0 && i < ROWS_PER_BATCH; i++) {
		struct kc_slot slot = make_launch(first + i, 0, 1000, 100, 100);

		rc = kc_store_slot(s, &slot);
	}
	return rc ? rc : kc_store_commit(s);
}

/* For a forked child, where a failed assertion would run the other tests again: 0 or 1. */
static int append_rows(const char *path, const struct kc_journal_header *h, uint64_t batches)
{
	struct kc_store *s;
	int64_t process;
	int rc;

	do {
		rc = kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0);
	} while (rc == -EBUSY);
	if (rc)
		return 1;
	do {
		rc = kc_store_process(s, h, &process);
	} while (rc == -EBUSY);
	for (uint64_t batch = 0; rc == 0 && batch < batches; batch++)
		rc = append_batch(s, batch * ROWS_PER_BATCH);
	kc_store_close(s);
	return rc != 0;
}

static void a_moved_database_is_noticed(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path), *again;
	struct kc_journal_header h = make_header(1, "a");
	char elsewhere[300];

	store_one(s, &h, 1);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", f->directory);
	assert_int_equal(rename(f->path, elsewhere), 0);
	assert_int_equal(kc_store_intact(s), 0);
	kc_store_abandon(s);
	snprintf(elsewhere, sizeof(elsewhere), "%s-wal", f->path);
	unlink(elsewhere);
	again = open_store(f->path);
	store_one(again, &h, 2);
	assert_int_equal(number_of(again, "SELECT count(*) FROM launch"), 1);
	kc_store_close(again);
}

static void a_shared_memory_that_was_cut_off_is_made_anew(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path), *other = open_store(f->path);
	struct kc_journal_header h = make_header(1, "a");
	char shm[300];

	store_one(s, &h, 1);
	snprintf(shm, sizeof(shm), "%s-shm", f->path);
	assert_int_equal(truncate(shm, 0), 0);
	store_one(s, &h, 2);
	store_one(other, &h, 3);
	assert_int_equal(truncate(shm, 0), 0);
	kc_store_close(other);
	assert_int_equal(truncate(shm, 0), 0);
	store_one(s, &h, 4);
	assert_int_equal(kc_store_intact(s), 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch"), 4);
	kc_store_close(s);
}

static void a_link_to_nothing_is_named_as_such(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;
	char why[600];

	assert_int_equal(symlink("nothing", f->path), 0);
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, why, sizeof(why)), -ENOLINK);
	assert_non_null(strstr(why, "is a symbolic link to a file that does not exist"));
	unlink(f->path);
}

/* Files of the child's own, which have the parent's numbers. */
static int let_go_and_spare(struct kc_store *s, const char *theirs)
{
	char text[8] = "";
	int held_count = s->held_count, fds[KC__HELD_MAX];

	for (int i = 0; i < held_count; i++)
		fds[i] = dup2(open(theirs, O_RDWR), s->held[i].fd);
	kc_store_leave_to_parent(s);
	for (int i = 0; i < held_count; i++) {
		if (pread(fds[i], text, 7, 0) != 6 || strcmp(text, "theirs") != 0)
			return 0;
		close(fds[i]);
	}
	return held_count == 3;
}

static void a_forked_child_can_let_go(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s = open_store(f->path);
	struct kc_journal_header h = make_header(1, "a"), child = make_header(2, "a");
	char theirs[300];
	int status;
	pid_t pid;

	store_one(s, &h, 1);
	snprintf(theirs, sizeof(theirs), "%s/theirs", f->directory);
	write_file(theirs, "theirs");
	pid = fork();
	if (pid == 0)
		_exit(!let_go_and_spare(s, theirs) || append_rows(f->path, &child, 1));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(kc_store_intact(s), 1);
	store_one(s, &h, 2);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch"), 2 + ROWS_PER_BATCH);
	kc_store_close(s);
}

static int make_tables(unsigned type, void *path, void *statement, void *text)
{
	(void)type;
	(void)statement;
	if (strcmp(text, "PRAGMA application_id") == 0)
		kc_store_close(open_store(path));
	return 0;
}

/* Another process makes the tables between one look and the next. */
static void tables_that_are_being_made_are_not_foreign(void **state)
{
	struct fixture *f = *state;
	enum kc_schema_state seen;
	sqlite3 *db;

	run_sql(f->path, "PRAGMA journal_mode = WAL");
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_trace_v2(db, SQLITE_TRACE_STMT, make_tables, f->path), SQLITE_OK);
	assert_int_equal(kc_schema_state(db, &seen), SQLITE_OK);
	assert_int_equal(seen, KC_SCHEMA_EMPTY);
	sqlite3_trace_v2(db, 0, NULL, NULL);
	assert_int_equal(kc_schema_state(db, &seen), SQLITE_OK);
	assert_int_equal(seen, KC_SCHEMA_OURS);
	sqlite3_close(db);
}

#define WRITERS 16
#define BATCHES 10

static void many_processes_write_at_once(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;
	int status;

	for (uint32_t i = 1; i <= WRITERS; i++) {
		struct kc_journal_header h = make_header(i, "together");

		if (fork() == 0)
			_exit(append_rows(f->path, &h, BATCHES));
	}
	for (uint32_t i = 1; i <= WRITERS; i++) {
		wait(&status);
		assert_int_equal(status, 0);
	}
	s = open_store(f->path);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch"), WRITERS * BATCHES * ROWS_PER_BATCH);
	assert_int_equal(number_of(s, "SELECT sum(launches) FROM rollup"), WRITERS * BATCHES * ROWS_PER_BATCH);
	assert_int_equal(number_of(s, "SELECT count(*) FROM run"), 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM process"), WRITERS);
	kc_store_close(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_file_is_private_whatever_the_umask),
	    TEST(an_existing_file_keeps_its_mode),
	    TEST(each_bad_file_has_its_own_answer),
	    TEST(a_foreign_database_is_not_changed),
	    TEST(an_empty_file_becomes_a_database),
	    TEST(a_newer_schema_is_refused),
	    TEST(a_damaged_database_is_said_to_be),
	    TEST(kernels_are_shared_and_local_ids_are_not),
	    TEST(lambda_history),
	    TEST(local_ids_survive_the_handle),
	    TEST(times_past_the_largest_number_are_the_largest),
	    TEST(torn_and_unknown_slots_are_said),
	    TEST(an_entry_in_parts_survives_a_rollback),
	    TEST(a_moved_database_is_noticed),
	    TEST(a_forked_child_can_let_go),
	    TEST(a_shared_memory_that_was_cut_off_is_made_anew),
	    TEST(a_link_to_nothing_is_named_as_such),
	    TEST(tables_that_are_being_made_are_not_foreign),
	    TEST(many_processes_write_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
