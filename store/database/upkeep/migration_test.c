/* Databases of older versions, which the first process of this version that records brings up to date. */
#include "store/database/testing/database_testing.h"

#include <signal.h>
#include <sys/wait.h>

#define LAUNCHES 200
#define TO_VERSION_20 "DROP TABLE step; DROP TABLE scope; DROP TABLE launched_in;"
#define TO_VERSION_17                                                                                                  \
	TO_VERSION_20                                                                                                  \
	"DROP TABLE operator; DROP TABLE launched_by; DROP TABLE gpu_state; ALTER TABLE past DROP COLUMN prior;"
#define TO_VERSION_16                                                                                                  \
	TO_VERSION_17                                                                                                  \
	"ALTER TABLE process DROP COLUMN host; ALTER TABLE process DROP COLUMN container;"                             \
	"ALTER TABLE process DROP COLUMN visible_devices; ALTER TABLE process DROP COLUMN job;"                        \
	"ALTER TABLE process DROP COLUMN rank; ALTER TABLE process DROP COLUMN local_rank;"                            \
	"ALTER TABLE process DROP COLUMN world_size;"
#define TO_VERSION_15                                                                                                  \
	TO_VERSION_16                                                                                                  \
	"DROP TABLE learned; DROP TABLE past; CREATE TABLE past_part(process INTEGER NOT NULL, place INTEGER NOT "     \
	"NULL, source INTEGER,"                                                                                        \
	" first_sequence INTEGER NOT NULL, last_sequence INTEGER NOT NULL, PRIMARY KEY(process, place)) WITHOUT "      \
	"ROWID;"
#define TO_VERSION_14                                                                                                  \
	TO_VERSION_15                                                                                                  \
	"ALTER TABLE stream_call DROP COLUMN graph_launch; ALTER TABLE stream_call DROP COLUMN start_ns;"              \
	"ALTER TABLE stream_call DROP COLUMN end_ns; ALTER TABLE stream_call DROP COLUMN measured_start_ns;"           \
	"ALTER TABLE stream_call DROP COLUMN measured_end_ns; ALTER TABLE stream_call DROP COLUMN unmeasured;"         \
	"ALTER TABLE stream_call DROP COLUMN measured_event;"
#define TO_VERSION_12                                                                                                  \
	TO_VERSION_14                                                                                                  \
	"ALTER TABLE device DROP COLUMN ordinal; ALTER TABLE device DROP COLUMN place;"                                \
	"ALTER TABLE device DROP COLUMN bus;"
#define TO_VERSION_8                                                                                                   \
	"DROP VIEW launch; " TO_VERSION_12                                                                             \
	"ALTER TABLE launch_row DROP COLUMN known; ALTER TABLE launch_row DROP COLUMN "                                \
	"measured_after;"                                                                                              \
	"ALTER TABLE launch_row DROP COLUMN decided_after; ALTER TABLE transfer DROP COLUMN known_events;"             \
	"ALTER TABLE transfer DROP COLUMN measured_event; ALTER TABLE transfer DROP COLUMN decided_event;"             \
	"DROP TABLE engine_event; DROP TABLE past_part; DROP TABLE work; DROP TABLE stream_call;"                      \
	"DROP TABLE code_place; DROP TABLE kernel_text; DROP INDEX kernel_code_waits;"                                 \
	"ALTER TABLE stream DROP COLUMN lane; DROP INDEX kernel_name_pending;"                                         \
	"ALTER TABLE kernel DROP COLUMN name_pending;"                                                                 \
	"DELETE FROM schema WHERE version > 8; PRAGMA user_version = 8; PRAGMA journal_mode = DELETE"

static void make_version_8(void)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	for (int i = 0; i < LAUNCHES; i++) {
		struct kc_slot slot = make_launch(index++, 3, 1000 + i, 100, 100);

		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	end(s);
	change(TO_VERSION_8);
}

static void check_current_version(void)
{
	struct kc_store *s;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	assert_string_equal(answer("PRAGMA user_version"), "21");
	assert_string_equal(answer("SELECT group_concat(version) FROM (SELECT version FROM schema ORDER BY version)"),
			    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21");
	assert_string_equal(answer("SELECT count(*) || ' ' || sum(measured_end_ns - measured_start_ns) FROM launch"
				   " WHERE known_events IS NULL AND measured_event IS NULL AND decided_event IS NULL"),
			    "200 20000");
	assert_string_equal(answer("SELECT count(*) FROM engine_event"), "0");
	assert_string_equal(answer("PRAGMA integrity_check"), "ok");
}

static void an_older_database_is_brought_up_to_date(void **state)
{
	uint64_t index = 1000;
	struct kc_slot slot;
	struct kc_store *s;

	(void)state;
	make_version_8();
	check_current_version();
	check_current_version();
	s = begin(&index);
	slot = make_launch(index++, 3, 1000, 100, 100);
	slot.launch.order = (struct kc_order){4, 1, 1};
	assert_int_equal(kc_store_slot(s, &slot), 0);
	end(s);
	assert_string_equal(answer("SELECT count(*) FROM launch WHERE known_events = 4 AND decided_event = 6"), "1");
}

/* Where a kernel's formula was ready is not known of events that were recorded before. */
static void a_database_of_version_9_keeps_its_events(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	put_events(s, &index);
	end(s);
	change(TO_VERSION_12
	       "ALTER TABLE engine_event DROP COLUMN device; DROP TABLE code_place; DROP TABLE kernel_text; DROP INDEX "
	       "kernel_code_waits;"
	       "DELETE FROM schema WHERE version > 9;"
	       "PRAGMA user_version = 9; PRAGMA journal_mode = DELETE");
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	assert_string_equal(answer("PRAGMA user_version"), "21");
	assert_string_equal(answer("SELECT group_concat(number || ' ' || kind || ' ' || coalesce(kernel, '-') || ' ' ||"
				   " coalesce(device, '-'), ', ') FROM engine_event WHERE process = 1"),
			    "1 past - -, 9 formula 1 -");
	s = begin(&index);
	put_events(s, &index);
	end(s);
	assert_string_equal(answer("SELECT count(*) FROM engine_event"), "2");
}

/* What a process of version 15 began with was launches, any number of parts of them. */
static void a_past_of_version_15_is_gone(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	put_events(s, &index);
	end(s);
	change(TO_VERSION_15 "INSERT INTO past_part VALUES(1, 0, 1, 0, 9), (1, 1, NULL, 0, 9), (7, 0, 1, 3, 4);"
			     "DELETE FROM schema WHERE version > 15; PRAGMA user_version = 15");
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	assert_string_equal(answer("PRAGMA user_version"), "21");
	assert_string_equal(
	    answer("SELECT group_concat(process || ' ' || coalesce(source, '-') || ' ' || checksum, ', ')"
		   " FROM past"),
	    "1 - 0, 7 - 0");
	assert_string_equal(answer("SELECT count(*) FROM learned"), "0");
}

/* The rank of an imported process was its name alone. */
static void ranks_of_version_16_are_known_by_their_names(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	put_events(s, &index);
	end(s);
	change(TO_VERSION_16
	       "INSERT INTO process(run, pid, pid_start, boot_id, command_line, started_ns, started_unix_ns, source)"
	       " VALUES(1, 1, 1, 'a', 'rank 3', 1, 1, 't'), (1, 2, 1, 'a', 'rank 12x', 1, 1, 't'),"
	       " (1, 3, 1, 'a', 'rank ', 1, 1, 't'), (1, 4, 1, 'a', 'rank 99999999999', 1, 1, 't'),"
	       " (1, 5, 1, 'a', 'rank 7', 1, 1, NULL);"
	       "DELETE FROM schema WHERE version > 16; PRAGMA user_version = 16");
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	assert_string_equal(answer("SELECT group_concat(pid || ' ' || rank, ', ') FROM process WHERE rank NOT NULL"),
			    "1 3");
}

/* The checksum of a file of knowledge was in a message, 16 digits behind a colon. */
static void a_prior_of_version_17_is_told_by_its_message(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	put_events(s, &index);
	end(s);
	change(TO_VERSION_17 "INSERT INTO message(id, process, severity, count, code, text) VALUES"
			     " ((1 << 40) + 70, 1, 0, 1, 'PRIOR', 'began with a file: 00000000000000ff, /tmp/a: b'),"
			     " ((2 << 40) + 1, 2, 0, 1, 'PRIOR', 'began with a file: f123456789abcdef, x'),"
			     " ((3 << 40) + 1, 3, 0, 1, 'PRIOR_REFUSED', 'not used: 0000000000000001, x');"
			     "DELETE FROM schema WHERE version > 17; PRAGMA user_version = 17");
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	assert_string_equal(
	    answer("SELECT group_concat(process || ' ' || coalesce(source, '-') || ' ' || format('%llx', prior), ', ')"
		   " FROM past"),
	    "1 4 ff, 2 - f123456789abcdef");
}

/* What earlier versions imported has no steps and scopes, and what is imported from then on has. */
static void a_database_of_version_20_takes_steps_and_scopes(void **state)
{
	struct kc_step_entry step = {.start_ns = 1000, .end_ns = 3000, .number = 7};
	struct {
		struct kc_scope_entry entry;
		char name[8];
	} scope = {.entry = {.id = 3, .parent = 2, .kind = KC_SCOPE_OPERATOR}, .name = "aten::a"};
	struct kc_launched_in_entry in = {.launch = 70, .id = 3};
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	end(s);
	change(TO_VERSION_20
	       "DELETE FROM schema WHERE version > 20; PRAGMA user_version = 20; PRAGMA journal_mode = DELETE");
	index = 0;
	s = begin(&index);
	put_entry(s, &index, KC_KIND_STEP, &step, sizeof(step));
	put_entry(s, &index, KC_KIND_SCOPE, &scope, sizeof(scope));
	put_entry(s, &index, KC_KIND_LAUNCHED_IN, &in, sizeof(in));
	end(s);
	assert_string_equal(
	    answer("SELECT t.number || ' ' || (t.end_ns - t.start_ns) || ' ' || s.kind || ' ' || s.parent ||"
		   " ' ' || s.name || ' ' || (i.id & 1099511627775) FROM step t JOIN scope s JOIN launched_in i"
		   " ON i.scope = s.local AND i.id >> 40 = s.process AND s.process = t.process"),
	    "7 2000 operator 2 aten::a 70");
}

/* 'not seen' was said of kernels whose code was seen and had not been read; without a hash it was not seen indeed. */
static void code_of_version_10_that_was_not_read_waits(void **state)
{
	uint64_t index = 0;
	struct kc_store *s = begin(&index);

	(void)state;
	put_kernel(s, &index, 20, "unread", "/app");
	end(s);
	change("INSERT INTO kernel(mangled, name, module, code_hash, registers, static_shared_bytes, code) VALUES"
	       "('unseen', 'unseen', 'app', 0, 2, 3, 'not seen'), ('none', 'none', 'app', 5, 2, 3, 'no PTX');"
	       "UPDATE kernel SET code = 'not seen' WHERE mangled = 'unread';" TO_VERSION_12
	       "DROP TABLE code_place; DROP TABLE kernel_text; DROP INDEX kernel_code_waits; DELETE FROM schema WHERE "
	       "version > 10;"
	       "PRAGMA user_version = 10; PRAGMA journal_mode = DELETE");
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	kc_store_close(s);
	assert_string_equal(answer("SELECT group_concat(mangled || ' ' || code, ', ') FROM (SELECT * FROM kernel"
				   " WHERE mangled IN ('unread', 'unseen', 'none') ORDER BY mangled)"),
			    "none no PTX, unread waits, unseen not seen");
}

static void copy_file(const char *from, const char *to)
{
	char command[2048];

	snprintf(command, sizeof(command), "rm -f '%s' '%s-wal' '%s-shm'; cp '%s' '%s'", to, to, to, from, to);
	assert_int_equal(system(command), 0);
}

/* Kills a process that opens the database a while after it has begun; a delay of 0 lets it come to its end. */
static void open_and_be_killed(useconds_t delay_us)
{
	pid_t child = fork();

	if (child == 0) {
		struct kc_store *s;

		kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0);
		_exit(0);
	}
	if (delay_us > 0) {
		usleep(delay_us);
		kill(child, SIGKILL);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Its version, and whether it has a table and a column that came after version 8. */
static const char *version_and_shape(void)
{
	return answer("SELECT (SELECT user_version FROM pragma_user_version) || ' ' ||"
		      " (SELECT count(*) FROM sqlite_master WHERE name = 'work') || ' ' ||"
		      " (SELECT count(*) FROM pragma_table_info('launch_row') WHERE name = 'known')");
}

static void killed_at_any_moment_it_is_of_one_version(void **state)
{
	enum { KILLS = 40, LATEST_US = 12000 };
	char kept[320];

	(void)state;
	make_version_8();
	assert_string_equal(version_and_shape(), "8 0 0");
	snprintf(kept, sizeof(kept), "%s.kept", path);
	copy_file(path, kept);
	for (int i = KILLS - 1; i >= 0; i--) {
		copy_file(kept, path);
		open_and_be_killed((useconds_t)(i * LATEST_US / KILLS));
		change("BEGIN IMMEDIATE; COMMIT"); /* what was left half done is undone */
		if (i == 0 || strcmp(version_and_shape(), "8 0 0") != 0)
			assert_string_equal(version_and_shape(), "21 1 1");
		check_current_version();
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(an_older_database_is_brought_up_to_date),
	    TEST(a_database_of_version_9_keeps_its_events),
	    TEST(a_past_of_version_15_is_gone),
	    TEST(ranks_of_version_16_are_known_by_their_names),
	    TEST(a_prior_of_version_17_is_told_by_its_message),
	    TEST(a_database_of_version_20_takes_steps_and_scopes),
	    TEST(code_of_version_10_that_was_not_read_waits),
	    TEST(killed_at_any_moment_it_is_of_one_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
