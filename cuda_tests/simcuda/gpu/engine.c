#include "engine.h"

#include <cupti_activity.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000ull
#define LONGEST_NAP_NS 10000000ull
#define COPY_LATENCY_NS 1300 /* start-up time of a transfer, of the order that CUPTI shows for tiny copies */
#define SHORTEST_NS 1        /* of a block */
#define HEAP_START 256
#define SATURATING_WARPS 16 /* a block of so many warps can use an SM's whole throughput */

struct timer {
	double at_ns;
	uint64_t order;
	struct sim_op *op;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t progress;
	uint64_t epoch_ns; /* the clock at simulated time 0; relative to it doubles stay exact enough for months */
	double now_ns;
	struct timer *heap;
	size_t timers, room;
	uint64_t order;
	struct sim_op *finished, **finished_end; /* activities to deliver */
	struct sim_op *host, **host_end;         /* host functions to run */
	pthread_cond_t host_work;
	int host_thread;
	pthread_mutex_t deliver;
} engine;

static __thread int delivering;

uint64_t sim_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

double sim_time_of(uint64_t clock_ns)
{
	return (double)(int64_t)(clock_ns - engine.epoch_ns);
}

static uint64_t clock_of(double time_ns)
{
	return engine.epoch_ns + llround(time_ns);
}

void sim_lock(void)
{
	pthread_mutex_lock(&engine.lock);
}

void sim_unlock(void)
{
	pthread_mutex_unlock(&engine.lock);
}

/* --- timers */

static int earlier(const struct timer *a, const struct timer *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void add_timer(struct sim_op *op, double at_ns)
{
	struct timer timer = {at_ns, engine.order++, op};
	size_t i;

	if (engine.timers == engine.room) {
		size_t room = engine.room ? 2 * engine.room : HEAP_START;
		struct timer *heap = realloc(engine.heap, room * sizeof(*heap));

		if (!heap)
			abort(); /* out of memory: a stand-in has no fallback */
		engine.heap = heap;
		engine.room = room;
	}
	for (i = engine.timers++; i && earlier(&timer, &engine.heap[(i - 1) / 2]); i = (i - 1) / 2)
		engine.heap[i] = engine.heap[(i - 1) / 2];
	engine.heap[i] = timer;
}

static struct sim_op *pop_timer(void)
{
	struct sim_op *op = engine.heap[0].op;
	struct timer last = engine.heap[--engine.timers];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < engine.timers) {
		if (child + 1 < engine.timers && earlier(&engine.heap[child + 1], &engine.heap[child]))
			child++;
		if (!earlier(&engine.heap[child], &last))
			break;
		engine.heap[i] = engine.heap[child];
		i = child;
	}
	engine.heap[i] = last;
	return op;
}

/* --- ops */

void sim_op_release(struct sim_op *op)
{
	if (op && atomic_fetch_sub(&op->refs, 1) == 1) {
		sim_op_release(op->beside);
		if (op->work.kind == SIM_DO_COPY)
			free(op->work.copy.staged);
		free(op);
	}
}

/* engine lock held. Tries to start the new head of the queue at once. */
static void leave_queue(struct sim_op *op)
{
	struct sim_queue *queue = &op->device->queue[op->level][op->stream->queue];

	op->queued = 0;
	queue->head = op->next;
	op->next = NULL;
	if (!queue->head)
		queue->tail = NULL;
	else
		sim_op_try_start(queue->head);
}

static void do_now(struct sim_op *op)
{
	switch (op->work.kind) {
	case SIM_DO_COPY:
		sim_copy_now(&op->work.copy);
		break;
	case SIM_DO_FILL:
		sim_fill_now(&op->work.fill);
		break;
	case SIM_DO_FREE:
		sim_deallocate((void *)(uintptr_t)op->work.address);
		break;
	default:
		break;
	}
}

void sim_op_not_before(struct sim_op *op, const struct sim_op *ended)
{
	double from_ns = ended->end_ns;

	if (op->work.kind == SIM_DO_KERNEL && !op->work.launch.played_ns)
		from_ns += op->device->preset->launch_gap_ns;
	op->earliest_ns = fmax(op->earliest_ns, from_ns);
}

/* Each dependent waits for one op less. ended: NULL: that op has only begun. */
static void release_dependents(struct sim_edge *edge, const struct sim_op *ended)
{
	struct sim_edge *next;

	for (; edge; edge = next) {
		struct sim_op *dependent = edge->op;

		next = edge->next;
		if (edge != &dependent->own_edge)
			free(edge);
		if (ended)
			sim_op_not_before(dependent, ended);
		dependent->missing--;
		sim_op_try_start(dependent);
	}
}

static void all_blocks_began(struct sim_op *op)
{
	struct sim_edge *starters = op->starters;

	op->placed = 1;
	op->starters = NULL;
	release_dependents(starters, NULL);
}

static void node_ended(struct sim_op *whole, const struct sim_op *node)
{
	if (!whole->first_ns || node->start_ns < whole->first_ns)
		whole->first_ns = node->start_ns;
	if (node->end_ns > whole->last_ns)
		whole->last_ns = node->end_ns;
}

static void finish(struct sim_op *op, double at_ns)
{
	struct sim_edge *dependents = op->dependents;

	op->state = SIM_DONE;
	op->end_ns = at_ns;
	do_now(op);
	if (op->whole && op->activity.kind)
		node_ended(op->whole, op);
	op->dependents = NULL;
	release_dependents(dependents, op);
	all_blocks_began(op);
	if (op->beside && op->beside->state == SIM_DONE) {
		sim_op_release(op->beside);
		op->beside = NULL;
	}
	op->stream->unfinished--;
	atomic_fetch_sub_explicit(&op->stream->pending, 1, memory_order_relaxed);
	sim_stream_release(op->stream);
	if (op->collected) {
		op->activity.start_ns = clock_of(op->first_ns ? op->first_ns : op->start_ns);
		op->activity.end_ns = clock_of(op->last_ns ? op->last_ns : op->end_ns);
		op->after = NULL;
		*engine.finished_end = op;
		engine.finished_end = &op->after;
	} else {
		sim_op_release(op);
	}
}

static double noise_factor(struct sim_kernel *kernel, uint64_t execution)
{
	uint64_t x = sim.seed ^ kernel->name_hash ^ (execution + 1) * 0x9e3779b97f4a7c15ull;
	double u, v;

	if (sim.noise <= 0)
		return 1;
	/* splitmix64, twice, then Box-Muller */
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	u = ((x >> 40) + 1) / 16777217.0;
	v = (x & 0xffffff) / 16777216.0;
	return exp(sim.noise * sqrt(-2 * log(u)) * cos(2 * M_PI * v));
}

static void start_kernel(struct sim_op *op)
{
	const struct sim_launch *launch = &op->work.launch;
	const struct sim_preset *preset = op->device->preset;
	uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
	struct sm_kernel *blocks = &op->blocks;
	double factor = noise_factor(launch->kernel, atomic_fetch_add(&launch->kernel->executions, 1));

	op->activity.grid_id = ++op->device->grid_ids;
	if (launch->played_ns) {
		add_timer(op, engine.now_ns + launch->played_ns);
		return;
	}
	sim_occupancy(preset, launch->kernel, threads, launch->dynamic_shared_bytes, &blocks->need);
	blocks->unplaced = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	blocks->block_ns = fmax(SHORTEST_NS, factor * launch->cycles * 1e6 / preset->clock_khz);
	blocks->share = fmin(1, (double)blocks->need.warps / SATURATING_WARPS);
	blocks->traffic_bytes = launch->bytes;
	sm_kernel_init(blocks, &op->device->sms.limits);
	op->device->to_dispatch = 1;
	sm_submit(&op->device->sms, blocks, op->level);
}

static void start_transfer(struct sim_op *op)
{
	const struct sim_preset *preset = op->device->preset;
	uint32_t kind = op->activity.copy_kind;
	double rate = preset->link_bytes_per_ns, *engine_free;
	int engine_index = kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD || kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOA   ? 0
			   : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH || kind == CUPTI_ACTIVITY_MEMCPY_KIND_ATOH ? 1
														: 2;

	if (preset->async_engines < 2 && engine_index == 1)
		engine_index = 0;
	if (op->work.kind == SIM_DO_FILL)
		rate = preset->memory_bytes_per_ns;
	else if (engine_index == 2 && op->activity.destination_device == op->activity.device)
		rate = preset->memory_bytes_per_ns / 2; /* read and written */
	engine_free = &op->device->engine_free_ns[engine_index];
	op->start_ns = fmax(engine.now_ns, *engine_free);
	*engine_free = op->start_ns + COPY_LATENCY_NS + op->activity.bytes / rate;
	add_timer(op, *engine_free);
}

static void start_host(struct sim_op *op)
{
	op->after = NULL;
	*engine.host_end = op;
	engine.host_end = &op->after;
	pthread_cond_signal(&engine.host_work);
}

static void start(struct sim_op *op)
{
	op->state = SIM_RUNNING;
	op->start_ns = engine.now_ns;
	op->activity.submitted_ns = clock_of(engine.now_ns);
	if (op->queued)
		leave_queue(op);
	switch (op->work.kind) {
	case SIM_DO_KERNEL:
		start_kernel(op);
		break;
	case SIM_DO_COPY:
	case SIM_DO_FILL:
		start_transfer(op);
		break;
	case SIM_DO_HOST:
		start_host(op);
		break;
	default:
		finish(op, engine.now_ns);
	}
}

void sim_op_try_start(struct sim_op *op)
{
	if (op->state != SIM_WAITING || op->missing)
		return;
	if (op->queued && op->device->queue[op->level][op->stream->queue].head != op)
		return;
	op->state = SIM_DUE;
	add_timer(op, fmax(op->earliest_ns, engine.now_ns));
}

/* --- time */

static double next_event(struct sim_device **device)
{
	double next = engine.timers ? engine.heap[0].at_ns : SM_NEVER;
	int i;

	*device = NULL;
	for (i = 0; i < sim.devices; i++) {
		double ends = sm_next(&sim.device[i].sms);

		if (ends < next) {
			next = ends;
			*device = &sim.device[i];
		}
	}
	return next;
}

static void end_kernels(struct sim_device *device)
{
	struct sm_kernel *ended = sm_finish(&device->sms, engine.now_ns), *next;

	device->to_dispatch = 1;
	for (; ended; ended = next) {
		struct sim_op *op = (struct sim_op *)((char *)ended - offsetof(struct sim_op, blocks));

		next = ended->next;
		op->start_ns = ended->start_ns;
		finish(op, ended->end_ns);
	}
}

static void dispatch(void)
{
	struct sm_kernel *placed, *next;
	int i;

	for (i = 0; i < sim.devices; i++) {
		if (!sim.device[i].to_dispatch)
			continue;
		sim.device[i].to_dispatch = 0;
		sm_dispatch(&sim.device[i].sms, engine.now_ns);
		for (placed = sim.device[i].sms.placed; placed; placed = next) {
			next = placed->behind;
			placed->behind = NULL;
			all_blocks_began((struct sim_op *)((char *)placed - offsetof(struct sim_op, blocks)));
		}
		sim.device[i].sms.placed = NULL;
	}
}

static void advance_to(double now_ns)
{
	struct sim_device *device;
	double next;

	while ((next = next_event(&device)) <= now_ns) {
		engine.now_ns = fmax(engine.now_ns, next);
		if (device) {
			end_kernels(device);
		} else {
			struct sim_op *op = pop_timer();

			if (op->state == SIM_DUE)
				start(op);
			else
				finish(op, engine.now_ns);
		}
		dispatch();
	}
	engine.now_ns = fmax(engine.now_ns, now_ns);
}

void sim_advance_locked(void)
{
	double now_ns = sim_time_of(sim_clock_ns());

	sim_take_in();
	advance_to(now_ns);
}

/* --- delivery */

void sim_deliver(void)
{
	struct sim_op *op, *next;
	struct simcuda_sink *sink = sim_sink();

	if (delivering)
		return;
	pthread_mutex_lock(&engine.deliver);
	sim_lock();
	op = engine.finished;
	engine.finished = NULL;
	engine.finished_end = &engine.finished;
	sim_unlock();
	delivering = 1;
	for (; op; op = next) {
		next = op->after;
		if (sink && sink->ended)
			sink->ended(sink->user, &op->activity);
		sim_op_release(op);
	}
	delivering = 0;
	pthread_mutex_unlock(&engine.deliver);
}

void simcuda_advance(void)
{
	if (!atomic_load(&sim.ready) || atomic_load(&sim.dead))
		return;
	sim_lock();
	sim_advance_locked();
	sim_unlock();
	sim_deliver(); /* waits for a delivery in progress elsewhere */
	sim_capture_disturb();
}

/* --- waiting */

int sim_is_done(struct sim_op *op)
{
	for (; op; op = op->beside)
		if (op->state != SIM_DONE)
			return 0;
	return 1;
}

void sim_nap(void)
{
	struct sim_device *device;
	uint64_t now_ns = sim_clock_ns(), until_ns = now_ns + LONGEST_NAP_NS;
	double next = next_event(&device);
	struct timespec until;

	if (next < sim_time_of(until_ns))
		until_ns = next < sim_time_of(now_ns) ? now_ns : clock_of(ceil(next));
	until.tv_sec = until_ns / SECOND_NS;
	until.tv_nsec = until_ns % SECOND_NS;
	pthread_cond_timedwait(&engine.progress, &engine.lock, &until);
}

void sim_wait_for(struct sim_op *op)
{
	if (!op)
		return;
	atomic_fetch_add(&op->refs, 1);
	sim_advance_locked();
	while (!sim_is_done(op)) {
		sim_nap();
		sim_advance_locked();
	}
	sim_op_release(op);
}

/* --- host functions */

static void run_host(struct sim_op *op)
{
	const struct sim_host *host = &op->work.host;

	if (host->callback)
		host->callback(host->stream, CUDA_SUCCESS, host->data);
	else
		host->function(host->data);
}

static void *host_thread(void *unused)
{
	(void)unused;
	sim_lock();
	for (;;) {
		struct sim_device *device;
		struct sim_op *op;

		sim_advance_locked();
		op = engine.host;
		if (op) {
			engine.host = op->after;
			if (!engine.host)
				engine.host_end = &engine.host;
			sim_unlock();
			run_host(op);
			sim_lock();
			sim_advance_locked();
			finish(op, engine.now_ns);
			pthread_cond_broadcast(&engine.progress);
		} else if (next_event(&device) < SM_NEVER) {
			sim_nap();
		} else {
			pthread_cond_wait(&engine.host_work, &engine.lock);
		}
	}
	return NULL;
}

/* Host functions run when they are due even if no thread asks for the time. */
void sim_start_host_thread(void)
{
	pthread_t thread;

	sim_lock();
	if (!engine.host_thread) {
		engine.host_thread = !pthread_create(&thread, NULL, host_thread, NULL);
		if (engine.host_thread)
			pthread_detach(thread);
	}
	pthread_cond_signal(&engine.host_work);
	sim_unlock();
}

void sim_engine_init(void)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&engine.lock, NULL);
	pthread_mutex_init(&engine.deliver, NULL);
	pthread_cond_init(&engine.progress, &monotonic);
	pthread_cond_init(&engine.host_work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	engine.finished_end = &engine.finished;
	engine.host_end = &engine.host;
	engine.epoch_ns = sim_clock_ns();
}
