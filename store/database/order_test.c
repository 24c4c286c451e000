/* What was known when: its columns and tables. */
#include "store/database/upkeep/forget.h"
#include "store/database/testing/database_testing.h"

#include "schema.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>

#define ORDER_OF(table)                                                                                                \
	"SELECT group_concat(coalesce(known_events, '-') || ' ' || coalesce(measured_event, '-') || ' ' ||"            \
	" coalesce(decided_event, '-'), ', ') FROM (SELECT * FROM " table " ORDER BY sequence)"

static const struct {
	struct kc_order order;
	int measured;
} orders[] = {
    {{0, 0, 0}, 1}, /* of an importer: it stands in no order */
    {{0, 1, 0}, 1}, {{5, 3, 2}, 1}, {{5, 3, 2}, 0}, {{7, 0, 4}, 1}, {{UINT64_MAX, 1, 1}, 1}, {{1, UINT32_MAX, 1}, 1},
};
#define ORDERS_SHOWN "- - -, 0 1 -, 5 8 10, 5 - -, 7 - -, - - -, 1 4294967296 4294967297"
enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };

static void a_launch_says_what_was_known(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	for (size_t i = 0; i < ORDERS; i++) {
		struct kc_slot slot = make_launch(index++, 3, 1000, 100, orders[i].measured ? 100 : 0);

		slot.launch.order = orders[i].order;
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	end(s);
	assert_string_equal(answer(ORDER_OF("launch")), ORDERS_SHOWN);
}

static void a_transfer_says_so_too(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	for (size_t i = 0; i < ORDERS; i++) {
		struct kc_slot slot = {.kind = KC_KIND_TRANSFER, .index = index};

		index++;
		slot.transfer.kind = KC_COPY_HTOD;
		slot.transfer.launched_ns = BASE_NS;
		slot.transfer.measured_start_ns = orders[i].measured ? BASE_NS + 1 : 0;
		slot.transfer.measured_end_ns = orders[i].measured ? BASE_NS + 2 : 0;
		slot.transfer.order = orders[i].order;
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	end(s);
	assert_string_equal(answer(ORDER_OF("transfer")), ORDERS_SHOWN);
}

static void events_the_past_and_work_are_kept(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);
	struct kc_slot launch;

	(void)state;
	put_events(s, &index);
	put_events(s, &index); /* again, as after a crash */
	launch = make_launch(index++, 3, 1000, 100, 100);
	launch.launch.blocks_per_sm = 8;
	launch.launch.dynamic_shared_bytes = 48;
	assert_int_equal(kc_store_slot(s, &launch), 0);
	end(s);
	assert_string_equal(answer("SELECT group_concat(number || ' ' || kind || ' ' || coalesce(kernel, '-') || ' ' ||"
				   " coalesce(device, '-') || ' ' || coalesce(time_ns, '-'), ', ') FROM engine_event"
				   " WHERE process = 1"),
			    "1 past - - -, 9 formula 1 1 1000000007");
	assert_string_equal(
	    answer("SELECT group_concat(source || ' ' || checksum || ' ' || prior) FROM past WHERE process = 1"),
	    "4 -1 7"); /* SQLite's integers have a sign */
	assert_string_equal(answer("SELECT count(*) || ' ' || length(counts) || ' ' || arguments FROM work"),
			    "1 440 2");
	/* 1/3 is 0x3FD5555555555555, and IEEE 754 doubles are kept from the low byte up. */
	assert_string_equal(answer("SELECT hex(substr(counts, 1, 8)) FROM work"), "555555555555D53F");
	assert_string_equal(answer("SELECT w.shape = r.shape FROM work w JOIN launch_row r"), "1");
	assert_string_equal(answer("SELECT count(*) FROM message"), "0");
}

static void change_learned(struct kc_store *s, int64_t process)
{
	char sql[120];

	snprintf(sql, sizeof(sql),
		 "INSERT OR REPLACE INTO learned(process, checksum, written_unix_ns, snapshot) VALUES(%lld, 1, 2, "
		 "zeroblob(64))",
		 (long long)process);
	assert_int_equal(sqlite3_exec(kc_store_db(s), sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Rows of every table, and of kernels, devices and shapes. */
static void put_run_while(const char *token, uint32_t pid, int64_t source, void (*meanwhile)(void))
{
	struct kc_journal_header header = make_header(pid, token);
	struct kc_past_entry past = {.source = source, .checksum = 1};
	struct kc_slot copy = {.kind = KC_KIND_TRANSFER}, launch;
	struct kc_lambda_entry lambda = {.state = 1, .level = KC_MODEL_BSP_DEVICE, .count = 1};
	struct kc_call_site_entry site = {.id = 1};
	struct kc_arguments_entry arguments = {.id = 1};
	uint64_t index = 0;
	struct kc_store *s;
	int64_t process;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	if (meanwhile)
		meanwhile();
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_kernel(s, &index, 3, "axpy", "libm.so");
	put_entry(s, &index, KC_KIND_PAST, &past, sizeof(past));
	put_events(s, &index);
	change_learned(s, process);
	put_entry(s, &index, KC_KIND_LAMBDA, &lambda, sizeof(lambda));
	put_entry(s, &index, KC_KIND_CALL_SITE, &site, sizeof(site));
	put_entry(s, &index, KC_KIND_ARGUMENTS, &arguments, sizeof(arguments));
	put_entry(s, &index, KC_KIND_MESSAGE, &(struct kc_message_entry){.code = KC_MESSAGE_NO_CUPTI},
		  sizeof(struct kc_message_entry));
	launch = make_launch(index++, 3, 1000, 100, 100);
	copy.index = index++;
	assert_int_equal(kc_store_slot(s, &launch), 0);
	assert_int_equal(kc_store_slot(s, &copy), 0);
	end(s);
}

static void put_run(const char *token, uint32_t pid, int64_t source)
{
	put_run_while(token, pid, source, NULL);
}

/* Rows that belong to one process alone, in all tables that have such. */
#define ROWS                                                                                                           \
	"SELECT group_concat(n, ' ') FROM (SELECT count(*) n FROM launch_row UNION ALL SELECT count(*) FROM transfer"  \
	" UNION ALL SELECT count(*) FROM lambda_row UNION ALL SELECT count(*) FROM message"                            \
	" UNION ALL SELECT count(*) > 0 FROM ledger UNION ALL SELECT count(*) FROM call_site"                          \
	" UNION ALL SELECT count(*) FROM arguments UNION ALL SELECT count(*) FROM stream"                              \
	" UNION ALL SELECT count(*) FROM process_kernel UNION ALL SELECT count(*) FROM process_device"                 \
	" UNION ALL SELECT count(*) FROM rollup UNION ALL SELECT count(*) FROM engine_event"                           \
	" UNION ALL SELECT count(*) FROM past UNION ALL SELECT count(*) FROM work UNION ALL SELECT count(*) FROM "     \
	"learned"                                                                                                      \
	" UNION ALL SELECT count(*) FROM process UNION ALL SELECT count(*) FROM run)"

static void a_run_is_forgotten_with_all_that_is_its_own(void **state)
{
	struct kc_store *s;
	char one[600];

	(void)state;
	put_run("kept", 1, 7);
	snprintf(one, sizeof(one), "%s", answer(ROWS));
	put_run("gone", 2, 7);
	put_run("gone", 3, 2);
	change("UPDATE past SET source = 2 WHERE process = 1");
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_forget_run(s, 2), 0);
	assert_int_equal(kc_store_forget_run(s, 2), 0);
	kc_store_close(s);
	assert_string_equal(answer(ROWS), one);
	assert_string_equal(answer("SELECT group_concat(pid) FROM process"), "1");
	assert_string_equal(answer("SELECT group_concat(coalesce(source, '-')) FROM past"), "-");
	assert_string_equal(answer("SELECT count(*) FROM kernel"), "1");
	/* All of them are above: launch_row, lambda_row and process have no such column. */
	assert_string_equal(
	    answer("SELECT group_concat(name) FROM (SELECT m.name FROM sqlite_master m,"
		   " pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'process'"
		   " ORDER BY m.name)"),
	    "arguments,call_site,engine_event,learned,ledger,message,operator,past,process_device,process_kernel,"
	    "rollup,scope,step,stream,transfer,work");
}

static void add_columns(void)
{
	static const char *const tables[] = {
	    "run",         "process", "device",       "process_device", "stream",    "kernel",  "process_kernel",
	    "shape",       "ledger",  "launch_row",   "transfer",       "call_site", "rollup",  "lambda_row",
	    "message",     "work",    "engine_event", "past",           "arguments", "learned", "operator",
	    "launched_by", "step",    "scope",        "launched_in",
	};

	change("DELETE FROM process; DELETE FROM run; DELETE FROM device; DELETE FROM kernel; DELETE FROM shape");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char sql[100];

		snprintf(sql, sizeof(sql), "DELETE FROM %s; ALTER TABLE %s ADD COLUMN later INTEGER", tables[i],
			 tables[i]);
		change(sql);
	}
}

/* A later version may add columns while a process of this one records. */
static void columns_of_a_later_version_stop_no_writer(void **state)
{
	char one[600];

	(void)state;
	put_run("before", 1, 7);
	snprintf(one, sizeof(one), "%s", answer(ROWS));
	put_run_while("after", 2, 7, add_columns);
	assert_string_equal(answer(ROWS), one);
}

static void counts_come_back_as_they_were(void **state)
{
	struct kc_counts counts = {.of = {0.1, 3},
				   .least_sectors = 2,
				   .threads = 7,
				   .active_share = 0.5,
				   .sampled = 1,
				   .other_architecture = 1,
				   .longest_warp = 1.25,
				   .distinct_loaded_bytes = 4096,
				   .distinct_stored_bytes = 32,
				   .distinct_atomics = 9,
				   .unsure_share = 0.25,
				   .assumed = KC_ASSUMED_BRANCH | KC_ASSUMED_TRIPS,
				   .chain_cycles = 100,
				   .chain_far = 3,
				   .chain_near = 2,
				   .contended = 1,
				   .wide_conversions = 4,
				   .scattered_local = 6,
				   .lines = 5,
				   .longest_cycles = 200,
				   .longest_far = 5,
				   .longest_near = 4,
				   .block_loaded_bytes = 96,
				   .constant_requests = 7,
				   .chain_common = 8,
				   .longest_common = 9,
				   .accesses_local = 1};
	struct kc_counts back = {0};
	double numbers[KC_WORK_NUMBERS];

	(void)state;
	kc_work_numbers(&counts, numbers);
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS, &back), 0);
	assert_memory_equal(&back, &counts, sizeof(counts));
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS + 1, &back), 0); /* of a version that counts more */
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS_MIN, &back), 0); /* of a version that counts less */
	assert_int_equal(back.other_architecture, 0);
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS_MIN + 1, &back), 0);
	assert_int_equal(back.other_architecture, 1);
	assert_float_equal(back.longest_warp, 0, 0);
	assert_float_equal(back.distinct_loaded_bytes, 0, 0);
	assert_float_equal(back.distinct_atomics, 0, 0);
	assert_float_equal(back.unsure_share, 0, 0);
	assert_float_equal(back.chain_cycles, 0, 0);
	assert_float_equal(back.wide_conversions, 0, 0);
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS_MIN - 1, &back), -EINVAL);
	numbers[KC_COUNTER_COUNT + 7] = 1e300; /* of a version that tells more of what it assumed */
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS, &back), 0);
	assert_int_equal(back.assumed, KC_ASSUMED_UNTOLD);
	numbers[KC_WORK_NUMBERS - 1] = NAN;
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS, &back), -EINVAL);
	numbers[KC_WORK_NUMBERS - 1] = -1;
	assert_int_equal(kc_work_counts(numbers, KC_WORK_NUMBERS, &back), -EINVAL);
}

static void damaged_entries_are_told_and_left_out(void **state)
{
	const struct kc_event_entry events[] = {{.number = 0, .kind = KC_EVENT_PAST},
						{.number = UINT64_MAX, .kind = KC_EVENT_PAST},
						{.number = 1, .kind = 99}};
	const struct kc_past_entry pasts[] = {
	    {.source = 0, .checksum = 1}, {.source = KC_PROCESS_MAX + 1, .checksum = 1}, {.source = -1, .checksum = 1}};
	struct kc_work_entry works[] = {work_of(1), work_of(1), work_of(NAN), work_of(INFINITY)};
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	works[0].count = KC_WORK_NUMBERS + 1; /* more than there are */
	works[1].count = UINT32_MAX;
	for (size_t i = 0; i < 3; i++)
		put_entry(s, &index, KC_KIND_EVENT, &events[i], sizeof(events[i]));
	for (size_t i = 0; i < 3; i++)
		put_entry(s, &index, KC_KIND_PAST, &pasts[i], sizeof(pasts[i]));
	for (size_t i = 0; i < 4; i++)
		put_entry(s, &index, KC_KIND_WORK, &works[i], sizeof(works[i]));
	put_entry(s, &index, KC_KIND_WORK, &works[3], 20);
	end(s);
	assert_string_equal(answer("SELECT (SELECT count(*) FROM engine_event) || ' ' || (SELECT count(*) FROM past)"
				   " || ' ' || (SELECT count(*) FROM work)"),
			    "0 0 0");
	assert_string_equal(answer("SELECT count(*) FROM message WHERE code = 'TORN'"), "11");
}

/* Of a graph that is measured as one; of another one, no time is kept. */
static void a_graph_that_is_measured_as_one_has_its_times(void **state)
{
	uint64_t index = 50;
	struct kc_store *s = begin(&index);
	struct kc_slot slot = {.kind = KC_KIND_GRAPH_LAUNCH};

	(void)state;
	slot.graph_launch = (struct kc_graph_launch){
	    .graph = 40,
	    .known = 6,
	    .predicted_at_ns = 3000,
	    .start_ns = 4000,
	    .end_ns = 9000,
	    .kernels = 2,
	    .number = 7,
	    .measured_start_ns = 5000,
	    .measured_end_ns = 11000,
	    .measured_after = 3,
	};
	slot.index = index++;
	assert_int_equal(kc_store_slot(s, &slot), 0);
	slot.index = index++;
	slot.graph_launch.whole = 1;
	assert_int_equal(kc_store_slot(s, &slot), 0);
	slot.index = index++;
	slot.graph_launch.unordered = 1; /* and of no graph that a replay knows */
	slot.graph_launch.unmeasured = KC_RECORD_DROPPED;
	slot.graph_launch.measured_start_ns = slot.graph_launch.measured_end_ns = 0;
	assert_int_equal(kc_store_slot(s, &slot), 0);
	end(s);
	assert_string_equal(
	    answer(
		"SELECT group_concat(t, '; ') FROM (SELECT coalesce(graph_launch, '-') || ' ' ||"
		" coalesce(end_ns - start_ns, '-') || ' ' || coalesce(measured_end_ns - measured_start_ns, '-') || ' '"
		" || coalesce(measured_start_ns - time_ns, '-') || ' ' || coalesce(measured_event, '-') || ' ' ||"
		" coalesce(unmeasured, '-') AS t FROM stream_call WHERE kind = 9 ORDER BY id)"),
	    "- - - - - -; 7 5000 6000 2000 9 -; 7 5000 - - - record_dropped");
	assert_string_equal(answer("SELECT group_concat(item || ' ' || count, ', ') FROM (SELECT * FROM ledger"
				   " WHERE item LIKE 'graphs_%' AND count > 0 ORDER BY item)"),
			    "graphs_measured 1, graphs_whole 2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_launch_says_what_was_known),
	    TEST(a_transfer_says_so_too),
	    TEST(events_the_past_and_work_are_kept),
	    TEST(a_run_is_forgotten_with_all_that_is_its_own),
	    TEST(columns_of_a_later_version_stop_no_writer),
	    TEST(counts_come_back_as_they_were),
	    TEST(damaged_entries_are_told_and_left_out),
	    TEST(a_graph_that_is_measured_as_one_has_its_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
