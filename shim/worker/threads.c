/*
 * Threads of ours: the worker's, and those that do something large while the
 * application waits. With all signals blocked, as those are the application's.
 */
#include "shim/shim.h"
#include "threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (512u << 10)

/* The loader's lock is not to be had when a thread that asks for it is asleep at so many looks in a row. */
#define LOOK_NS 5000000
#define LOOKS 4
#define LOOKS_BLIND 20 /* without /proc, a thread that has not come to run looks the same */

static __thread bool on_own_thread __attribute__((tls_model("initial-exec")));

enum stage { STARTING, ASKING_LOADER, WORKING, DONE, ABANDONED };

/* A thread that the application may cease to wait for: its work is not on that one's stack. One at a time. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* CLOCK_MONOTONIC */
	enum stage stage;
	pid_t thread;
	void (*work)(void *arg);
	void *arg;
} errand;

/* A thread of ours would otherwise have the real-time policy of the one that made it, and run before the application's
 * other threads for longer than RLIMIT_RTTIME may allow. */
static void leave_real_time(pthread_attr_t *attributes)
{
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	if (policy != SCHED_FIFO && policy != SCHED_RR)
		return;
	pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(attributes, SCHED_OTHER);
	pthread_attr_setschedparam(attributes, &(struct sched_param){.sched_priority = 0});
}

int kc__make_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	leave_real_time(&attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, &attributes, fn, arg);
	if (error == EPERM) { /* a filter of system calls has refused the policy */
		pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
		error = pthread_create(thread, &attributes, fn, arg);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

/* false: the application waits no more. */
static bool enter(enum stage stage)
{
	bool waited_for;

	pthread_mutex_lock(&errand.lock);
	waited_for = errand.stage != ABANDONED;
	if (waited_for)
		errand.stage = stage;
	pthread_cond_signal(&errand.changed);
	pthread_mutex_unlock(&errand.lock);
	return waited_for;
}

static void *run_errand(void *unused)
{
	void *program;

	(void)unused;
	on_own_thread = true;
	errand.thread = (pid_t)syscall(SYS_gettid);
	enter(ASKING_LOADER);
	program = dlopen(NULL, RTLD_LAZY); /* takes the lock as any dlopen() does */
	if (program)
		dlclose(program);
	if (!enter(WORKING))
		return NULL;
	errand.work(errand.arg);
	enter(DONE);
	return NULL;
}

enum seen { NOT_SEEN, AWAKE, ASLEEP };

/* What stands after the thread's name says its state, which is S while it waits for a lock. */
static void look(void *seen)
{
	char path[48], text[64];
	const char *name_end;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)errand.thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return;
	text[n] = 0;
	name_end = strrchr(text, ')');
	*(enum seen *)seen = !name_end || !strncmp(name_end, ") S", 3) ? ASLEEP : AWAKE;
}

static void wait_for_loader(void)
{
	enum seen seen = NOT_SEEN;
	struct timespec until;
	int asleep = 0;

	while (errand.stage == ASKING_LOADER && asleep < (seen == NOT_SEEN ? LOOKS_BLIND : LOOKS)) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&errand.changed, &errand.lock, &until);
		if (errand.stage != ASKING_LOADER)
			break;
		seen = NOT_SEEN;
		kc__files_do(look, &seen);
		asleep = seen == AWAKE ? 0 : asleep + 1;
	}
	if (errand.stage == ASKING_LOADER)
		errand.stage = ABANDONED;
}

/* A thread that is slow to begin is waited for; one that stands at the loader's lock only for a moment. */
static bool wait_for_errand(void)
{
	bool done;

	pthread_mutex_lock(&errand.lock);
	while (errand.stage == STARTING)
		pthread_cond_wait(&errand.changed, &errand.lock);
	wait_for_loader();
	while (errand.stage == WORKING)
		pthread_cond_wait(&errand.changed, &errand.lock);
	done = errand.stage == DONE;
	pthread_mutex_unlock(&errand.lock);
	return done;
}

static void begin_errand(void (*work)(void *arg), void *arg)
{
	pthread_condattr_t clock;

	pthread_mutex_init(&errand.lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&errand.changed, &clock);
	pthread_condattr_destroy(&clock);
	errand.stage = STARTING;
	errand.work = work;
	errand.arg = arg;
}

/* The application's thread must not be cancelled while it waits, as it holds locks of ours. */
static bool join(pthread_t thread, bool errand_of)
{
	bool done = true;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	if (errand_of)
		done = wait_for_errand();
	if (done)
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
	pthread_setcancelstate(before, NULL);
	return done;
}

int kc__on_loading_thread(void (*work)(void *arg), void *arg)
{
	pthread_t thread;
	int error;

	begin_errand(work, arg);
	error = kc__make_thread(&thread, run_errand, NULL);
	if (error)
		return error;
	return join(thread, true) ? 0 : -EDEADLK;
}

struct plain_errand {
	void (*work)(void *arg);
	void *arg;
};

static void *run_plain(void *arg)
{
	const struct plain_errand *plain = arg;

	plain->work(plain->arg);
	return NULL;
}

int kc__on_own_thread(void (*work)(void *arg), void *arg)
{
	struct plain_errand plain = {work, arg};
	pthread_t thread;
	int error;

	if (on_own_thread) {
		work(arg);
		return 0;
	}
	error = kc__make_thread(&thread, run_plain, &plain);
	if (!error)
		join(thread, false);
	return error;
}
