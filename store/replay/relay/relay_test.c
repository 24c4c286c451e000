#include "relay.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RECORDS 100000

struct record {
	int number;
	char rest[60];
};

struct taken {
	int count, in_order, fails_at;
};

static int take(void *record, void *arg)
{
	const struct record *r = record;
	struct taken *taken = arg;

	taken->in_order &= r->number == taken->count;
	if (taken->count == taken->fails_at)
		return -EIO;
	taken->count++;
	return 0;
}

static int give(struct kc_relay *relay, int number)
{
	struct record *record = kc_relay_room(relay);

	record->number = number;
	return kc_relay_give(relay);
}

static void all_is_taken_in_its_order(void **state)
{
	static const int counts[] = {0, 1, 1000, RECORDS};
	struct taken taken = {.in_order = 1, .fails_at = -1};
	struct kc_relay *relay = kc_relay_new(sizeof(struct record), take, &taken);
	int given = 0;

	(void)state;
	assert_non_null(relay);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		while (given < counts[i])
			assert_int_equal(give(relay, given++), 0);
		assert_int_equal(kc_relay_wait(relay), 0);
		assert_int_equal(taken.count, counts[i]);
		assert_int_equal(taken.in_order, 1);
	}
	kc_relay_free(relay);
}

static void after_an_error_nothing_is_taken_and_it_is_told(void **state)
{
	struct taken taken = {.in_order = 1, .fails_at = 20};
	struct kc_relay *relay = kc_relay_new(sizeof(struct record), take, &taken);
	int given = 0;

	(void)state;
	assert_non_null(relay);
	while (given < RECORDS && give(relay, given) == 0)
		given++;
	assert_true(given < RECORDS);
	assert_int_equal(kc_relay_wait(relay), -EIO);
	assert_int_equal(taken.count, 20);
	kc_relay_free(relay);
}

/* As after another error, of the thread that gives. */
static void what_is_not_waited_for_may_be_dropped(void **state)
{
	struct taken taken = {.in_order = 1, .fails_at = -1};
	struct kc_relay *relay = kc_relay_new(sizeof(struct record), take, &taken);

	(void)state;
	assert_non_null(relay);
	for (int i = 0; i < RECORDS / 2; i++)
		assert_int_equal(give(relay, i), 0);
	kc_relay_free(relay);
	assert_int_equal(taken.in_order, 1);
	assert_true(taken.count <= RECORDS / 2);
	kc_relay_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_is_taken_in_its_order),
	    cmocka_unit_test(after_an_error_nothing_is_taken_and_it_is_told),
	    cmocka_unit_test(what_is_not_waited_for_may_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
