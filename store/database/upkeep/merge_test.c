/* Databases of one job as one: what becomes of ids, which runs join, and what a second time adds. */
#include "merge.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>

#define SECOND_NS INT64_C(1000000000)

static char *folder;

static int set_up(void **state)
{
	(void)state;
	folder = make_scratch();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remove_scratch(folder);
	return 0;
}

static struct kc_store *open_named(const char *name)
{
	struct kc_store *s;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s.db", folder, name);
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	return s;
}

static void assert_text(struct kc_store *s, const char *sql, const char *expected)
{
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_prepare_v2(kc_store_db(s), sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), expected);
	sqlite3_finalize(row);
}

/* A process with its run, which began so much after others; job NULL: of none, rank -1: without. */
static int64_t add_process(struct kc_store *s, uint32_t pid, const char *token, const char *job, int rank,
			   int64_t began_ns)
{
	struct kc_journal_header h = make_header(pid, token);
	int64_t process;

	h.realtime_ns += began_ns;
	assert_int_equal(kc_store_process(s, &h, &process), 0);
	if (job)
		do_sql(s, "UPDATE process SET job = %Q, ended = 'exit' WHERE id = %lld", job, (long long)process);
	if (rank >= 0)
		do_sql(s, "UPDATE process SET rank = %d WHERE id = %lld", rank, (long long)process);
	return process;
}

/* A kernel launched twice; ids begin at `id`, so that they mean something else in another database. */
static void add_launches(struct kc_store *s, int64_t process, int id, const char *kernel, const char *uuid)
{
	do_sql(s,
	       "INSERT INTO device(id, uuid, driver_version, name, simulated) VALUES(%d, %Q, 13000, 'a GPU', 0);"
	       "INSERT INTO kernel(id, mangled, name, module, code_hash, registers, static_shared_bytes)"
	       " VALUES(%d, %Q, %Q, '', 7, 32, 0);"
	       "INSERT INTO shape VALUES(%d, %d, %d, 4, 1, 1, 64, 1, 1, 0, 0)",
	       id, uuid, id, kernel, kernel, id, id, id);
	do_sql(s, "INSERT INTO stream(id, process, local, device) VALUES(%d, %lld, 1, %d)", id, (long long)process, id);
	for (int i = 1; i <= 2; i++)
		do_sql(s, "INSERT INTO launch_row(id, shape, stream) VALUES(%lld << 40 | %d, %d, %d)",
		       (long long)process, i, id, id);
	do_sql(s, "INSERT OR REPLACE INTO ledger VALUES(%lld, 'launches', '', 2)", (long long)process);
}

static int merge(struct kc_store *to, struct kc_store *from, struct kc_merged *merged)
{
	char *name = kc_store_attachable(from);
	int rc;

	assert_non_null(name);
	rc = kc_store_merge(to, name, merged);
	sqlite3_free(name);
	return rc;
}

static void merge_all(struct kc_store *to, struct kc_store *from, uint64_t runs, uint64_t joined, uint64_t processes)
{
	struct kc_merged merged;

	assert_int_equal(merge(to, from, &merged), 0);
	assert_int_equal(merged.runs, runs);
	assert_int_equal(merged.joined, joined);
	assert_int_equal(merged.processes, processes);
}

#define LAUNCHES                                                                                                       \
	"SELECT group_concat(x, '; ') FROM (SELECT p.pid || ' ' || (l.id & 1099511627775) || ' ' || k.name || ' ' ||"  \
	" d.uuid || ' ' || e.uuid AS x FROM launch_row l JOIN process p ON p.id = l.id >> 40 JOIN shape h ON h.id ="   \
	" l.shape JOIN kernel k ON k.id = h.kernel JOIN device d ON d.id = h.device JOIN stream t ON t.id ="           \
	" l.stream AND t.process = p.id JOIN device e ON e.id = t.device ORDER BY p.pid, l.id)"

static void ids_are_made_anew(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");
	struct kc_merged merged;

	(void)state;
	add_launches(a, add_process(a, 1, "one", NULL, -1, 0), 1, "first", "GPU-1");
	add_launches(b, add_process(b, 2, "two", NULL, -1, 0), 1, "second", "GPU-2");
	merge_all(all, a, 1, 0, 1);
	assert_int_equal(merge(all, b, &merged), 0);
	assert_int_equal(merged.launches, 2);
	assert_int_equal(merged.known, 0);
	assert_int_equal(merged.grown, 0);
	assert_text(all, LAUNCHES,
		    "1 1 first GPU-1 GPU-1; 1 2 first GPU-1 GPU-1; 2 1 second GPU-2 GPU-2; 2 2 second GPU-2 GPU-2");
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

/* Both number their operators from 1. */
static void launches_keep_their_operators(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");
	int64_t one = add_process(a, 1, "one", NULL, -1, 0), two = add_process(b, 2, "two", NULL, -1, 0);

	(void)state;
	add_launches(a, one, 1, "same", "GPU-1");
	add_launches(b, two, 1, "same", "GPU-1");
	do_sql(a, "INSERT INTO operator VALUES(%lld, 1, 'aten::mm', '', '', 5, NULL, 0);", (long long)one);
	do_sql(a, "INSERT INTO launched_by VALUES(%lld << 40 | 2, 1, 1)", (long long)one);
	do_sql(b, "INSERT INTO operator VALUES(%lld, 1, 'aten::bmm', '', '', 7, NULL, 0);", (long long)two);
	do_sql(b, "INSERT INTO launched_by VALUES(%lld << 40 | 1, 1, 1)", (long long)two);
	merge_all(all, a, 1, 0, 1);
	merge_all(all, b, 1, 0, 1);
	assert_text(all,
		    "SELECT group_concat(x, '; ') FROM (SELECT p.pid || ' ' || (l.id & 1099511627775) || ' ' || o.name"
		    " AS x FROM launched_by b JOIN launch_row l USING (id) JOIN process p ON p.id = l.id >> 40"
		    " JOIN operator o ON o.process = p.id AND o.local = b.operator ORDER BY p.pid)",
		    "1 2 aten::mm; 2 1 aten::bmm");
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

/* Both number their scopes from 1. */
static void launches_keep_their_scopes_and_steps(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");
	int64_t one = add_process(a, 1, "one", NULL, -1, 0), two = add_process(b, 2, "two", NULL, -1, 0);

	(void)state;
	add_launches(a, one, 1, "same", "GPU-1");
	add_launches(b, two, 1, "same", "GPU-1");
	do_sql(a, "INSERT INTO scope VALUES(%lld, 1, NULL, 'range', 'forward')", (long long)one);
	do_sql(a, "INSERT INTO launched_in VALUES(%lld << 40 | 2, 1)", (long long)one);
	do_sql(a, "INSERT INTO step VALUES(%lld, 10, 3, 20)", (long long)one);
	do_sql(b, "INSERT INTO scope VALUES(%lld, 1, NULL, 'range', 'backward')", (long long)two);
	do_sql(b, "INSERT INTO launched_in VALUES(%lld << 40 | 1, 1)", (long long)two);
	do_sql(b, "INSERT INTO step VALUES(%lld, 10, 4, 30)", (long long)two);
	merge_all(all, a, 1, 0, 1);
	merge_all(all, b, 1, 0, 1);
	assert_text(all,
		    "SELECT group_concat(x, '; ') FROM (SELECT p.pid || ' ' || (l.id & 1099511627775) || ' ' || s.name"
		    " || ' ' || t.number AS x FROM launched_in i JOIN launch_row l USING (id) JOIN process p"
		    " ON p.id = l.id >> 40 JOIN scope s ON s.process = p.id AND s.local = i.scope"
		    " JOIN step t ON t.process = p.id ORDER BY p.pid)",
		    "1 2 forward 3; 2 1 backward 4");
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

static void what_both_have_is_there_once(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");

	(void)state;
	add_launches(a, add_process(a, 1, "one", NULL, -1, 0), 1, "same", "GPU-1");
	add_launches(b, add_process(b, 2, "two", NULL, -1, 0), 9, "same", "GPU-1");
	merge_all(all, a, 1, 0, 1);
	merge_all(all, b, 1, 0, 1);
	assert_int_equal(number_of(all, "SELECT count(*) FROM kernel"), 1);
	assert_int_equal(number_of(all, "SELECT count(*) FROM device"), 1);
	assert_int_equal(number_of(all, "SELECT count(*) FROM shape"), 1);
	assert_int_equal(number_of(all, "SELECT count(*) FROM stream"), 2);
	assert_text(all, LAUNCHES,
		    "1 1 same GPU-1 GPU-1; 1 2 same GPU-1 GPU-1; 2 1 same GPU-1 GPU-1; 2 2 same GPU-1 GPU-1");
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

static void a_second_time_adds_nothing_but_what_has_grown(void **state)
{
	struct kc_store *a = open_named("a"), *all = open_named("all");
	int64_t process = add_process(a, 1, "one", NULL, -1, 0);
	struct kc_merged merged;

	(void)state;
	add_launches(a, process, 1, "first", "GPU-1");
	merge_all(all, a, 1, 0, 1);
	assert_int_equal(merge(all, a, &merged), 0);
	assert_int_equal(merged.runs, 0);
	assert_int_equal(merged.processes, 0);
	assert_int_equal(merged.known, 1);
	assert_int_equal(merged.grown, 0);
	assert_int_equal(merged.launches, 0);
	do_sql(a,
	       "INSERT INTO launch_row(id, shape, stream) VALUES(%lld << 40 | 3, 1, 1);"
	       "UPDATE ledger SET count = 3",
	       (long long)process);
	assert_int_equal(merge(all, a, &merged), 0);
	assert_int_equal(merged.runs, 0);
	assert_int_equal(merged.processes, 0);
	assert_int_equal(merged.known, 0);
	assert_int_equal(merged.grown, 1);
	assert_int_equal(merged.launches, 1);
	assert_text(all, LAUNCHES, "1 1 first GPU-1 GPU-1; 1 2 first GPU-1 GPU-1; 1 3 first GPU-1 GPU-1");
	assert_int_equal(number_of(all, "SELECT count FROM ledger"), 3);
	assert_int_equal(number_of(all, "SELECT count(*) FROM run"), 1);
	do_sql(a, "UPDATE process SET ended = 'exit'"); /* as much, and now it has ended */
	assert_int_equal(merge(all, a, &merged), 0);
	assert_int_equal(merged.grown, 1);
	assert_int_equal(merged.launches, 0);
	assert_text(all, "SELECT ended FROM process", "exit");
	kc_store_close(a);
	kc_store_close(all);
}

/* How many runs two processes are of which the second began so much later. */
static int64_t runs_of(const char *token, const char *job, int rank, int64_t later_ns)
{
	static int number;
	char name[16];
	struct kc_store *a, *b, *all;
	struct kc_merged merged;
	int64_t runs;

	number++;
	snprintf(name, sizeof(name), "a%d", number);
	a = open_named(name);
	snprintf(name, sizeof(name), "b%d", number);
	b = open_named(name);
	snprintf(name, sizeof(name), "all%d", number);
	all = open_named(name);
	add_process(a, 1, "one", "slurm-7", 0, 100 * SECOND_NS);
	add_process(b, 2, token, job, rank, 100 * SECOND_NS + later_ns);
	merge_all(all, a, 1, 0, 1);
	assert_int_equal(merge(all, b, &merged), 0);
	assert_int_equal(merged.processes, 1);
	assert_int_equal(merged.runs + merged.joined, 1);
	runs = number_of(all, "SELECT count(*) FROM run");
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
	return runs;
}

/* Neither has an end: each is a moment. Clocks of hosts may differ by a minute. */
static void runs_of_one_job_at_one_time_join(void **state)
{
	(void)state;
	assert_int_equal(runs_of("one", NULL, 1, 1000 * SECOND_NS), 1); /* by its token */
	assert_int_equal(runs_of("two", "slurm-7", 1, 60 * SECOND_NS), 1);
	assert_int_equal(runs_of("two", "slurm-7", 1, -60 * SECOND_NS), 1);
	assert_int_equal(runs_of("two", "slurm-7", 1, 60 * SECOND_NS + 1), 2);
	assert_int_equal(runs_of("two", "slurm-7", 1, -60 * SECOND_NS - 1), 2);
	assert_int_equal(runs_of("two", "slurm-7", 0, 0), 2); /* it has that rank */
	assert_int_equal(runs_of("two", "slurm-8", 1, 0), 2);
	assert_int_equal(runs_of("two", NULL, 1, 0), 2);
}

static void a_run_joins_the_nearest_of_several(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");

	(void)state;
	add_process(a, 1, "first", "slurm-7", 0, 0);
	add_process(a, 2, "second", "slurm-7", 0, 50 * SECOND_NS);
	add_process(a, 3, "third", "slurm-7", 0, 90 * SECOND_NS);
	add_process(b, 4, "other", "slurm-7", 1, 40 * SECOND_NS);
	merge_all(all, a, 3, 0, 3);
	merge_all(all, b, 0, 1, 1);
	assert_text(all, "SELECT token FROM run r JOIN process p ON p.run = r.id WHERE p.pid = 4", "second");
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

/* Those that were there before keep their numbers. */
static void merged_runs_are_in_the_order_in_which_they_began(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");

	(void)state;
	add_process(all, 1, "there", NULL, -1, 50 * SECOND_NS);
	add_process(a, 2, "last", NULL, -1, 30 * SECOND_NS);
	add_process(a, 3, "middle", NULL, -1, 20 * SECOND_NS);
	add_process(b, 4, "first", NULL, -1, 10 * SECOND_NS);
	do_sql(a, "INSERT INTO rollup SELECT NULL, run, id, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
		  " 0, 0, 0, 0, 0, NULL FROM process");
	merge_all(all, a, 2, 0, 2);
	merge_all(all, b, 1, 0, 1);
	assert_int_equal(kc_store_order_merged(all), 0);
	assert_text(all,
		    "SELECT group_concat(token || p.pid, ' ') FROM (SELECT * FROM run ORDER BY id) r"
		    " JOIN process p ON p.run = r.id",
		    "there1 first4 middle3 last2");
	assert_int_equal(number_of(all, "SELECT min(id) = 1 AND max(id) = 4 FROM run"), 1);
	assert_int_equal(
	    number_of(all, "SELECT count(*) FROM rollup l JOIN process p ON p.id = l.process AND p.run = l.run"), 2);
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

/* Process 8,388,607 is the last of which rows can be told. */
static void processes_beyond_the_last_are_refused(void **state)
{
	struct kc_store *a = open_named("a"), *b = open_named("b"), *all = open_named("all");
	struct kc_merged merged;

	(void)state;
	add_process(all, 1, "there", NULL, -1, 0);
	do_sql(all, "UPDATE process SET id = 8388606");
	add_launches(a, add_process(a, 2, "one", NULL, -1, 0), 1, "first", "GPU-1");
	add_launches(b, add_process(b, 3, "two", NULL, -1, 0), 1, "second", "GPU-2");
	merge_all(all, a, 1, 0, 1);
	assert_int_equal(number_of(all, "SELECT max(id) FROM process"), 8388607);
	assert_int_equal(merge(all, b, &merged), -EOVERFLOW);
	assert_int_equal(number_of(all, "SELECT count(*) FROM run"), 2);
	assert_int_equal(number_of(all, "SELECT count(*) FROM kernel"), 1);
	kc_store_close(a);
	kc_store_close(b);
	kc_store_close(all);
}

/* Ids of which no row can be told, in what may come from anywhere; a run without processes is none. */
static void what_belongs_to_no_process_stays_behind(void **state)
{
	struct kc_store *a = open_named("a"), *all = open_named("all");

	(void)state;
	add_launches(a, add_process(a, 1, "one", NULL, -1, 0), 1, "first", "GPU-1");
	do_sql(a, "UPDATE process SET id = 8388608");
	merge_all(all, a, 0, 0, 0);
	assert_int_equal(number_of(all, "SELECT count(*) FROM run"), 0);
	assert_int_equal(number_of(all, "SELECT count(*) FROM launch_row"), 0);
	do_sql(a, "UPDATE process SET id = 8388607");
	merge_all(all, a, 1, 0, 1);
	kc_store_close(a);
	kc_store_close(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(ids_are_made_anew, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(launches_keep_their_operators, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(launches_keep_their_scopes_and_steps, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_both_have_is_there_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_second_time_adds_nothing_but_what_has_grown, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(runs_of_one_job_at_one_time_join, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_run_joins_the_nearest_of_several, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(merged_runs_are_in_the_order_in_which_they_began, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(processes_beyond_the_last_are_refused, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_belongs_to_no_process_stays_behind, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
