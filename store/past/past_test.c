/* What a program begins with, out of a database. */
#include "past_kept_testing.h"
#include "store/common/process.h"

#include <errno.h>
#include <time.h>

static void the_same_launches_are_known(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL), *again;
	struct kc_beginning from = {NULL, NULL};
	struct kc_past_entry began_with;
	const struct fixture *f = *state;
	struct kc_past *past;
	struct kc_store *s;
	int64_t process;

	program_run(p, 60);
	process = keep(*state, p, 1);
	past = load(*state);
	from.past = past;
	again = program_new(&from, OWN, 0xABC, NULL);
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++) {
		enum kc_novelty novelty;

		assert_int_equal(solo_of(p, i, &novelty).ns, solo_of(again, i, &novelty).ns);
		assert_int_equal(novelty, KC_REPEATED);
		assert_int_equal(again->variants[i].learned.measured, 20);
		assert_int_equal(again->variants[i].learned.solos, p->variants[i].learned.solos);
	}
	assert_int_equal(again->kernel.learned.measured, 60);
	assert_int_equal(again->shapes[0], 40);
	assert_int_equal(again->shapes[1], 20);
	assert_memory_equal(&again->fit, &p->fit, sizeof(p->fit));
	kc_cells_take_over(again->engine.cells);
	assert_memory_equal(again->engine.cells, p->engine.cells, kc_cells_bytes());
	assert_true(kc_past_began_with(past, &began_with));
	assert_int_equal(began_with.source, process);
	assert_int_equal(began_with.checksum, kc_past_snapshot(past)->head->checksum);
	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0), 0);
	assert_in_range(number_of(s, "SELECT written_unix_ns / 1000000000 FROM learned"), time(NULL) - 600,
			time(NULL) + 1);
	kc_store_close(s);
	program_free(p);
	program_free(again);
	kc_past_free(past);
}

static void no_past_is_no_error_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct kc_past *past;
	char why[200] = "";
	FILE *file;

	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), -ENODATA); /* no file */
	assert_int_equal(access(f->path, F_OK), -1);
	file = fopen(f->path, "w");
	fputs("no database", file);
	fclose(file);
	assert_true(load_within(f, (struct kc_store_bound){0}, &past, why) < 0);
	assert_null(past);
}

static void another_programs_is_not_taken(void **state)
{
	const struct kc_past_options other = {.executable = "/usr/bin/other"};
	struct fixture *f = *state;
	struct kc_past *past;

	run(f);
	assert_int_equal(kc_past_load(f->path, &other, &past, NULL, 0), -ENODATA);
}

/* What the only process has written. */
static void change(const struct fixture *f, const void *bytes, size_t size)
{
	sqlite3_stmt *row;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "UPDATE learned SET snapshot = ?", -1, &row, NULL), SQLITE_OK);
	sqlite3_bind_blob(row, 1, bytes, (int)size, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(row), SQLITE_DONE);
	assert_int_equal(sqlite3_changes(db), 1);
	sqlite3_finalize(row);
	sqlite3_close(db);
}

static void what_cannot_be_used_is_said(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct fixture *f = *state;
	struct kc_snapshot_head *head;
	struct kc_past *past;
	char why[200] = "", expected[100];
	void *bytes;
	size_t size;

	program_run(p, 60);
	keep(f, p, 1);
	program_keep(p, NULL, &bytes, &size);
	head = bytes;
	head->layout++;
	change(f, bytes, size);
	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), -ESTALE);
	assert_non_null(strstr(why, "another build of kerncast"));
	head->layout--;
	head->variants++;
	change(f, bytes, size);
	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), -EBADMSG);
	assert_non_null(strstr(why, "damaged"));
	head->variants--;
	change(f, bytes, size);
	assert_int_equal(load_within(f, (struct kc_store_bound){.bytes = size / 2}, &past, why), -ENOMEM);
	snprintf(expected, sizeof(expected), "it needs more memory than %zu KiB", size / 2048);
	assert_string_equal(why, expected);
	assert_int_equal(load_within(f, (struct kc_store_bound){.until_ns = 1}, &past, why), -ETIME);
	assert_non_null(strstr(why, "takes too long"));
	assert_null(past);
	free(bytes);
	program_free(p);
}

static void one_of_a_length_that_none_has_is_damaged(void **state)
{
	const size_t too_long = KC_SNAPSHOT_BYTES_MAX + 8;
	struct fixture *f = *state;
	struct kc_past *past;
	char why[200], *bytes = calloc(1, too_long);

	assert_non_null(bytes);
	run(f);
	change(f, bytes, sizeof(struct kc_snapshot_head) - 1);
	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), -EBADMSG);
	change(f, bytes, too_long);
	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), -EBADMSG);
	free(bytes);
}

/* Another rank's, of which nothing can be carried over. */
static void a_damaged_one_is_left_alone(void **state)
{
	struct program *p = program_new(&nothing, OTHER, 0xABC, NULL);
	struct kc_journal_header header = make_header(2, "a");
	struct fixture *f = *state;
	struct kc_past *past;

	run(f);
	change(f, "damaged", 7);
	program_run(p, 60);
	keep_of(f, &header, p, 0);
	past = load(f);
	assert_int_equal(kc_past_snapshot(past)->head->devices, 1);
	kc_past_free(past);
	program_free(p);
}

/* One that runs may still write another in its place. */
static void only_what_ended_processes_learned_is_taken(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_journal_header running = make_header((uint32_t)getpid(), "b");
	struct kc_past_entry began_with;
	struct kc_past *past;
	int64_t ended;

	program_run(p, 60);
	ended = keep(*state, p, 1);
	running.pid_start = kc_process_own_start();
	assert_int_equal(kc_boot_id(running.boot_id, sizeof(running.boot_id)), 0);
	assert_true(keep_of(*state, &running, p, INT64_MAX) > ended);
	past = load(*state);
	assert_true(kc_past_began_with(past, &began_with));
	assert_int_equal(began_with.source, ended);
	kc_past_free(past);
	program_free(p);
}

/* Two ranks of a run, each on its own GPU, which end together: what one writes while the other is about to, the other
 * still carries over. The next run begins with what was written last, whichever process began last. */
static void what_other_ranks_learned_is_carried_over(void **state)
{
	struct program *rank_0 = program_new(&nothing, OTHER, 0xABC, NULL),
		       *rank_1 = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_journal_header first = make_header(1, "a"), second = make_header(2, "a");
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	const struct kc_snapshot_carried carried = {.others_since = 0};
	const struct fixture *f = *state;
	struct kc_device_learned learned;
	const struct kc_snapshot *snapshot;
	struct kc_past_entry began_with;
	struct kc_store *s;
	struct kc_past *past;
	int64_t process;

	program_run(rank_0, 60);
	program_run(rank_1, 60);
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &first, &process), 0);
	program_add(rank_1, maker);
	assert_true(keep_of(f, &second, rank_0, INT64_MAX) > process);
	assert_int_equal(kc_snapshot_store(s, &carried, maker), 0);
	kc_store_close(s);
	past = load(f);
	assert_true(kc_past_began_with(past, &began_with));
	assert_int_equal(began_with.source, process);
	snapshot = kc_past_snapshot(past);
	assert_int_equal(snapshot->head->devices, 2);
	assert_int_equal(snapshot->head->variants, 2 * PROGRAM_VARIANTS);
	assert_true(kc_snapshot_device(snapshot, OWN, &learned) && kc_snapshot_device(snapshot, OTHER, &learned));
	assert_int_equal(snapshot->kernels[0].unmet + snapshot->kernels[1].unmet, 0);
	kc_past_free(past);
	program_free(rank_0);
	program_free(rank_1);
}

/* Measurements of that rank, in what was written last. */
static uint32_t measured_of(struct kc_past *past, const char *uuid)
{
	const struct kc_snapshot *s = kc_past_snapshot(past);
	struct kc_kernel_learned learned;

	for (uint32_t i = 0; i < s->head->kernels; i++)
		if (!strcmp(s->devices[s->kernels[i].device].uuid, uuid) &&
		    kc_snapshot_kernel(s, &s->kernels[i], &learned))
			return learned.measured;
	return 0;
}

/* What rank 2 wrote has an older state of rank 1 than what that has written since. */
static void of_three_ranks_each_is_as_it_was_written_last(void **state)
{
	static const char *const uuids[] = {OWN, OTHER, "0c000000000000000000000000000000"};
	struct kc_journal_header headers[3];
	struct program *ranks[3];
	struct kc_past *past;

	for (uint32_t i = 0; i < 3; i++) {
		headers[i] = make_header(i + 1, "a");
		ranks[i] = program_new(&nothing, uuids[i], 0xABC, NULL);
		program_run(ranks[i], 60);
		keep_of(*state, &headers[i], ranks[i], 0);
	}
	program_run(ranks[1], 60);
	keep_of(*state, &headers[1], ranks[1], 0);
	keep_of(*state, &headers[2], ranks[2], 0);
	keep_of(*state, &headers[0], ranks[0], 0);
	past = load(*state);
	assert_int_equal(measured_of(past, uuids[0]), 60);
	assert_int_equal(measured_of(past, uuids[1]), 120);
	assert_int_equal(measured_of(past, uuids[2]), 60);
	kc_past_free(past);
	for (uint32_t i = 0; i < 3; i++)
		program_free(ranks[i]);
}

static void only_what_others_wrote_since_is_carried_over(void **state)
{
	struct program *rank_0 = program_new(&nothing, OTHER, 0xABC, NULL),
		       *rank_1 = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_journal_header header = make_header(2, "a");
	struct kc_past *past;

	program_run(rank_0, 60);
	program_run(rank_1, 60);
	keep_of(*state, &header, rank_1, keep(*state, rank_0, 1));
	past = load(*state);
	assert_int_equal(kc_past_snapshot(past)->head->devices, 1);
	kc_past_free(past);
	program_free(rank_0);
	program_free(rank_1);
}

static void the_newest_are_kept(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct fixture *f = *state;
	struct kc_store *s;

	program_run(p, 3);
	for (uint32_t pid = 1; pid <= KC_SNAPSHOTS_OF_A_PROGRAM + 3; pid++)
		keep(f, p, pid);
	keep(f, p, 2); /* gone already: of an old process, and the newest that was written */
	program_free(p);
	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM learned"), KC_SNAPSHOTS_OF_A_PROGRAM);
	assert_int_equal(number_of(s, "SELECT count(*) FROM learned WHERE process = 2"), 1);
	assert_int_equal(number_of(s, "SELECT min(process) FROM learned WHERE process <> 2"), 5);
	kc_store_close(s);
}

/* A replay begins with that very one, or with none. */
static void a_replay_begins_with_the_same(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct fixture *f = *state;
	struct kc_past_entry began_with, other;
	struct kc_past *past;
	struct kc_store *s;

	program_run(p, 60);
	keep(f, p, 1);
	past = load(f);
	assert_true(kc_past_began_with(past, &began_with));
	kc_past_free(past);
	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0), 0);
	assert_int_equal(kc_past_of(s, &began_with, &past), 0);
	assert_non_null(past);
	kc_past_free(past);
	other = began_with;
	other.checksum++;
	assert_int_equal(kc_past_of(s, &other, &past), 0);
	assert_null(past);
	other = began_with;
	other.source++;
	assert_int_equal(kc_past_of(s, &other, &past), 0);
	assert_null(past);
	kc_store_close(s);
	change(f, "damaged", 7);
	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0), 0);
	assert_int_equal(kc_past_of(s, &began_with, &past), 0);
	assert_null(past);
	kc_store_close(s);
	program_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_same_launches_are_known),
	    TEST(no_past_is_no_error_of_its_own),
	    TEST(another_programs_is_not_taken),
	    TEST(what_cannot_be_used_is_said),
	    TEST(one_of_a_length_that_none_has_is_damaged),
	    TEST(a_damaged_one_is_left_alone),
	    TEST(only_what_ended_processes_learned_is_taken),
	    TEST(what_other_ranks_learned_is_carried_over),
	    TEST(of_three_ranks_each_is_as_it_was_written_last),
	    TEST(only_what_others_wrote_since_is_carried_over),
	    TEST(the_newest_are_kept),
	    TEST(a_replay_begins_with_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
