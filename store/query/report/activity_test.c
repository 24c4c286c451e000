/* From the rows of a database to time_use.h. Times are ns after BASE_NS. */
#include "activity.h"
#include "store/database/testing/test_rows.h"

#include <sqlite3.h>

struct fixture {
	char *directory;
	struct kc_store *store;
	uint64_t index; /* of the next slot */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	f->store = open_scratch(f->directory);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kc_store_close(f->store);
	remove_scratch(f->directory);
	free(f);
	return 0;
}

static void begin(struct fixture *f, const struct kc_journal_header *header)
{
	int64_t process;

	assert_int_equal(kc_store_process(f->store, header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	f->index = 0;
	put_device_and_streams(f->store, &f->index, 1);
	put_kernel(f->store, &f->index, 1, "saxpy", "app");
}

/* A process of "run-a" that began at BASE_NS + started_ns. */
static void begin_process(struct fixture *f, uint32_t pid, int64_t started_ns)
{
	struct kc_journal_header header = make_header(pid, "run-a");

	header.monotonic_ns += started_ns;
	begin(f, &header);
}

static void begin_imported(struct fixture *f, uint32_t pid, const char *clock)
{
	struct kc_journal_header header = make_header(pid, "import");

	snprintf(header.source, sizeof(header.source), "trace.csv");
	snprintf(header.boot_id, sizeof(header.boot_id), "import-%s", clock);
	begin(f, &header);
}

static void end(struct fixture *f)
{
	assert_int_equal(kc_store_commit(f->store), 0);
}

static void kernel(struct fixture *f, uint32_t stream, int64_t launched_ns, int64_t start_ns, int64_t end_ns)
{
	struct kc_slot slot = make_launch(f->index++, 1, launched_ns, 100, 0);

	slot.launch.stream = stream;
	slot.launch.measured_start_ns = BASE_NS + start_ns;
	slot.launch.measured_end_ns = BASE_NS + end_ns;
	assert_int_equal(kc_store_slot(f->store, &slot), 0);
}

static void copy_of(struct fixture *f, uint32_t kind, uint64_t bytes, uint32_t stream, int64_t launched_ns,
		    int64_t start_ns, int64_t end_ns)
{
	struct kc_slot slot = {.kind = KC_KIND_TRANSFER, .index = f->index++};

	slot.transfer = (struct kc_transfer){.launched_ns = BASE_NS + launched_ns,
					     .measured_start_ns = BASE_NS + start_ns,
					     .measured_end_ns = BASE_NS + end_ns,
					     .stream = stream,
					     .bytes = bytes,
					     .kind = kind};
	assert_int_equal(kc_store_slot(f->store, &slot), 0);
}

static void copy(struct fixture *f, uint32_t stream, int64_t launched_ns, int64_t start_ns, int64_t end_ns)
{
	copy_of(f, KC_COPY_HTOD, 0, stream, launched_ns, start_ns, end_ns);
}

static struct kc_activity *activity_of(struct fixture *f, const char *runs, int exact)
{
	struct kc_selection selection;
	struct kc_activity *activity;
	struct kc_report *report;

	assert_int_equal(kc_query_select(f->store, runs, &selection, NULL, 0), 0);
	assert_int_equal(kc_query_report(f->store, &selection, exact, &report), 0);
	assert_int_equal(kc_query_activity(f->store, report, &activity), 0);
	kc_report_free(report);
	return activity;
}

static void check(const struct kc_time_use *got, int64_t kernels_ns, int64_t copies_only_ns, int64_t launch_bound_ns,
		  int64_t launched_ns, int64_t unknown_ns)
{
	assert_int_equal(got->kernels_ns, kernels_ns);
	assert_int_equal(got->copies_only_ns, copies_only_ns);
	assert_int_equal(got->busy_ns, kernels_ns + copies_only_ns);
	assert_int_equal(got->idle_launch_bound_ns, launch_bound_ns);
	assert_int_equal(got->idle_launched_ns, launched_ns);
	assert_int_equal(got->idle_unknown_ns, unknown_ns);
	assert_int_equal(got->idle_ns, launch_bound_ns + launched_ns + unknown_ns);
	assert_int_equal(got->span_ns, got->busy_ns + got->idle_ns);
}

static void rows_become_times(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_process(f, 42, 0);
	kernel(f, 1, 100, 1000, 2000);
	copy(f, 1, 2300, 3000, 3500);
	kernel(f, 2, 3100, 3400, 4000);
	end(f);
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->too_many, 0);
	assert_int_equal(a->copies_measured, 1);
	assert_int_equal(a->device_count, 1);
	assert_int_equal(a->devices[0].device, 1);
	check(&a->devices[0].use, 1600, 400, 300, 700, 0);
	assert_int_equal(a->stream_count, 2);
	assert_string_equal(a->streams[0].name, "default");
	assert_int_equal(a->streams[0].device, 1);
	check(&a->streams[0].use, 1000, 500, 300, 700, 0);
	assert_string_equal(a->streams[1].name, "stream 2");
	check(&a->streams[1].use, 600, 0, 0, 0, 0);
	kc_activity_free(a);
}

/* The second process fills a part of the first one's gap from 2000 to 5000, which is then from 2000 to 2600 and from
 * 3000 to 5000. Its clock is the same, though it counts from its own start. */
static void processes_of_a_run_share_the_gpu(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_process(f, 42, 0);
	kernel(f, 1, 100, 1000, 2000);
	kernel(f, 1, 4000, 5000, 6000);
	end(f);
	begin_process(f, 43, 2222);
	kernel(f, 1, 2500, 2600, 3000);
	end(f);
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->device_count, 1);
	check(&a->devices[0].use, 2400, 0, 500 + 1000, 100 + 1000, 0);
	assert_int_equal(a->stream_count, 2);
	assert_string_equal(a->streams[0].name, "pid 42, default");
	check(&a->streams[0].use, 2000, 0, 2000, 1000, 0);
	check(&a->streams[1].use, 400, 0, 0, 0, 0);
	kc_activity_free(a);
}

/* At the same times, but by clocks of their own; the second trace has no launch times. */
static void imported_processes_are_added_up(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_imported(f, 1, "1");
	kernel(f, 1, 500, 1000, 2000);
	copy(f, 1, 2200, 3000, 4000);
	end(f);
	begin_imported(f, 2, "2");
	kernel(f, 1, 1000, 1000, 1500);
	copy(f, 1, 2600, 2600, 3000);
	end(f);
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->device_count, 1);
	check(&a->devices[0].use, 1500, 1400, 200, 800, 1100);
	kc_activity_free(a);
}

/* As processes that one profiler recorded: from 1000 to 2000 and from 1500 to 2500, and a gap of 500 until 3000. */
static void imported_processes_on_one_clock_share_the_gpu(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_imported(f, 1, "1");
	kernel(f, 1, 500, 1000, 2000);
	copy(f, 1, 2200, 3000, 4000);
	end(f);
	begin_imported(f, 2, "1");
	kernel(f, 1, 600, 1500, 2500);
	end(f);
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->device_count, 1);
	check(&a->devices[0].use, 1500, 1000, 0, 500, 0);
	kc_activity_free(a);
}

static void runs_are_added_up(void **state)
{
	struct fixture *f = *state;
	struct kc_journal_header second = make_header(50, "run-b");
	struct kc_activity *a;

	begin_process(f, 42, 0);
	kernel(f, 1, 100, 1000, 2000);
	end(f);
	begin(f, &second);
	kernel(f, 1, 900000, 1000000, 1000300);
	end(f);
	a = activity_of(f, "all", 0);
	check(&a->devices[0].use, 1300, 0, 0, 0, 0);
	kc_activity_free(a);
	a = activity_of(f, "latest", 0);
	check(&a->devices[0].use, 300, 0, 0, 0, 0);
	kc_activity_free(a);
}

static void what_was_not_measured_is_left_out(void **state)
{
	struct fixture *f = *state;
	struct kc_slot unmeasured;
	struct kc_activity *a;

	begin_process(f, 42, 0);
	unmeasured = make_launch(f->index++, 1, 100, 100, 0);
	unmeasured.launch.unmeasured = KC_RECORD_DROPPED;
	assert_int_equal(kc_store_slot(f->store, &unmeasured), 0);
	end(f);
	do_sql(f->store, "UPDATE process SET measure = 'kernels'");
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->device_count, 0);
	assert_int_equal(a->stream_count, 0);
	assert_int_equal(a->copies_measured, 0);
	kc_activity_free(a);
}

/* Of nine kernels, two are as they were. */
static void damaged_rows_are_left_out(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_process(f, 42, 0);
	for (int i = 0; i < 9; i++)
		kernel(f, 1, 0, 1000 * (i + 1), 1000 * (i + 1) + 100);
	copy(f, 1, 0, 500, 600);
	end(f);
	do_sql(f->store, "UPDATE launch_row SET measured_span = -1 WHERE measured_wait = 2000;"
			 "UPDATE launch_row SET measured_span = 9223372036854775807 WHERE measured_wait = 3000;"
			 "UPDATE launch_row SET measured_wait = -9223372036854775808 WHERE measured_wait = 4000;"
			 "UPDATE launch_row SET launched = 9223372036854775807 WHERE measured_wait = 5000;"
			 "UPDATE launch_row SET launched = -9223372036854775807 - 1 WHERE measured_wait = 6000;"
			 "UPDATE launch_row SET measured_wait = 3000000000000000 WHERE measured_wait = 7000;"
			 "UPDATE launch_row SET measured_span = 3000000000000000 WHERE measured_wait = 8000;"
			 "UPDATE launch_row SET stream = -5, shape = 4711 WHERE measured_wait = 9000;"
			 "UPDATE transfer SET measured_start_ns = 9223372036854775807");
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->device_count, 2);
	assert_int_equal(a->devices[0].device, 0); /* that of the unknown shape */
	check(&a->devices[0].use, 100, 0, 0, 0, 0);
	check(&a->devices[1].use, 100, 0, 0, 0, 0);
	assert_int_equal(a->stream_count, 2);
	assert_string_equal(a->streams[0].name, "unknown");
	kc_activity_free(a);
}

static void too_many_launches_are_read_for_an_exact_report_only(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_process(f, 42, 0);
	kernel(f, 1, 100, 1000, 2000);
	end(f);
	do_sql(f->store, "UPDATE ledger SET count = 2000000 WHERE item = 'measured'");
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->too_many, 0);
	kc_activity_free(a);
	do_sql(f->store, "UPDATE ledger SET count = 2000001 WHERE item = 'measured'");
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->too_many, 1);
	assert_int_equal(a->device_count, 0);
	kc_activity_free(a);
	a = activity_of(f, "latest", 1);
	assert_int_equal(a->too_many, 0);
	assert_int_equal(a->device_count, 1);
	kc_activity_free(a);
}

static void check_copies(const struct kc_activity *a, size_t i, const char *kind, double count, double bytes, double ns)
{
	assert_string_equal(a->copies[i].kind, kind);
	assert_true(a->copies[i].count == count && a->copies[i].bytes == bytes && a->copies[i].ns == ns);
	if (ns > 0)
		assert_float_equal(a->copies[i].bytes_per_s, bytes / ns * 1e9, 1);
	else
		assert_true(isnan(a->copies[i].bytes_per_s));
}

/* Those beside each other, too. A kind that nobody knows is another one, and impossible times are none. */
static void copies_are_summed_up_by_kind(void **state)
{
	struct fixture *f = *state;
	struct kc_activity *a;

	begin_process(f, 42, 0);
	kernel(f, 1, 100, 1000, 2000);
	copy_of(f, KC_COPY_HTOD, 4096, 1, 100, 3000, 3500);
	copy_of(f, KC_COPY_HTOD, 1000, 2, 100, 3100, 3300);
	copy_of(f, KC_COPY_DTOH, 90000, 1, 100, 4000, 5000);
	copy_of(f, KC_MEMSET, 64, 1, 100, 6000, 6000);
	copy_of(f, KC_COPY_PEER, 7, 1, 100, 7000, 7010);
	copy_of(f, KC_COPY_DTOD, 50, 1, 100, 9000, 8000);
	end(f);
	do_sql(f->store, "UPDATE transfer SET kind = x'ff' WHERE kind = 'peer'");
	a = activity_of(f, "latest", 0);
	assert_int_equal(a->copy_count, 4);
	check_copies(a, 0, "DtoH", 1, 90000, 1000);
	check_copies(a, 1, "HtoD", 2, 5096, 700);
	check_copies(a, 2, "other", 1, 7, 10);
	check_copies(a, 3, "memset", 1, 64, 0);
	kc_activity_free(a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(rows_become_times),
	    TEST(copies_are_summed_up_by_kind),
	    TEST(processes_of_a_run_share_the_gpu),
	    TEST(imported_processes_are_added_up),
	    TEST(imported_processes_on_one_clock_share_the_gpu),
	    TEST(runs_are_added_up),
	    TEST(what_was_not_measured_is_left_out),
	    TEST(damaged_rows_are_left_out),
	    TEST(too_many_launches_are_read_for_an_exact_report_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
