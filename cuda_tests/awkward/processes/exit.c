/*
 * Launches while the process ends. exit, return: THREADS threads go on launching
 * until the process is gone. handlers: exit handlers and a destructor launch. pool:
 * the queue of a thread is emptied by the program's destructor. late: a destructor
 * that runs after those of preloaded libraries launches, by awkward_late(), in
 * THREADS threads if there are to be any. Exit status 5; handlers, pool and late
 * print the launches that they made.
 */
#include "cuda_tests/awkward/awkward.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define BEFORE 1000 /* launches */
#define AT_END 100  /* by each handler and destructor */
#define THREADS_MAX 64
#define STATUS 5

extern void awkward_started(void) __attribute__((weak)); /* of exit_waits.so, if it is loaded */

static struct awkward awkward;
static atomic_long launched, queued;
static pthread_t pool;
static pthread_barrier_t together;
static int in_destructor, pooled, late_threads;

__attribute__((visibility("default"))) void awkward_late(void);

static void launch(long times)
{
	CHECK(cuCtxSetCurrent(awkward.context));
	for (long i = 0; i < times; i++) {
		CHECK(awkward_launch(&awkward, NULL, 32));
		if (atomic_fetch_add(&launched, 1) % 256 == 255)
			CHECK(cuStreamSynchronize(NULL));
	}
	CHECK(cuStreamSynchronize(NULL));
}

static void *launch_for_ever(void *unused)
{
	for (;;)
		launch(BEFORE);
	return unused;
}

static void *serve(void *unused)
{
	while (atomic_load(&queued) >= 0)
		if (atomic_load(&queued)) {
			launch(1);
			atomic_fetch_sub(&queued, 1);
		} else {
			sched_yield();
		}
	return unused;
}

static void launch_at_end(void)
{
	launch(AT_END);
}

static void *serve_late(void *unused)
{
	pthread_barrier_wait(&together);
	launch_at_end();
	return unused;
}

static void launch_late(int threads)
{
	pthread_t made[THREADS_MAX];

	pthread_barrier_init(&together, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&made[i], NULL, serve_late, NULL))
			_exit(4);
	for (int i = 0; i < threads; i++)
		pthread_join(made[i], NULL);
}

static void drain_pool(void)
{
	while (atomic_load(&queued))
		sched_yield();
	atomic_store(&queued, -1);
	pthread_join(pool, NULL);
}

static void print_launched(void)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%ld\n", atomic_load(&launched));

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(4);
}

__attribute__((destructor)) static void at_unload(void)
{
	if (in_destructor)
		launch_at_end();
	if (pooled)
		drain_pool();
	if (in_destructor || pooled)
		print_launched();
}

/* Called by late.so, if it is loaded. */
void awkward_late(void)
{
	if (late_threads)
		launch_late(late_threads);
	else
		launch_at_end();
	print_launched();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread;

	if (!strcmp(mode, "handlers"))
		atexit(
		    launch_at_end); /* registered before cuInit, so it runs after the handlers that cuInit registers */
	awkward_start(&awkward);
	if (awkward_started)
		awkward_started();
	if (!strcmp(mode, "handlers"))
		atexit(launch_at_end);
	in_destructor = !strcmp(mode, "handlers");
	pooled = !strcmp(mode, "pool") && !pthread_create(&pool, NULL, serve, NULL);
	if (!strcmp(mode, "late")) {
		late_threads = threads < THREADS_MAX ? threads : THREADS_MAX;
		threads = 0;
	}
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, launch_for_ever, NULL))
			return 4;
	if (!threads)
		launch(BEFORE);
	while (atomic_load(&launched) < BEFORE)
		sched_yield();
	if (pooled)
		atomic_fetch_add(&queued, AT_END);
	if (!strcmp(mode, "exit"))
		exit(STATUS);
	return STATUS;
}
