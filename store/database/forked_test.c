/* A child of fork() asks kc_store_forked_inside() whether it can use SQLite: each lock that SQLite takes must lie
 * between the beginning and the end of a use that is counted. */
#include "devices/calibration.h"
#include "internal.h"
#include "store/database/testing/test_rows.h"

static sqlite3_mutex_methods real;
static int taken, uncounted;

static void enter(sqlite3_mutex *mutex)
{
	taken++;
	uncounted += !kc_store_forked_inside();
	real.xMutexEnter(mutex);
}

static int attempt(sqlite3_mutex *mutex)
{
	taken++;
	uncounted += !kc_store_forked_inside();
	return real.xMutexTry(mutex);
}

static int watch_locks(void **state)
{
	sqlite3_mutex_methods watched;

	(void)state;
	/* The first initialisation sets them; later ones keep what is set. */
	if (sqlite3_initialize() || sqlite3_shutdown() || sqlite3_config(SQLITE_CONFIG_GETMUTEX, &real))
		return -1;
	watched = real;
	watched.xMutexEnter = enter;
	watched.xMutexTry = attempt;
	return sqlite3_config(SQLITE_CONFIG_MUTEX, &watched) == SQLITE_OK ? 0 : -1;
}

static void assert_counted(const char *what)
{
	if (uncounted)
		fail_msg("%s: SQLite took %d of %d locks uncounted", what, uncounted, taken);
	assert_true(taken > 0);
	taken = 0;
	assert_false(kc_store_forked_inside());
}

static struct kc_store *open_store(const char *path)
{
	struct kc_journal_header header = make_header(1, "forked");
	struct kc_store *store;
	int64_t row;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &store, NULL, 0), 0);
	assert_counted("open");
	assert_int_equal(kc_store_process(store, &header, &row), 0);
	assert_counted("process");
	return store;
}

static void write_rows(struct kc_store *store, uint64_t index)
{
	assert_int_equal(kc_store_begin(store), 0);
	put_kernel(store, &index, 7, "k", "m");
	assert_int_equal(kc_store_commit(store), 0);
	assert_int_equal(kc_store_begin(store), 0);
	put_kernel(store, &index, 8, "l", "m");
	kc_store_rollback(store);
}

static void a_writer_is_counted(void **state)
{
	struct kc_journal_header header = make_header(1, "forked");
	char *folder = make_scratch(), path[96];
	struct kc_store *store;

	(void)state;
	snprintf(path, sizeof(path), "%s/k.db", folder);
	store = open_store(path);
	assert_int_equal(kc_store_hold(store), KC_STORE_HELD);
	assert_true(kc_store_intact(store));
	write_rows(store, 0);
	assert_int_equal(kc_store_process_end(store, &header, "exit"), 0);
	kc_store_close(store);
	assert_counted("a writer");
	remove_scratch(folder);
}

static void following_a_moved_database_is_counted(void **state)
{
	char *folder = make_scratch(), path[96], moved[96];
	struct kc_store *store, *fresh;

	(void)state;
	snprintf(path, sizeof(path), "%s/k.db", folder);
	snprintf(moved, sizeof(moved), "%s/moved.db", folder);
	store = open_store(path);
	write_rows(store, 0);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(kc_store_settle(store), 0);
	assert_counted("settle");
	fresh = open_store(path);
	assert_int_equal(kc_store_carry(store, fresh), 0);
	assert_counted("carry");
	kc_store_abandon(store);
	kc_store_close(fresh);
	assert_counted("abandon");
	remove_scratch(folder);
}

/* From the opening on: a reader uses SQLite by itself. */
static void a_reader_is_counted_until_it_is_closed(void **state)
{
	const uint8_t uuid[16] = {0};
	const struct kc_calibrated device = {"none", uuid};
	const struct kc_store_bound bound = {0};
	struct kc_calibration measured;
	char *folder = make_scratch(), path[96];
	struct kc_store *store;

	(void)state;
	snprintf(path, sizeof(path), "%s/k.db", folder);
	assert_int_not_equal(kc_store_peek(path, &bound, &store, NULL, 0), 0);
	assert_false(kc_store_forked_inside());
	kc_store_close(open_store(path));
	assert_int_equal(kc_store_peek(path, &bound, &store, NULL, 0), 0);
	assert_true(kc_store_forked_inside());
	assert_int_equal(kc_calibration_find(kc_store_db(store), &device, &measured), 0);
	kc_store_close(store);
	assert_counted("a reader");
	remove_scratch(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_writer_is_counted),
	    cmocka_unit_test(following_a_moved_database_is_counted),
	    cmocka_unit_test(a_reader_is_counted_until_it_is_closed),
	};

	return cmocka_run_group_tests(tests, watch_locks, NULL);
}
