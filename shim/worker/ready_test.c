/* The order in which slots are written when more are final than the list has room for. */
#include "ready.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 12, ROOM = 2 };

static struct kc_slot slots[SLOTS];
static struct kc_slot *list[ROOM];
static struct kc__ready ready;

uint64_t kc_journal_first(const struct kc_journal *journal)
{
	(void)journal;
	return 0;
}

struct kc_slot *kc_journal_at(const struct kc_journal *journal, uint64_t index)
{
	(void)journal;
	return &slots[index];
}

static int begin(void **state)
{
	(void)state;
	memset(slots, 0, sizeof(slots));
	for (uint64_t i = 0; i < SLOTS; i++)
		slots[i].index = i;
	ready = (struct kc__ready){.slots = list, .capacity = ROOM};
	return 0;
}

static void become_final(uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++) {
		slots[i].state = KC_SLOT_FINAL;
		kc__ready_add(&ready, &slots[i]);
	}
}

/* Writes what is in the list: these two, or the first alone if the second is SLOTS. */
static void assert_written(uint64_t first, uint64_t second)
{
	uint32_t left = kc__ready_left(&ready);

	assert_int_equal(left, second == SLOTS ? 1 : 2);
	assert_int_equal(list[ready.written]->index, first);
	if (left == 2)
		assert_int_equal(list[ready.written + 1]->index, second);
	for (uint32_t i = 0; i < left; i++)
		list[ready.written + i]->state = KC_SLOT_STORED;
	kc__ready_done(&ready, left);
	kc__ready_find(&ready, NULL);
}

static void what_fits_is_written_as_it_comes(void **state)
{
	(void)state;
	become_final(3, 3);
	become_final(1, 1);
	assert_false(kc__ready_searches(&ready));
	assert_written(3, 1);
	assert_int_equal(kc__ready_left(&ready), 0);
}

static void what_does_not_fit_is_found_in_its_order(void **state)
{
	(void)state;
	become_final(0, 4);
	assert_written(0, 1);
	assert_written(2, 3);
	assert_written(4, SLOTS);
	assert_int_equal(kc__ready_left(&ready), 0);
	assert_false(kc__ready_searches(&ready));
	become_final(5, 5);
	assert_written(5, SLOTS);
}

/* 5 names the kernel of launch 6: it comes while the list is full, and launch 6 when it has room again. */
static void what_comes_while_there_is_a_search_waits_for_it(void **state)
{
	(void)state;
	become_final(0, 4);
	assert_written(0, 1);
	become_final(5, 5);
	assert_written(2, 3);
	become_final(6, 6);
	assert_written(4, 5);
	assert_written(6, SLOTS);
	assert_int_equal(kc__ready_left(&ready), 0);
}

static void a_late_one_behind_the_search_is_found_too(void **state)
{
	(void)state;
	become_final(0, 1);
	become_final(3, 6); /* 2 is a launch that still runs */
	assert_written(0, 1);
	become_final(2, 2);
	assert_written(3, 4);
	assert_written(2, 5);
	assert_written(6, SLOTS);
	assert_false(kc__ready_searches(&ready));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_fits_is_written_as_it_comes),
	    TEST(what_does_not_fit_is_found_in_its_order),
	    TEST(what_comes_while_there_is_a_search_waits_for_it),
	    TEST(a_late_one_behind_the_search_is_found_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
