/* The lock of a device, with threads that meet at it. */
#include "lock.h"
#include "store/common/ids/thread_testing.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, TURNS = 50000 };

static struct kc__lock lock;
static uint64_t turns; /* under it */

static void *take_turns(void *unused)
{
	(void)unused;
	for (int i = 0; i < TURNS; i++) {
		kc__lock(&lock);
		turns++;
		kc__unlock(&lock);
	}
	return NULL;
}

static void one_thread_at_a_time(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	turns = 0;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(turns, THREADS * TURNS);
	assert_true(kc__lock_try(&lock));
	kc__unlock(&lock);
}

struct waiter {
	pthread_t thread;
	_Atomic pid_t id;
	int error;
};

static void *take_once(void *arg)
{
	struct waiter *waiter = arg;

	errno = EDOM;
	atomic_store(&waiter->id, gettid());
	kc__lock(&lock);
	turns = 1;
	kc__unlock(&lock);
	waiter->error = errno;
	return NULL;
}

static void who_waits_for_long_is_woken(void **state)
{
	struct waiter waiters[THREADS] = {{0}};

	(void)state;
	turns = 0;
	kc__lock(&lock);
	assert_false(kc__lock_try(&lock));
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&waiters[i].thread, NULL, take_once, &waiters[i]), 0);
	for (int i = 0; i < THREADS; i++)
		while (!atomic_load(&waiters[i].id) || kc_thread_state(getpid(), atomic_load(&waiters[i].id)) != 'S')
			usleep(100);
	assert_int_equal(turns, 0);
	kc__unlock(&lock);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(waiters[i].thread, NULL), 0);
		assert_int_equal(waiters[i].error, EDOM);
	}
	assert_int_equal(turns, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_thread_at_a_time),
	    cmocka_unit_test(who_waits_for_long_is_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
