#include "pace.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define KIB 1024u
#define M (1u << 20)

/* One in ten of a thousand is a hundred, each of 216 bytes. */
#define THOUSANDS_SHARE 21600

/* shim/README.md: half a million slots that are not stored halve what is read, and a million again. */
static void test_reads_less_the_more_slots_wait(void **state)
{
	struct kc__pace pace = {0};

	(void)state;
	assert_int_equal(kc__pace(&pace, 0, 1000, 0), 512 * KIB);
	assert_int_equal(kc__pace(&pace, M / 2, 2000, 0), 512 * KIB);
	assert_int_equal(kc__pace(&pace, M / 2 + 1, 3000, 0), 256 * KIB);
}

static void test_reads_for_one_slot_in_ten_when_a_million_wait(void **state)
{
	struct kc__pace pace = {0};

	(void)state;
	assert_int_equal(kc__pace(&pace, M + 1, 1000, 0), THOUSANDS_SHARE);
	assert_int_equal(kc__pace(&pace, 8 * M, 2000, 80), 120 * 216);
	assert_int_equal(kc__pace(&pace, 8 * M, 3000, 400), 0);
	assert_int_equal(kc__pace(&pace, 8 * M, 4000, 400), 0);
	assert_int_equal(kc__pace(&pace, 8 * M, 5000, 400), THOUSANDS_SHARE);
}

/* A turn took so long that half a megabyte is less than the records of one in ten. */
static void test_reads_for_one_slot_in_ten_when_turns_are_long(void **state)
{
	struct kc__pace pace = {0};

	(void)state;
	assert_int_equal(kc__pace(&pace, 50000, 50000, 0), 50 * THOUSANDS_SHARE);
	assert_int_equal(kc__pace(&pace, 50000, 51000, 5000), 512 * KIB);
}

/* Ten thousand are the most, whether they could not be read or were read in advance. */
static void test_does_not_make_up_for_what_was_long_ago(void **state)
{
	struct kc__pace pace = {0};

	(void)state;
	assert_int_equal(kc__pace(&pace, 2 * M, 1000000, 0), 10000 * 216);
	assert_int_equal(kc__pace(&pace, 2 * M, 1001000, 500000), 0);
	assert_int_equal(kc__pace(&pace, 2 * M, 1101000, 500000), 0);
	assert_int_equal(kc__pace(&pace, 2 * M, 1102000, 500000), THOUSANDS_SHARE);
}

static void test_reads_on_when_nothing_is_launched(void **state)
{
	struct kc__pace pace = {0};

	(void)state;
	assert_int_equal(kc__pace(&pace, 2 * M, 1000, 0), THOUSANDS_SHARE);
	assert_int_equal(kc__pace(&pace, 2 * M, 1000, 500), 128 * KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reads_less_the_more_slots_wait),
	    cmocka_unit_test(test_reads_for_one_slot_in_ten_when_a_million_wait),
	    cmocka_unit_test(test_reads_for_one_slot_in_ten_when_turns_are_long),
	    cmocka_unit_test(test_does_not_make_up_for_what_was_long_ago),
	    cmocka_unit_test(test_reads_on_when_nothing_is_launched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
