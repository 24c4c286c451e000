#include "ids.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void numbers_count_up_from_one_whatever_the_ids(void **state)
{
	static const int64_t given[] = {7, 0, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 32, INT64_C(1) << 40, 8};
	enum { COUNT = sizeof(given) / sizeof(given[0]) };
	struct kc_ids ids = {0};

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(kc_ids_find(&ids, given[i]), 0);
		assert_int_equal(kc_ids_number(&ids, given[i]), i + 1);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(kc_ids_number(&ids, given[i]), i + 1);
		assert_int_equal(kc_ids_find(&ids, given[i]), i + 1);
	}
	assert_int_equal(kc_ids_find(&ids, 9), 0);
	assert_int_equal(ids.count, COUNT);
	kc_ids_free(&ids);
}

/* Ids whose lower bits agree, a million apart and a power of two apart. */
static void many_keep_their_numbers_while_the_table_grows(void **state)
{
	static const int64_t apart[] = {1, 1000000, INT64_C(1) << 40};
	enum { COUNT = 20000 };

	(void)state;
	for (size_t a = 0; a < sizeof(apart) / sizeof(apart[0]); a++) {
		struct kc_ids ids = {0};

		for (int64_t i = 0; i < COUNT; i++)
			assert_int_equal(kc_ids_number(&ids, i * apart[a]), i + 1);
		for (int64_t i = 0; i < COUNT; i++)
			assert_int_equal(kc_ids_find(&ids, i * apart[a]), i + 1);
		assert_in_range(ids.capacity, 2 * COUNT, 8 * COUNT);
		kc_ids_free(&ids);
	}
}

static void what_was_cleared_is_not_found_and_counts_from_one_again(void **state)
{
	struct kc_ids ids = {0};

	(void)state;
	kc_ids_clear(&ids);
	assert_int_equal(kc_ids_number(&ids, 5), 1);
	assert_int_equal(kc_ids_number(&ids, 6), 2);
	kc_ids_clear(&ids);
	assert_int_equal(kc_ids_find(&ids, 5), 0);
	assert_int_equal(kc_ids_number(&ids, 6), 1);
	kc_ids_free(&ids);
	assert_int_equal(kc_ids_find(&ids, 6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_count_up_from_one_whatever_the_ids),
	    cmocka_unit_test(many_keep_their_numbers_while_the_table_grows),
	    cmocka_unit_test(what_was_cleared_is_not_found_and_counts_from_one_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
