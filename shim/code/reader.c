#include "reader.h"
#include "foresee.h"
#include "code_read.h"
#include "shim/worker/ending.h"
#include "shim/worker/selection.h"
#include "shim/worker/threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum state { NONE, BEGUN, ENDING, ENDED };

static struct {
	_Atomic uint32_t state; /* enum state */
	_Atomic uint32_t calls;
	_Atomic uint32_t wanted; /* 1: something to read, of which it has not been told */
	_Atomic uint32_t awaited;
	_Atomic int64_t left_ns; /* that launches may still wait, all together */
	_Atomic uint32_t program_read;
} reader;

/* errno is the caller's to keep. ns: INT64_MAX: for ever. */
static void wait_while(_Atomic uint32_t *word, uint32_t value, int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns == INT64_MAX ? NULL : &t, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void enter(enum state state)
{
	atomic_store(&reader.state, state);
	wake(&reader.state);
}

bool kc__reader_is_ending(void)
{
	return atomic_load_explicit(&reader.state, memory_order_relaxed) >= ENDING;
}

/* What was launched comes first, and where its code lies before that code is read, unless somebody waits. */
static void *run(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "kerncast-code"); /* of another thread, it would open a file */
	kc__thread.depth = 1;
	kc__ending_not_for();
	while (atomic_load(&reader.state) == BEGUN) {
		uint32_t calls = atomic_load(&reader.calls);
		int64_t rest_ns;

		if (!kc__reader_awaited() && kc__code_note_places())
			continue;
		if (kc__code_step(&rest_ns) || kc__foresee_step())
			continue;
		if (atomic_load(&reader.state) == BEGUN)
			wait_while(&reader.calls, calls, rest_ns);
	}
	if (atomic_load(&reader.state) == ENDING)
		kc__code_finish();
	enter(ENDED);
	return NULL;
}

int kc__reader_start(void)
{
	pthread_t thread;
	int error;

	atomic_store(&reader.state, BEGUN);
	atomic_store(&reader.wanted, 0);
	atomic_store(&reader.awaited, 0);
	atomic_store(&reader.program_read, 0);
	atomic_store(&reader.left_ns, KC__WAITS * kc__shim.options.wait_ns);
	error = kc__make_files_thread(&thread, run, NULL);
	if (error) {
		atomic_store(&reader.state, NONE);
		return error;
	}
	pthread_detach(thread);
	return 0;
}

void kc__reader_stop(void)
{
	atomic_store(&reader.state, ENDED);
	kc__reader_call();
}

void kc__reader_finish(void)
{
	uint32_t state = BEGUN;

	if (!atomic_compare_exchange_strong(&reader.state, &state, ENDING))
		return;
	kc__reader_call();
	while (atomic_load(&reader.state) == ENDING)
		wait_while(&reader.state, ENDING, INT64_MAX);
}

void kc__reader_forget(void)
{
	atomic_store(&reader.state, NONE);
	atomic_store(&reader.awaited, 0);
}

void kc__reader_call(void)
{
	int saved_errno = errno;

	atomic_fetch_add(&reader.calls, 1);
	wake(&reader.calls);
	errno = saved_errno;
}

void kc__reader_want(void)
{
	atomic_store(&reader.wanted, 1);
}

void kc__reader_remind(void)
{
	if (atomic_load_explicit(&reader.wanted, memory_order_relaxed) && atomic_exchange(&reader.wanted, 0))
		kc__reader_call();
}

uint32_t kc__reader_awaited(void)
{
	return atomic_load_explicit(&reader.awaited, memory_order_relaxed);
}

/* Of the process's time; what is not needed is given back. */
static int64_t take_time(int64_t wanted_ns)
{
	int64_t left_ns = atomic_load(&reader.left_ns), ns;

	do
		ns = wanted_ns < left_ns ? wanted_ns : left_ns;
	while (ns > 0 && !atomic_compare_exchange_weak(&reader.left_ns, &left_ns, left_ns - ns));
	return ns > 0 ? ns : 0;
}

/* The first launch of a kernel says until when all of them wait. */
static int64_t time_of(struct kc__kernel *kernel, int64_t now_ns)
{
	int64_t until_ns = 0;

	if (atomic_compare_exchange_strong(&kernel->wait_until_ns, &until_ns, now_ns + kc__shim.options.wait_ns))
		return kc__shim.options.wait_ns;
	return until_ns - now_ns;
}

/* There is somebody who may read it, and something to read. One whose formula is there was read ahead. */
static bool is_readable(const struct kc__kernel *kernel)
{
	return kernel->code && kernel->every != KC__NEVER && !kernel->code->lacks_ptx &&
	       !atomic_load(&kernel->formula) && !atomic_load(&kc__shim.exit_ns) && atomic_load(&reader.state) == BEGUN;
}

/* Until the word is not 0. */
static void await(_Atomic uint32_t *word, int64_t given_ns)
{
	int64_t began_ns = kc__now_ns(), left_ns = given_ns;

	while (left_ns > 0 && !atomic_load_explicit(word, memory_order_acquire)) {
		wait_while(word, 0, left_ns);
		left_ns = given_ns - (kc__now_ns() - began_ns);
	}
	if (left_ns > 0)
		atomic_fetch_add(&reader.left_ns, left_ns);
}

void kc__reader_await(struct kc__kernel *kernel)
{
	int64_t given_ns;

	if (!kc__shim.options.wait_ns || !is_readable(kernel))
		return;
	given_ns = take_time(time_of(kernel, kc__now_ns()));
	if (!given_ns)
		return;
	atomic_fetch_add(&kernel->awaited, 1);
	atomic_fetch_add(&reader.awaited, 1);
	kc__reader_call();
	await(&kernel->reading_done, given_ns);
	atomic_fetch_sub(&reader.awaited, 1);
	atomic_fetch_sub(&kernel->awaited, 1);
}

void kc__reader_await_program(void)
{
	await(&reader.program_read, take_time(KC__WAITS / 2 * kc__shim.options.wait_ns));
}

void kc__reader_program_read(void)
{
	atomic_store(&reader.program_read, 1);
	wake(&reader.program_read);
}

void kc__reader_answer(struct kc__kernel *kernel)
{
	if (atomic_load(&kernel->awaited))
		wake(&kernel->reading_done);
}
