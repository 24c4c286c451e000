/* A database whose file is moved while it is open, by itself and beside another process that has it open. */
#include "internal.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[64], path[96], moved[96];

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/kc-moved-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/k.db", folder);
	snprintf(moved, sizeof(moved), "%s/moved.db", folder);
	return 0;
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct kc_store *open_store(void)
{
	struct kc_journal_header header = {.pid = 1, .realtime_ns = 1, .monotonic_ns = 1, .run_token = "moved"};
	struct kc_store *store;
	int64_t row;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &store, NULL, 0), 0);
	assert_int_equal(kc_store_process(store, &header, &row), 0);
	return store;
}

/* A message, a kernel, and a launch of it that nobody predicted. */
static void fill(struct kc_store *store)
{
	struct {
		struct kc_kernel_entry entry;
		char names[8];
	} kernel = {{.id = 7, .code_hash = 9}, "k\0m"};
	struct kc_message_entry message = {.time_ns = 1, .severity = 1, .code = KC_MESSAGE_NO_CUPTI, .count = 1};
	struct {
		struct kc_code_place_entry entry;
		char path[16];
	} place = {{.code_hash = 9, .offset = 3, .length = 4, .hash = 5, .piece = 1, .pieces = 2}, "/usr/lib/k.so"};
	struct {
		struct kc_kernel_text_entry entry;
		char packed[4];
	} text = {{.kernel = 7, .architecture = 90, .bytes = 3, .packed_bytes = 4}, "\x30ptx"};
	struct kc_slot launch = {.kind = KC_KIND_LAUNCH, .index = 2};
	uint64_t index = 3;

	launch.launch.unpredictable = KC_NO_DEVICE;
	launch.launch.scope = 5;
	assert_int_equal(kc_store_begin(store), 0);
	put_entry(store, &index, KC_KIND_KERNEL, &kernel, sizeof(kernel));
	put_entry(store, &index, KC_KIND_MESSAGE, &message, sizeof(message));
	put_entry(store, &index, KC_KIND_CODE_PLACE, &place, sizeof(place));
	place.entry.code_hash = 10; /* of another process */
	put_entry(store, &index, KC_KIND_CODE_PLACE, &place, sizeof(place));
	put_entry(store, &index, KC_KIND_KERNEL_TEXT, &text, sizeof(text));
	assert_int_equal(kc_store_slot(store, &launch), 0);
	assert_int_equal(kc_store_commit(store), 0);
}

/* A device, an event of the kernel, a part of the past, and what a launch of the kernel was counted to. */
static void fill_order(struct kc_store *store)
{
	struct kc_event_entry event = {.number = 5, .kind = KC_EVENT_FORMULA, .kernel = 7};
	struct kc_past_entry past = {.source = 40, .checksum = 9, .prior = 8};
	struct kc_work_entry work = {.kernel = 7, .grid = {2, 1, 1}, .block = {32, 1, 1}, .arguments = 3, .count = 1};
	struct {
		struct kc_operator_entry entry;
		char texts[32];
	} mm = {.entry = {.id = 4, .nominal = 1, .flop = 24, .bytes = NAN}, .texts = "aten::mm\0[2, 3]\0float"};
	struct kc_launched_by_entry by = {.launch = 6, .id = 4, .parts = 2};
	struct kc_step_entry step = {.start_ns = 1000, .end_ns = 1500, .number = 9};
	struct {
		struct kc_scope_entry entry;
		char name[8];
	} scope = {.entry = {.id = 5, .parent = 2, .kind = KC_SCOPE_RANGE}, .name = "forward"};
	struct kc_launched_in_entry in = {.launch = 6, .id = 5};
	uint64_t index = 10;

	work.numbers[0] = 1;
	assert_int_equal(kc_store_begin(store), 0);
	put_device_and_streams(store, &index, 0);
	put_entry(store, &index, KC_KIND_EVENT, &event, sizeof(event));
	put_entry(store, &index, KC_KIND_PAST, &past, sizeof(past));
	put_entry(store, &index, KC_KIND_WORK, &work, sizeof(work));
	put_entry(store, &index, KC_KIND_OPERATOR, &mm, sizeof(mm));
	put_entry(store, &index, KC_KIND_LAUNCHED_BY, &by, sizeof(by));
	put_entry(store, &index, KC_KIND_STEP, &step, sizeof(step));
	put_entry(store, &index, KC_KIND_SCOPE, &scope, sizeof(scope));
	put_entry(store, &index, KC_KIND_LAUNCHED_IN, &in, sizeof(in));
	assert_int_equal(kc_store_commit(store), 0);
}

static int64_t number(const char *database, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t value;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(database, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static void what_rows_refer_to_is_carried(void **state)
{
	struct kc_store *store = open_store(), *fresh;

	(void)state;
	fill(store);
	fill_order(store);
	assert_int_equal(kc_store_hold(store), KC_STORE_HELD);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(kc_store_hold(store), KC_STORE_MOVED);
	assert_int_equal(kc_store_settle(store), 0);
	fresh = open_store();
	/* So that rows have other ids there. */
	do_sql(fresh, "INSERT INTO kernel(mangled, name, module, code_hash, registers,"
		      " static_shared_bytes) VALUES('other', 'other', 'm', 0, 0, 0)");
	assert_int_equal(kc_store_carry(store, fresh), 0);
	kc_store_abandon(store);
	assert_int_equal(kc_store_hold(fresh), KC_STORE_HELD);
	kc_store_close(fresh);

	assert_int_equal(number(moved, "SELECT count(*) FROM launch_row"), 1);
	assert_int_equal(number(path, "SELECT count(*) FROM launch_row"), 0);
	assert_int_equal(number(path, "SELECT count FROM ledger WHERE item = 'elsewhere'"), 1);
	assert_int_equal(number(path, "SELECT count FROM ledger WHERE item = 'elsewhere_measured'"), 0);
	assert_int_equal(number(path, "SELECT count(*) FROM message WHERE code = 'NO_CUPTI'"), 1);
	assert_int_equal(number(path, "SELECT p.local FROM process_kernel p JOIN kernel k ON k.id = p.kernel"
				      " WHERE k.mangled = 'k' AND k.module = 'm'"),
			 7);
	assert_int_equal(number(path, "SELECT count(*) FROM engine_event e JOIN kernel k ON k.id = e.kernel"
				      " JOIN process_device d ON d.device = e.device"
				      " WHERE number = 5 AND kind = 'formula' AND k.mangled = 'k' AND d.ordinal = 0"),
			 1);
	assert_int_equal(number(path, "SELECT count(*) FROM code_place"), 1);
	assert_int_equal(number(path, "SELECT count(*) FROM code_place p JOIN kernel k ON k.code_hash = p.code_hash"
				      " WHERE k.mangled = 'k' AND k.code = 'waits' AND p.piece = 1 AND p.pieces = 2 AND"
				      " p.path = '/usr/lib/k.so' AND p.offset = 3 AND p.length = 4 AND p.hash = 5"),
			 1);
	assert_int_equal(number(path, "SELECT count(*) FROM kernel_text t JOIN kernel k ON k.id = t.kernel WHERE"
				      " k.mangled = 'k' AND t.architecture = 90 AND t.bytes = 3"
				      " AND t.text = x'30707478'"),
			 1);
	/* Row 40 of the new database will be another process. */
	assert_int_equal(number(path, "SELECT count(*) FROM past WHERE source IS NULL AND checksum = 9 AND prior = 8"),
			 1);
	assert_int_equal(number(path, "SELECT count(*) FROM work w JOIN shape s ON s.id = w.shape JOIN kernel k"
				      " ON k.id = s.kernel JOIN process_device d ON d.device = s.device"
				      " WHERE k.mangled = 'k' AND s.grid_x = 2 AND s.block_x = 32 AND w.arguments = 3"
				      " AND hex(w.counts) = '000000000000F03F'"), /* 1.0 is 0x3FF0000000000000 */
			 1);
	assert_int_equal(number(path,
				"SELECT count(*) FROM launched_by l JOIN process p ON p.id = l.id >> 40"
				" JOIN operator o ON o.process = p.id AND o.local = l.operator"
				" WHERE l.id & 1048575 = 6 AND l.parts = 2 AND o.name = 'aten::mm'"
				" AND o.inputs = '[2, 3]' AND o.type = 'float' AND o.flop = 24 AND o.bytes IS NULL"
				" AND o.nominal = 1"),
			 1);
	assert_int_equal(
	    number(path, "SELECT count(*) FROM launched_in i JOIN process p ON p.id = i.id >> 40"
			 " JOIN scope s ON s.process = p.id AND s.local = i.scope JOIN step t ON t.process = p.id"
			 " WHERE i.id & 1048575 = 6 AND s.parent = 2 AND s.kind = 'range' AND s.name = 'forward'"
			 " AND t.number = 9 AND t.end_ns - t.start_ns = 500"),
	    1);
	/* What the launch that has its row already was made in stays with it. */
	assert_int_equal(number(path, "SELECT count(*) FROM launched_in"), 1);
	assert_int_equal(number(moved, "SELECT count(*) FROM launched_in i JOIN launch_row r USING (id)"
				       " WHERE id & 1048575 = 2 AND scope = 5"),
			 1);
}

/* Opens the database, says so, and closes it when told. */
static pid_t open_in_another_process(int *tell)
{
	int said[2], told[2];
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe(said) | pipe(told), 0);
	child = fork();
	if (child == 0) {
		struct kc_store *store = open_store();

		close(told[1]);
		_exit(write(said[1], &byte, 1) != 1 || read(told[0], &byte, 1) < 0 || !store);
	}
	close(said[1]);
	close(told[0]);
	assert_int_equal(read(said[0], &byte, 1), 1);
	close(said[0]);
	*tell = told[1];
	return child;
}

static void shared_memory_of_others_is_left_alone(void **state)
{
	char wal[112];
	struct kc_store *store;
	int tell, status;
	pid_t child;

	(void)state;
	child = open_in_another_process(&tell);
	store = open_store();
	fill(store);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_int_equal(rename(path, moved), 0);
	fclose(fopen(path, "w")); /* a database that somebody has made there */
	assert_int_equal(kc_store_hold(store), KC_STORE_MOVED);
	assert_int_equal(kc_store_settle(store), -EBUSY);
	assert_int_equal(access(wal, F_OK), 0);

	close(tell);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(kc_store_settle(store), 0);
	assert_int_equal(access(wal, F_OK), -1);
	kc_store_abandon(store);
	assert_int_equal(number(moved, "SELECT count(*) FROM launch_row"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_rows_refer_to_is_carried, setup, teardown),
	    cmocka_unit_test_setup_teardown(shared_memory_of_others_is_left_alone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
