/* What a replay is told of a recorded run, and of a database that somebody has changed. */
#include "replay_load.h"

#include "store/database/testing/database_testing.h"

#include <math.h>

static struct kc_work_entry work_with(uint32_t arguments, double fma)
{
	struct kc_work_entry work = {
	    .kernel = 3, .grid = {64, 1, 1}, .block = {256, 1, 1}, .arguments = arguments, .count = KC_WORK_NUMBERS};
	struct kc_counts counts = {.of = {[KC_COUNT_OF_FMA] = fma}, .threads = 16384, .exact = 1};

	kc_work_numbers(&counts, work.numbers);
	return work;
}

static void put_order(struct kc_store *s, uint64_t *index)
{
	struct kc_event_entry events[] = {{.number = 6, .kind = KC_EVENT_SIZE, .kernel = 3, .time_ns = BASE_NS + 70},
					  {.number = 2, .kind = KC_EVENT_CALIBRATION}};
	struct kc_past_entry began_with = {.source = 9, .checksum = UINT64_MAX - 5, .prior = UINT64_MAX - 6};
	struct kc_work_entry works[] = {work_with(2, 0.1), work_with(0, 3)};

	put_entry(s, index, KC_KIND_PAST, &began_with, sizeof(began_with));
	for (int i = 0; i < 2; i++) {
		put_entry(s, index, KC_KIND_EVENT, &events[i], sizeof(events[i]));
		put_entry(s, index, KC_KIND_WORK, &works[i], sizeof(works[i]));
	}
}

/* The processes that put_order() names as sources. */
static const char sources[] = "INSERT INTO process(id, run, pid, pid_start, boot_id, started_ns, started_unix_ns)"
			      " VALUES(8, 1, 8, 0, '', 0, 0), (9, 1, 9, 0, '', 0, 0)";

/* Process 1: a launch that stands in the order, one that does not, and a copy. changes: SQL, or NULL. */
static void make_database(const char *changes)
{
	struct kc_journal_header header = make_header(1, "a");
	struct kc_slot copy = {.kind = KC_KIND_TRANSFER};
	struct kc_slot launch;
	uint64_t index = 0;
	struct kc_store *s;
	int64_t process;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_kernel(s, &index, 3, "axpy", "libm.so");
	put_order(s, &index);
	launch = make_launch(100, 3, 1000, 100, 100);
	launch.launch.order = (struct kc_order){4, 5, 1};
	assert_int_equal(kc_store_slot(s, &launch), 0);
	launch = make_launch(101, 3, 2000, 100, 100);
	assert_int_equal(kc_store_slot(s, &launch), 0);
	copy.index = 102;
	copy.transfer = (struct kc_transfer){.launched_ns = BASE_NS + 3000,
					     .start_ns = BASE_NS + 3000,
					     .end_ns = BASE_NS + 3001,
					     .measured_start_ns = BASE_NS + 3001,
					     .measured_end_ns = BASE_NS + 3002,
					     .kind = KC_COPY_HTOD,
					     .order = {7, 1, 0}};
	assert_int_equal(kc_store_slot(s, &copy), 0);
	assert_int_equal(kc_store_commit(s), 0);
	do_sql(s, sources);
	if (changes)
		do_sql(s, changes);
	kc_store_close(s);
}

struct loaded {
	struct kc__loader loader;
	struct kc__ops ops;
	struct kc__recorded_events events;
	struct kc_past_entry began_with;
	int had_past;
	struct kc__counted_work work;
};

static void load(struct loaded *l)
{
	struct kc__part whole = {1, 0, KC_SEQUENCE_MASK};

	*l = (struct loaded){0};
	assert_int_equal(kc_store_open(path, KC_STORE_READ, &l->loader.store, NULL, 0), 0);
	assert_int_equal(kc__ops_load(&l->loader, &whole, 1, &l->ops), 0);
	for (int i = 0; i < 2; i++) { /* what was there before is let go */
		assert_int_equal(kc__events_load(&l->loader, 1, &l->events), 0);
		assert_int_equal(kc__began_with_load(&l->loader, 1, &l->began_with, &l->had_past), 0);
		assert_int_equal(kc__counted_work_load(&l->loader, 1, &l->work), 0);
	}
}

static void unload(struct loaded *l)
{
	kc__ops_free(&l->ops);
	kc__events_free(&l->events);
	kc__counted_work_free(&l->work);
	kc__loader_close(&l->loader);
	kc_store_close(l->loader.store);
}

static const struct kc__recorded_op *recorded(const struct loaded *l, size_t place)
{
	return kc__recorded_of(&l->ops, &l->ops.at[place]);
}

static void check_order(const struct kc__recorded_op *op, uint64_t known, uint64_t measured_event,
			uint64_t decided_event)
{
	assert_int_equal(op->known, known);
	assert_int_equal(op->measured_event, measured_event);
	assert_int_equal(op->decided_event, decided_event);
}

static void the_recorded_order_comes_back(void **state)
{
	struct loaded l;

	(void)state;
	make_database(NULL);
	load(&l);
	assert_int_equal(l.ops.count, 3);
	check_order(recorded(&l, 0), 4, 9, 10);
	check_order(recorded(&l, 1), 0, 0, 0);
	check_order(recorded(&l, 2), 7, 8, 0);
	assert_int_equal(l.events.count, 2);
	assert_int_equal(l.events.at[0].number, 2);
	assert_int_equal(l.events.at[0].kind, KC_EVENT_CALIBRATION);
	assert_int_equal(l.events.at[0].kernel, 0);
	assert_int_equal(l.events.at[1].number, 6);
	assert_int_equal(l.events.at[1].kind, KC_EVENT_SIZE);
	assert_int_equal(l.events.at[1].device, 1);
	assert_int_equal(l.events.at[1].kernel, 1);
	assert_int_equal(l.events.at[1].time_ns, 70);
	assert_int_equal(l.had_past, 1);
	assert_int_equal(l.began_with.source, 9);
	assert_true(l.began_with.checksum == UINT64_MAX - 5);
	assert_true(l.began_with.prior == UINT64_MAX - 6);
	unload(&l);
}

/* Its rows may still be there, in part: kerncast prune removes them last. */
static void a_process_that_was_removed_is_no_source(void **state)
{
	struct loaded l;

	(void)state;
	make_database("DELETE FROM process WHERE id = 9");
	load(&l);
	assert_int_equal(l.had_past, 1);
	assert_int_equal(l.began_with.source, 0);
	unload(&l);
}

static void what_was_known_is_read_only_on_request(void **state)
{
	struct kc__part whole = {1, 0, KC_SEQUENCE_MASK};
	struct loaded l;

	(void)state;
	make_database(NULL);
	load(&l);
	assert_int_equal(recorded(&l, 0)->predicted_at_ns, 900);
	assert_int_equal(recorded(&l, 0)->said.span_ns, 100);
	assert_int_equal(kc__ops_load(&l.loader, &whole, 0, &l.ops), 0);
	assert_int_equal(l.ops.count, 3);
	assert_int_equal(l.ops.as_recorded, 0);
	assert_int_equal(l.ops.at[0].issued_ns, 1000);
	assert_int_equal(l.ops.at[0].start_ns, 2200);
	assert_int_equal(l.ops.at[0].end_ns, 2300);
	unload(&l);
}

static void counted_work_is_found_by_shape_and_arguments(void **state)
{
	const struct kc_counts *counts;
	struct loaded l;
	int64_t shape;

	(void)state;
	make_database(NULL);
	load(&l);
	shape = l.ops.at[0].shape;
	counts = kc__counted_work_find(&l.work, shape, 2);
	assert_non_null(counts);
	assert_true(counts->of[KC_COUNT_OF_FMA] == 0.1); /* to the last bit */
	assert_true(counts->threads == 16384);
	assert_int_equal(counts->exact, 1);
	assert_int_equal(counts->assumed, 0);
	counts = kc__counted_work_find(&l.work, shape, 0);
	assert_non_null(counts);
	assert_true(counts->of[KC_COUNT_OF_FMA] == 3);
	assert_null(kc__counted_work_find(&l.work, shape, 1));
	assert_null(kc__counted_work_find(&l.work, shape + 1, 0));
	assert_null(kc__counted_work_find(&(struct kc__counted_work){0}, shape, 0));
	assert_int_equal(l.work.refused, 0);
	unload(&l);
}

/* Event numbers that cannot be: none of them, or none but what was known. */
static void an_impossible_order_is_none(void **state)
{
	static const struct {
		const char *set;
		uint64_t known, measured_event, decided_event;
	} cases[] = {
	    {"known = -1", 0, 0, 0},
	    {"known = 9223372036854775807", 0, 0, 0},
	    {"known = NULL", 0, 0, 0},
	    {"known = 'many'", 0, 5, 6},
	    {"measured_after = 0", 4, 0, 0},
	    {"measured_after = -9", 4, 0, 0},
	    {"measured_after = -9223372036854775808", 4, 0, 0},
	    {"decided_after = -1", 4, 9, 0},
	    {"measured_span = -1", 4, 0, 0}, /* no measurement, no event */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char sql[160];
		struct loaded l;

		snprintf(sql, sizeof(sql), "UPDATE launch_row SET %s WHERE known IS NOT NULL", cases[i].set);
		make_database(sql);
		load(&l);
		check_order(recorded(&l, 0), cases[i].known, cases[i].measured_event, cases[i].decided_event);
		unload(&l);
		tear_down(NULL);
		set_up(NULL);
	}
}

/* 100 ns alone and as long with others, 95 to 107. */
static void an_impossible_prediction_is_none(void **state)
{
	static const struct {
		const char *set;
		int64_t solo_ns;
	} cases[] = {
	    {"solo = solo", 100},
	    {"span = 1 << 50", 100}, /* 107 ns times 2^50 / 100 */
	    {"span = 9223372036854775807, above = 1 << 30", 0},
	    {"span = -9223372036854775808, below = 1 << 30", 0},
	    {"solo = 1, span = 1 << 60, above = 1 << 60", 0},
	    {"solo = 0", 0},
	    {"solo = -100", 0},
	    {"solo = NULL", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char sql[160];
		struct loaded l;

		snprintf(sql, sizeof(sql), "UPDATE launch_row SET %s", cases[i].set);
		make_database(sql);
		load(&l);
		assert_int_equal(recorded(&l, 0)->said.solo_ns, cases[i].solo_ns);
		unload(&l);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void damaged_rows_are_refused(void **state)
{
	static const char changes[] =
	    "UPDATE engine_event SET kind = 'surprise', kernel = 9223372036854775807 WHERE number = 2;"
	    "INSERT INTO engine_event VALUES(1, -5, 'past', 0, 0, 0), (1, 9223372036854775807, 'past', 0, 0, 0);"
	    "UPDATE past SET source = -9223372036854775808;"
	    "UPDATE work SET counts = zeroblob(271) WHERE arguments = 0;"
	    "INSERT INTO work VALUES(1, 900, 0, zeroblob(0)), (1, 901, 0, zeroblob(264)), (1, 902, 0, 'text'),"
	    " (1, 903, 0, zeroblob(1000000)), (1, -9223372036854775808, 0, zeroblob(280))," /* of a later version */
	    " (1, 904, 0, (SELECT x'000000000000F0FF' || substr(counts, 9) FROM work WHERE arguments = 2));";
	struct loaded l;

	(void)state;
	make_database(changes);
	load(&l);
	assert_int_equal(l.events.count, 2);
	assert_int_equal(l.events.at[0].number, 2);
	assert_int_equal(l.events.at[0].kind, KC_EVENT_NONE);
	assert_int_equal(l.began_with.source, 0);
	assert_int_equal(l.work.refused, 6);
	assert_int_equal(l.work.count, 2);
	assert_non_null(kc__counted_work_find(&l.work, INT64_MIN, 0));
	unload(&l);
}

/* Waits (kind 4) and occupations (kind 3) last a month at most: sums of such times do not overflow. */
static void what_no_stream_waits_for_is_cut(void **state)
{
	static const char changes[] =
	    "DELETE FROM stream_call; INSERT INTO stream_call(id, kind, stream, device, time_ns, ns, known_events) "
	    "VALUES(1 << 40 | 900, 4, 1, 1, 1000, 5000, 0),"
	    " (1 << 40 | 901, 4, 1, 1, 1001, 9223372036854775807, 0), (1 << 40 | 902, 3, 1, 1, 1002, 7000, 0),"
	    " (1 << 40 | 903, 3, 1, 1, 1003, 9223372036854775807, 0),"
	    " (1 << 40 | 904, 4, 1, 1, 1004, -9223372036854775808, 0)";
	static const int64_t month_ns = INT64_C(2600000000000000);
	const int64_t expected[] = {6000, 1001 + month_ns, 7000, month_ns, 1004 - month_ns};
	struct loaded l;

	(void)state;
	make_database(changes);
	load(&l);
	l.ops.count = 0;
	assert_int_equal(kc__stream_calls_load(&l.loader, 1, &l.ops), 0);
	assert_int_equal(l.ops.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(l.ops.at[i].ns, expected[i]);
	unload(&l);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_recorded_order_comes_back),
	    TEST(a_process_that_was_removed_is_no_source),
	    TEST(what_was_known_is_read_only_on_request),
	    TEST(counted_work_is_found_by_shape_and_arguments),
	    TEST(an_impossible_order_is_none),
	    TEST(an_impossible_prediction_is_none),
	    TEST(damaged_rows_are_refused),
	    TEST(what_no_stream_waits_for_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
