/*
 * CUPTI attached and detached while other threads launch without pause: whether all goes on, which records are lost,
 * and how long a launch of the others is held up.
 */
#include "facts_window.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 20,
	LAUNCHES = 1000, /* of a round */
	OTHERS = 2,
	OTHERS_MAX = 1 << 17, /* launches of another thread in a round */
	EACH_WAIT = 500,
	LIMIT_S = 20, /* a process that takes longer hangs */
};
#define ROUNDS_NS 6000000000ll /* no round begins later */
#define ALONE_NS 200000000     /* nothing but the launches of the others */
#define DETACHED_NS 10000000
#define WINDOW_NS 5000000 /* at least */
#define DELIVERY_NS 5000000
#define DELIVERIES 200 /* looked for at most: a second */

/* A thread that launches all the time. */
static struct other {
	pthread_mutex_t lock; /* held across a launch, unless ... */
	_Atomic bool wanted;  /* ... somebody else waits for it */
	pthread_t thread;
	CUstream stream;
	struct facts_launch *launches; /* of the window */
	int count;
	bool notes;
	int64_t longest_ns; /* of a launch call, since it was asked for last */
	int64_t calls_ns;   /* all calls together, ... */
	int64_t calls;      /* ... and how many; since they were asked for last */
} others[OTHERS];

static CUfunction function;
static atomic_bool end;

static void hold(struct other *o)
{
	o->wanted = true;
	pthread_mutex_lock(&o->lock);
	o->wanted = false;
}

static void pause_ns(long ns)
{
	struct timespec t = {.tv_nsec = ns};

	nanosleep(&t, NULL);
}

static void launch_once(struct other *o, int i)
{
	struct facts_launch launch;
	int64_t ns;

	while (o->wanted)
		sched_yield();
	pthread_mutex_lock(&o->lock);
	facts_launch_noted(function, o->stream, 1 + i % FACTS_GRIDS, &launch);
	ns = launch.made_ns - launch.begun_ns;
	o->longest_ns = ns > o->longest_ns ? ns : o->longest_ns;
	o->calls_ns += ns;
	o->calls++;
	if (o->notes && o->count < OTHERS_MAX)
		o->launches[o->count++] = launch;
	pthread_mutex_unlock(&o->lock);
}

static void *launch_on(void *argument)
{
	struct other *o = argument;

	FACTS_CALL(cuCtxSetCurrent, facts_driver.context);
	for (int i = 0; !end; i++) {
		launch_once(o, i);
		if (i % EACH_WAIT == EACH_WAIT - 1)
			FACTS_CALL(cuStreamSynchronize, o->stream);
	}
	return NULL;
}

static void begin_others(void)
{
	for (int i = 0; i < OTHERS; i++) {
		others[i].stream = facts_stream();
		others[i].launches = calloc(OTHERS_MAX, sizeof(*others[i].launches));
		if (!others[i].launches || pthread_mutex_init(&others[i].lock, NULL) ||
		    pthread_create(&others[i].thread, NULL, launch_on, &others[i]))
			facts_give_up("reattach", "no thread");
	}
}

static void end_others(void)
{
	end = true;
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i].thread, NULL);
}

static void note_others(bool on)
{
	for (int i = 0; i < OTHERS; i++) {
		hold(&others[i]);
		others[i].notes = on;
		others[i].count = on ? 0 : others[i].count;
		pthread_mutex_unlock(&others[i].lock);
	}
}

/* The longest launch call of the others until now; the next one counts from now. */
static int64_t longest_ns(void)
{
	int64_t longest = 0;

	for (int i = 0; i < OTHERS; i++) {
		hold(&others[i]);
		longest = others[i].longest_ns > longest ? others[i].longest_ns : longest;
		others[i].longest_ns = 0;
		pthread_mutex_unlock(&others[i].lock);
	}
	return longest;
}

static double mean_ns(void)
{
	int64_t ns = 0, calls = 0;

	for (int i = 0; i < OTHERS; i++) {
		hold(&others[i]);
		ns += others[i].calls_ns;
		calls += others[i].calls;
		others[i].calls_ns = others[i].calls = 0;
		pthread_mutex_unlock(&others[i].lock);
	}
	return calls ? (double)ns / (double)calls : 0;
}

/* What the others do where nothing else happens. */
static void alone(const char *when)
{
	char name[64];

	mean_ns();
	longest_ns();
	pause_ns(ALONE_NS);
	snprintf(name, sizeof(name), "launch calls of others, %s", when);
	facts_say(name, -1, "mean %.0f ns, longest %.1f µs", mean_ns(), (double)longest_ns() / 1e3);
}

struct phases {
	int64_t attach_ns[ROUNDS], detach_ns[ROUNDS];
	int64_t held_attach_ns, held_window_ns, held_detach_ns; /* the longest launch call of the others meanwhile */
	int rounds;
};

static void most(int64_t *longest, int64_t ns)
{
	*longest = ns > *longest ? ns : *longest;
}

static bool is_seen(const struct facts_launch *launch)
{
	return !launch->correlation || facts_seen_with(launch->correlation);
}

/* Records of all launches of this thread, and of the last one of each other. */
static bool all_seen(const struct facts_launch *own)
{
	bool all = true;

	facts_window_read();
	for (int i = 0; all && i < LAUNCHES; i++)
		all = is_seen(&own[i]);
	for (int i = 0; all && i < OTHERS; i++)
		all = !others[i].count || is_seen(&others[i].launches[others[i].count - 1]);
	return all;
}

/* All records: a buffer is not returned while a kernel of it runs, so nobody launches meanwhile. A busy machine may
 * deliver late. */
static void deliver(const struct facts_launch *own)
{
	for (int i = 0; i < OTHERS; i++)
		hold(&others[i]);
	FACTS_CALL(cuCtxSynchronize);
	for (int i = 0; i < 2 || (i < DELIVERIES && !all_seen(own)); i++) {
		FACTS_CUPTI_CALL(cuptiActivityFlushAll, 0);
		pause_ns(DELIVERY_NS);
	}
	for (int i = 0; i < OTHERS; i++)
		pthread_mutex_unlock(&others[i].lock);
}

static void window(struct facts_judged *own, struct facts_judged *theirs, CUstream stream)
{
	static struct facts_launch launches[LAUNCHES];

	for (int i = 0; i < LAUNCHES; i++)
		facts_launch_noted(function, stream, 1 + i % FACTS_GRIDS, &launches[i]);
	pause_ns(WINDOW_NS);
	note_others(false);
	deliver(launches);
	facts_window_read();
	facts_judge(own, launches, LAUNCHES);
	for (int i = 0; i < OTHERS; i++)
		facts_judge(theirs, others[i].launches, others[i].count);
	facts_seen_forget();
}

static int64_t calls_of(struct other *o)
{
	int64_t calls;

	hold(o);
	calls = o->calls;
	pthread_mutex_unlock(&o->lock);
	return calls;
}

/* Each of the others launches meanwhile. */
static void detached(void)
{
	int64_t before[OTHERS];

	for (int i = 0; i < OTHERS; i++)
		before[i] = calls_of(&others[i]);
	pause_ns(DETACHED_NS);
	for (int i = 0; i < OTHERS; i++)
		while (calls_of(&others[i]) == before[i])
			pause_ns(DETACHED_NS / 10);
}

static void one_round(const struct facts_options *options, struct phases *p, struct facts_judged *own,
		      struct facts_judged *theirs, CUstream stream)
{
	int64_t begin = facts_now_ns();
	CUptiResult result;

	longest_ns();
	facts_window_attach(options);
	p->attach_ns[p->rounds] = facts_now_ns() - begin;
	most(&p->held_attach_ns, longest_ns());
	note_others(true);
	window(own, theirs, stream);
	most(&p->held_window_ns, longest_ns());
	begin = facts_now_ns();
	result = facts_window_detach(options->in_callback);
	p->detach_ns[p->rounds] = facts_now_ns() - begin;
	most(&p->held_detach_ns, longest_ns());
	facts_check_cupti(result, "cuptiFinalize");
	facts_seen_forget();
	detached();
	p->rounds++;
	facts_value("rounds", "%d", p->rounds); /* known of a process that ends in the next one */
}

static void say(struct phases *p)
{
	double attach_ms = (double)facts_quantile(p->attach_ns, p->rounds, 0.5) / 1e6,
	       detach_ms = (double)facts_quantile(p->detach_ns, p->rounds, 0.5) / 1e6;

	facts_say("rounds of attaching and detaching beside launches", -1, "%d of %d", p->rounds, ROUNDS);
	facts_say("time to attach and detach", -1, "median %.1f and %.1f ms, longest %.1f and %.1f ms", attach_ms,
		  detach_ms, (double)p->attach_ns[p->rounds - 1] / 1e6, (double)p->detach_ns[p->rounds - 1] / 1e6);
	facts_say("longest launch call of another thread", -1,
		  "%.3f ms while attaching, %.3f attached, %.3f while "
		  "detaching",
		  (double)p->held_attach_ns / 1e6, (double)p->held_window_ns / 1e6, (double)p->held_detach_ns / 1e6);
	facts_value("attach_ms", "%.1f", attach_ms);
	facts_value("detach_ms", "%.1f", detach_ms);
	facts_value("held_ms", "%.3f %.3f %.3f", (double)p->held_attach_ns / 1e6, (double)p->held_window_ns / 1e6,
		    (double)p->held_detach_ns / 1e6);
}

void facts_reattach(const struct facts_options *options)
{
	struct facts_judged own = {0}, theirs = {0};
	struct phases phases = {0};
	CUstream stream;
	int64_t begin;

	alarm(LIMIT_S);
	facts_driver_start();
	facts_context();
	function = facts_function("facts_first");
	stream = facts_stream();
	begin_others();
	alone("before");
	begin = facts_now_ns();
	while (phases.rounds < ROUNDS && facts_now_ns() - begin < ROUNDS_NS)
		one_round(options, &phases, &own, &theirs, stream);
	alone("after");
	end_others();
	say(&phases);
	facts_say_judged("records of the thread that attaches", &own);
	facts_say_judged("records of the other threads", &theirs);
	facts_value("reattached", "%d", facts_all_right(&own) && facts_all_right(&theirs));
}
