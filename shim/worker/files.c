/*
 * The application may close any descriptor of its table at any moment, and get the number for a file of its own. So
 * whatever of ours needs a descriptor is done on threads that have a descriptor table and a file-system state of their
 * own: the worker, and one that does what others ask it for. A third one does so with the application's descriptors:
 * CUPTI and the driver use those that they have opened there, so the worker does not call them itself; nor does it
 * write to standard error.
 */
#include "ending.h"
#include "shim/shim.h"
#include "shim/tables/memory.h"
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLONE_STACK_BYTES (64u << 10)

struct server {
	pthread_mutex_t turn; /* one asks at a time */
	pthread_t thread;
	_Atomic bool serving;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t asked, answered;
	void (*work)(void *arg); /* NULL: nothing is asked for */
	void *arg;
	bool has_lines, ends;
};
#define SERVER                                                                                                         \
	{                                                                                                              \
		.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,                                  \
		.asked = PTHREAD_COND_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER,                               \
	}
static struct server files = SERVER, application = SERVER;
static __thread bool serves_files __attribute__((tls_model("initial-exec")));

static void serve(struct server *s)
{
	kc__thread.depth = 1; /* driver calls from here are ours */
	kc__ending_not_for();
	pthread_mutex_lock(&s->lock);
	for (;;) {
		if (s->work) {
			pthread_mutex_unlock(&s->lock);
			s->work(s->arg);
			pthread_mutex_lock(&s->lock);
			s->work = NULL;
			pthread_cond_signal(&s->answered);
		} else if (s->has_lines) {
			s->has_lines = false;
			pthread_mutex_unlock(&s->lock);
			kc__say_waiting();
			pthread_mutex_lock(&s->lock);
		} else if (s->ends) {
			break;
		} else {
			pthread_cond_wait(&s->asked, &s->lock);
		}
	}
	pthread_mutex_unlock(&s->lock);
}

/* turn is held. */
static void ask(struct server *s, void (*work)(void *arg), void *arg)
{
	pthread_mutex_lock(&s->lock);
	s->work = work;
	s->arg = arg;
	pthread_cond_signal(&s->asked);
	while (s->work)
		pthread_cond_wait(&s->answered, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void end(struct server *s)
{
	if (!atomic_exchange(&s->serving, false))
		return;
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_cond_signal(&s->asked);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
}

static void forget(struct server *s)
{
	*s = (struct server)SERVER;
}

/* A table of its own. The application's files must not stay open because of us, and no number of ours is that of a
 * standard stream. */

static void close_listed(void)
{
	DIR *folder = opendir("/proc/thread-self/fd");
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
			close(atoi(entry->d_name));
	if (folder)
		closedir(folder);
}

static void empty_table(void)
{
	if (syscall(SYS_close_range, 0u, ~0u, 0u))
		close_listed(); /* before Linux 5.9 */
	for (int i = 0; i <= STDERR_FILENO; i++)
		if (open("/dev/null", O_RDWR) < 0)
			(void)!open("/", O_PATH);
	/* Nor must a folder that the application leaves stay in use, unless the database is there, without a path. */
	if (kc__shim.options.db[0] == '/')
		(void)!chdir("/");
}

/* A thread with a table of its own, one at a time. */
static struct {
	pthread_mutex_t turn, lock;
	pthread_cond_t changed;
	pthread_t thread;
	void *(*fn)(void *arg);
	void *arg;
	bool apart; /* it was made without the table of its maker */
	bool begun;
	int error;
} making = {.turn = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *run_apart(void *arg)
{
	void *(*fn)(void *arg) = making.fn;
	int error = making.apart || !unshare(CLONE_FILES | CLONE_FS) ? 0 : -errno;

	kc__thread.own_files = true;
	if (!error)
		empty_table();
	pthread_mutex_lock(&making.lock);
	making.begun = true;
	making.error = error;
	pthread_cond_signal(&making.changed);
	pthread_mutex_unlock(&making.lock);
	return error ? NULL : fn(arg);
}

static int make(void)
{
	return kc__make_thread(&making.thread, run_apart, making.arg);
}

/* Containers refuse unshare() where they refuse name spaces (Docker's filter of system calls). A thread that is made
 * without CLONE_FILES and CLONE_FS has copies, too, and hands them on to the thread that it makes. The C library makes
 * no such thread, so this one uses the thread-local variables of its maker, which does nothing until it has ended: as
 * with vfork(). */

static int make_in_clone(void *error)
{
	*(int *)error = make();
	return 0;
}

static int clone_and_wait(char *stack)
{
	const int flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	_Atomic uint32_t there = 1; /* until the thread has ended */
	int error = -EAGAIN;

	if (clone(make_in_clone, stack + CLONE_STACK_BYTES, flags, &error, NULL, NULL, &there) < 0)
		return -errno;
	while (atomic_load(&there))
		syscall(SYS_futex, &there, FUTEX_WAIT, 1, NULL, NULL, 0);
	return error;
}

static int make_by_clone(void)
{
	char *stack = kc__map(CLONE_STACK_BYTES);
	sigset_t all, before;
	int error;

	if (!stack)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = clone_and_wait(stack);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, CLONE_STACK_BYTES);
	return error;
}

static int make_and_wait(bool apart)
{
	int error;

	making.apart = apart;
	making.begun = false;
	error = apart ? make_by_clone() : make();
	if (error)
		return error;
	pthread_mutex_lock(&making.lock);
	while (!making.begun)
		pthread_cond_wait(&making.changed, &making.lock);
	error = making.error;
	pthread_mutex_unlock(&making.lock);
	if (error)
		pthread_join(making.thread, NULL);
	return error;
}

/* The caller holds locks of ours, and must not be cancelled. */
static int take_turn(struct server *s)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&s->turn);
	return before;
}

static void give_turn(struct server *s, int before)
{
	pthread_mutex_unlock(&s->turn);
	pthread_setcancelstate(before, NULL);
}

int kc__make_files_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	int before, error;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&making.turn);
	making.fn = fn;
	making.arg = arg;
	error = make_and_wait(false);
	if (error)
		error = make_and_wait(true);
	*thread = making.thread;
	pthread_mutex_unlock(&making.turn);
	pthread_setcancelstate(before, NULL);
	return error;
}

static void *run_files(void *unused)
{
	pthread_setname_np(pthread_self(), "kerncast-files"); /* of another thread, it would open a file */
	serves_files = true;
	serve(&files);
	return unused;
}

/* files.turn is held. */
static int begin_files(void)
{
	int error;

	files.ends = false;
	error = kc__make_files_thread(&files.thread, run_files, NULL);

	atomic_store(&files.serving, !error);
	return error;
}

static void *allocate(void *unused)
{
	void *volatile memory = malloc(1);

	free(memory);
	return unused;
}

/* The C library makes an arena of memory for each thread. Once there are as many as it is told, eight by default, it
 * reads from /sys how many processors there are, in whichever thread is the next: with ours among them, one of the
 * application's, whose other threads may close that descriptor and open files. So it does so here, at the third. */
static void settle_arenas(void *unused)
{
	pthread_t thread;

	mallopt(M_ARENA_TEST, 1);
	allocate(unused);
	if (kc__make_thread(&thread, allocate, NULL) == 0)
		pthread_join(thread, NULL);
}

int kc__files_begin(void)
{
	int before = take_turn(&files), error = begin_files();

	give_turn(&files, before);
	if (!error)
		kc__files_do(settle_arenas, NULL);
	return error;
}

void kc__files_end(void)
{
	int before = take_turn(&files);

	end(&files);
	give_turn(&files, before);
}

int kc__files_do(void (*work)(void *arg), void *arg)
{
	bool begins;
	int before, error = 0;

	if (serves_files) {
		work(arg);
		return 0;
	}
	if (!atomic_load(
		&kc__shim.ours)) /* a child in which no handler of fork() has run: the thread is its parent's */
		return -ECHILD;
	before = take_turn(&files);
	begins = !atomic_load(&files.serving);
	if (begins)
		error = begin_files();
	if (!error)
		ask(&files, work, arg);
	if (begins)
		end(&files);
	give_turn(&files, before);
	return error;
}

static void *run_application(void *unused)
{
	pthread_setname_np(pthread_self(), "kerncast-cupti");
	serve(&application);
	return unused;
}

int kc__application_begin(void)
{
	int error;

	application.ends = false;
	error = kc__make_thread(&application.thread, run_application, NULL);

	atomic_store(&application.serving, !error);
	return error;
}

void kc__application_end(void)
{
	end(&application);
}

void kc__application_do(void (*work)(void *arg), void *arg)
{
	if (!kc__thread.own_files) {
		work(arg);
		return;
	}
	pthread_mutex_lock(&application.turn);
	ask(&application, work, arg);
	pthread_mutex_unlock(&application.turn);
}

void kc__application_has_lines(void)
{
	pthread_mutex_lock(&application.lock);
	application.has_lines = true;
	pthread_cond_signal(&application.asked);
	pthread_mutex_unlock(&application.lock);
}

void kc__files_forget(void)
{
	forget(&files);
	forget(&application);
	pthread_mutex_init(&making.turn, NULL);
	pthread_mutex_init(&making.lock, NULL);
	pthread_cond_init(&making.changed, NULL);
}
