#include "kernel_names.h"
#include "store/database/internal.h"
#include "store/database/testing/test_rows.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY 65534

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

static struct kc_store *open_store(const struct fixture *f, enum kc_store_mode mode)
{
	struct kc_store *s;

	assert_int_equal(kc_store_open(f->path, mode, &s, NULL, 0), 0);
	return s;
}

/* What a library writes whose process launches these kernels. */
static void record(const struct fixture *f, uint32_t pid, const char *const *names, uint32_t count)
{
	struct kc_journal_header header = make_header(pid, "run-a");
	struct kc_store *s = open_store(f, KC_STORE_WRITE);
	uint64_t index = 0;
	int64_t process;

	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	for (uint32_t i = 0; i < count; i++)
		put_kernel(s, &index, i + 1, names[i], "/app");
	assert_int_equal(kc_store_commit(s), 0);
	kc_store_close(s);
}

static const char *const recorded[] = {"_Z5scalePfi", "saxpy", "_Z3addIfEvPT_", "_Zwhat"};
static const char mangled[] = "_Z5scalePfi saxpy _Z3addIfEvPT_ _Zwhat";
static const char readable[] = "scale(float*, int) saxpy void add<float>(float*) _Zwhat";

static void record_all(const struct fixture *f)
{
	record(f, 42, recorded, 4);
}

static void expect(struct kc_store *s, const char *sql, const char *text)
{
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_prepare_v2(kc_store_db(s), sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), text);
	sqlite3_finalize(row);
}

#define NAMES_IN(table) "SELECT group_concat(name, ' ') FROM (SELECT name FROM " table " ORDER BY id)"

static void what_is_recorded_has_the_names_of_the_driver(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;

	record_all(f);
	s = open_store(f, KC_STORE_READ);
	expect(s, NAMES_IN("kernel"), mangled);
	expect(s, "SELECT group_concat(mangled, ' ') FROM (SELECT mangled FROM kernel ORDER BY id)", mangled);
	expect(s, "SELECT group_concat(name_pending, ' ') FROM (SELECT name_pending FROM kernel ORDER BY id)",
	       "1 0 1 1");
	kc_store_close(s);
}

static void names_are_made_readable_and_stay_so(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;

	record_all(f);
	s = open_store(f, KC_STORE_READ);
	assert_int_equal(kc_kernel_names(s, KC_NAMES_NS), 0);
	kc_store_close(s);
	record(f, 43, recorded, 4);
	s = open_store(f, KC_STORE_READ);
	expect(s, NAMES_IN("main.kernel"), readable);
	expect(s, "SELECT sum(name_pending) FROM kernel", "0");
	assert_int_equal(sqlite3_exec(kc_store_db(s), "DELETE FROM kernel", NULL, NULL, NULL), SQLITE_READONLY);
	kc_store_close(s);
}

static void without_time_each_call_makes_one(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;

	record_all(f);
	for (int left = 3; left > 0; left--) {
		s = open_store(f, KC_STORE_READ);
		assert_int_equal(kc_kernel_names(s, 0), 1);
		kc_store_close(s);
	}
	s = open_store(f, KC_STORE_READ);
	assert_int_equal(kc_kernel_names(s, 0), 0);
	expect(s, NAMES_IN("main.kernel"), readable);
	kc_store_close(s);
}

static void a_locked_database_keeps_its_names_and_shows_readable_ones(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s, *other;

	record_all(f);
	other = open_store(f, KC_STORE_WRITE);
	assert_int_equal(kc_store_begin(other), 0);
	s = open_store(f, KC_STORE_READ);
	assert_int_equal(kc_kernel_names(s, KC_NAMES_NS), 0);
	expect(s, NAMES_IN("kernel"), readable);
	expect(s, NAMES_IN("main.kernel"), mangled);
	expect(s, "SELECT name FROM kernel WHERE id >= 3 ORDER BY id", "void add<float>(float*)");
	kc_store_close(s);
	kc_store_close(other);
}

/* As in a folder of somebody else: 0 where the names are readable. */
static int look_without_rights(const struct fixture *f)
{
	struct kc_store *s;

	if ((getuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) || kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0))
		return 2;
	if (kc_kernel_names(s, KC_NAMES_NS))
		return 3;
	expect(s, NAMES_IN("kernel"), readable);
	kc_store_close(s);
	return 0;
}

static void a_database_that_cannot_be_written_shows_readable_names(void **state)
{
	struct fixture *f = *state;
	int status = -1;
	pid_t child;

	record_all(f);
	assert_int_equal(chmod(f->path, 0444), 0);
	assert_int_equal(chmod(f->directory, 0555), 0);
	child = fork();
	if (child == 0)
		_exit(look_without_rights(f));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(f->directory, 0755), 0);
	assert_int_equal(status, 0);
}

static void a_trigger_of_a_stranger_is_not_run(void **state)
{
	struct fixture *f = *state;
	struct kc_store *s;

	record_all(f);
	s = open_store(f, KC_STORE_WRITE);
	do_sql(s, "CREATE TRIGGER t AFTER UPDATE ON kernel BEGIN DELETE FROM process; END");
	assert_int_equal(kc_kernel_names(s, KC_NAMES_NS), 0);
	expect(s, NAMES_IN("kernel"), readable);
	expect(s, "SELECT count(*) FROM process", "1");
	kc_store_close(s);
}

/* Version 8 had readable names from the library, whose reader knew less. */
static void names_of_version_8_stay(void **state)
{
	struct fixture *f = *state;
	char begin[160];
	struct kc_store *s;
	sqlite3 *db;

	snprintf(begin, sizeof(begin), "PRAGMA application_id = %d", KC_APPLICATION_ID);
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(kc__schema_tables(db, 8), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, begin, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db,
			 "INSERT INTO kernel(mangled, name, module, code_hash, registers, static_shared_bytes) VALUES"
			 "('_Z5scalePfi', 'scale(as it was)', 'app', 1, 2, 3), ('saxpy', 'saxpy', 'app', 1, 2, 3),"
			 "('_Z4waitPVi', '_Z4waitPVi', 'app', 1, 2, 3)",
			 NULL, NULL, NULL),
	    SQLITE_OK);
	sqlite3_close(db);
	s = open_store(f, KC_STORE_READ);
	expect(s, "PRAGMA user_version", "21");
	expect(s, NAMES_IN("kernel"), "scale(as it was) saxpy _Z4waitPVi");
	assert_int_equal(kc_kernel_names(s, KC_NAMES_NS), 0);
	expect(s, NAMES_IN("kernel"), "scale(as it was) saxpy wait(int volatile*)");
	kc_store_close(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_is_recorded_has_the_names_of_the_driver),
	    TEST(names_are_made_readable_and_stay_so),
	    TEST(without_time_each_call_makes_one),
	    TEST(a_locked_database_keeps_its_names_and_shows_readable_ones),
	    TEST(a_database_that_cannot_be_written_shows_readable_names),
	    TEST(a_trigger_of_a_stranger_is_not_run),
	    TEST(names_of_version_8_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
