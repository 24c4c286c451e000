/* Which runs go, whatever happens between the plan and its execution, and at a cost that grows with their number. */
#include "prune.h"
#include "forget.h"
#include "store/database/schema.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#define NOW_NS INT64_C(1800000000000000000)

struct fixture {
	char *folder, path[96];
	struct kc_store *store;
	struct kc_prune_plan plan;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->folder = make_scratch();
	snprintf(f->path, sizeof(f->path), "%s/k.db", f->folder);
	f->store = open_scratch(f->folder);
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	kc_prune_plan_free(&f->plan);
	kc_store_close(f->store);
	remove_scratch(f->folder);
	free(f);
	return 0;
}

/* A process that has ended, with so many launches. pid: of no other process. */
static int64_t add_process(struct fixture *f, uint32_t pid, const char *run, int launches)
{
	struct kc_journal_header h = make_header(pid, run);
	int64_t process;

	assert_int_equal(kc_store_process(f->store, &h, &process), 0);
	do_sql(f->store,
	       "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d)"
	       " INSERT INTO launch_row(id, launched) SELECT %lld << 40 | i, i FROM n",
	       launches, (long long)process);
	do_sql(f->store, "INSERT INTO message(process, severity, code, text, count) VALUES(%lld, 0, '', '', 1)",
	       (long long)process);
	do_sql(f->store, "UPDATE process SET ended = 'exit', ended_ns = started_ns + 1 WHERE id = %lld",
	       (long long)process);
	return process;
}

static int no_journal(const char *token, void *arg)
{
	(void)token, (void)arg;
	return 0;
}

static void make_plan(struct fixture *f, const struct kc_keep *keep)
{
	kc_prune_plan_free(&f->plan);
	assert_int_equal(kc_prune_plan(f->store, keep, NOW_NS, 1, no_journal, NULL, &f->plan), 0);
}

static void add_runs(struct fixture *f, int count, int launches)
{
	char name[32];

	assert_int_equal(kc_store_begin(f->store), 0);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "run %d", i);
		add_process(f, 100 + (uint32_t)i, name, launches);
	}
	assert_int_equal(kc_store_commit(f->store), 0);
}

static void a_run_that_gets_another_process_meanwhile_stays(void **state)
{
	struct fixture *f = *state;

	add_runs(f, 3, 10);
	make_plan(f, &(const struct kc_keep){.runs = 1});
	assert_int_equal(f->plan.removed, 2);
	add_process(f, 7, "run 1", 5);
	assert_int_equal(kc_prune(f->store, &f->plan), 0);
	assert_int_equal(f->plan.removed, 1);
	assert_int_equal(f->plan.at[0].what, KC_PRUNE_REMOVE);
	assert_int_equal(f->plan.at[1].what, KC_PRUNE_RUNNING);
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM run"), 2);
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM launch WHERE run = 2"), 15);
}

static void a_run_that_somebody_else_removes_meanwhile_is_gone(void **state)
{
	struct fixture *f = *state;

	add_runs(f, 3, 10);
	make_plan(f, &(const struct kc_keep){.runs = 1});
	assert_int_equal(kc_store_drop_run(f->store, 2, 2), 0);
	assert_int_equal(kc_prune(f->store, &f->plan), 0);
	assert_int_equal(f->plan.removed, 2);
	assert_int_equal(f->plan.at[1].what, KC_PRUNE_REMOVE);
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM launch_row"), 10);
}

/* Three runs of a third each; a size of 72 % keeps two of them. */
static void what_an_interrupted_removal_left_counts_for_no_other_run(void **state)
{
	struct fixture *f = *state;
	uint64_t used, file;

	add_runs(f, 3, 20000);
	assert_int_equal(kc_prune_size(f->store, &used, &file), 0);
	make_plan(f, &(const struct kc_keep){.bytes = used * 72 / 100});
	assert_int_equal(f->plan.removed, 1);
	assert_in_range(f->plan.at[0].bytes, used * 32 / 100, used * 34 / 100);
	assert_int_equal(kc_store_drop_run(f->store, 1, 1), 0); /* and is killed */
	make_plan(f, &(const struct kc_keep){.bytes = used * 72 / 100});
	assert_int_equal(f->plan.removed, 0);
	assert_int_equal(kc_prune(f->store, &f->plan), 0);
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM launch_row"), 40000);
}

/* A job of 20 days that was killed 5 days ago. */
static void a_killed_run_has_the_age_of_its_last_launch(void **state)
{
	struct fixture *f = *state;
	const int64_t day_ns = INT64_C(86400000000000);

	add_runs(f, 2, 10);
	do_sql(f->store, "UPDATE process SET ended = 'killed', ended_ns = NULL, started_unix_ns = %lld WHERE id = 1",
	       (long long)(NOW_NS - 25 * day_ns));
	do_sql(f->store, "UPDATE launch_row SET launched = %lld WHERE id = (1 << 40) + 9", (long long)(20 * day_ns));
	make_plan(f, &(const struct kc_keep){.age_ns = 6 * day_ns});
	assert_int_equal(f->plan.at[1].run, 1);
	assert_int_equal(f->plan.removed, 0);
	make_plan(f, &(const struct kc_keep){.age_ns = 4 * day_ns});
	assert_int_equal(f->plan.removed, 1);
}

static void times_far_away_are_no_trouble(void **state)
{
	struct fixture *f = *state;

	add_runs(f, 4, 1);
	do_sql(f->store, "UPDATE process SET started_unix_ns = %lld WHERE id = 1", (long long)INT64_MIN);
	do_sql(f->store, "UPDATE process SET started_unix_ns = %lld WHERE id = 2", (long long)INT64_MAX);
	make_plan(f, &(const struct kc_keep){.age_ns = INT64_C(100000) * 86400000000000}); /* more than since 1970 */
	assert_int_equal(f->plan.removed, 1);
	assert_int_equal(f->plan.at[0].run, 1);
	assert_int_equal(f->plan.at[0].what, KC_PRUNE_REMOVE);
	assert_int_equal(f->plan.at[3].run, 2); /* it ended in the future, so it is no old one */
}

static int count_steps(void *arg)
{
	++*(int64_t *)arg;
	return 0;
}

/* In steps of SQLite's virtual machine. */
static int64_t cost_of_removing(int runs)
{
	struct fixture *f;
	int64_t steps = 0;

	begin((void **)&f);
	add_runs(f, runs, 5);
	sqlite3_progress_handler(kc_store_db(f->store), 1, count_steps, &steps);
	make_plan(f, &(const struct kc_keep){.runs = 1});
	assert_int_equal(kc_prune(f->store, &f->plan), 0);
	sqlite3_progress_handler(kc_store_db(f->store), 0, NULL, NULL);
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM launch_row"), 5);
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM message"), 1);
	end((void **)&f);
	return steps;
}

static void four_times_the_runs_cost_four_times_as_much(void **state)
{
	int64_t some = cost_of_removing(200), many = cost_of_removing(800);

	(void)state;
	print_message("%lld and %lld steps\n", (long long)some, (long long)many);
	assert_in_range(many, 3 * some, 5 * some);
}

static int64_t file_bytes(struct fixture *f, const char *end)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", f->path, end);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* Runs are removed where the disk is nearly full, too. */
static void little_more_of_the_disk_is_needed_meanwhile(void **state)
{
	struct fixture *f = *state;

	add_runs(f, 600, 5);
	do_sql(f->store, "PRAGMA wal_checkpoint(TRUNCATE)");
	make_plan(f, &(const struct kc_keep){.runs = 1});
	assert_int_equal(kc_prune(f->store, &f->plan), 0);
	assert_in_range(file_bytes(f, "-wal"), 1, 2 << 20);
}

static void the_file_shrinks_once_nobody_reads_an_older_state(void **state)
{
	struct fixture *f = *state;
	int64_t before;
	sqlite3 *reader;

	add_runs(f, 2, 20000);
	do_sql(f->store, "PRAGMA wal_checkpoint(TRUNCATE)");
	before = file_bytes(f, "");
	make_plan(f, &(const struct kc_keep){.runs = 1});
	assert_int_equal(kc_prune(f->store, &f->plan), 0);
	assert_int_equal(sqlite3_open(f->path, &reader), SQLITE_OK);
	assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM run", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_busy_timeout(kc_store_db(f->store), 0);
	assert_int_equal(kc_prune_shrink(f->store, f->path), -EBUSY);
	assert_int_equal(file_bytes(f, ""), before);
	sqlite3_close(reader);
	assert_int_equal(kc_prune_shrink(f->store, f->path), 0);
	assert_in_range(file_bytes(f, ""), 1, before * 6 / 10);
}

/* Where little would be gained, the whole file is not copied. */
static void a_full_file_is_not_copied(void **state)
{
	struct fixture *f = *state;
	int64_t before;

	add_runs(f, 40, 1000);
	do_sql(f->store, "DELETE FROM launch_row WHERE id >> 40 = 1"); /* a fortieth: less than a sixteenth */
	do_sql(f->store, "PRAGMA wal_checkpoint(TRUNCATE)");
	before = file_bytes(f, "");
	assert_int_equal(kc_prune_shrink(f->store, f->path), 0);
	assert_int_equal(file_bytes(f, ""), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_run_that_gets_another_process_meanwhile_stays, begin, end),
	    cmocka_unit_test_setup_teardown(a_run_that_somebody_else_removes_meanwhile_is_gone, begin, end),
	    cmocka_unit_test_setup_teardown(what_an_interrupted_removal_left_counts_for_no_other_run, begin, end),
	    cmocka_unit_test_setup_teardown(a_killed_run_has_the_age_of_its_last_launch, begin, end),
	    cmocka_unit_test_setup_teardown(times_far_away_are_no_trouble, begin, end),
	    cmocka_unit_test(four_times_the_runs_cost_four_times_as_much),
	    cmocka_unit_test_setup_teardown(little_more_of_the_disk_is_needed_meanwhile, begin, end),
	    cmocka_unit_test_setup_teardown(the_file_shrinks_once_nobody_reads_an_older_state, begin, end),
	    cmocka_unit_test_setup_teardown(a_full_file_is_not_copied, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
