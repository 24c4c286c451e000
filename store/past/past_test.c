/* What a program begins with, out of a database. */
#include "past_testing.h"
#include "snapshot_row.h"
#include "store/common/process.h"
#include "store/database/test_rows.h"

#include <errno.h>

static const struct kc_beginning nothing = {NULL, NULL};

struct fixture {
	char *directory;
	char path[300];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	snprintf(f->path, sizeof(f->path), "%s/past.db", f->directory);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	remove_scratch(f->directory);
	free(f);
	return 0;
}

/* Of a process that has ended, unless it is this one. */
static int64_t keep_of(const struct fixture *f, const struct kc_journal_header *header, const struct program *p,
		       int64_t others_since)
{
	const struct kc_snapshot_carried carried = {.others_since = others_since, .cells = p->engine.cells};
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	struct kc_store *s;
	int64_t process;

	program_add(p, maker);
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, header, &process), 0);
	assert_int_equal(kc_snapshot_store(s, &carried, maker), 0);
	kc_store_close(s);
	return process;
}

static int64_t keep(const struct fixture *f, const struct program *p, uint32_t pid)
{
	struct kc_journal_header header = make_header(pid, "a");

	return keep_of(f, &header, p, INT64_MAX);
}

/* A program of 60 launches, kept by process 1. */
static void run(const struct fixture *f)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);

	program_run(p, 60);
	keep(f, p, 1);
	program_free(p);
}

static int load_within(const struct fixture *f, struct kc_store_bound bound, struct kc_past **past, char why[200])
{
	const struct kc_past_options options = {.executable = "/usr/bin/app", .bound = bound};

	return kc_past_load(f->path, &options, past, why, 200);
}

static struct kc_past *load(const struct fixture *f)
{
	struct kc_past *past;
	char why[200] = "";

	assert_int_equal(load_within(f, (struct kc_store_bound){0}, &past, why), 0);
	return past;
}

static struct kc_solo solo_of(struct program *p, uint32_t variant, enum kc_novelty *novelty)
{
	struct kc_prediction_request request;

	kc_engine_ask(&p->engine, &p->variants[variant], NULL, &request);
	*novelty = request.novelty;
	return request.solo;
}

static void the_same_launches_are_known(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL), *again;
	struct kc_beginning from = {NULL, NULL};
	struct kc_past_entry began_with;
	struct kc_past *past;
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
	assert_int_equal(again->shapes[0].measured, 40);
	assert_int_equal(again->shapes[1].measured, 20);
	assert_memory_equal(&again->fit, &p->fit, sizeof(p->fit));
	assert_memory_equal(again->engine.cells, p->engine.cells, kc_cells_bytes());
	assert_true(kc_past_began_with(past, &began_with));
	assert_int_equal(began_with.source, process);
	assert_int_equal(began_with.checksum, kc_past_snapshot(past)->head->checksum);
	program_free(p);
	program_free(again);
	kc_past_free(past);
}

/* What a launch of this variant is first taken for. */
static enum kc_model model_of(const struct kc_past *past, const char *uuid, uint64_t code_hash, uint32_t cc_major,
			      uint32_t cc_minor, enum kc_novelty *novelty)
{
	const struct kc_beginning from = {.past = past};
	struct program *p = program_new(&nothing, uuid, code_hash, NULL);
	struct kc_past_query query = program_query(p, 2);
	struct kc_solo solo;

	p->info.cc_major = cc_major;
	p->info.cc_minor = cc_minor;
	query.device = &p->info;
	kc_past_recall_kernel(&from, &p->code, uuid, &p->kernel);
	kc_past_recall_shape(&from, &query, &p->shapes[1]);
	kc_past_recall_variant(&from, &query, &p->variants[2]);
	solo = solo_of(p, 2, novelty);
	program_free(p);
	return solo.model;
}

static void related_launches_are_told_from_the_same(void **state)
{
	enum kc_novelty novelty;
	struct kc_past *past;

	run(*state);
	past = load(*state);
	assert_int_equal(model_of(past, OWN, 0xABC, 8, 0, &novelty), KC_MODEL_BSP_SHAPE);
	assert_int_equal(novelty, KC_REPEATED);
	assert_int_equal(model_of(past, OWN, 0xABD, 8, 0, &novelty), KC_MODEL_BSP_SHAPE);
	assert_int_equal(novelty, KC_FIRST_SEEN);
	assert_int_equal(model_of(past, OTHER, 0xABC, 8, 6, &novelty), KC_MODEL_BSP_SHAPE);
	assert_int_equal(novelty, KC_FIRST_SEEN);
	assert_int_not_equal(model_of(past, OTHER, 0xABC, 9, 0, &novelty), KC_MODEL_BSP_SHAPE);
	kc_past_free(past);
}

static uint32_t measured_with(const struct kc_past *past, uint32_t variant, const char *arguments)
{
	const struct kc_beginning from = {.past = past};
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_past_query query = program_query(p, variant);
	uint32_t measured;

	query.arguments = arguments;
	kc_past_recall_variant(&from, &query, &p->variants[variant]);
	measured = p->variants[variant].learned.measured;
	program_free(p);
	return measured;
}

static void arguments_tell_launches_apart(void **state)
{
	struct kc_past *past;

	run(*state);
	past = load(*state);
	assert_int_equal(measured_with(past, 0, "p0 = 5"), 20);
	assert_int_equal(measured_with(past, 0, "p0 = 6"), 20);
	assert_int_equal(measured_with(past, 0, "p0 = 7"), 0);
	assert_int_equal(measured_with(past, 0, NULL), 0); /* not known, and there are two */
	assert_int_equal(measured_with(past, 2, NULL), 20);
	kc_past_free(past);
}

static void arguments_not_known_are_taken_for_the_only_ones(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_past *past;

	for (uint32_t i = 0; i < 5; i++)
		program_launch(p, 0, 20000);
	keep(*state, p, 1);
	program_free(p);
	past = load(*state);
	assert_int_equal(measured_with(past, 0, NULL), 5);
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
	char why[200] = "";
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
	assert_non_null(strstr(why, "it needs more memory than"));
	assert_int_equal(load_within(f, (struct kc_store_bound){.until_ns = 1}, &past, why), -ETIME);
	assert_non_null(strstr(why, "takes too long"));
	assert_null(past);
	free(bytes);
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

static void only_others_that_began_later_are_carried_over(void **state)
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
	keep(f, p, 5); /* gone already, and then the oldest */
	program_free(p);
	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0), 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM learned"), KC_SNAPSHOTS_OF_A_PROGRAM);
	assert_int_equal(number_of(s, "SELECT max(process) - min(process) FROM learned"),
			 KC_SNAPSHOTS_OF_A_PROGRAM - 1);
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
	program_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_same_launches_are_known),
	    TEST(related_launches_are_told_from_the_same),
	    TEST(arguments_tell_launches_apart),
	    TEST(arguments_not_known_are_taken_for_the_only_ones),
	    TEST(no_past_is_no_error_of_its_own),
	    TEST(another_programs_is_not_taken),
	    TEST(what_cannot_be_used_is_said),
	    TEST(only_what_ended_processes_learned_is_taken),
	    TEST(what_other_ranks_learned_is_carried_over),
	    TEST(only_others_that_began_later_are_carried_over),
	    TEST(the_newest_are_kept),
	    TEST(a_replay_begins_with_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
