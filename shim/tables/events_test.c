/* Events by their handles, which drivers use again. */
#include "tables_testing.h"
#include "shim/entry/real.h"
#include "streams.h"
#include "tables.h"

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

static CUevent handle(uint64_t i)
{
	return (CUevent)(uintptr_t)(0x7f0000000000 + 64 * i);
}

static void an_event_is_known_once_it_is_made(void **state)
{
	struct kc__event *event;

	(void)state;
	assert_null(kc__event_of(handle(1), false));
	event = kc__event_of(handle(1), true);
	assert_non_null(event);
	assert_ptr_equal(kc__event_of(handle(1), true), event);
	assert_ptr_equal(kc__event_of(handle(1), false), event);
	assert_null(kc__event_of(handle(2), false));
}

static void no_event_has_the_handle_null(void **state)
{
	(void)state;
	assert_null(kc__event_of(NULL, true));
	assert_null(kc__event_of(NULL, false));
	kc__event_destroyed(NULL);
}

static void a_handle_used_again_is_another_event(void **state)
{
	(void)state;
	kc__event_of(handle(1), true)->ready_ns = 1000;
	kc__event_destroyed(handle(1));
	assert_null(kc__event_of(handle(1), false));
	assert_int_equal(kc__event_of(handle(1), true)->ready_ns, 0);
	kc__event_destroyed(handle(2)); /* never seen */
	assert_non_null(kc__event_of(handle(1), false));
}

static void events_beside_a_destroyed_one_are_still_found(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 40000; i++)
		kc__event_of(handle(i), true)->ready_ns = (int64_t)i;
	for (uint64_t i = 0; i < 40000; i += 2)
		kc__event_destroyed(handle(i));
	for (uint64_t i = 1; i < 40000; i += 2)
		assert_int_equal(kc__event_of(handle(i), false)->ready_ns, i);
	for (uint64_t i = 0; i < 40000; i += 2)
		assert_null(kc__event_of(handle(i), false));
}

static void a_program_may_make_any_number_of_events_one_after_the_other(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000000; i++) {
		assert_non_null(kc__event_of(handle(i), true));
		if (i >= 1000)
			kc__event_destroyed(handle(i - 1000));
	}
	kc__tables_say_full();
	assert_string_equal(said[0], "");
}

static void as_many_as_the_message_says_exist_at_once(void **state)
{
	uint64_t i = 0;

	(void)state;
	for (; i < KC__EVENTS_MAX; i++)
		assert_non_null(kc__event_of(handle(i), true));
	while (kc__event_of(handle(i), true))
		i++;
	assert_true(i <= 2 * KC__EVENTS_MAX);
	kc__tables_say_full();
	assert_string_equal(said[0], "32,768 events; what waits for further ones is predicted to begin too early");
}

/* ---- Threads ---- */

static void *make_and_destroy(void *arg)
{
	uint64_t first = *(uint64_t *)arg;

	for (uint64_t round = 0; round < 100; round++) {
		for (uint64_t i = 0; i < 100; i++)
			kc__event_of(handle(first + i), true)->ready_ns = (int64_t)(first + i);
		for (uint64_t i = 0; i < 100; i++) {
			struct kc__event *event = kc__event_of(handle(first + i), false);

			if (!event || event->ready_ns != (int64_t)(first + i))
				return "lost";
			kc__event_destroyed(handle(first + i));
		}
	}
	return NULL;
}

static void threads_keep_their_own_events(void **state)
{
	uint64_t first[] = {0, 1000, 2000};
	pthread_t threads[3];
	void *lost;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_and_destroy, &first[i]), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &lost);
		assert_null(lost);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_event_is_known_once_it_is_made),
	    TEST(no_event_has_the_handle_null),
	    TEST(a_handle_used_again_is_another_event),
	    TEST(events_beside_a_destroyed_one_are_still_found),
	    TEST(a_program_may_make_any_number_of_events_one_after_the_other),
	    TEST(as_many_as_the_message_says_exist_at_once),
	    TEST(threads_keep_their_own_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
