#include "replay_graphs.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kc__recorded_graph {
	uint64_t number; /* of its KC_CALL_GRAPH */
	uint64_t known;  /* events taken in when it was predicted */
	uint32_t kernels;
	uint64_t first; /* sequence number of the first launch of it; 0: there is none */
	/* Once it is predicted, of each kernel: */
	struct kc__replay_shape **shapes; /* NULL: it was not stored */
	struct kc_graph_prediction *predictions;
	uint32_t last_predicted; /* kernel, from 1; 0: none is */
	int64_t plain_ns;        /* of all, without contention */
	struct kc_graph_whole whole;
};

KC_ORDER(by_number, struct kc__recorded_graph, KC_UP(number))

static struct kc__recorded_graph *find(const struct kc__recorded_graphs *graphs, uint64_t number)
{
	const struct kc__recorded_graph key = {.number = number};

	return graphs->count ? bsearch(&key, graphs->at, graphs->count, sizeof(key), by_number) : NULL;
}

KC_ORDER_OF_POINTERS(by_sequence, struct kc__op, KC_UP(sequence))

/* The first launch of a kernel from this sequence number on. */
static size_t place_of(const struct kc__recorded_graphs *graphs, uint64_t sequence)
{
	return KC_FIRST(i, graphs->launch_count, graphs->launches[i]->sequence >= sequence);
}

static void list(struct kc__recorded_graphs *graphs, struct kc__ops *ops)
{
	for (size_t i = 0; i < ops->count; i++) {
		struct kc__op *op = &ops->at[i];

		if (op->kind == KC__OP_LAUNCH)
			graphs->launches[graphs->launch_count++] = op;
		if (op->call == KC_CALL_GRAPH && op->ns > 0 && (uint64_t)op->ns <= ops->count)
			graphs->at[graphs->count++] =
			    (struct kc__recorded_graph){.number = op->sequence, .kernels = (uint32_t)op->ns};
	}
	qsort(graphs->launches, graphs->launch_count, sizeof(*graphs->launches), by_sequence);
	qsort(graphs->at, graphs->count, sizeof(*graphs->at), by_number);
}

/* A launch of a graph most of whose kernels are not there, or are another's, comes from a damaged database: they are
 * replayed one by one. So the graphs have no more kernels in all than twice as many as were launched. */
static void mark(struct kc__recorded_graphs *graphs, const struct kc__op *call)
{
	struct kc__recorded_graph *graph = find(graphs, (uint64_t)call->ns);
	size_t first = graph ? place_of(graphs, call->sequence + 1) : 0, last = first, found = 0;

	if (!graph)
		return;
	for (; last < graphs->launch_count && graphs->launches[last]->sequence <= call->sequence + graph->kernels;
	     last++)
		found += !graphs->launches[last]->in_graph;
	if (2 * found < graph->kernels)
		return;
	if (!graph->first || call->sequence < graph->first)
		graph->first = call->sequence;
	for (; first < last; first++)
		graphs->launches[first]->in_graph = 1;
}

int kc__recorded_graphs_find(struct kc__recorded_graphs *graphs, struct kc__ops *ops)
{
	size_t calls = 0;

	for (size_t i = 0; i < ops->count; i++)
		calls += ops->at[i].call == KC_CALL_GRAPH;
	if (!calls)
		return 0;
	graphs->at = calloc(calls, sizeof(*graphs->at));
	graphs->launches = malloc(ops->count * sizeof(struct kc__op *));
	if (!graphs->at || !graphs->launches)
		return -ENOMEM;
	list(graphs, ops);
	for (size_t i = 0; i < ops->count; i++)
		if (ops->at[i].call == KC_CALL_GRAPH_LAUNCH)
			mark(graphs, &ops->at[i]);
	return 0;
}

void kc__recorded_graphs_free(struct kc__recorded_graphs *graphs)
{
	for (size_t i = 0; i < graphs->count; i++) {
		free(graphs->at[i].shapes);
		free(graphs->at[i].predictions);
	}
	free(graphs->at);
	free(graphs->launches);
	*graphs = (struct kc__recorded_graphs){0};
}

/* As the first launch has them. */
static void find_shapes(const struct kc__recorded_graphs *graphs, struct kc__replay_state *r,
			struct kc__recorded_graph *graph, struct kc_engine_variant **variants)
{
	size_t i = place_of(graphs, graph->first + 1);

	for (; i < graphs->launch_count && graphs->launches[i]->sequence <= graph->first + graph->kernels; i++) {
		struct kc__op *op = graphs->launches[i];
		size_t kernel = (size_t)(op->sequence - graph->first - 1);

		op->of = graph->shapes[kernel] = kc__replay_shape_of(r, op);
		if (op->of)
			kc__replay_note_kept(r, op->of, op);
		if (op->of && op->of->unpredictable == KC_PREDICTED) {
			variants[kernel] = &op->of->engine;
			graph->last_predicted = (uint32_t)kernel + 1;
		}
	}
}

int kc__recorded_graph(struct kc__recorded_graphs *graphs, struct kc__replay_state *r, const struct kc__op *call)
{
	struct kc__recorded_graph *graph = find(graphs, call->sequence);
	struct kc_engine *engine = kc__knowledge_engine(r->knowledge);
	struct kc_engine_variant **variants;
	struct kc_graph_room *room;
	int rc = -ENOMEM;

	if (!graph || !graph->first) /* it was never launched */
		return 0;
	room = calloc(1, kc_graph_room_bytes());
	variants = calloc(graph->kernels, sizeof(struct kc_engine_variant *));
	graph->shapes = calloc(graph->kernels, sizeof(struct kc__replay_shape *));
	graph->predictions = calloc(graph->kernels, sizeof(*graph->predictions));
	if (room && variants && graph->shapes && graph->predictions) {
		find_shapes(graphs, r, graph, variants);
		graph->known = kc_engine_known(engine);
		rc = kc_graph_predict(engine, variants, graph->kernels, room, graph->predictions, NULL, &graph->whole);
	}
	for (uint32_t i = 0; rc >= 0 && i < graph->kernels; i++)
		graph->plain_ns += graph->predictions[i].solo_ns;
	free(room);
	free(variants);
	return rc < 0 ? rc : 0;
}

/* Of a kernel in a launch that is placed. */
static void predict(const struct kc__recorded_graph *graph, uint32_t kernel, const struct kc_placement *whole,
		    struct kc__replay_prediction *out)
{
	const struct kc_graph_prediction *p = &graph->predictions[kernel];
	struct kc_prediction *by_engine = &out->by_engine;
	struct kc_placement *placement = &by_engine->placement;

	placement->slowdown = kc_graph_times(p, graph->whole.span_ns, whole->start_ns, whole->end_ns,
					     &placement->start_ns, &placement->end_ns);
	placement->slowdown_waves = p->slowdown_waves;
	placement->concurrency_case = p->concurrency_case;
	placement->meeting = kc_expected_contention_unpack(p->meeting);
	by_engine->solo_ns = p->solo_ns;
	by_engine->solo_low_ns = p->solo_low_ns;
	by_engine->solo_high_ns = p->solo_high_ns;
	by_engine->model = p->model;
	by_engine->context = p->context;
	out->novelty = p->novelty;
	out->kept = (struct kc_engine_launch){
	    .context = p->context,
	    .known = graph->known,
	    .meeting = p->meeting,
	    .solo_ns = p->solo_ns,
	    .solo_low_ns = p->solo_low_ns,
	    .solo_high_ns = p->solo_high_ns,
	    .slowdown = placement->slowdown,
	    .contended = p->contended,
	    .in_graph = 1,
	};
}

/* Of a launch in its stream: those with a prediction, and others. *plain_ns: when the next one starts without
 * contention. */
static int launch(const struct kc__recorded_graph *graph, struct kc__replay_state *r, const struct kc__op *call,
		  const struct kc_placement *whole, struct kc__op *op, int64_t *plain_ns)
{
	uint32_t kernel = (uint32_t)(op->sequence - call->sequence - 1);
	struct kc__replay_prediction prediction = {.unpredictable = KC_NO_ATTRIBUTES};

	op->of = graph->shapes[kernel];
	if (op->of) {
		op->at = call->at;
		kc__replay_note_early(r, op->of, op);
		kc__replay_await(op);
		prediction.unpredictable = op->of->unpredictable;
	}
	if (prediction.unpredictable == KC_PREDICTED) {
		predict(graph, kernel, whole, &prediction);
		prediction.plain.start_ns = *plain_ns;
		prediction.plain.end_ns = *plain_ns += prediction.by_engine.solo_ns;
		op->kept = prediction.kept;
		kc__replay_keep_said(kc__recorded_of(&r->ops, op), &op->kept);
	}
	if (kernel + 1 == graph->last_predicted) {
		op->ticket = call->ticket;
		op->plain_ticket = call->plain_ticket;
	}
	return r->observer ? r->observer->predicted(r->observer->arg, op, &prediction) : 0;
}

int kc__recorded_graph_launch(struct kc__recorded_graphs *graphs, struct kc__replay_state *r, struct kc__op *call)
{
	const struct kc__recorded_graph *graph = find(graphs, (uint64_t)call->ns);
	struct kc_placement whole = {0}, plain = {0};
	size_t i = place_of(graphs, call->sequence + 1);
	int rc = 0;

	if (!graph || !graph->predictions)
		return 0;
	call->at = kc__used_devices_stream(&r->used, call, call->device);
	if (!call->at)
		return 0;
	if (graph->whole.work) {
		struct kc__used_device *device = call->at->device;
		const struct kc_engine_stage stage = {device->timeline, &device->history, device->answers};

		kc_graph_place(&graph->whole, &stage, call->at->lane, call->issued_ns, &whole);
		kc__replay_plainly(call, call->issued_ns, graph->plain_ns, &plain);
		call->ticket = whole.ticket;
	}
	for (; rc == 0 && i < graphs->launch_count && graphs->launches[i]->sequence <= call->sequence + graph->kernels;
	     i++)
		if (graphs->launches[i]->in_graph)
			rc = launch(graph, r, call, &whole, graphs->launches[i], &plain.start_ns);
	return rc;
}
