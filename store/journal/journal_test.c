/* The live side: claims, recycling, bounds, memory, fork. */
#include "journal_testing.h"

#include <pthread.h>
#include <sched.h>

#define THREADS 8

/* ---- Claims ---- */

struct claimer {
	struct kc_journal *j;
	uint32_t id, count;
	uint64_t dropped;
	int retry;
	uint64_t *indexes;
};

enum { ROOM = 5000 };

static void use(const struct claimer *c, struct kc_slot *slot, uint32_t i)
{
	slot->launch.thread = c->id;
	slot->launch.grid[0] = i;
	kc_journal_commit(slot, KC_SLOT_CALLED);
	if (c->indexes)
		c->indexes[i] = slot->index;
	slot->launch.result = 0;
	kc_journal_commit(slot, KC_SLOT_RETURNED);
}

static struct kc_slot *claim(const struct claimer *c)
{
	return c->id % 2 ? kc_journal_claim_with_room(c->j, KC_KIND_LAUNCH, 0) : kc_journal_claim(c->j, KC_KIND_LAUNCH);
}

static void *claim_many(void *arg)
{
	struct claimer *c = arg;

	for (uint32_t i = 0; i < c->count; i++) {
		struct kc_slot *slot;

		while (!(slot = claim(c)) && c->retry)
			sched_yield();
		if (!slot) {
			c->dropped++;
			continue;
		}
		use(c, slot, i);
	}
	return NULL;
}

static void start(pthread_t *threads, struct claimer *claimers, struct kc_journal *j, uint32_t count, int retry)
{
	for (uint32_t t = 0; t < THREADS; t++) {
		claimers[t] = (struct claimer){.j = j, .id = t, .count = count, .retry = retry};
		if (!retry)
			claimers[t].indexes = calloc(count, sizeof(uint64_t));
		assert_int_equal(pthread_create(&threads[t], NULL, claim_many, &claimers[t]), 0);
	}
}

static void *claim_rooms(void *arg)
{
	struct claimer *c = arg;

	for (uint32_t i = 0; i < c->count; i++) {
		struct kc_slot *slot = kc_journal_claim_with_room(c->j, KC_KIND_GRAPH_LAUNCH, ROOM);

		if (!slot) {
			c->dropped++;
			continue;
		}
		c->indexes[i] = slot->index;
		sched_yield();
	}
	return NULL;
}

/* A thread that has found its slot before the limit may claim it behind room that was claimed meanwhile. */
static void claims_behind_room_find_their_slots(void **state)
{
	enum { EACH = 30000, ROOMS = 100 };
	struct kc_journal *j = create(1024 * MIB);
	struct claimer claimers[THREADS], rooms = {.j = j, .count = ROOMS};
	pthread_t threads[THREADS], thread;

	(void)state;
	rooms.indexes = calloc(ROOMS, sizeof(uint64_t));
	start(threads, claimers, j, EACH, 0);
	assert_int_equal(pthread_create(&thread, NULL, claim_rooms, &rooms), 0);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	pthread_join(thread, NULL);
	assert_int_equal(rooms.dropped, 0);
	for (int i = 0; i < ROOMS; i++)
		kc_journal_make_room(j, kc_journal_at(j, rooms.indexes[i]), ROOM);
	for (int t = 0; t < THREADS; t++) {
		assert_int_equal(claimers[t].dropped, 0);
		free(claimers[t].indexes);
	}
	free(rooms.indexes);
	assert_int_equal(kc_journal_claimed(j), THREADS * EACH + ROOMS * (ROOM + 1));
	for (uint64_t i = 0; i < kc_journal_claimed(j); i++)
		assert_non_null(kc_journal_at(j, i));
	finish(j, 0);
}

static void threads_claim_distinct_slots(void **state)
{
	enum { EACH = 100000 };
	struct kc_journal *j = create(1024 * MIB);
	struct claimer claimers[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	start(threads, claimers, j, EACH, 0);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		kc_journal_prepare(j);
	}
	assert_int_equal(kc_journal_claimed(j), THREADS * EACH);
	assert_int_equal(kc_journal_prepare(j), THREADS * EACH);
	for (uint32_t t = 0; t < THREADS; t++) {
		for (uint32_t i = 0; i < EACH; i++) {
			struct kc_slot *slot = kc_journal_at(j, claimers[t].indexes[i]);

			/* Distinct: one slot holds one thread's number. */
			if (slot->index != claimers[t].indexes[i] || slot->launch.thread != t ||
			    slot->launch.grid[0] != i || state_of(slot) != KC_SLOT_RETURNED)
				fail_msg("slot %llu", (unsigned long long)claimers[t].indexes[i]);
		}
		assert_int_equal(claimers[t].dropped, 0);
		free(claimers[t].indexes);
	}
	assert_int_equal(kc_journal_in_memory(j), 0);
	finish(j, 0);
}

static void segments_are_used_again(void **state)
{
	enum { EACH = 50000, SEGMENTS = 6 };
	struct kc_journal *j = create(bytes_of(SEGMENTS));
	struct claimer claimers[THREADS];
	pthread_t threads[THREADS];
	uint64_t(*found)[EACH] = calloc(THREADS, sizeof(*found)); /* its slot's index plus 1 */
	uint64_t stored = 0;

	(void)state;
	assert_non_null(found);
	start(threads, claimers, j, EACH, 1);
	while (stored < (uint64_t)THREADS * EACH) {
		uint64_t end = kc_journal_claimed(j);

		kc_journal_prepare(j);
		for (uint64_t i = kc_journal_first(j); i < end; i++) {
			struct kc_slot *slot = kc_journal_at(j, i);

			if (!slot || state_of(slot) != KC_SLOT_RETURNED)
				continue;
			/* Each comes once, whatever lap it is of. */
			assert_int_equal(slot->index, i);
			assert_int_equal(found[slot->launch.thread][slot->launch.grid[0]], 0);
			found[slot->launch.thread][slot->launch.grid[0]] = i + 1;
			kc_journal_commit(slot, KC_SLOT_STORED);
			stored++;
		}
		kc_journal_retire(j);
		sched_yield();
	}
	for (int t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		for (int i = 1; i < EACH; i++) /* in the thread's order */
			assert_true(found[t][i] > found[t][i - 1]);
	}
	free(found);
	assert_int_equal(kc_journal_prepare(j), 0);
	assert_true(file_bytes() <= bytes_of(SEGMENTS));
	finish(j, 1);
	assert_int_equal(access(path, F_OK), -1);
}

static void the_bound_drops_and_recovers(void **state)
{
	struct kc_journal *j = create(bytes_of(2));
	uint32_t accepted = 0, again = 0;

	(void)state;
	while (add(j, accepted, KC_SLOT_RETURNED))
		accepted++;
	/* Two segments, less the room for threads that claim at the same instant. */
	assert_int_equal(accepted, 2 * KC_SEGMENT_SLOTS - 2048);
	assert_int_equal(add(j, 0, KC_SLOT_RETURNED), 0);
	assert_int_equal(kc_journal_put(j, KC_KIND_MESSAGE, "x", 2), -ENOSPC);
	assert_int_equal(kc_journal_claimed(j), accepted);
	assert_int_equal(store_all(j), accepted);
	assert_int_equal(kc_journal_first(j), accepted);
	while (add(j, again, KC_SLOT_RETURNED))
		again++;
	assert_int_equal(again, KC_SEGMENT_SLOTS);
	assert_int_equal(store_all(j), again);
	assert_true(file_bytes() <= bytes_of(2));
	finish(j, 1);
}

static void room_is_claimed_with_a_slot_or_not_at_all(void **state)
{
	struct kc_journal *j = create(bytes_of(3));
	const uint64_t bound = 3 * KC_SEGMENT_SLOTS - 2048;
	struct kc_slot *slot = kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, 5000);

	(void)state;
	assert_non_null(slot);
	assert_int_equal(slot->index, 0);
	assert_int_equal(slot->kind, KC_KIND_GRAPH_LAUNCH);
	assert_int_equal(kc_journal_claimed(j), 5001);
	for (uint64_t i = 0; i <= 5000; i++)
		assert_int_equal(state_of(kc_journal_at(j, i)), KC_SLOT_EMPTY);
	assert_null(kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, bound - 5001));
	assert_int_equal(kc_journal_claimed(j), 5001);
	slot = kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, bound - 5002);
	assert_int_equal(slot->index, 5001);
	assert_int_equal(kc_journal_claimed(j), bound);
	kc_journal_seal(j);
	assert_null(kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, 1));
	finish(j, 0);
}

/* What was made ahead is used for what is claimed next, so that the file does not grow. */
static void room_is_made_when_it_is_filled(void **state)
{
	enum { COUNT = 3 * KC_SEGMENT_SLOTS };
	struct kc_journal *j = create(bytes_of(16));
	struct kc_slot *first, *second;
	off_t before;

	(void)state;
	kc_journal_prepare(j);
	before = file_bytes();
	first = kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, COUNT);
	second = kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, COUNT);
	assert_int_equal(second->index, COUNT + 1);
	assert_int_equal(add(j, 5, KC_SLOT_RETURNED), 1);
	assert_int_equal(file_bytes(), before);
	/* Segments 0, 3 and 6 have other slots as well. */
	for (uint64_t segment = 0; segment <= 6; segment++)
		assert_int_equal(kc_journal_at(j, segment * KC_SEGMENT_SLOTS) != NULL, segment % 3 == 0);
	kc_journal_make_room(j, second, COUNT);
	kc_journal_make_room(j, first, COUNT);
	for (uint64_t i = 1; i <= 2 * COUNT + 1; i++) {
		struct kc_slot *slot = kc_journal_at(j, i);

		assert_int_equal(state_of(slot), KC_SLOT_EMPTY);
		kc_journal_commit(slot, KC_SLOT_STORED);
	}
	kc_journal_commit(first, KC_SLOT_STORED);
	kc_journal_retire(j);
	assert_int_equal(kc_journal_first(j), 2 * COUNT + 2);
	assert_int_equal(store_all(j), 1);
	finish(j, 1);
}

/* Where nothing is claimed after it, nobody else makes the segment in which room ends. */
static void room_is_made_to_its_end(void **state)
{
	enum { ROOMS = 6, COUNT = 5000 };
	struct kc_journal *j = create(bytes_of(16));
	struct kc_slot *launches[ROOMS];

	(void)state;
	kc_journal_prepare(j);
	for (uint64_t i = 0; i < ROOMS; i++) {
		launches[i] = kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, COUNT);
		assert_non_null(launches[i]);
	}
	for (uint64_t i = 0; i < ROOMS; i++)
		kc_journal_make_room(j, launches[i], COUNT);
	for (uint64_t i = 0; i < ROOMS * (COUNT + 1); i++) {
		assert_non_null(kc_journal_at(j, i));
		kc_journal_commit(kc_journal_at(j, i), KC_SLOT_STORED);
	}
	kc_journal_retire(j);
	assert_int_equal(kc_journal_first(j), ROOMS * (COUNT + 1));
	finish(j, 1);
}

/* As many segments are owed as there may be. */
static void room_that_is_not_made_yet_counts(void **state)
{
	struct kc_journal *j = create(bytes_of(4));

	(void)state;
	assert_non_null(kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, 3 * KC_SEGMENT_SLOTS));
	assert_null(kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, KC_SEGMENT_SLOTS));
	assert_non_null(kc_journal_claim_with_room(j, KC_KIND_GRAPH_LAUNCH, 100));
	finish(j, 0);
}

static void threads_at_the_bound_leave_no_hole(void **state)
{
	enum { EACH = 20000 };
	struct kc_journal *j = create(bytes_of(3));
	struct claimer claimers[THREADS];
	pthread_t threads[THREADS];
	uint64_t dropped = 0, stored = 0;

	(void)state;
	start(threads, claimers, j, EACH, 0);
	for (int i = 0; i < 20; i++) {
		usleep(500);
		stored += store_all(j);
	}
	for (int t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		dropped += claimers[t].dropped;
		free(claimers[t].indexes);
	}
	stored += store_all(j);
	assert_int_equal(stored + dropped, THREADS * EACH);
	assert_int_equal(kc_journal_claimed(j), stored);
	assert_int_equal(kc_journal_first(j), stored);
	finish(j, 1);
}

static void a_slot_that_takes_long_holds_nothing_up(void **state)
{
	enum { LAPS = 30, SEGMENTS = 8 };
	struct kc_journal *j = create(bytes_of(SEGMENTS));
	struct kc_slot *stuck = kc_journal_claim(j, KC_KIND_LAUNCH);

	(void)state;
	for (int lap = 0; lap < LAPS; lap++) {
		for (uint32_t i = 0; i < KC_SEGMENT_SLOTS; i++)
			assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
		assert_int_equal(store_all(j), KC_SEGMENT_SLOTS);
		kc_journal_prepare(j);
	}
	assert_int_equal(kc_journal_first(j), 0);
	assert_ptr_equal(kc_journal_at(j, 0), stuck);
	assert_null(kc_journal_at(j, 3 * KC_SEGMENT_SLOTS));
	kc_journal_commit(stuck, KC_SLOT_STORED);
	kc_journal_retire(j);
	assert_int_equal(kc_journal_first(j), LAPS * KC_SEGMENT_SLOTS + 1);
	finish(j, 1);
}

static void errno_stays(void **state)
{
	struct kc_journal *j = create(bytes_of(4));

	(void)state;
	/* Every new segment meets an error. */
	unlink(path);
	errno = EXDEV;
	for (uint32_t i = 0; i < 5 * KC_SEGMENT_SLOTS; i++)
		add(j, i, KC_SLOT_RETURNED);
	assert_int_equal(errno, EXDEV);
	finish(j, 0);
}

/* ---- Memory, fork, end ---- */

/* Of mapped files: what a sanitizer needs for itself is left out. */
static uint64_t resident_bytes(void)
{
	unsigned long resident;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(f, "%*u %*u %lu", &resident), 1);
	fclose(f);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

enum { BACKLOG_SEGMENTS = 150 }; /* 131 MiB */

static void a_worker_held_up_costs_no_memory(void **state)
{
	uint64_t before = resident_bytes();
	struct kc_journal *j = create(1024 * MIB);

	(void)state;
	for (uint32_t i = 0; i < BACKLOG_SEGMENTS * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	assert_in_range(resident_bytes() - before, 0, 40 * MIB);
	finish(j, 0);
}

static void a_long_backlog_is_not_resident(void **state)
{
	enum { SEGMENTS = BACKLOG_SEGMENTS };
	uint64_t before = resident_bytes();
	struct kc_journal *j = create(1024 * MIB);

	(void)state;
	for (uint32_t i = 0; i < SEGMENTS * KC_SEGMENT_SLOTS; i++) {
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
		if (i % KC_SEGMENT_SLOTS == 0)
			kc_journal_prepare(j);
	}
	assert_in_range(resident_bytes() - before, 0, 40 * MIB);
	for (uint32_t i = 0; i < SEGMENTS * KC_SEGMENT_SLOTS; i++)
		if (kc_journal_at(j, i)->launch.grid[0] != i)
			fail_msg("slot %u", i);
	assert_in_range(resident_bytes() - before, 0, 40 * MIB);
	assert_int_equal(store_all(j), SEGMENTS * KC_SEGMENT_SLOTS);
	assert_in_range(resident_bytes() - before, 0, 40 * MIB);
	finish(j, 1);
}

static struct kc_journal *parents;

static int forget_it(void)
{
	char line[512];
	FILE *maps;

	kc_journal_forget(parents);
	maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		CHECK(!strstr(line, ".kcj"));
	fclose(maps);
	return 0;
}

static void a_child_forgets(void **state)
{
	(void)state;
	parents = create(bytes_of(10));
	for (uint32_t i = 0; i < 2 * KC_SEGMENT_SLOTS; i++)
		add(parents, i, KC_SLOT_RETURNED);
	assert_int_equal(in_child(forget_it), 0);
	assert_int_equal(kc_journal_claimed(parents), 2 * KC_SEGMENT_SLOTS);
	assert_string_equal(kc_journal_header(parents)->run_token, "a run");
	assert_int_equal(add(parents, 7, KC_SLOT_RETURNED), 1);
	assert_int_equal(kc_journal_at(parents, 2 * KC_SEGMENT_SLOTS)->launch.grid[0], 7);
	finish(parents, 0);
}

static void the_file_stays_while_a_slot_is_not_stored(void **state)
{
	struct kc_journal *j = create(bytes_of(4));
	struct kc_slot *late;

	(void)state;
	add(j, 1, KC_SLOT_RETURNED);
	assert_int_equal(store_all(j), 1);
	late = kc_journal_claim(j, KC_KIND_LAUNCH);
	kc_journal_close(j, 1);
	assert_int_equal(access(path, F_OK), 0);
	/* Threads that have a slot may still write to it; others get none. */
	kc_journal_commit(late, KC_SLOT_CALLED);
	assert_null(kc_journal_claim(j, KC_KIND_LAUNCH));
	kc_journal_forget(j);
}

static void a_sealed_journal_has_every_slot_that_was_claimed(void **state)
{
	enum { EACH = 200000 };
	struct kc_journal *j = create(1024 * MIB);
	struct claimer claimers[THREADS];
	pthread_t threads[THREADS];
	uint64_t claimed, got = 0;

	(void)state;
	start(threads, claimers, j, EACH, 0);
	while (kc_journal_claimed(j) < EACH)
		kc_journal_prepare(j);
	kc_journal_seal(j);
	claimed = kc_journal_claimed(j);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		got += EACH - claimers[t].dropped;
		free(claimers[t].indexes);
	}
	assert_true(claimed >= EACH);
	assert_int_equal(got, claimed);
	assert_int_equal(kc_journal_claimed(j), claimed);
	assert_int_equal(kc_journal_put(j, KC_KIND_MESSAGE, "x", 2), -ENOSPC);
	finish(j, 0);
}

static void a_discarded_journal_leaves_no_file(void **state)
{
	struct kc_journal *j = create(bytes_of(4));

	(void)state;
	assert_int_equal(kc_journal_put(j, KC_KIND_MESSAGE, "x", 2), 0);
	kc_journal_discard(j);
	assert_int_equal(access(path, F_OK), -1);
	assert_null(kc_journal_claim(j, KC_KIND_LAUNCH));
	kc_journal_forget(j);
}

static void a_file_that_goes_is_noticed(void **state)
{
	struct kc_journal *j = create(bytes_of(4));
	char moved[128];

	(void)state;
	kc_journal_look(j);
	assert_false(kc_journal_in_memory(j));
	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(rename(path, moved), 0);
	kc_journal_look(j);
	assert_true(kc_journal_in_memory(j));
	assert_int_equal(kc_journal_in_memory_why(j), -ENOENT);
	unlink(moved);
	finish(j, 0);
}

static void a_count_made_after_the_file_went_is_in_another(void **state)
{
	struct kc_journal *j = create(bytes_of(4));
	struct kc_journal_file *f;

	(void)state;
	atomic_store(&kc_journal_header(j)->counters[KC_COUNT_CALLS], 3);
	kc_journal_close(j, 1);
	assert_int_equal(access(path, F_OK), -1);
	atomic_fetch_add(&kc_journal_header(j)->counters[KC_COUNT_AFTER_END], 1);
	assert_int_equal(kc_journal_restore(j), 0);
	atomic_fetch_add(&kc_journal_header(j)->counters[KC_COUNT_AFTER_END], 1);
	assert_int_equal(kc_journal_open(path, &f), 0);
	assert_int_equal(kc_journal_file_header(f)->pid, getpid());
	assert_int_equal(kc_journal_file_header(f)->counters[KC_COUNT_CALLS], 3);
	assert_int_equal(kc_journal_file_header(f)->counters[KC_COUNT_AFTER_END], 2);
	kc_journal_file_close(f);
	/* One that is there is another's. */
	assert_int_equal(kc_journal_restore(j), -EEXIST);
	kc_journal_forget(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(threads_claim_distinct_slots, setup, teardown),
	    cmocka_unit_test_setup_teardown(segments_are_used_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_bound_drops_and_recovers, setup, teardown),
	    cmocka_unit_test_setup_teardown(room_is_claimed_with_a_slot_or_not_at_all, setup, teardown),
	    cmocka_unit_test_setup_teardown(room_is_made_when_it_is_filled, setup, teardown),
	    cmocka_unit_test_setup_teardown(room_is_made_to_its_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(claims_behind_room_find_their_slots, setup, teardown),
	    cmocka_unit_test_setup_teardown(room_that_is_not_made_yet_counts, setup, teardown),
	    cmocka_unit_test_setup_teardown(threads_at_the_bound_leave_no_hole, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_slot_that_takes_long_holds_nothing_up, setup, teardown),
	    cmocka_unit_test_setup_teardown(errno_stays, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_worker_held_up_costs_no_memory, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_long_backlog_is_not_resident, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_child_forgets, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_file_stays_while_a_slot_is_not_stored, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_sealed_journal_has_every_slot_that_was_claimed, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_discarded_journal_leaves_no_file, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_file_that_goes_is_noticed, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_count_made_after_the_file_went_is_in_another, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
