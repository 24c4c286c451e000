#include "shim/shim.h"
#include "memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FAR_BYTES ((ptrdiff_t)64 << 10) /* farther than any frame of these tests from another */

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	handled += number == SIGUSR1;
}

struct seen {
	char *place; /* on the stack that the work ran on */
	sigset_t blocked;
	int handled, depth;
};

static void look(void *seen)
{
	struct seen *s = seen;
	char here[16384];

	memset(here, s->depth, sizeof(here));
	s->place = here;
	raise(SIGUSR1);
	pthread_sigmask(SIG_SETMASK, NULL, &s->blocked);
	s->handled = handled;
}

static ptrdiff_t distance(const char *a, const char *b)
{
	intptr_t d = (intptr_t)a - (intptr_t)b;

	return d < 0 ? -d : d;
}

static void check_call(void)
{
	struct seen seen = {0};
	sigset_t before, after;

	handled = 0;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	kc__deep(look, &seen);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_true(distance(seen.place, (char *)&seen) > FAR_BYTES);
	assert_int_equal(seen.handled, 0); /* it waits until the caller's stack is in use again */
	assert_int_equal(handled, 1);
	assert_true(sigismember(&seen.blocked, SIGUSR1));
	assert_true(sigismember(&seen.blocked, SIGPROF));
	assert_false(sigismember(&seen.blocked, SIGSEGV)); /* the kernel would end the process, handler or not */
	for (int number = 1; number < NSIG; number++)
		assert_int_equal(sigismember(&before, number), sigismember(&after, number));
}

static void *check_on_thread(void *unused)
{
	check_call();
	return unused;
}

static void deep_work_has_a_stack_of_its_own(void **state)
{
	struct sigaction action = {.sa_handler = on_signal};
	pthread_t thread;

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(kc__deep_begin(), 0);
	check_call();
	check_call();
	assert_int_equal(pthread_create(&thread, NULL, check_on_thread, NULL), 0);
	pthread_join(thread, NULL);
	check_call();
	assert_int_equal(kc__deep_begin(), 0); /* as in a forked child */
	check_call();
}

static void room_is_taken_by_one_at_a_time(void **state)
{
	char *first = kc__room_take(), *second = kc__room_take(), *third;

	(void)state;
	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	memset(first, 1, KC__ROOM_BYTES);
	memset(second, 2, KC__ROOM_BYTES);
	assert_int_equal(first[KC__ROOM_BYTES - 1], 1);
	kc__room_give(first);
	kc__room_give(second);
	kc__room_give(NULL);
	third = kc__room_take();
	assert_ptr_equal(third, second); /* no system call */
	kc__room_give(third);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deep_work_has_a_stack_of_its_own),
	    cmocka_unit_test(room_is_taken_by_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
