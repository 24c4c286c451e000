/* Launches that wait for their kernel's code: for how long, and when not. */
#include "foresee.h"
#include "code_read.h"
#include "reader.h"
#include "shim/worker/ending.h"
#include "shim/worker/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <time.h>

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));

static struct kc__code code;
static struct kc__kernel *_Atomic wanted; /* NULL: no kernel is ever read */
static _Atomic int finished;

/* ---- The rest of the library ---- */

int64_t kc__now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int kc__make_files_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	return -pthread_create(thread, NULL, fn, arg);
}

void kc__ending_not_for(void)
{
}

int kc__code_note_places(void)
{
	return 0;
}

int kc__foresee_step(void)
{
	return 0;
}

void kc__code_finish(void)
{
	finished = 1;
}

static _Atomic int looks; /* at what there is to read */
static _Atomic int apart; /* 1: what that thread calls is none of the application's */

int kc__code_step(int64_t *rest_ns)
{
	struct kc__kernel *kernel = atomic_load(&wanted);

	atomic_fetch_add(&looks, 1);
	apart = kc__thread.depth;
	*rest_ns = INT64_MAX;
	if (!kernel || kernel->reading_done)
		return 0;
	atomic_store(&kernel->reading_done, 1);
	kc__reader_answer(kernel);
	return 1;
}

/* ---- */

#define MS 1000000ll
#define WAIT_MS 20

static void begin(int64_t wait_ns)
{
	memset(&code, 0, sizeof(code));
	kc__shim.options.wait_ns = wait_ns;
	kc__shim.exit_ns = 0;
	wanted = NULL;
	finished = 0;
	assert_int_equal(kc__reader_start(), 0);
}

static void end(void)
{
	kc__reader_finish();
	assert_true(finished);
}

static int64_t awaits(struct kc__kernel *kernel)
{
	int64_t began_ns = kc__now_ns();

	kc__reader_await(kernel);
	assert_int_equal(kernel->awaited, 0);
	assert_int_equal(kc__reader_awaited(), 0);
	return kc__now_ns() - began_ns;
}

static void a_launch_waits_until_its_kernel_has_been_read(void **state)
{
	struct kc__kernel kernel = {.code = &code};

	(void)state;
	begin(10000 * MS);
	wanted = &kernel;
	assert_in_range(awaits(&kernel), 0, 9000 * MS);
	assert_int_equal(kernel.reading_done, 1);
	end();
}

/* 20 kernels, each for the time given, and no more: ten others would take another 200 ms. */
static void a_process_waits_twenty_times_as_long_at_most(void **state)
{
	struct kc__kernel kernels[KC__WAITS + 10];
	int64_t others_ns = 0;

	(void)state;
	begin(WAIT_MS * MS);
	memset(kernels, 0, sizeof(kernels));
	for (int i = 0; i < KC__WAITS + 10; i++) {
		int64_t ns;

		kernels[i].code = &code;
		ns = awaits(&kernels[i]);
		if (i < KC__WAITS)
			assert_in_range(ns, WAIT_MS * MS, INT64_MAX);
		else
			others_ns += ns;
	}
	assert_in_range(others_ns, 0, 10 * WAIT_MS * MS - 1);
	end();
}

static void a_kernel_is_waited_for_once(void **state)
{
	struct kc__kernel kernel = {.code = &code};
	int64_t again_ns = 0;

	(void)state;
	begin(WAIT_MS * MS);
	assert_in_range(awaits(&kernel), WAIT_MS * MS, INT64_MAX);
	for (int i = 0; i < 10; i++)
		again_ns += awaits(&kernel);
	assert_in_range(again_ns, 0, 10 * WAIT_MS * MS - 1);
	end();
}

/* 10 s would be noticed. */
static void what_nobody_will_read_is_not_waited_for(void **state)
{
	struct kc__code machine_code = {.lacks_ptx = true};
	struct kc__formula *formula = (void *)&code;
	struct kc__kernel kernel = {.code = &code}, unseen = {0}, without_ptx = {.code = &machine_code};
	struct kc__kernel read_ahead = {.code = &code, .formula = formula};

	(void)state;
	begin(0);
	awaits(&kernel);
	end();
	begin(10000 * MS);
	assert_in_range(awaits(&unseen), 0, 9000 * MS);
	assert_in_range(awaits(&without_ptx), 0, 9000 * MS);
	assert_in_range(awaits(&read_ahead), 0, 9000 * MS);
	kc__shim.exit_ns = 1;
	assert_in_range(awaits(&kernel), 0, 9000 * MS);
	kc__shim.exit_ns = 0;
	end();
	assert_in_range(awaits(&kernel), 0, 9000 * MS);
	kc__reader_forget();
	assert_in_range(awaits(&kernel), 0, 9000 * MS);
}

/* Of 20 launches' time half may go there, and what is not needed is not lost. */
static void the_program_s_own_code_is_waited_for(void **state)
{
	struct kc__kernel kernels[KC__WAITS];
	int64_t began_ns, waited = 0;

	(void)state;
	begin(WAIT_MS * MS);
	began_ns = kc__now_ns();
	kc__reader_await_program();
	assert_in_range(kc__now_ns() - began_ns, KC__WAITS / 2 * WAIT_MS * MS, INT64_MAX);
	memset(kernels, 0, sizeof(kernels));
	for (int i = 0; i < KC__WAITS; i++) {
		kernels[i].code = &code;
		waited += awaits(&kernels[i]) >= WAIT_MS * MS;
	}
	assert_in_range(waited, KC__WAITS / 2, KC__WAITS - 1);
	end();
	begin(10000 * MS);
	kc__reader_program_read();
	began_ns = kc__now_ns();
	kc__reader_await_program();
	assert_in_range(kc__now_ns() - began_ns, 0, 9000 * MS);
	end();
	begin(0);
	kc__reader_await_program();
	end();
}

/* The reader looks again within 9 s: 1. Where none is expected, 20 ms are waited. */
static int looks_again(int before, int64_t wait_ns)
{
	int64_t until_ns = kc__now_ns() + wait_ns;

	while (looks == before && kc__now_ns() < until_ns)
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
	return looks != before;
}

/* A launch reminds the reader of what it has not been told of: once, and only if there is something. */
static void a_reminder_is_given_once(void **state)
{
	int before;

	(void)state;
	looks = 0;
	begin(0);
	assert_true(looks_again(0, 9000 * MS));
	assert_int_equal(apart, 1);
	before = looks;
	kc__reader_remind();
	assert_false(looks_again(before, WAIT_MS * MS));
	for (int i = 0; i < 2; i++) {
		kc__reader_want();
		assert_false(looks_again(before, WAIT_MS * MS));
		kc__reader_remind();
		assert_true(looks_again(before, 9000 * MS));
		before = looks;
		kc__reader_remind();
		assert_false(looks_again(before, WAIT_MS * MS));
	}
	end();
}

/* What was wanted of a process is not of the next one, in which it was forked. */
static void a_new_reader_is_reminded_of_nothing(void **state)
{
	int before;

	(void)state;
	kc__reader_forget();
	assert_false(kc__reader_is_ending());
	begin(0);
	assert_false(kc__reader_is_ending());
	kc__reader_want();
	end();
	assert_true(kc__reader_is_ending());
	looks = 0;
	begin(0);
	assert_true(looks_again(0, 9000 * MS));
	before = looks;
	kc__reader_remind();
	assert_false(looks_again(before, WAIT_MS * MS));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_launch_waits_until_its_kernel_has_been_read),
	    cmocka_unit_test(a_process_waits_twenty_times_as_long_at_most),
	    cmocka_unit_test(a_kernel_is_waited_for_once),
	    cmocka_unit_test(the_program_s_own_code_is_waited_for),
	    cmocka_unit_test(what_nobody_will_read_is_not_waited_for),
	    cmocka_unit_test(a_reminder_is_given_once),
	    cmocka_unit_test(a_new_reader_is_reminded_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
