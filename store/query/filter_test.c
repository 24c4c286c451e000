/* Two processes of one run, the second of which starts 1 ms after the first, and their launches:
 *
 *      process  kernel      stream           launched, from the run's start   measured
 *   1  42       vectorAdd   1 (default)      10 us                            100 ns
 *   2  42       saxpy       2                20 us                            200 ns
 *   3  42       saxpy       3 (of a thread)  30 us                            -
 *   4  43       saxpy       2                1.5 ms                           300 ns
 *
 * They were made in these ranges, and an operator: 1 in forward > aten::mm > inner, 2 in backward, 3 in
 * forward > aten::mm, 4 in none.
 */
#include "filter.h"
#include "kernel_names.h"
#include "query.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <sqlite3.h>

#define LATER_NS 1000000
#define VECTOR_ADD "_Z9vectorAddPKfS0_Pfi" /* vectorAdd(float const*, float const*, float*, int) */
#define LAUNCHES 4

struct fixture {
	char *directory;
	struct kc_store *store;
	struct kc_filter_launch launches[LAUNCHES];
	struct kc_filter_choice choice;
};

static void put_launch(struct kc_store *s, uint64_t index, uint32_t kernel, uint32_t stream, int64_t at_ns,
		       int64_t measured_ns)
{
	struct kc_slot slot = make_launch(index, kernel, at_ns, 100, measured_ns);

	slot.launch.stream = stream;
	assert_int_equal(kc_store_slot(s, &slot), 0);
}

static void put_scope(struct kc_store *s, uint64_t *index, uint32_t id, uint32_t parent, uint32_t kind,
		      const char *name)
{
	struct {
		struct kc_scope_entry entry;
		char name[32];
	} scope = {.entry = {.id = id, .parent = parent, .kind = kind}};

	snprintf(scope.name, sizeof(scope.name), "%s", name);
	put_entry(s, index, KC_KIND_SCOPE, &scope, sizeof(scope));
}

static void put_in(struct kc_store *s, uint64_t *index, uint64_t launch, uint32_t scope)
{
	struct kc_launched_in_entry in = {.launch = launch, .id = scope};

	put_entry(s, index, KC_KIND_LAUNCHED_IN, &in, sizeof(in));
}

static void put_process(struct kc_store *s, uint32_t pid, int64_t later_ns)
{
	struct kc_journal_header header = make_header(pid, "run-a");
	struct kc_stream_entry of_thread = {.id = 3, .per_thread = 7};
	uint64_t index = 0;
	int64_t process;

	header.monotonic_ns += later_ns;
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 1);
	put_entry(s, &index, KC_KIND_STREAM, &of_thread, sizeof(of_thread));
	put_kernel(s, &index, 1, VECTOR_ADD, "app");
	put_kernel(s, &index, 2, "saxpy", "app");
	if (pid == 42) {
		put_launch(s, 100, 1, 1, 10000, 100);
		put_launch(s, 101, 2, 2, 20000, 200);
		put_launch(s, 102, 2, 3, 30000, 0);
		put_scope(s, &index, 1, 0, KC_SCOPE_RANGE, "forward");
		put_scope(s, &index, 2, 1, KC_SCOPE_OPERATOR, "aten::mm");
		put_scope(s, &index, 3, 2, KC_SCOPE_RANGE, "inner");
		put_scope(s, &index, 4, 0, KC_SCOPE_RANGE, "backward");
		put_in(s, &index, 100, 3);
		put_in(s, &index, 101, 4);
		put_in(s, &index, 102, 2);
	} else {
		put_launch(s, 100, 2, 2, 1500000, 300);
	}
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(kc_store_process_end(s, &header, "exit"), 0);
}

static void read_launches(struct fixture *f)
{
	sqlite3_stmt *row;

	assert_int_equal(
	    sqlite3_prepare_v2(kc_store_db(f->store),
			       "SELECT r.id >> 40, r.stream, s.kernel, s.device, r.launched, r.measured_span, r.id"
			       " FROM launch_row r JOIN shape s ON s.id = r.shape ORDER BY r.id",
			       -1, &row, NULL),
	    SQLITE_OK);
	for (int i = 0; i < LAUNCHES; i++) {
		assert_int_equal(sqlite3_step(row), SQLITE_ROW);
		f->launches[i] = (struct kc_filter_launch){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
							   sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3),
							   sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5),
							   sqlite3_column_int64(row, 6)};
	}
	sqlite3_finalize(row);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	f->store = open_scratch(f->directory);
	put_process(f->store, 42, 0);
	put_process(f->store, 43, LATER_NS);
	assert_int_equal(kc_kernel_names(f->store, KC_NAMES_NS), 0);
	read_launches(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kc_filter_choice_free(&f->choice);
	kc_store_close(f->store);
	remove_scratch(f->directory);
	free(f);
	return 0;
}

static void set_regex(struct kc_filter_regex *regex, const char *text)
{
	char why[128];

	assert_int_equal(kc_filter_regex(regex, text, why, sizeof(why)), 0);
}

/* Which launches match the choice, in their order: "1 2 4"; and that the counts agree. */
static void check_launches(struct fixture *f, const char *wanted)
{
	struct kc_filter_counts counts;
	struct kc_filter *filter;
	char got[32] = "";
	unsigned matching = 0;

	assert_int_equal(kc_filter_new(&f->choice, f->store, &filter), 0);
	assert_non_null(filter);
	for (int i = 0; i < LAUNCHES; i++) {
		int rc = kc_filter_matches(filter, f->launches + i);

		assert_in_range(rc, 0, 1);
		matching += rc == 1;
		if (rc)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d", *got ? " " : "", i + 1);
	}
	assert_string_equal(got, wanted);
	counts = kc_filter_counted(filter);
	assert_int_equal(counts.launches, LAUNCHES);
	assert_int_equal(counts.matching, matching);
	kc_filter_free(filter);
}

/* The same of launches as the database has them. */
static void check(struct fixture *f, const char *wanted)
{
	const struct kc_selection all = {1, 1}, none = {2, 2};
	struct kc_filter *filter;

	check_launches(f, wanted);
	assert_int_equal(kc_filter_new(&f->choice, f->store, &filter), 0);
	assert_int_equal(kc_filter_any(filter, &all), *wanted != 0);
	assert_int_equal(kc_filter_any(filter, &none), 0);
	kc_filter_free(filter);
}

static void without_conditions_there_is_no_filter(void **state)
{
	struct fixture *f = *state;
	struct kc_filter *filter;

	assert_false(kc_filter_is_given(&f->choice));
	assert_int_equal(kc_filter_new(&f->choice, f->store, &filter), 0);
	assert_null(filter);
	assert_int_equal(kc_filter_matches(NULL, f->launches), 1);
	assert_true(kc_filter_process(NULL, 1));
	kc_filter_free(NULL);
}

static void ranges_by_name_at_any_depth(void **state)
{
	struct fixture *f = *state;

	set_regex(&f->choice.range, "^forward$");
	assert_true(kc_filter_needs_launches(&f->choice));
	check(f, "1 3");
	set_regex(&f->choice.range, "ward");
	check(f, "1 2 3");
	set_regex(&f->choice.range, "inner");
	check(f, "1");
	set_regex(&f->choice.range, "aten"); /* an operator */
	check(f, "");
	set_regex(&f->choice.range, "ward");
	set_regex(&f->choice.kernel, "saxpy");
	check(f, "2 3");
}

/* Parents that go round, and one that is not there. */
static void scopes_of_a_damaged_database_end(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
	    sqlite3_exec(kc_store_db(f->store),
			 "UPDATE scope SET parent = 3 WHERE local = 1; UPDATE scope SET parent = 99 WHERE local = 4;"
			 " INSERT INTO scope(process, local, parent, kind, name) VALUES(1, -5, 1, 'range', 'ward')",
			 NULL, NULL, NULL),
	    SQLITE_OK);
	set_regex(&f->choice.range, "nothing");
	check(f, "");
	set_regex(&f->choice.range, "ward");
	check(f, "1 2 3");
}

static void kernels_by_readable_or_mangled_name(void **state)
{
	struct fixture *f = *state;

	set_regex(&f->choice.kernel, "^vectorAdd\\(float const");
	check(f, "1");
	set_regex(&f->choice.kernel, "^_Z9vector");
	check(f, "1");
	set_regex(&f->choice.kernel, "x{1}p|Add");
	check(f, "1 2 3 4");
	set_regex(&f->choice.exclude, "^saxpy$");
	check(f, "1");
	kc_filter_choice_free(&f->choice);
	set_regex(&f->choice.exclude, "^_Z9");
	check(f, "2 3 4");
	assert_false(kc_filter_needs_launches(&f->choice));
}

static void a_kernel_that_is_not_known_matches_no_name(void **state)
{
	struct fixture *f = *state;

	f->launches[1].kernel = 0;
	f->launches[3].kernel = INT64_MIN;
	set_regex(&f->choice.kernel, "");
	check_launches(f, "1 3");
	kc_filter_choice_free(&f->choice);
	set_regex(&f->choice.exclude, "");
	check_launches(f, "2 4");
}

static void what_is_no_regular_expression_is_told(void **state)
{
	struct fixture *f = *state;
	char why[128] = "";

	set_regex(&f->choice.kernel, "saxpy");
	assert_int_equal(kc_filter_regex(&f->choice.kernel, "(", why, sizeof(why)), -EINVAL);
	assert_string_not_equal(why, "");
	assert_false(kc_filter_is_given(&f->choice));
}

static void streams_by_their_number_or_default(void **state)
{
	struct fixture *f = *state;

	f->choice.streams = (struct kc_filter_numbers){.at = {2}, .count = 1};
	check(f, "2 4");
	assert_true(kc_filter_needs_launches(&f->choice));
	f->choice.streams.at[0] = 3;
	check(f, "3");
	f->choice.streams.at[0] = 1; /* is called default */
	check(f, "");
	f->choice.default_streams = 1;
	check(f, "1 3");
	f->choice.streams.count = 0;
	check(f, "1 3");
	f->launches[0].stream = 0;
	f->choice.streams = (struct kc_filter_numbers){.at = {7, 2, 0}, .count = 3};
	f->choice.default_streams = 0;
	check_launches(f, "2 4");
}

static void name(struct kc_filter_names *names, const char *text)
{
	names->each[names->count].at = text;
	names->each[names->count++].length = strlen(text);
}

/* As imported: the second process is rank 1, on its own GPU 1. */
static void processes_and_gpus_by_name(void **state)
{
	struct fixture *f = *state;

	do_sql(f->store, "UPDATE process SET source = 'trace', command_line = 'rank 1' WHERE pid = 43;"
			 "INSERT INTO device(id, uuid, driver_version, name, simulated, place)"
			 " VALUES(77, '0f3e1122334455667788990011223344', 0, 'H100', 0, 'rank 1');"
			 "INSERT INTO process_device VALUES(2, 1, 77)");
	f->launches[3].device = 77;
	name(&f->choice.process_names, "rank 1");
	check_launches(f, "4");
	for (int i = 0; i < 2; i++) {
		static const char *const names[] = {"rank 1 (pid 43)", "pid 43"}; /* as before the name of a stream */

		f->choice.process_names.count = 0;
		name(&f->choice.process_names, names[i]);
		check_launches(f, "4");
	}
	f->choice.processes = (struct kc_filter_numbers){.at = {42}, .count = 1};
	check_launches(f, "1 2 3 4");
	f->choice = (struct kc_filter_choice){.devices = {.at = {1}, .count = 1}};
	check_launches(f, "4");
	f->choice = (struct kc_filter_choice){.devices = {.at = {0}, .count = 1}};
	check_launches(f, "1 2 3");
	f->choice = (struct kc_filter_choice){.devices = {.at = {2}, .count = 1}};
	check_launches(f, "");
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"GPU 1", "GPU 1 of rank 1", "GPU-0F3E1122",
						    "GPU-0f3e1122-3344-5566-7788-990011223344"};

		f->choice = (struct kc_filter_choice){.min_ns = 0};
		name(&f->choice.device_names, names[i]);
		check_launches(f, "4");
	}
	f->choice = (struct kc_filter_choice){.min_ns = 0};
	name(&f->choice.device_names, "GPU-0f3e1123");
	check_launches(f, "");
}

static void live_processes_by_what_the_report_prints(void **state)
{
	struct fixture *f = *state;

	do_sql(f->store, "UPDATE process SET command_line = './app 1, 2' WHERE pid = 43");
	for (int i = 0; i < 2; i++) {
		static const char *const names[] = {"pid 43", "./app 1, 2"};

		f->choice.process_names.count = 0;
		name(&f->choice.process_names, names[i]);
		check_launches(f, "4");
	}
	f->choice.process_names.count = 0;
	name(&f->choice.process_names, "pid 4");
	check_launches(f, "");
}

/* The second process sees one GPU alone, the first one's second. */
static void gpus_by_their_number_in_the_process(void **state)
{
	struct fixture *f = *state;

	do_sql(f->store, "INSERT INTO device(id, uuid, driver_version, name, simulated)"
			 " VALUES(77, '0f3e1122334455667788990011223344', 0, 'H100', 0);"
			 "INSERT OR REPLACE INTO process_device VALUES(1, 1, 77), (2, 0, 77)");
	f->launches[2].device = f->launches[3].device = 77;
	f->choice.devices = (struct kc_filter_numbers){.at = {1}, .count = 1};
	check_launches(f, "3");
	f->choice.devices.at[0] = 0;
	check_launches(f, "1 2 4");
	f->choice.devices.count = 0;
	name(&f->choice.device_names, "GPU 0 (GPU-0f3e1122)"); /* in a report of both */
	check_launches(f, "3 4");
}

static void processes_by_their_pid(void **state)
{
	struct fixture *f = *state;

	f->choice.processes = (struct kc_filter_numbers){.at = {43}, .count = 1};
	check(f, "4");
	f->choice.processes = (struct kc_filter_numbers){.at = {1, 42}, .count = 2};
	check(f, "1 2 3");
	f->launches[2].process = 999; /* the database has no such process */
	check_launches(f, "1 2");
}

static void times_from_the_start_of_the_run(void **state)
{
	struct fixture *f = *state;

	f->choice.since_ns = 20000;
	check(f, "2 3 4");
	f->choice.until_ns = 30000; /* not included */
	check(f, "2");
	f->choice.since_ns = 0;
	check(f, "1 2");
	f->choice.until_ns = 1500001;
	f->choice.since_ns = 1500000;
	check(f, "4");
	f->choice.until_ns = 0;
	f->launches[0].launched_ns = INT64_MAX;
	f->launches[3].launched_ns = INT64_MAX; /* and a start that is 1 ms later */
	check_launches(f, "1 4");
}

static void at_least_so_long_and_measured(void **state)
{
	struct fixture *f = *state;

	f->choice.min_ns = 200;
	check(f, "2 4");
	f->choice.min_ns = 1;
	check(f, "1 2 4");
}

static void all_conditions_together(void **state)
{
	struct fixture *f = *state;

	set_regex(&f->choice.kernel, "saxpy");
	f->choice.streams = (struct kc_filter_numbers){.at = {2}, .count = 1};
	f->choice.processes = (struct kc_filter_numbers){.at = {42}, .count = 1};
	f->choice.until_ns = 1000000;
	f->choice.min_ns = 200;
	check(f, "2");
	f->choice.min_ns = 201;
	check(f, "");
}

static struct kc_report *report(struct fixture *f)
{
	const struct kc_selection all = {1, 1};
	struct kc_filter *filter;
	struct kc_report *out;

	assert_int_equal(kc_filter_new(&f->choice, f->store, &filter), 0);
	assert_int_equal(kc_query_report_matching(f->store, &all, filter, &out), 0);
	kc_filter_free(filter);
	return out;
}

static void a_report_is_of_those_that_match_and_its_ledger_of_all(void **state)
{
	struct fixture *f = *state;
	struct kc_report *r;

	set_regex(&f->choice.kernel, "saxpy");
	r = report(f);
	assert_int_equal(r->kernels.count, 1);
	assert_int_equal(r->kernels.at[0].launches, 3);
	assert_int_equal(r->kernels.at[0].measured, 2);
	assert_float_equal(r->measured_ns, 500, 0);
	assert_float_equal(r->all.median, 0.5, 1e-6); /* 100 instead of 200 ns; the other is off by 200 of 300 */
	assert_int_equal(r->ledger.launches, LAUNCHES);
	assert_true(kc_ledger_adds_up(&r->ledger));
	kc_report_free(r);
}

/* The first launch ran alone and took 100 ns, which is known when the third is predicted: of the same shape here, it
 * took 150 ns beside another one. */
static void slowdown_is_relative_to_launches_that_do_not_match(void **state)
{
	struct fixture *f = *state;
	struct kc_report *r;

	do_sql(f->store, "UPDATE launch_row SET flags = (flags & ~(3 << 11)) | (2 << 11),"
			 " measured_span = 150, measured_wait = 0, shape = (SELECT shape FROM launch_row"
			 " ORDER BY id LIMIT 1) WHERE id & 1023 = 102");
	assert_int_equal(number_of(f->store, "SELECT count(*) FROM launch WHERE overlap = 'behind'"), 1);
	f->choice.since_ns = 30000;
	r = report(f);
	assert_int_equal(r->slowdown.n, 1);
	assert_int_equal(r->slowdown.without, 0);
	assert_float_equal(r->slowdown.mean_measured, 1.5, 1.5 * 0.0101);
	kc_report_free(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(without_conditions_there_is_no_filter),
	    TEST(ranges_by_name_at_any_depth),
	    TEST(scopes_of_a_damaged_database_end),
	    TEST(kernels_by_readable_or_mangled_name),
	    TEST(a_kernel_that_is_not_known_matches_no_name),
	    TEST(what_is_no_regular_expression_is_told),
	    TEST(streams_by_their_number_or_default),
	    TEST(gpus_by_their_number_in_the_process),
	    TEST(processes_by_their_pid),
	    TEST(processes_and_gpus_by_name),
	    TEST(live_processes_by_what_the_report_prints),
	    TEST(times_from_the_start_of_the_run),
	    TEST(at_least_so_long_and_measured),
	    TEST(all_conditions_together),
	    TEST(a_report_is_of_those_that_match_and_its_ledger_of_all),
	    TEST(slowdown_is_relative_to_launches_that_do_not_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
