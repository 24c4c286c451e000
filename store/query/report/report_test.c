/* Ten launches by hand, and the report worked out by hand:
 *
 *       kernel stream predicted measured error ratio  novelty    overlap
 *    1  1      1      100       100      0     1      first_seen none
 *    2  1      1      110       100      0.1   1.1    repeated   none
 *    3  1      2      150       100      0.5   1.5    repeated   behind
 *    4  2      1      300       400      0.25  0.75   new_size   none
 *    5  2      2      960       800      0.2   1.2    repeated   overtaken
 *    6  1      1      100       -        record dropped
 *    7  2      1      -         500      no attributes
 *    8  1      1      100       -        the call failed
 *    9  1      1      100       -        killed during the call
 *   10  1      1      100       -        awaited
 */
#include "store/query/kernel_names.h"
#include "store/query/query.h"
#include "store/query/report/kernel_class.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>

#define SKETCH 0.0101 /* relative error of a quantile */

struct fixture {
	char *directory;
	struct kc_store *store;
	struct kc_journal_header header;
};

static void put_rows(struct kc_store *s)
{
	struct kc_slot rows[10];
	uint64_t index = 0;

	put_device_and_streams(s, &index, 1);
	put_kernel(s, &index, 1, "_Z9vectorAddPKfS0_Pfi", "/opt/app/libapp.so");
	put_kernel(s, &index, 2, "saxpy", "libapp.so");
	for (int i = 0; i < 10; i++) {
		static const int64_t predicted[] = {100, 110, 150, 300, 960, 100, 100, 100, 100, 100};
		static const int64_t measured[] = {100, 100, 100, 400, 800, 0, 500, 0, 0, 0};

		rows[i] = make_launch(100 + (uint64_t)i, i == 3 || i == 4 || i == 6 ? 2 : 1, 10000 * (i + 1),
				      predicted[i], measured[i]);
	}
	rows[0].launch.novelty = KC_FIRST_SEEN;
	rows[3].launch.novelty = KC_NEW_SIZE;
	rows[2].launch.stream = rows[4].launch.stream = 2;
	rows[2].launch.overlap = KC_OVERLAP_BEHIND;
	rows[4].launch.overlap = KC_OVERLAP_OVERTAKEN;
	rows[2].launch.concurrency_case = KC_CASE_A;
	rows[4].launch.concurrency_case = KC_CASE_C;
	rows[2].launch.slowdown = 1.5f;
	rows[4].launch.slowdown = 2.4f;
	rows[0].launch.model = KC_MODEL_BSP_DEVICE;
	rows[5].launch.unmeasured = KC_RECORD_DROPPED;
	rows[6].launch.unpredictable = KC_NO_ATTRIBUTES;
	rows[7].launch.unmeasured = KC_CALL_FAILED;
	rows[7].launch.result = 700;
	rows[8].launch.unmeasured = KC_PROCESS_KILLED;
	rows[8].launch.result = INT32_MIN;
	for (int i = 0; i < 10; i++)
		assert_int_equal(kc_store_slot(s, &rows[i]), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int64_t process;

	f->directory = make_scratch();
	f->store = open_scratch(f->directory);
	f->header = make_header(42, "run-a");
	atomic_store(&f->header.counters[KC_COUNT_CALLS], 10);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_RECORDS], 8);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_MATCHED], 6);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_UNMATCHED], 2);
	assert_int_equal(kc_store_process(f->store, &f->header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	put_rows(f->store);
	assert_int_equal(kc_store_commit(f->store), 0);
	assert_int_equal(kc_store_process_end(f->store, &f->header, "exit"), 0);
	assert_int_equal(kc_kernel_names(f->store, KC_NAMES_NS), 0);
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

static struct kc_report *report_of(struct kc_store *s, int exact)
{
	struct kc_selection selection;
	struct kc_report *report;

	assert_int_equal(kc_query_select(s, "latest", &selection, NULL, 0), 0);
	assert_int_equal(kc_query_report(s, &selection, exact, &report), 0);
	return report;
}

static void near(double value, double expected, double relative)
{
	assert_true(fabs(value - expected) <= relative * fabs(expected) + 1e-12);
}

static void check_ledger(const struct kc_ledger *l)
{
	assert_int_equal(l->launches, 10);
	assert_int_equal(l->predicted, 9);
	assert_int_equal(l->unpredictable_total, 1);
	assert_int_equal(l->unpredictable[KC_NO_ATTRIBUTES], 1);
	assert_int_equal(l->failed, 1);
	assert_int_equal(l->unreturned, 1);
	assert_int_equal(l->measured, 6);
	assert_int_equal(l->matched, 5);
	assert_int_equal(l->unmeasured_total, 3);
	assert_int_equal(l->unmeasured[KC_RECORD_DROPPED], 1);
	assert_int_equal(l->unmeasured[KC_CALL_FAILED], 1);
	assert_int_equal(l->unmeasured[KC_PROCESS_KILLED], 1);
	assert_int_equal(l->awaited, 1);
	assert_int_equal(l->cupti_records, 8);
	assert_int_equal(l->unmatched, 2);
	assert_int_equal(l->records_awaited, 0);
	assert_true(kc_ledger_adds_up(l));
}

static void check_accuracy(const struct kc_report *r, double tolerance)
{
	assert_int_equal(r->all.n, 5);
	near(r->all.mape, 0.21, 1e-9);                         /* (0 + 0.1 + 0.5 + 0.25 + 0.2) / 5 */
	near(r->all.mape_time_weighted, 320.0 / 1500.0, 1e-9); /* (0 + 10 + 50 + 100 + 160) / sum */
	near(r->all.median, 0.2, tolerance);
	near(r->all.p90, 0.5, tolerance);
	near(r->all.within_20, 3.0 / 5.0, 1e-9);
	near(r->all.bias, pow(1.485, 0.2), 1e-9); /* 1 * 1.1 * 1.5 * 0.75 * 1.2 */
	assert_int_equal(r->novelty[KC_FIRST_SEEN].n, 1);
	assert_true(r->novelty[KC_FIRST_SEEN].mape == 0);
	near(r->novelty[KC_NEW_SIZE].mape, 0.25, 1e-9);
	assert_int_equal(r->novelty[KC_REPEATED].n, 3);
	near(r->novelty[KC_REPEATED].mape, 0.8 / 3, 1e-9);
	assert_int_equal(r->solo.n, 3);
	near(r->solo.mape, 0.35 / 3, 1e-9);
	assert_int_equal(r->overlapped.n, 2);
	near(r->overlapped.mape, 0.35, 1e-9);
	near(r->behind.mape, 0.5, 1e-9);
	near(r->overtaken.mape, 0.2, 1e-9);
}

static void check_kernels(const struct kc_report *r)
{
	const struct kc_group *saxpy = &r->kernels.at[0], *add = &r->kernels.at[1];

	/* 1700 of 2000 ns measured are kernel 2's, the unpredicted launch's 500 among them. */
	assert_int_equal(r->kernels.count, 2);
	assert_string_equal(saxpy->name, "saxpy");
	assert_int_equal(saxpy->launches, 3);
	assert_int_equal(saxpy->measured, 3);
	assert_int_equal(saxpy->accuracy.n, 2);
	near(saxpy->time_share, 0.85, 1e-9);
	near(saxpy->mean_measured_ns, 1700.0 / 3, 1e-9);
	near(saxpy->mean_predicted_ns, 630, 1e-9);
	assert_string_equal(add->name, "vectorAdd(float const*, float const*, float*, int)");
	assert_int_equal(add->launches, 7);
	near(add->accuracy.mape, 0.2, 1e-9);
	/* 3 launches of some 100 ns; 50 of 60 ns of error are the overlapped one's. */
	assert_int_equal(add->hints, KC_HINT_FEW | KC_HINT_OVERLAPPED | KC_HINT_SHORT);
}

static void check_groups(const struct kc_report *r)
{
	assert_int_equal(r->streams.count, 2);
	assert_string_equal(r->streams.at[0].name, "default");
	assert_string_equal(r->streams.at[1].name, "stream 2");
	assert_int_equal(r->models.count, 2);
	assert_string_equal(r->models.at[0].name, kc_model_name(KC_MODEL_BSP_SHAPE));
	assert_int_equal(r->cases.count, 3);
	assert_string_equal(r->cases.at[0].name, "C"); /* 800 ns */
	assert_int_equal(r->concurrency[KC_CASE_ALONE][KC_OVERLAP_NONE], 3);
	assert_int_equal(r->concurrency[KC_CASE_A][KC_OVERLAP_BEHIND], 1);
	assert_int_equal(r->concurrency[KC_CASE_C][KC_OVERLAP_OVERTAKEN], 1);
}

/* Launch 3 beside solo medians of 100 ns: 1, predicted 1.5; launch 5 beside
 * 400 ns: 2, predicted 2.4. Equation 5.1 says 1 of both: off by 0 and 1/2. */
/* "vectorAdd" and "saxpy" are both elementwise. */
static void check_classes(const struct kc_report *r)
{
	assert_int_equal(r->classes.count, 1);
	assert_int_equal(r->classes.at[0].id, KC_CLASS_ELEMENTWISE);
	assert_string_equal(r->classes.at[0].name, "elementwise");
	assert_int_equal(r->classes.at[0].launches, 10);
	assert_int_equal(r->classes.at[0].measured, 6);
	near(r->classes.at[0].time_share, 1, 1e-9);
	near(r->classes.at[0].mean_measured_ns, 2000.0 / 6, 1e-9); /* 100 + 100 + 100 + 400 + 800 + 500 */
	assert_int_equal(r->kernels.at[0].kernel_class, KC_CLASS_ELEMENTWISE);
}

static void check_slowdown(const struct kc_slowdown_error *s)
{
	assert_int_equal(s->n, 2);
	assert_int_equal(s->without, 0);
	near(s->mean_measured, 1.5, SKETCH);
	near(s->mean_predicted, 1.95, 1e-6);
	near(s->mape, 0.35, 4 * SKETCH);
	near(s->mean_waves, 1, 1e-6);
	near(s->mape_waves, 0.25, 4 * SKETCH);
}

static void check(const struct kc_report *r, double tolerance)
{
	assert_true(r->simulated);
	check_ledger(&r->ledger);
	check_accuracy(r, tolerance);
	check_kernels(r);
	check_groups(r);
	check_classes(r);
	check_slowdown(&r->slowdown);
	assert_int_equal(r->device_count, 1);
	assert_string_equal(r->devices[0].device.name, "Test device");
	assert_int_equal(r->devices[0].device.sm_count, 15);
	assert_int_equal(r->process_count, 1);
	assert_string_equal(r->processes[0].command_line, "app 'two words' 'it'\\''s'");
	assert_string_equal(r->processes[0].ended, "exit");
	assert_int_equal(r->processes[0].launches, 10);
}

static void from_rollups(void **state)
{
	struct kc_report *r = report_of(((struct fixture *)*state)->store, 0);

	check(r, SKETCH);
	kc_report_free(r);
}

static void from_every_launch(void **state)
{
	struct kc_report *r = report_of(((struct fixture *)*state)->store, 1);

	check(r, 1e-6);
	kc_report_free(r);
}

static void rows_brought_in_twice_count_once(void **state)
{
	struct fixture *f = *state;
	struct kc_report *r;

	assert_int_equal(kc_store_begin(f->store), 0);
	put_rows(f->store);
	assert_int_equal(kc_store_commit(f->store), 0);
	r = report_of(f->store, 0);
	check(r, SKETCH);
	kc_report_free(r);
}

static void a_rollback_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct kc_slot slot = make_launch(500, 1, 1000000, 100, 100);
	struct kc_report *r;

	slot.launch.grid[0] = 4711; /* a shape that goes with the transaction */
	assert_int_equal(kc_store_begin(f->store), 0);
	assert_int_equal(kc_store_slot(f->store, &slot), 0);
	kc_store_rollback(f->store);
	r = report_of(f->store, 0);
	check(r, SKETCH);
	kc_report_free(r);
	assert_int_equal(kc_store_begin(f->store), 0);
	assert_int_equal(kc_store_slot(f->store, &slot), 0);
	assert_int_equal(kc_store_commit(f->store), 0);
	for (int exact = 0; exact < 2; exact++) {
		r = report_of(f->store, exact);
		assert_int_equal(r->ledger.launches, 11);
		assert_int_equal(r->all.n, 6);
		near(r->all.mape, 1.05 / 6, 1e-9);
		near(r->all.median, 0.1, exact ? 1e-6 : SKETCH); /* 0 0 0.1 0.2 0.25 0.5 */
		kc_report_free(r);
	}
}

/* Three more records joined whose rows are not in the database. */
static void join_three_more(struct fixture *f)
{
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_RECORDS], 12);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_MATCHED], 9);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_UNMATCHED], 2);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_INVALID], 1);
}

static void a_running_process_adds_up(void **state)
{
	struct fixture *f = *state;
	struct kc_report *r;

	join_three_more(f); /* they are still in the journal */
	assert_int_equal(kc_store_process_end(f->store, &f->header, ""), 0);
	r = report_of(f->store, 0);
	assert_int_equal(r->ledger.cupti_records, 12);
	assert_int_equal(r->ledger.records_awaited, 3);
	assert_int_equal(r->ledger.unmatched, 3);
	assert_int_equal(r->ledger.invalid, 1);
	assert_true(kc_ledger_adds_up(&r->ledger));
	assert_string_equal(r->processes[0].ended, "");
	kc_report_free(r);
}

/* Of the three records above, two were of launches that could not be stored when the process ended. */
static void records_of_dropped_launches_are_not_awaited(void **state)
{
	struct fixture *f = *state;
	struct kc_report *r;

	join_three_more(f);
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_LOST], 2);
	atomic_store(&f->header.counters[KC_COUNT_DROPPED], 2);
	assert_int_equal(kc_store_process_end(f->store, &f->header, "exit"), 0);
	r = report_of(f->store, 0);
	assert_int_equal(r->ledger.cupti_records, 12);
	assert_int_equal(r->ledger.records_lost, 2);
	assert_int_equal(r->ledger.records_awaited, 1);
	assert_int_equal(r->ledger.unmatched, 5);
	assert_true(kc_ledger_adds_up(&r->ledger));
	kc_report_free(r);
	/* One that was counted as lost, and is stored after all. */
	atomic_store(&f->header.counters[KC_COUNT_CUPTI_LOST], 4);
	assert_int_equal(kc_store_process_end(f->store, &f->header, "exit"), 0);
	r = report_of(f->store, 0);
	assert_int_equal(r->ledger.records_lost, 3);
	assert_int_equal(r->ledger.records_awaited, 0);
	assert_true(kc_ledger_adds_up(&r->ledger));
	kc_report_free(r);
}

static void the_launch_view_gives_back_what_was_put_in(void **state)
{
	struct kc_store *s = ((struct fixture *)*state)->store;

	assert_int_equal(number_of(s, "SELECT count(*) FROM launch"), 10);
	assert_int_equal(
	    number_of(s,
		      "SELECT count(*) FROM launch WHERE sequence = 104 AND process = 1 AND run = 1 AND device = 1"
		      " AND stream = 2 AND kernel = 2 AND grid_x = 64 AND grid_y = 1 AND grid_z = 1 AND block_x = 256"
		      " AND block_y = 1 AND block_z = 1 AND dynamic_shared_bytes = 0 AND api = 'cuLaunchKernel'"
		      " AND result = 0 AND launched_ns = 1000050000 AND predicted_at_ns = 1000049900"
		      " AND solo_ns = 960 AND solo_low_ns = 955 AND solo_high_ns = 967 AND abs(slowdown - 2.4) < 1e-6"
		      " AND slowdown_waves = 1 AND concurrency_case = 'C' AND start_ns = 1000051000"
		      " AND end_ns = 1000051960 AND measured_start_ns = 1000051200 AND measured_end_ns = 1000052000"
		      " AND overlapped = 1 AND overlap = 'overtaken' AND novelty = 'repeated' AND simulated = 1"
		      " AND graph_launch IS NULL AND graph_node IS NULL AND unpredictable IS NULL"
		      " AND unmeasured IS NULL"),
	    1);
	assert_int_equal(
	    number_of(s, "SELECT count(*) FROM launch WHERE sequence = 106 AND unpredictable = 'no_attributes'"
			 " AND model IS NULL AND model_state IS NULL AND predicted_at_ns IS NULL"
			 " AND solo_ns IS NULL AND solo_low_ns IS NULL AND solo_high_ns IS NULL"
			 " AND slowdown IS NULL AND concurrency_case IS NULL AND novelty IS NULL"
			 " AND start_ns IS NULL AND end_ns IS NULL AND measured_start_ns = 1000071200"),
	    1);
	assert_int_equal(number_of(s,
				   "SELECT count(*) FROM launch WHERE unmeasured = 'process_killed' AND result IS NULL"
				   " AND measured_end_ns IS NULL AND overlapped IS NULL"),
			 1);
	assert_int_equal(number_of(s, "SELECT n FROM accuracy WHERE class = 'repeated'"), 3);
	assert_int_equal(number_of(s, "SELECT 1000 * mape FROM accuracy_by_kernel WHERE name = 'saxpy'"), 225);
	assert_int_equal(number_of(s, "SELECT sum(n) FROM accuracy_by_model"), 5);
	assert_int_equal(number_of(s, "SELECT n FROM concurrency WHERE predicted_case = 'C' AND overlap = 'overtaken'"),
			 1);
	assert_int_equal(number_of(s, "SELECT sum(n) FROM model_score"), 5);
}

static void runs_are_found(void **state)
{
	struct fixture *f = *state;
	struct kc_journal_header second = make_header(43, "run-b"), child = make_header(44, "run-a");
	struct kc_selection selection;
	int64_t process;
	char why[200];

	assert_int_equal(kc_store_process(f->store, &second, &process), 0);
	assert_int_equal(process, 2);
	assert_int_equal(kc_store_process(f->store, &child, &process), 0);
	assert_int_equal(process, 3);
	assert_int_equal(kc_store_process(f->store, &f->header, &process), 0);
	assert_int_equal(process, 1);
	assert_int_equal(kc_query_select(f->store, NULL, &selection, NULL, 0), 0);
	assert_int_equal(selection.first_run, 2);
	assert_int_equal(kc_query_select(f->store, "all", &selection, NULL, 0), 0);
	assert_int_equal(selection.first_run, 1);
	assert_int_equal(selection.last_run, 2);
	assert_int_equal(kc_query_select(f->store, "1", &selection, NULL, 0), 0);
	assert_int_equal(selection.last_run, 1);
	assert_int_equal(kc_query_select(f->store, "3", &selection, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "no run 3: this database has runs 1 to 2");
	assert_int_equal(kc_query_select(f->store, "x", &selection, why, sizeof(why)), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(from_rollups),
	    TEST(from_every_launch),
	    TEST(rows_brought_in_twice_count_once),
	    TEST(a_rollback_leaves_nothing),
	    TEST(a_running_process_adds_up),
	    TEST(records_of_dropped_launches_are_not_awaited),
	    TEST(the_launch_view_gives_back_what_was_put_in),
	    TEST(runs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
