/*
 * Stream capture. One lock for all captures: they are short and rare. A stream
 * that waits for an event of a capture joins it; the origin ends it.
 */
#include "cu_graph.h"

#include <stdlib.h>
#include <string.h>

#define RECAPTURE_FAILURE ((CUresult)918) /* cuda.h of CUDA 13.3 */

static pthread_mutex_t captures = PTHREAD_MUTEX_INITIALIZER;
static atomic_ullong capture_ids;
static struct sim_capture *all; /* never freed: events recorded in a capture may still refer to it */

struct tails {
	CUgraphNode **node;
	size_t *n;
};

static struct tails of_stream(CUstream stream)
{
	return (struct tails){&stream->capture_tail, &stream->capture_tails};
}

static struct tails of_event(CUevent event)
{
	return (struct tails){&event->capture_tail, &event->capture_tails};
}

static void clear(struct tails tails)
{
	free(*tails.node);
	*tails.node = NULL;
	*tails.n = 0;
}

static int add_tail(struct tails tails, CUgraphNode node)
{
	CUgraphNode *more;
	size_t i;

	for (i = 0; i < *tails.n; i++)
		if ((*tails.node)[i] == node)
			return 1;
	more = realloc(*tails.node, (*tails.n + 1) * sizeof(*more));
	if (!more)
		return 0;
	*tails.node = more;
	more[(*tails.n)++] = node;
	return 1;
}

static int add_tails(struct tails to, struct tails from)
{
	size_t i;

	for (i = 0; i < *from.n; i++)
		if (!add_tail(to, (*from.node)[i]))
			return 0;
	return 1;
}

void sim_capture_forget_event(CUevent event)
{
	pthread_mutex_lock(&captures);
	clear(of_event(event));
	event->capture = NULL;
	pthread_mutex_unlock(&captures);
}

static CUresult record(CUstream stream, CUevent event)
{
	clear(of_event(event));
	event->capture = stream->capture;
	return add_tails(of_event(event), of_stream(stream)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult wait(CUstream stream, CUevent event)
{
	if (!event->capture || (stream->capture && stream->capture != event->capture))
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	atomic_store(&stream->capture, event->capture);
	return add_tails(of_stream(stream), of_event(event)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUgraphNodeType type_of(const struct sim_work *work)
{
	switch (work->kind) {
	case SIM_DO_KERNEL:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case SIM_DO_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case SIM_DO_FILL:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case SIM_DO_HOST:
		return CU_GRAPH_NODE_TYPE_HOST;
	case SIM_DO_RECORD:
		return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
	case SIM_DO_WAIT:
		return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
	default:
		return CU_GRAPH_NODE_TYPE_EMPTY;
	}
}

static int depends_on_tails(const struct CUgraphNode_st *node, struct tails tails)
{
	size_t i, j;

	for (i = 0; i < *tails.n; i++) {
		for (j = 0; j < node->dependencies && node->dependency[j] != (*tails.node)[i]; j++)
			;
		if (j == node->dependencies)
			return 0;
	}
	return node->dependencies == *tails.n;
}

/* The same nodes in the same order, or the recapture fails. A callback for parameters that differ is not called. */
static CUresult recapture_node(CUstream stream, const struct sim_work *work, void **params, void **extra)
{
	struct tails tails = of_stream(stream);
	struct sim_capture *capture = stream->capture;
	CUgraphNode node = capture->nodes < capture->graph->nodes ? capture->graph->node[capture->nodes] : NULL;
	CUresult result;

	if (capture->failed || !node || node->type != type_of(work) || !depends_on_tails(node, tails)) {
		capture->failed = 1;
		return RECAPTURE_FAILURE;
	}
	if (work->kind == SIM_DO_KERNEL)
		result = sim_node_set_launch(node, work, params, extra);
	else
		result = sim_node_set_work(node, work);
	if (result)
		return result;
	capture->nodes++;
	clear(tails);
	return add_tail(tails, node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult add_node(CUstream stream, const struct sim_work *work, void **params, void **extra)
{
	struct tails tails = of_stream(stream);
	struct sim_capture *capture = stream->capture;
	CUgraphNode node;
	CUresult result;

	if (capture->again)
		return recapture_node(stream, work, params, extra);
	node = sim_node_new(capture->graph, type_of(work), *tails.node, *tails.n);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->context = stream->context;
	if (work->kind == SIM_DO_KERNEL)
		result = sim_node_set_launch(node, work, params, extra);
	else
		result = sim_node_set_work(node, work);
	if (result) {
		sim_node_free(node);
		return result;
	}
	clear(tails);
	return add_tail(tails, node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_work(CUstream stream, const struct sim_work *work)
{
	CUresult result;

	pthread_mutex_lock(&captures);
	if (work->kind == SIM_DO_RECORD && !work->external)
		result = record(stream, work->event);
	else if (work->kind == SIM_DO_WAIT && !work->external)
		result = wait(stream, work->event);
	else
		result = add_node(stream, work, NULL, NULL);
	pthread_mutex_unlock(&captures);
	return result;
}

CUresult sim_capture_kernel(CUstream stream, const struct sim_work *work, void **params, void **extra)
{
	CUresult result;

	pthread_mutex_lock(&captures);
	result = add_node(stream, work, params, extra);
	pthread_mutex_unlock(&captures);
	if (!result)
		sim_count(&sim.log->launches_captured);
	return result;
}

/* --- begin and end */

static CUresult begin(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, const CUgraphNode *after, size_t n)
{
	struct sim_capture *capture;
	size_t i;

	if (!stream)
		return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED || (graph && !sim_is_graph(graph)) || (n && !after))
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture || stream->cig)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->graph = graph ? graph : sim_graph_new();
	capture->into_graph = graph != NULL;
	capture->origin = stream;
	capture->mode = mode;
	capture->id = atomic_fetch_add(&capture_ids, 1) + 1;
	atomic_store(&sim.bare, 0);
	pthread_mutex_lock(&captures);
	capture->next = all;
	all = capture;
	for (i = 0; i < n; i++)
		add_tail(of_stream(stream), after[i]);
	atomic_store(&stream->capture, capture);
	pthread_mutex_unlock(&captures);
	return CUDA_SUCCESS;
}
SIM_API_PTSZ(cuStreamBeginCapture, (CUstream stream),
	     begin(sim_stream(stream, per_thread), CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0))
SIM_API_PTSZ(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
	     begin(sim_stream(stream, per_thread), mode, NULL, NULL, 0))
SIM_API_PTSZ(cuStreamBeginCaptureToGraph,
	     (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t n,
	      CUstreamCaptureMode mode),
	     ((void)edges,
	      graph ? begin(sim_stream(stream, per_thread), mode, graph, dependencies, n) : CUDA_ERROR_INVALID_VALUE))

CUresult sim_capture_again(CUstream stream, CUstreamCaptureMode mode, CUgraph graph)
{
	CUresult result = sim_is_graph(graph) ? begin(stream, mode, graph, NULL, 0) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		stream->capture->again = 1;
	return result;
}

/* Programming guide, "Cross-stream dependencies": all forked work must be joined to the origin stream before the
 * capture ends. */
static int all_joined(const struct sim_capture *capture)
{
	CUstream origin = capture->origin, stream;
	int joined = 1;
	size_t i, j;

	sim_lock();
	for (stream = origin->context->streams; stream; stream = stream->next) {
		if (stream == origin || stream->capture != capture)
			continue;
		for (i = 0; i < stream->capture_tails; i++) {
			int has_dependent = 0;

			for (j = 0; j < origin->capture_tails; j++)
				has_dependent |= origin->capture_tail[j] == stream->capture_tail[i];
			for (j = 0; j < capture->graph->nodes; j++) {
				CUgraphNode node = capture->graph->node[j];

				for (size_t k = 0; k < node->dependencies; k++)
					has_dependent |= node->dependency[k] == stream->capture_tail[i];
			}
			joined &= has_dependent;
		}
	}
	sim_unlock();
	return joined;
}

static void release_streams(struct sim_capture *capture)
{
	CUstream stream;

	sim_lock();
	for (stream = capture->origin->context->streams; stream; stream = stream->next)
		if (stream->capture == capture) {
			clear(of_stream(stream));
			atomic_store(&stream->capture, NULL);
		}
	sim_unlock();
}

/* "potentially unsafe API calls are prohibited" on all threads: cuStreamBeginCapture of CU_STREAM_CAPTURE_MODE_GLOBAL.
 * Whether a flush of CUPTI makes such calls is not documented. */
void sim_capture_disturb(void)
{
	if (!simcuda_faults()->cupti_unsafe_flush)
		return;
	pthread_mutex_lock(&captures);
	for (struct sim_capture *capture = all; capture; capture = capture->next)
		capture->invalidated |= capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
	pthread_mutex_unlock(&captures);
}

static CUresult end(CUstream stream, CUgraph *graph)
{
	struct sim_capture *capture;
	int joined;

	if (!stream)
		return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = NULL;
	capture = stream->capture;
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	pthread_mutex_lock(&captures);
	joined = all_joined(capture);
	release_streams(capture);
	pthread_mutex_unlock(&captures);
	if (capture->again && (capture->failed || capture->nodes != capture->graph->nodes))
		return RECAPTURE_FAILURE;
	if (capture->invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (joined)
		*graph = capture->graph;
	else if (!capture->into_graph)
		sim_graph_free(capture->graph);
	return joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}
SIM_API_PTSZ(cuStreamEndCapture, (CUstream stream, CUgraph *graph), end(sim_stream(stream, per_thread), graph))

/* --- questions */

static CUresult info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
		     const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *n)
{
	struct sim_capture *capture;

	if (!stream)
		return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	capture = stream->capture;
	*status = capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	if (!capture)
		return CUDA_SUCCESS;
	if (id)
		*id = capture->id;
	if (graph)
		*graph = capture->graph;
	if (nodes)
		*nodes = stream->capture_tail;
	if (edges)
		*edges = NULL;
	if (n)
		*n = stream->capture_tails;
	return CUDA_SUCCESS;
}
SIM_API_PTSZ(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
	     info(sim_stream(stream, per_thread), status, NULL, NULL, NULL, NULL, NULL))
SIM_API_PTSZ(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
	     info(sim_stream(stream, per_thread), status, id, NULL, NULL, NULL, NULL))
SIM_API_PTSZ(cuStreamGetCaptureInfo_v2,
	     (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
	      size_t *n),
	     info(sim_stream(stream, per_thread), status, id, graph, nodes, NULL, n))
SIM_API_PTSZ(cuStreamGetCaptureInfo_v3,
	     (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
	      const CUgraphEdgeData **edges, size_t *n),
	     info(sim_stream(stream, per_thread), status, id, graph, nodes, edges, n))

static CUresult update(CUstream stream, const CUgraphNode *nodes, size_t n, unsigned flags)
{
	size_t i;

	if (!stream)
		return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (n && !nodes))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&captures);
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		clear(of_stream(stream));
	for (i = 0; i < n; i++)
		add_tail(of_stream(stream), nodes[i]);
	pthread_mutex_unlock(&captures);
	return CUDA_SUCCESS;
}
SIM_API_PTSZ(cuStreamUpdateCaptureDependencies, (CUstream stream, CUgraphNode *nodes, size_t n, unsigned int flags),
	     update(sim_stream(stream, per_thread), nodes, n, flags))
SIM_API_PTSZ(cuStreamUpdateCaptureDependencies_v2,
	     (CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t n, unsigned int flags),
	     ((void)edges, update(sim_stream(stream, per_thread), nodes, n, flags)))

/* Modes only forbid calls that could interfere with a capture; no call of this driver does. */
static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
	static __thread CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
	CUstreamCaptureMode previous = current;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	current = *mode;
	*mode = previous;
	return CUDA_SUCCESS;
}
SIM_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), exchange_mode(mode))
