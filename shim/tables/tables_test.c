/* The tables: what is found, what finds no room, and readers beside a writer. Events: events.c. */
#include "tables_testing.h"
#include "shim/entry/real.h"
#include "tables.h"

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

struct entry {
	uint64_t key[2];
	uint64_t twice; /* of the key's first word */
};

static struct entry *insert(struct kc__table *table, uint64_t a, uint64_t b)
{
	struct entry *entry;

	pthread_mutex_lock(&kc__shim.tables_lock);
	entry = kc__fresh(table, sizeof(*entry), (uint64_t[]){a, b}, 2);
	if (entry) {
		entry->twice = 2 * a;
		kc__insert(table, entry, 2);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return entry;
}

static struct entry *look(const struct kc__table *table, uint64_t a, uint64_t b)
{
	return kc__find(table, (uint64_t[]){a, b}, 2);
}

static void an_entry_is_found_by_its_whole_key(void **state)
{
	struct kc__table *table = &kc__shim.functions;
	struct entry *entry;

	(void)state;
	assert_null(look(table, 1, 2));
	entry = insert(table, 1, 2);
	assert_ptr_equal(look(table, 1, 2), entry);
	assert_null(look(table, 2, 1));
	assert_null(look(table, 1, 3));
	assert_null(look(table, 0, 2));
}

static void handles_that_differ_in_high_bits_alone_are_told_apart(void **state)
{
	struct kc__table *table = &kc__shim.functions;

	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		assert_non_null(insert(table, 1ull << i, 0));
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(look(table, 1ull << i, 0)->twice, 2ull << i);
}

/* Eight places for four entries: a search that meets no entry of its key comes to a free place. */
static void a_full_table_finds_what_it_has_and_takes_no_more(void **state)
{
	void *_Atomic slots[8] = {NULL};
	struct kc__table table = {.slots = slots, .mask = 7, .limit = 4};

	(void)state;
	for (uint64_t i = 1; i <= 4; i++) {
		assert_false(table.full.reached);
		assert_non_null(insert(&table, i, 0));
	}
	assert_null(insert(&table, 5, 0));
	assert_true(table.full.reached);
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(look(&table, i, 0)->twice, 2 * i);
	for (uint64_t i = 5; i < 1000; i++)
		assert_null(look(&table, i, 0));
}

/* Searches go on behind what was removed, and what was removed last lets them end there. */
static void what_is_removed_hides_nothing(void **state)
{
	void *_Atomic slots[8] = {NULL};
	struct kc__table table = {.slots = slots, .mask = 7, .limit = 4};
	struct entry *entries[5];

	(void)state;
	for (uint64_t i = 1; i <= 4; i++)
		entries[i] = insert(&table, i, 0);
	for (uint64_t gone = 1; gone <= 4; gone++) {
		kc__remove(&table, entries[gone], 2);
		for (uint64_t i = 1; i <= 4; i++)
			assert_ptr_equal(look(&table, i, 0), i > gone ? entries[i] : NULL);
	}
	for (int i = 0; i < 8; i++)
		assert_null(slots[i]);
	kc__let_go(&table);
	kc__set_key(entries[1], (uint64_t[]){9, 0}, 2);
	kc__insert(&table, entries[1], 2);
	assert_ptr_equal(look(&table, 9, 0), entries[1]);
}

static void a_full_table_is_said_once(void **state)
{
	(void)state;
	kc__tables_say_full();
	assert_string_equal(said[0], "");
	for (uint64_t i = 1; i <= 16384; i++)
		assert_non_null(insert(&kc__shim.streams, i, 0));
	assert_null(insert(&kc__shim.streams, 16385, 0));
	kc__tables_say_full();
	kc__tables_say_full();
	assert_string_equal(
	    said[0],
	    "16,384 streams; launches on further ones are recorded, but not predicted, and copies are not recorded");
	assert_string_equal(said[1], "");
}

/* Of 18 MiB 5 are for buffers and 3 for code; 10 in chunks of 256 KiB are 40 of them. */
static void memory_for_entries_has_a_bound(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++)
		assert_non_null(kc__arena(256 << 10));
	assert_null(kc__arena(64));
	kc__tables_say_full();
	assert_non_null(strstr(said[0], "10 MiB for what is known of the program"));
	kc__tables_say_full();
	assert_string_equal(said[1], "");
}

/* As a forked child does. */
static void a_process_that_starts_again_has_all_the_memory_again(void **state)
{
	(void)state;
	while (kc__arena(256 << 10))
		;
	assert_int_equal(kc__tables_init(), 0);
	assert_non_null(kc__arena(64));
}

static void pieces_of_memory_are_apart_and_zeroed(void **state)
{
	char *first = kc__arena(1), *second = kc__arena(65), *third = kc__arena(1);

	(void)state;
	assert_true(second - first >= 64 && third - second >= 128);
	for (int i = 0; i < 65; i++)
		assert_int_equal(second[i], 0);
}

static void a_text_is_copied(void **state)
{
	char text[] = "scale";
	char *kept = kc__keep_text(text);

	(void)state;
	text[0] = 'S';
	assert_string_equal(kept, "scale");
}

/* ---- Readers beside a writer ---- */

enum { ENTRIES = 20000, READERS = 3 };
static _Atomic uint64_t newest;

/* Whatever the writer has said to be there is found, complete. */
static void *read_all(void *wrong)
{
	for (uint64_t there = 0; there < ENTRIES;) {
		there = atomic_load(&newest);
		for (uint64_t i = there > 100 ? there - 100 : 1; i <= there + 100; i++) {
			const struct entry *entry = look(&kc__shim.functions, i, 7);

			if (entry ? entry->twice != 2 * i : i <= there)
				++*(_Atomic int *)wrong;
		}
	}
	return NULL;
}

static void readers_find_whole_entries_without_a_lock(void **state)
{
	pthread_t readers[READERS];
	_Atomic int wrong = 0;

	(void)state;
	atomic_store(&newest, 0);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_all, &wrong), 0);
	for (uint64_t i = 1; i <= ENTRIES; i++) {
		insert(&kc__shim.functions, i, 7);
		atomic_store(&newest, i);
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_entry_is_found_by_its_whole_key),
	    TEST(handles_that_differ_in_high_bits_alone_are_told_apart),
	    TEST(a_full_table_finds_what_it_has_and_takes_no_more),
	    TEST(a_full_table_is_said_once),
	    TEST(what_is_removed_hides_nothing),
	    TEST(memory_for_entries_has_a_bound),
	    TEST(a_process_that_starts_again_has_all_the_memory_again),
	    TEST(pieces_of_memory_are_apart_and_zeroed),
	    TEST(a_text_is_copied),
	    TEST(readers_find_whole_entries_without_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
