/*
 * A clock for the whole process that stands while a thread has something to do, and goes on to when the next one is to
 * be woken as soon as all of them wait. A run is then as fast as the machine allows, and one that is slow or busy wakes
 * nobody late. The program has the C library's functions of these names for itself, and its libraries call them.
 *
 * A thread that has waited here is known by what it calls. One that waits for something else, such as a mutex, counts
 * as busy then, as is the one that it waits for. All others, those that were just made among them, are busy where the
 * kernel says that they run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define READ_NS 100 /* pass with each look at the clock: what is done takes some time, too */
#define THREADS_MAX 256u

struct waiter {
	const pthread_cond_t *cond; /* NULL: it sleeps */
	int64_t until_ns;
	_Atomic uint32_t woken;
	bool in_time; /* it was signalled */
	bool counts;
	struct waiter *next;
};

struct threads {
	pid_t at[THREADS_MAX];
	unsigned count;
};

static struct {
	pthread_mutex_t lock;
	struct waiter *waiting; /* who came first is first */
	unsigned busy;
	struct threads known, others; /* those that count, and all others at the last look */
	_Atomic int64_t now_ns;       /* of CLOCK_MONOTONIC */
	int64_t realtime_at_0_ns;     /* CLOCK_REALTIME is so much more */
	pthread_key_t thread;
} simulated = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread struct waiter self __attribute__((tls_model("initial-exec")));

static int64_t ns_of(const struct timespec *time)
{
	return time->tv_sec * SECOND_NS + time->tv_nsec;
}

static int64_t read_clock(clockid_t clock)
{
	struct timespec time;

	syscall(SYS_clock_gettime, clock, &time);
	return ns_of(&time);
}

/* The rest is with the lock held. */
static void wake(struct waiter **at, bool in_time)
{
	struct waiter *waiter = *at;

	*at = waiter->next;
	waiter->in_time = in_time;
	simulated.busy++;
	atomic_store(&waiter->woken, 1);
	syscall(SYS_futex, &waiter->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void add(struct threads *threads, pid_t thread)
{
	if (threads->count == THREADS_MAX)
		abort();
	threads->at[threads->count++] = thread;
}

static unsigned place_of(const struct threads *threads, pid_t thread)
{
	unsigned i = 0;

	while (i < threads->count && threads->at[i] != thread)
		i++;
	return i;
}

static void find_others(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;

	simulated.others.count = 0;
	while (tasks && (task = readdir(tasks))) {
		pid_t thread = (pid_t)atoi(task->d_name);

		if (thread > 0 && place_of(&simulated.known, thread) == simulated.known.count)
			add(&simulated.others, thread);
	}
	if (tasks)
		closedir(tasks);
}

enum state { GONE, SLEEPS, RUNS };

/* What stands after a thread's name says its state: S of one that waits. */
static enum state state_of(pid_t thread)
{
	char path[48], text[96];
	const char *name_end;
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	file = open(path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (file >= 0)
		close(file);
	text[n > 0 ? n : 0] = 0;
	name_end = strrchr(text, ')');
	return !name_end ? GONE : !strncmp(name_end, ") S", 3) ? SLEEPS : RUNS;
}

/* Of those that are not known, but for the one that asks. */
static bool others_run(void)
{
	pid_t asks = (pid_t)syscall(SYS_gettid);
	struct stat tasks;

	if (stat("/proc/self/task", &tasks) || tasks.st_nlink != 2 + simulated.known.count + simulated.others.count)
		find_others();
	for (unsigned i = 0; i < simulated.others.count; i++) {
		enum state state = simulated.others.at[i] == asks ? SLEEPS : state_of(simulated.others.at[i]);

		if (state == GONE)
			simulated.others.count = 0; /* another one may have come for it: they are looked for again */
		if (state != SLEEPS)
			return true;
	}
	return false;
}

static struct waiter **first_to_wake(void)
{
	struct waiter **next = NULL;

	for (struct waiter **at = &simulated.waiting; *at; at = &(*at)->next)
		if ((*at)->until_ns < (next ? (*next)->until_ns : INT64_MAX))
			next = at;
	return next;
}

/* If nobody has anything to do, it is the time at which somebody has. The lock is let go of while others run. */
static void go_on(void)
{
	static const struct timespec a_moment = {0, 20000};
	struct waiter **next;

	while (!simulated.busy && others_run()) {
		pthread_mutex_unlock(&simulated.lock);
		syscall(SYS_nanosleep, &a_moment, NULL);
		pthread_mutex_lock(&simulated.lock);
	}
	next = first_to_wake();
	if (simulated.busy || !next)
		return;
	if (atomic_load(&simulated.now_ns) < (*next)->until_ns)
		atomic_store(&simulated.now_ns, (*next)->until_ns);
	wake(next, false);
}

static void count(void)
{
	if (self.counts)
		return;
	self.counts = true;
	simulated.busy++;
	add(&simulated.known, (pid_t)syscall(SYS_gettid));
	simulated.others.count = 0;
	pthread_setspecific(simulated.thread, &self);
}

static void count_no_more(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&simulated.lock);
	if (self.counts) {
		self.counts = false;
		simulated.busy--;
		simulated.known.at[place_of(&simulated.known, (pid_t)syscall(SYS_gettid))] =
		    simulated.known.at[--simulated.known.count];
		simulated.others.count = 0;
		go_on();
	}
	pthread_mutex_unlock(&simulated.lock);
}

static void begin(void)
{
	int64_t now_ns = read_clock(CLOCK_MONOTONIC);

	simulated.realtime_at_0_ns = read_clock(CLOCK_REALTIME) - now_ns;
	atomic_store(&simulated.now_ns, now_ns);
	pthread_key_create(&simulated.thread, count_no_more);
	count();
}

/* Returns whether it was signalled. mutex: NULL: there is none. */
static bool wait_for(const pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until_ns)
{
	struct waiter **end = &simulated.waiting;

	pthread_mutex_lock(&simulated.lock);
	count();
	self.cond = cond;
	self.until_ns = until_ns;
	self.next = NULL;
	atomic_store(&self.woken, 0);
	while (*end)
		end = &(*end)->next;
	*end = &self;
	simulated.busy--;
	if (mutex)
		pthread_mutex_unlock(mutex);
	go_on();
	pthread_mutex_unlock(&simulated.lock);
	while (!atomic_load(&self.woken))
		syscall(SYS_futex, &self.woken, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	if (mutex)
		pthread_mutex_lock(mutex);
	return self.in_time;
}

static void signal_waiters(const pthread_cond_t *cond, unsigned most)
{
	struct waiter **at = &simulated.waiting;

	pthread_mutex_lock(&simulated.lock);
	while (*at && most) {
		if ((*at)->cond == cond) {
			wake(at, true);
			most--;
		} else {
			at = &(*at)->next;
		}
	}
	pthread_mutex_unlock(&simulated.lock);
}

/* Before the first function of any library. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = begin;

#pragma GCC visibility push(default)

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int64_t ns;

	if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, clock, time);
	ns = atomic_fetch_add_explicit(&simulated.now_ns, READ_NS, memory_order_relaxed) + READ_NS;
	if (clock == CLOCK_REALTIME)
		ns += simulated.realtime_at_0_ns;
	*time = (struct timespec){ns / SECOND_NS, ns % SECOND_NS};
	return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	wait_for(NULL, NULL, atomic_load(&simulated.now_ns) + ns_of(time));
	return 0;
}

/* As the one that has been ended by kerncast but holds its journal does. */
int pause(void)
{
	count_no_more(NULL);
	return (int)syscall(SYS_pause);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	wait_for(cond, mutex, INT64_MAX);
	return 0;
}

/* Which clock a condition has can be seen by the time: CLOCK_MONOTONIC began when the machine did. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	int64_t ns = ns_of(until);

	if (ns > simulated.realtime_at_0_ns)
		ns -= simulated.realtime_at_0_ns;
	return wait_for(cond, mutex, ns) ? 0 : ETIMEDOUT;
}

int pthread_cond_signal(pthread_cond_t *cond)
{
	signal_waiters(cond, 1);
	return 0;
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
	signal_waiters(cond, UINT_MAX);
	return 0;
}
