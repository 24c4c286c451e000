/*
 * The end of a process whose first thread has ended by pthread_exit(). The C library then ends the process, as exit(0)
 * does, when the last of the other threads ends. Ours and CUPTI's never do, so where they alone are left it is done for
 * the application, by a thread that was made for this while the application's files were there.
 */
#include "ending.h"
#include "shim/entry/real.h"
#include "shim/worker/cupti/measuring.h"
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS 50000000ll
#define OURS_MAX 8
#define LINKS_OF_FOLDER 2 /* /proc/self/task has as many links and one for each thread */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool due;
	sigset_t signals;                /* blocked in the thread that began */
	_Atomic uint32_t ours[OURS_MAX]; /* Linux thread ids */
	_Atomic int ours_count;
} ending = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

void kc__ending_not_for(void)
{
	int place = atomic_fetch_add(&ending.ours_count, 1);

	if (place < OURS_MAX)
		atomic_store(&ending.ours[place], kc__thread_id(&kc__thread));
}

static bool is_ours(uint32_t thread)
{
	for (int i = 0; i < OURS_MAX; i++)
		if (atomic_load(&ending.ours[i]) == thread)
			return true;
	return false;
}

/* It has given its memory back, and so has no program any more. No descriptor is needed to ask. */
static bool first_thread_has_ended(void)
{
	char path[1];

	return readlink("/proc/self/exe", path, sizeof(path)) < 0 && errno == ENOENT &&
	       readlink("/proc/thread-self/exe", path, sizeof(path)) > 0;
}

/* Whether threads of ours and of CUPTI are left, and no others. */
static bool nobody_else_is_left(void)
{
	const void *cupti = kc__cupti_base();
	DIR *threads = opendir("/proc/self/task");
	uint32_t first = (uint32_t)getpid();
	unsigned known = 0, all = 0;
	struct dirent *entry;
	struct stat st;

	while (threads && known == all && (entry = readdir(threads))) {
		uint32_t thread = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (entry->d_name[0] == '.')
			continue;
		all++;
		known += thread == first || is_ours(thread) || (cupti && kc__thread_began_in(thread, cupti));
	}
	if (threads)
		closedir(threads);
	return all && known == all && !stat("/proc/self/task", &st) && st.st_nlink == LINKS_OF_FOLDER + all;
}

void kc__ending_look(int64_t now_ns)
{
	static int64_t looked_ns;

	if (now_ns - looked_ns < LOOK_NS)
		return;
	looked_ns = now_ns;
	if (!first_thread_has_ended() || !nobody_else_is_left())
		return;
	pthread_mutex_lock(&ending.lock);
	ending.due = true;
	pthread_cond_signal(&ending.wake);
	pthread_mutex_unlock(&ending.lock);
}

/* The last thread would have had a context of the driver: the one that a thread has come with last is used. */
static void *exit_process(void *unused)
{
	CUcontext context = atomic_load(&kc__shim.last_context);
	__typeof__(&cuCtxSetCurrent) set_current = context ? KC_ASK(cuCtxSetCurrent) : NULL;

	(void)unused;
	if (set_current)
		set_current(context);
	exit(0);
}

/* What the application does at its exit needs the stack and the signals of a thread of its own. */
static void *await_end(void *unused)
{
	pthread_t thread;

	pthread_setname_np(pthread_self(), "kerncast-end"); /* of another thread, it would open a file */
	kc__ending_not_for();
	pthread_mutex_lock(&ending.lock);
	while (!ending.due)
		pthread_cond_wait(&ending.wake, &ending.lock);
	pthread_mutex_unlock(&ending.lock);
	pthread_sigmask(SIG_SETMASK, &ending.signals, NULL);
	if (pthread_create(&thread, NULL, exit_process, NULL))
		exit_process(NULL);
	for (;;)
		pause();
	return unused;
}

void kc__ending_begin(void)
{
	pthread_t thread;

	if (kc__apart()) /* the application's C library knows no thread of ours */
		return;
	pthread_sigmask(SIG_BLOCK, NULL, &ending.signals);
	if (kc__make_thread(&thread, await_end, NULL))
		return;
	pthread_detach(thread);
}

void kc__ending_forget(void)
{
	pthread_mutex_init(&ending.lock, NULL);
	pthread_cond_init(&ending.wake, NULL);
	ending.due = false;
	memset(ending.ours, 0, sizeof(ending.ours));
	atomic_store(&ending.ours_count, 0);
}
