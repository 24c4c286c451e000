#include "recovery_testing.h"

#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>

static void launches_get_what_is_known_of_them(void **state)
{
	struct kc_journal *j = dead_journal(1);
	struct kc_launch launch = launch_of(0);
	struct kc_recovered out;

	(void)state;
	add_launch(j, &launch, KC_SLOT_CALLED);
	add_launch(j, &launch, KC_SLOT_RETURNED);
	launch.result = 700;
	add_launch(j, &launch, KC_SLOT_RETURNED);
	launch.result = 0;
	launch.unmeasured = KC_MEASURE_OFF;
	add_launch(j, &launch, KC_SLOT_RETURNED);
	launch.unmeasured = KC_MEASURED;
	launch.measured_start_ns = 3000000;
	launch.measured_end_ns = 3000500;
	add_launch(j, &launch, KC_SLOT_RETURNED);
	add_launch(j, &launch, KC_SLOT_FINAL);
	add_launch(j, &launch, KC_SLOT_STORED);
	finish(j, 0);
	out = recover();
	assert_int_equal(out.processes, 1);
	assert_int_equal(out.launches, 6);
	assert_int_equal(out.transfers, 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(number_of("SELECT count(*) FROM launch"), 6);
	assert_int_equal(number_of("SELECT sum(1 << sequence) FROM launch WHERE result IS NULL"), 1);
	assert_int_equal(number_of("SELECT sum(1 << sequence) FROM launch WHERE unmeasured = 'process_killed'"), 3);
	assert_int_equal(number_of("SELECT sum(1 << sequence) FROM launch WHERE unmeasured = 'call_failed'"), 4);
	assert_int_equal(number_of("SELECT sum(1 << sequence) FROM launch WHERE unmeasured = 'measure_off'"), 8);
	assert_int_equal(number_of("SELECT sum(1 << sequence) FROM launch WHERE measured_end_ns = 3000500"), 16 + 32);
	assert_int_equal(number_of("SELECT count(*) FROM process WHERE ended = 'killed'"), 1);
}

/* Writes some slots as the process itself does. */
static void store_slots(struct kc_journal *j, uint64_t first, uint64_t count)
{
	struct kc_store *store;
	int64_t row;

	assert_int_equal(kc_store_open(database, KC_STORE_WRITE, &store, NULL, 0), 0);
	assert_int_equal(kc_store_process(store, kc_journal_header(j), &row), 0);
	assert_int_equal(kc_store_begin(store), 0);
	for (uint64_t i = first; i < first + count; i++)
		assert_int_equal(kc_store_slot(store, kc_journal_at(j, i)), 0);
	assert_int_equal(kc_store_commit(store), 0);
	kc_store_close(store);
}

/* Of three segments of launches and one of transfers, the file has room for the first, and the process has stored 100
 * of the second and ten transfers. CUPTI's records of 150 launches had come. */
static void what_was_in_memory_alone_is_dropped(void **state)
{
	struct rlimit limit = {MIB, RLIM_INFINITY}, old;
	struct kc_journal *j;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	limit.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	j = dead_journal(1);
	add_launches(j, 3 * KC_SEGMENT_SLOTS, KC_SLOT_RETURNED);
	for (uint32_t i = 0; i < KC_SEGMENT_SLOTS; i++) {
		struct kc_slot *slot = kc_journal_claim(j, KC_KIND_TRANSFER);

		slot->transfer = (struct kc_transfer){.launched_ns = 2000100 + i, .bytes = 1, .kind = KC_COPY_HTOD};
		kc_journal_commit(slot, KC_SLOT_RETURNED);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	for (uint64_t i = 0; i < 100; i++) {
		kc_journal_at(j, KC_SEGMENT_SLOTS + i)->launch.measured_start_ns = 3000000;
		kc_journal_at(j, KC_SEGMENT_SLOTS + i)->launch.measured_end_ns = 3000500;
	}
	atomic_store(&kc_journal_header(j)->counters[KC_COUNT_CUPTI_MATCHED], 150);
	store_slots(j, KC_SEGMENT_SLOTS, 100);
	store_slots(j, 3 * KC_SEGMENT_SLOTS, 10);
	finish(j, 0);
	recover();
	assert_int_equal(number_of("SELECT count(*) FROM launch"), KC_SEGMENT_SLOTS + 100);
	assert_int_equal(number_of("SELECT count FROM ledger WHERE item = 'dropped'"), 2 * KC_SEGMENT_SLOTS - 100);
	assert_int_equal(number_of("SELECT count FROM ledger WHERE item = 'transfers_dropped'"), KC_SEGMENT_SLOTS - 10);
	assert_int_equal(number_of("SELECT count FROM ledger WHERE item = 'cupti_lost'"), 150 - 100);
}

static void transfers_do_so_too(void **state)
{
	struct kc_journal *j = dead_journal(1);

	(void)state;
	for (uint32_t i = KC_SLOT_CALLED; i <= KC_SLOT_RETURNED; i++) {
		struct kc_slot *slot = kc_journal_claim(j, KC_KIND_TRANSFER);

		slot->transfer = (struct kc_transfer){.launched_ns = 5, .bytes = 4096, .kind = KC_COPY_HTOD};
		kc_journal_commit(slot, i);
	}
	finish(j, 0);
	assert_int_equal(recover().transfers, 2);
	assert_int_equal(number_of("SELECT count(*) FROM transfer WHERE unmeasured = 'process_killed'"), 2);
	assert_int_equal(number_of("SELECT sum(1 << sequence) FROM transfer WHERE result IS NULL"), 1);
}

static void one_that_said_goodbye_ended_by_itself(void **state)
{
	struct kc_journal *j = dead_journal(1);

	(void)state;
	add_launches(j, 1, KC_SLOT_RETURNED);
	atomic_store(&kc_journal_header(j)->ended, 1);
	finish(j, 0);
	assert_int_equal(recover().processes, 1);
	assert_int_equal(number_of("SELECT count(*) FROM process WHERE ended = 'exit'"), 1);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE unmeasured = 'not_delivered'"), 1);
}

static void entries_come_before_what_refers_to_them(void **state)
{
	struct kc_stream_entry stream = {.id = 3, .handle = 0x1234};
	struct kc_launch launch = launch_of(0);
	struct kc_journal *j = dead_journal(1);

	(void)state;
	launch.stream = 3;
	add_launch(j, &launch, KC_SLOT_RETURNED);
	assert_int_equal(kc_journal_put(j, KC_KIND_STREAM, &stream, sizeof(stream)), 0);
	finish(j, 0);
	assert_int_equal(recover().launches, 1);
	assert_int_equal(number_of("SELECT s.handle FROM launch l JOIN stream s ON s.id = l.stream"), 0x1234);
}

static void an_entry_marked_in_part_is_not_torn(void **state)
{
	struct {
		struct kc_message_entry entry;
		char text[500];
	} message = {.entry = {.time_ns = 1, .severity = 1, .code = 1, .count = 1}, .text = "a text"};
	struct kc_journal *j = dead_journal(1);

	(void)state;
	assert_int_equal(kc_journal_put(j, KC_KIND_MESSAGE, &message, sizeof(message)), 0);
	kc_journal_commit(kc_journal_at(j, 0), KC_SLOT_STORED);
	assert_int_equal(kc_journal_put(j, KC_KIND_MESSAGE, &message, sizeof(message)), 0);
	for (uint32_t kind = KC_KIND_CALL_SITE; kind < KC_KIND_COUNT; kind++) {
		uint64_t first = kc_journal_claimed(j);

		assert_int_equal(kc_journal_put(j, kind, &message, sizeof(message)), 0);
		kc_journal_commit(kc_journal_at(j, first), KC_SLOT_STORED);
	}
	finish(j, 0);
	recover();
	assert_int_equal(number_of("SELECT count(*) FROM message WHERE code = 'TORN'"), 0);
	assert_int_equal(number_of("SELECT count(*) FROM message WHERE code = 'NO_CUPTI'"), 1);
}

static void the_living_and_the_locked_are_left_alone(void **state)
{
	struct kc_journal *alive, *j;
	struct kc_journal_file *file;
	struct kc_recovered out;
	char living[96];

	(void)state;
	kc_journal_path(database, (uint32_t)getpid(), kc_process_start((uint32_t)getpid()), path, sizeof(path));
	memcpy(living, path, sizeof(living));
	alive = create(10 * MIB);
	add_launches(alive, 10, KC_SLOT_RETURNED);
	j = dead_journal(5);
	add_launches(j, 10, KC_SLOT_RETURNED);
	finish(j, 0);
	assert_int_equal(kc_journal_open(path, &file), 0);
	assert_int_equal(kc_journal_file_lock(file), 0);
	out = recover();
	assert_int_equal(out.alive, 1);
	assert_int_equal(out.busy, 1);
	assert_int_equal(out.processes, 0);
	/* Nothing to import, so no database is made. */
	assert_int_equal(access(database, F_OK), -1);
	kc_journal_file_close(file);
	out = recover();
	assert_int_equal(out.processes, 1);
	assert_int_equal(out.launches, 10);
	assert_int_equal(access(living, F_OK), 0);
	finish(alive, 0);
}

static void what_an_exec_moved_aside_is_found(void **state)
{
	struct kc_journal *j = dead_journal(1);
	char aside[128];

	(void)state;
	add_launches(j, 2, KC_SLOT_CALLED);
	finish(j, 0);
	snprintf(aside, sizeof(aside), "%s.%u-1.123456789.kcj", database, dead_pid);
	assert_int_equal(rename(path, aside), 0);
	j = dead_journal(1);
	add_launches(j, 3, KC_SLOT_CALLED);
	kc_journal_header(j)->monotonic_ns++;
	finish(j, 0);
	assert_int_equal(recover().launches, 5);
	assert_int_equal(number_of("SELECT count(*) FROM launch"), 5);
	assert_int_equal(number_of("SELECT count(*) FROM process"), 2);
}

static void put_text(const char *name, const char *text)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void what_cannot_be_read_is_named_and_kept(void **state)
{
	struct timespec old[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
	struct kc_recovered out;
	struct kc_journal *j;
	char why[512];

	(void)state;
	put_text("k.db.1999999999-5.kcj", "no journal");
	put_text("k.db.notes.kcj", "not of this kind");
	put_text("other.db.1999999999-5.kcj", "of another database");
	/* Left by a process that was killed before its first launch. */
	put_text("k.db.1999999999-6.kcj", "");
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	j = dead_journal(7);
	add_launches(j, 3, KC_SLOT_RETURNED);
	finish(j, 0);
	assert_int_equal(kc_recover(database, false, &out, why, sizeof(why)), 0);
	assert_int_equal(out.unreadable, 1);
	assert_int_equal(out.processes, 1);
	assert_non_null(strstr(why, "k.db.1999999999-5.kcj: not a journal"));
	assert_null(strstr(why, "notes"));
	assert_null(strstr(why, "other.db"));
	assert_null(strstr(why, "-6.kcj"));
	snprintf(path, sizeof(path), "%s/k.db.1999999999-5.kcj", directory);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/k.db.1999999999-6.kcj", directory);
	assert_int_equal(access(path, F_OK), -1);
}

/* In a folder that others may write to, anybody can put a journal beside the database. */
static void what_is_not_known_is_imported_by_force_alone(void **state)
{
	struct kc_journal *j = dead_journal(3), *living;
	struct kc_recovered out;
	char why[512], unknown[96];

	(void)state;
	kc_journal_header(j)->pid_namespace = kc_journal_header(j)->pid_start = 0;
	add_launches(j, 10, KC_SLOT_RETURNED);
	finish(j, 0);
	memcpy(unknown, path, sizeof(unknown));
	kc_journal_path(database, (uint32_t)getpid(), kc_process_own_start(), path, sizeof(path));
	living = create(10 * MIB);
	add_launches(living, 10, KC_SLOT_RETURNED);
	out = recover();
	assert_int_equal(out.not_known, 1);
	assert_int_equal(out.alive, 1);
	assert_int_equal(out.processes, 0);
	assert_int_equal(access(unknown, F_OK), 0);
	assert_int_equal(kc_recover(database, true, &out, why, sizeof(why)), 0);
	assert_int_equal(out.not_known, 0);
	assert_int_equal(out.alive, 1);
	assert_int_equal(out.processes, 1);
	assert_int_equal(out.launches, 10);
	assert_int_equal(access(unknown, F_OK), -1);
	assert_int_equal(access(path, F_OK), 0);
	finish(living, 0);
}

static void one_whose_holder_has_ended_is_imported(void **state)
{
	struct kc_journal *j = dead_journal(3);
	struct kc_recovered out;

	(void)state;
	kc_journal_header(j)->pid_namespace = kc_journal_header(j)->pid_start = 0;
	atomic_store(&kc_journal_header(j)->holder, KC_HOLDER_ENDED);
	add_launches(j, 10, KC_SLOT_RETURNED);
	finish(j, 0);
	out = recover();
	assert_int_equal(out.processes, 1);
	assert_int_equal(out.killed, 1);
	assert_int_equal(out.launches, 10);
}

static void a_journal_of_another_user_is_named_and_left_alone(void **state)
{
	struct timespec old[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
	const uid_t somebody = geteuid() + 1;
	char unborn[128], why[512];
	struct kc_recovered out;
	struct kc_journal *j;

	(void)state;
	if (geteuid() != 0)
		skip();
	put_text("k.db.1999999999-6.kcj", "");
	strcpy(unborn, path);
	assert_int_equal(utimensat(AT_FDCWD, unborn, old, 0), 0);
	assert_int_equal(chown(unborn, somebody, (gid_t)-1), 0);
	j = dead_journal(7);
	add_launches(j, 3, KC_SLOT_RETURNED);
	finish(j, 0);
	assert_int_equal(chown(path, somebody, (gid_t)-1), 0);
	assert_int_equal(kc_recover(database, false, &out, why, sizeof(why)), 0);
	assert_int_equal(out.processes, 0);
	assert_int_equal(out.unreadable, 2);
	assert_non_null(strstr(why, path));
	assert_non_null(strstr(why, "another user"));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(unborn, F_OK), 0);
	assert_int_equal(access(database, F_OK), -1);
	assert_int_equal(chown(path, geteuid(), (gid_t)-1), 0);
	assert_int_equal(unlink(unborn), 0);
	assert_int_equal(recover().launches, 3);
}

static void journals_stay_when_the_database_cannot_be_written(void **state)
{
	struct kc_journal *j = dead_journal(1);
	struct kc_recovered out;
	char why[512];

	(void)state;
	add_launches(j, 3, KC_SLOT_RETURNED);
	finish(j, 0);
	assert_int_equal(mkdir(database, 0700), 0);
	assert_true(kc_recover(database, false, &out, why, sizeof(why)) < 0);
	assert_true(why[0] != 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(rmdir(database), 0);
	assert_int_equal(recover().launches, 3);
	assert_int_equal(kc_recover("/nonexistent/k.db", false, &out, why, sizeof(why)), -ENOENT);
}

static void a_recoverer_killed_at_any_moment_does_no_harm(void **state)
{
	enum { COUNT = 120000, JOURNALS = 2 };

	(void)state;
	srandom(4);
	for (uint64_t i = 1; i <= JOURNALS; i++) {
		struct kc_journal *j = dead_journal(i);

		add_launches(j, COUNT, KC_SLOT_RETURNED);
		atomic_store(&kc_journal_header(j)->counters[KC_COUNT_CALLS], COUNT);
		finish(j, 0);
	}
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			recover();
			_exit(0);
		}
		usleep((useconds_t)(random() % 120000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	recover();
	assert_int_equal(number_of("SELECT count(*) FROM launch"), JOURNALS * COUNT);
	assert_int_equal(number_of("SELECT count(DISTINCT process) FROM launch"), JOURNALS);
	assert_int_equal(number_of("SELECT max(sequence) FROM launch"), COUNT - 1);
	assert_int_equal(number_of("SELECT sum(count) FROM ledger WHERE item = 'launches'"), JOURNALS * COUNT);
	assert_int_equal(number_of("SELECT count(*) FROM process"), JOURNALS);
	assert_int_equal(recover().processes, 0);
}

/* What a killed process knew, and when: as its worker would have written it. */
static void what_was_known_is_recovered(void **state)
{
	struct kc_journal *j = dead_journal(1);
	struct kc_event_entry event = {.number = 2, .kind = KC_EVENT_CALIBRATION, .time_ns = 1000005};
	struct kc_past_entry past = {.source = 1, .checksum = 3};
	struct kc_work_entry work = {.kernel = 1, .grid = {1, 1, 1}, .block = {32, 1, 1}, .count = KC_WORK_NUMBERS};
	struct kc_launch launch = launch_of(0);

	(void)state;
	launch.order = (struct kc_order){.known = 3, .measured_after = 4, .decided_after = 5};
	add_launch(j, &launch, KC_SLOT_RETURNED); /* its measurement had not come */
	launch.measured_start_ns = 3000000;
	launch.measured_end_ns = 3000500;
	add_launch(j, &launch, KC_SLOT_RETURNED);
	assert_int_equal(kc_journal_put(j, KC_KIND_EVENT, &event, sizeof(event)), 0);
	assert_int_equal(kc_journal_put(j, KC_KIND_PAST, &past, sizeof(past)), 0);
	assert_int_equal(kc_journal_put(j, KC_KIND_WORK, &work, sizeof(work)), 0);
	finish(j, 0);
	assert_int_equal(recover().launches, 2);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE sequence = 0 AND known_events = 3"
				   " AND measured_event IS NULL AND decided_event IS NULL"),
			 1);
	assert_int_equal(number_of("SELECT count(*) FROM launch WHERE sequence = 1 AND known_events = 3"
				   " AND measured_event = 7 AND decided_event = 12"),
			 1);
	assert_int_equal(number_of("SELECT count(*) FROM engine_event WHERE number = 2 AND kind = 'calibration'"), 1);
	assert_int_equal(number_of("SELECT count(*) FROM past WHERE source = 1 AND checksum = 3"), 1);
	assert_int_equal(number_of("SELECT count(*) FROM work WHERE length(counts) = 440"), 1);
	assert_int_equal(number_of("SELECT count(*) FROM message"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(launches_get_what_is_known_of_them, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(what_was_in_memory_alone_is_dropped, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(transfers_do_so_too, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(one_that_said_goodbye_ended_by_itself, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(entries_come_before_what_refers_to_them, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(an_entry_marked_in_part_is_not_torn, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(the_living_and_the_locked_are_left_alone, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(what_an_exec_moved_aside_is_found, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(what_cannot_be_read_is_named_and_kept, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(what_is_not_known_is_imported_by_force_alone, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(one_whose_holder_has_ended_is_imported, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(a_journal_of_another_user_is_named_and_left_alone, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(journals_stay_when_the_database_cannot_be_written, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(what_was_known_is_recovered, begin_test, end_test),
	    cmocka_unit_test_setup_teardown(a_recoverer_killed_at_any_moment_does_no_harm, begin_test, end_test),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
