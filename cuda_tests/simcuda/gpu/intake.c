#include "engine.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_FULL 1024 /* pending launches per stream beyond which a launch waits; observed on hardware */

static struct {
	pthread_mutex_t lock;
	struct sim_op *head, **end;
} intake = {PTHREAD_MUTEX_INITIALIZER, NULL, &intake.head};

static void describe_launch(struct simcuda_activity *activity, const struct sim_launch *launch)
{
	activity->kind = SIMCUDA_KERNEL;
	activity->name = launch->kernel->name;
	activity->registers = launch->kernel->registers;
	activity->static_shared_bytes = launch->kernel->static_shared_bytes;
	activity->dynamic_shared_bytes = launch->dynamic_shared_bytes;
	activity->local_bytes = launch->kernel->local_bytes;
	memcpy(activity->grid, launch->grid, sizeof(activity->grid));
	memcpy(activity->block, launch->block, sizeof(activity->block));
	memcpy(activity->cluster, launch->cluster, sizeof(activity->cluster));
}

static void describe_copy(struct simcuda_activity *activity, const struct sim_copy *copy)
{
	activity->kind = SIMCUDA_MEMCPY;
	activity->bytes = copy->width_bytes * copy->height * copy->depth;
	activity->source_kind = copy->from.kind;
	activity->destination_kind = copy->to.kind;
	activity->destination_device = copy->to.device;
	activity->copy_kind = sim_copy_kind(copy->from.kind, copy->to.kind);
	if (activity->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD && copy->from.device != copy->to.device)
		activity->copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	activity->async = copy->async;
}

static void describe_fill(struct simcuda_activity *activity, const struct sim_fill *fill)
{
	activity->kind = SIMCUDA_MEMSET;
	activity->bytes = fill->width * fill->height * fill->element_bytes;
	activity->destination_kind = fill->to.kind;
	activity->value = fill->value;
	activity->async = fill->async;
}

static void count_work(const struct sim_work *work)
{
	if (work->kind == SIM_DO_KERNEL)
		sim_count(&sim.log->kernels);
	else if (work->kind == SIM_DO_COPY)
		sim_count(&sim.log->copies);
	else if (work->kind == SIM_DO_FILL)
		sim_count(&sim.log->memsets);
}

static uint32_t level_of(CUstream stream, const struct sim_work *work)
{
	int32_t level;

	if (work->kind != SIM_DO_KERNEL || !work->launch.has_priority)
		return stream->level;
	level = work->launch.priority - stream->context->device->preset->greatest_priority;
	return level < 0 ? 0 : level >= SM_LEVELS ? SM_LEVELS - 1 : level;
}

struct sim_op *sim_op_new(CUstream stream, const struct sim_work *work)
{
	struct sim_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	atomic_init(&op->refs, 1);
	op->device = stream->context->device;
	op->stream = stream;
	op->level = level_of(stream, work);
	op->work = *work;
	op->activity.device = op->device->ordinal;
	op->activity.context_id = stream->context->id;
	op->activity.stream_id = stream->id;
	op->activity.priority = stream->priority;
	op->activity.correlation = sim_correlation();
	if (work->kind == SIM_DO_KERNEL)
		describe_launch(&op->activity, &work->launch);
	else if (work->kind == SIM_DO_COPY)
		describe_copy(&op->activity, &work->copy);
	else if (work->kind == SIM_DO_FILL)
		describe_fill(&op->activity, &work->fill);
	op->collected = op->activity.kind && sim_collects(op->activity.kind);
	count_work(work);
	return op;
}

/* In null mode nothing takes time, but every effect that the application can see takes place. */
static void do_at_once(struct sim_op *op)
{
	uint32_t i;

	op->state = SIM_DONE;
	op->activity.queued_ns = sim_clock_ns();
	op->start_ns = op->end_ns = sim_time_of(op->activity.queued_ns);
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
	case SIM_DO_HOST:
		if (op->work.host.callback)
			op->work.host.callback(op->work.host.stream, CUDA_SUCCESS, op->work.host.data);
		else
			op->work.host.function(op->work.host.data);
		break;
	case SIM_DO_RECORD:
		sim_lock();
		sim_op_release(op->work.event->recorded);
		op->work.event->recorded = op;
		sim_unlock();
		return;
	case SIM_DO_GRAPH:
		for (i = 0; i < op->work.run->ops; i++)
			do_at_once(op->work.run->op[i]);
		sim_op_release(op->work.run->end);
		free(op->work.run->op);
		free(op->work.run->edge);
		free(op->work.run);
		break;
	default:
		break;
	}
	sim_op_release(op);
}

static void wait_for_room(CUstream stream)
{
	sim_lock();
	sim_advance_locked();
	while (atomic_load_explicit(&stream->pending, memory_order_relaxed) >= STREAM_FULL) {
		sim_nap();
		sim_advance_locked();
	}
	sim_unlock();
}

static void tell_launched(struct sim_op *op)
{
	struct simcuda_sink *sink = sim_sink();

	if (op->collected && sink && sink->launched)
		sink->launched(sink->user, &op->activity);
}

void sim_enqueue(struct sim_op *op)
{
	CUstream stream = op->stream;
	int has_host = op->work.kind == SIM_DO_HOST;
	uint32_t work = 1;

	if (sim.null_mode) {
		do_at_once(op);
		return;
	}
	if (atomic_load_explicit(&stream->pending, memory_order_relaxed) >= STREAM_FULL)
		wait_for_room(stream);
	tell_launched(op);
	if (op->work.kind == SIM_DO_GRAPH) { /* its nodes and its end are pending work, too */
		work += op->work.run->ops + 1;
		has_host = op->work.run->has_host;
		for (uint32_t i = 0; i < op->work.run->ops; i++)
			tell_launched(op->work.run->op[i]);
		tell_launched(op->work.run->end);
	}
	atomic_fetch_add_explicit(&stream->pending, work, memory_order_relaxed);
	pthread_mutex_lock(&intake.lock);
	op->activity.queued_ns = sim_clock_ns();
	*intake.end = op;
	intake.end = &op->next;
	pthread_mutex_unlock(&intake.lock);
	if (has_host)
		sim_start_host_thread();
}

static void add_edge(struct sim_edge **list, struct sim_op *to)
{
	struct sim_edge *edge = to->own_edge_used ? malloc(sizeof(*edge)) : &to->own_edge;

	if (!edge)
		abort(); /* see add_timer() */
	to->own_edge_used = 1;
	edge->op = to;
	edge->next = *list;
	*list = edge;
	to->missing++;
}

/*
 * CUDA programming guide, "Programmatic Dependent Launch": a kernel with the attribute may begin once every block of
 * the one before it in the stream has triggered that, or has ended. Here each block triggers as it begins, and the
 * kernel itself waits for nothing.
 */
static int begins_beside(const struct sim_op *to, const struct sim_op *from)
{
	return to->work.kind == SIM_DO_KERNEL && to->work.launch.programmatic && from->work.kind == SIM_DO_KERNEL &&
	       to->stream == from->stream && to->device->preset->cc_major >= 9 && !simcuda_faults()->serial_dependents;
}

/* Makes `to` start after `from` has ended, or has begun. */
static void depend(struct sim_op *to, struct sim_op *from)
{
	if (!from || from == to)
		return;
	if (from->state != SIM_DONE && begins_beside(to, from)) {
		if (!from->placed)
			add_edge(&from->starters, to);
		sim_op_release(to->beside);
		atomic_fetch_add(&from->refs, 1);
		to->beside = from;
		return;
	}
	/* What follows a kernel in order follows those that it began beside, too. */
	depend(to, from->beside);
	if (from->state == SIM_DONE)
		sim_op_not_before(to, from);
	else
		add_edge(&from->dependents, to);
}

static void set_tail(CUstream stream, struct sim_op *op)
{
	atomic_fetch_add(&op->refs, 1);
	sim_op_release(stream->tail);
	stream->tail = op;
}

/* Programming guide, "Implicit synchronization": the legacy stream waits for all
 * blocking streams of its context and they for it. */
static void order_in_stream(struct sim_op *op)
{
	CUstream stream = op->stream, other;
	CUcontext context = stream->context;

	depend(op, stream->tail);
	if (stream->is_legacy) {
		for (other = context->streams; other; other = other->next)
			if (other != stream && !(other->flags & CU_STREAM_NON_BLOCKING))
				depend(op, other->tail);
	} else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
		depend(op, context->legacy->tail);
	}
}

static void join_queue(struct sim_op *op)
{
	struct sim_queue *queue = &op->device->queue[op->level][op->stream->queue];

	op->next = NULL;
	op->queued = 1;
	if (queue->tail)
		queue->tail->next = op;
	else
		queue->head = op;
	queue->tail = op;
}

static void begin(struct sim_op *op, uint64_t called_ns)
{
	op->state = SIM_WAITING;
	op->earliest_ns = sim_time_of(called_ns) + op->device->preset->launch_overhead_ns;
	if (op->work.kind == SIM_DO_KERNEL && op->work.launch.played_ns)
		op->earliest_ns = sim_time_of(called_ns) + op->work.launch.wait_ns;
	op->stream->unfinished++;
}

/* An event refers to its latest record in the order of calls. */
static void follow_event(struct sim_op *op)
{
	if (op->work.kind == SIM_DO_WAIT)
		depend(op, op->work.event->recorded);
	if (op->work.kind != SIM_DO_RECORD)
		return;
	atomic_fetch_add(&op->refs, 1);
	sim_op_release(op->work.event->recorded);
	op->work.event->recorded = op;
}

/* The nodes of a graph launch follow its op, and its end becomes the stream's tail. */
static void take_in_run(struct sim_op *op)
{
	struct sim_run *run = op->work.run;
	uint64_t called_ns = op->activity.queued_ns;
	uint32_t i;

	if (run->unfold) {
		if (!run->unfold(run, op->stream))
			abort(); /* see add_timer() */
		atomic_fetch_add_explicit(&op->stream->pending, run->ops, memory_order_relaxed);
	}
	for (i = 0; i < run->ops; i++) {
		run->op[i]->activity.queued_ns = called_ns;
		begin(run->op[i], called_ns);
		run->op[i]->missing = 1;
	}
	begin(run->end, called_ns);
	run->end->missing = 1;
	for (i = 0; i < run->ops; i++)
		follow_event(run->op[i]);
	for (i = 0; i < run->edges; i++)
		depend(run->op[run->edge[i][1]], run->op[run->edge[i][0]]);
	for (i = 0; i < run->ops; i++) {
		depend(run->op[i], op);
		depend(run->end, run->op[i]);
	}
	depend(run->end, op);
	depend(op, *run->serial);
	atomic_fetch_add(&run->end->refs, 1);
	sim_op_release(*run->serial);
	*run->serial = run->end;
	set_tail(op->stream, run->end);
	for (i = 0; i < run->ops; i++) {
		run->op[i]->missing--;
		sim_op_try_start(run->op[i]);
	}
	run->end->missing--;
	sim_op_try_start(run->end);
	free(run->op);
	free(run->edge);
	free(run);
	op->work.kind = SIM_DO_NOTHING;
}

static void take_in_one(struct sim_op *op)
{
	begin(op, op->activity.queued_ns);
	order_in_stream(op);
	follow_event(op);
	if (op->work.kind == SIM_DO_GRAPH)
		take_in_run(op);
	else
		set_tail(op->stream, op);
	join_queue(op);
	sim_op_try_start(op);
}

void sim_take_in(void)
{
	struct sim_op *op, *next;

	pthread_mutex_lock(&intake.lock);
	op = intake.head;
	intake.head = NULL;
	intake.end = &intake.head;
	pthread_mutex_unlock(&intake.lock);
	for (; op; op = next) {
		next = op->next;
		take_in_one(op);
	}
}
