/*
 * Whether correlation ids stay unique while callbacks, or kinds of records, are switched off and on beside threads that
 * launch without pause. A thread's launches have a grid of their own, so that a record tells whose it is.
 */
#include "facts_runtime.h"
#include "facts_window.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 4,
	SWITCHES = 50,
	LAUNCHES_MAX = 1 << 17, /* of a thread */
	EACH_WAIT = 500,
	LIMIT_S = 10, /* a process that takes longer hangs */
};
#define BETWEEN_NS 2000000
#define DELIVERY_NS 20000000

static struct stuck_thread {
	pthread_t thread;
	CUstream stream;
	unsigned grid;
	uint32_t *ids; /* of its launches, as callbacks told them; 0: none did */
	int launches;
	int repeated;         /* launches whose id a launch before them had */
	int repeated_records; /* the same, of records */
} threads[THREADS];

static struct {
	struct facts_runtime runtime;
	cudaKernel_t kernel; /* launched by the runtime; NULL: by the driver API */
	CUfunction function;
	atomic_bool end;
} stuck;

static void launch(const struct stuck_thread *t)
{
	cudaError_t error;

	if (!stuck.kernel) {
		facts_launch(stuck.function, t->stream, t->grid, 32, 0);
		return;
	}
	error = facts_runtime_launch(&stuck.runtime, stuck.kernel, t->stream, t->grid, 32, 0);
	if (error)
		facts_give_up("cudaLaunchKernel", stuck.runtime.error_name(error));
}

static void *launch_all(void *argument)
{
	struct stuck_thread *t = argument;

	FACTS_CALL(cuCtxSetCurrent, facts_driver.context);
	while (!stuck.end && t->launches < LAUNCHES_MAX) {
		facts_correlation = 0;
		launch(t);
		t->ids[t->launches++] = facts_correlation;
		if (t->launches % EACH_WAIT == 0)
			FACTS_CALL(cuStreamSynchronize, t->stream);
	}
	return NULL;
}

static void pause_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

/* Returns how often. The runtime's callbacks are switched off once, and stay so. */
static int switch_off_and_on(const char *what)
{
	void (*set)(bool) = !strcmp(what, "kinds") ? facts_window_kinds : facts_window_callbacks;

	if (!strcmp(what, "runtime")) {
		pause_ns(SWITCHES * BETWEEN_NS / 2);
		facts_window_runtime_callbacks(false);
		pause_ns(SWITCHES * BETWEEN_NS / 2);
		return 1;
	}
	for (int i = 0; i < SWITCHES; i++) {
		pause_ns(BETWEEN_NS);
		set(false);
		pause_ns(BETWEEN_NS);
		set(true);
	}
	pause_ns(BETWEEN_NS);
	return SWITCHES;
}

static void begin_thread(struct stuck_thread *t, int number)
{
	t->stream = facts_stream();
	t->grid = (unsigned)number + 1;
	t->ids = calloc(LAUNCHES_MAX, sizeof(*t->ids));
	if (!t->ids)
		facts_give_up("stuck", "no memory");
	launch(t); /* its code is loaded now */
	FACTS_CALL(cuStreamSynchronize, t->stream);
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void count_repeated(struct stuck_thread *t)
{
	qsort(t->ids, (size_t)t->launches, sizeof(*t->ids), by_id);
	for (int i = 1; i < t->launches; i++)
		t->repeated += t->ids[i] && t->ids[i] == t->ids[i - 1];
}

/* A record without times was forced out before its kernel had ended: it may come again. */
static void count_repeated_records(void)
{
	uint32_t last = 0;

	facts_seen_sort();
	for (int i = 0; i < facts_seen_count(); i++) {
		const struct facts_seen *s = facts_seen_at(i);

		if (!s->end_ns || s->grid < 1 || s->grid > THREADS)
			continue;
		threads[s->grid - 1].repeated_records += s->correlation == last;
		last = s->correlation;
	}
}

static void say(int switched)
{
	int launches = 0, affected = 0, repeated = 0, repeated_records = 0;

	count_repeated_records();
	for (int i = 0; i < THREADS; i++) {
		struct stuck_thread *t = &threads[i];

		count_repeated(t);
		launches += t->launches;
		repeated += t->repeated;
		repeated_records += t->repeated_records;
		affected += t->repeated || t->repeated_records;
	}
	facts_say("switched off beside launches", -1, "%d times; %d launches by %d threads, %d records", switched,
		  launches, THREADS, facts_seen_count());
	facts_say("correlation ids that came before", -1, "of %d launches as callbacks told them, of %d records",
		  repeated, repeated_records);
	facts_value("stuck_threads", "%d", affected);
	facts_value("stuck_launches", "%d", repeated > repeated_records ? repeated : repeated_records);
}

/* false: there is no such runtime, or it refuses the driver. */
static bool find_kernel(const struct facts_options *options)
{
	cudaError_t error;

	stuck.function = facts_function("facts_first");
	if (!options->cudart)
		return true;
	if (!facts_runtime_open(&stuck.runtime, options->cudart)) {
		facts_value("stuck_threads", "not asked: no shared CUDA runtime with cudaLibraryLoadData");
		return false;
	}
	error = facts_runtime_kernel(&stuck.runtime, &stuck.kernel, "facts_first");
	if (error)
		facts_value("stuck_threads", "not asked: the runtime answers %s", stuck.runtime.error_name(error));
	return !error;
}

void facts_stuck(const struct facts_options *options)
{
	int switched;

	alarm(LIMIT_S);
	facts_driver_start();
	facts_context();
	if (!find_kernel(options))
		return;
	for (int i = 0; i < THREADS; i++)
		begin_thread(&threads[i], i);
	facts_window_attach(options);
	if (!strcmp(options->switched, "runtime"))
		facts_window_runtime_callbacks(true);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i].thread, NULL, launch_all, &threads[i]))
			facts_give_up("stuck", "no thread");
	switched = switch_off_and_on(options->switched);
	stuck.end = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	FACTS_CALL(cuCtxSynchronize);
	pause_ns(DELIVERY_NS);
	facts_window_kinds(false);
	facts_window_read();
	say(switched);
}
