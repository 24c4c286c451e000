/* cuGraphInstantiate*, cuGraphLaunch, cuGraphExec*. */
#include "cu_graph.h"

#include <cupti_callbacks.h>
#include <generated_cuda_meta.h>
#include <stdlib.h>
#include <string.h>

static int is_exec(CUgraphExec exec)
{
	return exec && exec->magic == SIM_GRAPH_EXEC;
}

uint32_t simcuda_graph_exec_id(void *exec)
{
	return is_exec(exec) ? ((CUgraphExec)exec)->id : 0;
}

static void notify(CUpti_CallbackIdResource cbid, CUgraphExec exec, CUgraph graph)
{
	struct simcuda_resource resource = {.cbid = cbid,
					    .context = sim_context(),
					    .graph = exec->graph ? exec->graph : graph,
					    .original_graph = graph,
					    .graph_exec = exec};

	sim_notify(&resource);
}

static void exec_free(CUgraphExec exec)
{
	if (exec->graph)
		sim_graph_free(exec->graph);
	free(exec->copied);
	exec->magic = 0;
	free(exec);
}

/* Sorts child graphs as well, which launches rely on. 1: sorted, 0: the graph has a cycle. */
static int sort_all(CUgraph graph)
{
	size_t i;

	if (!sim_graph_sort(graph))
		return 0;
	for (i = 0; i < graph->nodes; i++)
		if (graph->node[i]->child && !sort_all(graph->node[i]->child))
			return 0;
	return 1;
}

static int has_host(CUgraph graph)
{
	size_t i;

	for (i = 0; i < graph->nodes; i++)
		if (graph->node[i]->work.kind == SIM_DO_HOST ||
		    (graph->node[i]->child && has_host(graph->node[i]->child)))
			return 1;
	return 0;
}

/* --- cuptiFinalize, with the fault cupti-finalize-graphs: an executable graph that was instantiated or launched with
 * CUPTI attached ends in an exception when it is launched afterwards. Seen of CUPTI 13.0 with driver 580 on an H100, of
 * graphs that records had been made of. */

static unsigned attachment(void)
{
	return sim_sink() ? sim_finalizations() + 1 : 0;
}

static void note_attachment(CUgraphExec exec)
{
	unsigned now = attachment(), before = exec->attached;

	if (before && before != now && simcuda_faults()->cupti_finalize_graphs)
		atomic_store(&sim.failed, CUDA_ERROR_LAUNCH_FAILED);
	if (now)
		exec->attached = now;
}

static CUresult instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;

	if (!out || !sim_is_graph(graph))
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->magic = SIM_GRAPH_EXEC;
	exec->flags = flags;
	exec->id = atomic_fetch_add(&sim.next_graph_id, 1) + 1;
	exec->attached = attachment();
	notify(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, exec, graph);
	exec->graph = sim_graph_clone(graph);
	if (exec->graph)
		exec->copied = malloc((exec->graph->nodes + 1) * sizeof(*exec->copied));
	if (exec->copied && exec->graph->nodes)
		memcpy(exec->copied, exec->graph->node, exec->graph->nodes * sizeof(*exec->copied));
	if (!exec->copied || !sort_all(exec->graph)) {
		CUresult result = exec->copied ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;

		exec_free(exec);
		return result;
	}
	exec->graph->owned = 1;
	exec->has_host = has_host(exec->graph);
	*out = exec;
	notify(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, exec, graph);
	return CUDA_SUCCESS;
}

static CUresult instantiate_logged(CUgraphExec *out, CUgraph graph, CUgraphNode *bad, char *log, size_t log_bytes)
{
	if (bad)
		*bad = NULL;
	if (log && log_bytes)
		*log = '\0';
	return instantiate(out, graph, 0);
}

static CUresult instantiate_params(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->hErrNode_out = NULL;
	result = instantiate(out, graph, params->flags);
	params->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return result;
}
SIM_API_WITH(cuGraphInstantiate, (CUgraphExec * out, CUgraph graph, CUgraphNode *bad, char *log, size_t log_bytes),
	     TOLD(out, graph, bad, log, log_bytes), instantiate_logged(out, graph, bad, log, log_bytes))
SIM_API_WITH(cuGraphInstantiate_v2, (CUgraphExec * out, CUgraph graph, CUgraphNode *bad, char *log, size_t log_bytes),
	     TOLD(out, graph, bad, log, log_bytes), instantiate_logged(out, graph, bad, log, log_bytes))
SIM_API_WITH(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph graph, unsigned long long flags),
	     TOLD(out, graph, flags), instantiate(out, graph, flags))
SIM_API_PTSZ_WITH(cuGraphInstantiateWithParams,
		  (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params), TOLD(out, graph, params),
		  ((void)per_thread, instantiate_params(out, graph, params)))

static CUresult destroy(CUgraphExec exec)
{
	if (!is_exec(exec))
		return CUDA_ERROR_INVALID_VALUE;
	notify(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, exec, exec->graph->original);
	sim_lock();
	sim_take_in(); /* no pending operation may refer to it */
	sim_op_release(exec->tail);
	sim_unlock();
	exec_free(exec);
	return CUDA_SUCCESS;
}
SIM_API_WITH(cuGraphExecDestroy, (CUgraphExec exec), TOLD(exec), destroy(exec))

static CUresult get_flags(CUgraphExec exec, cuuint64_t *flags)
{
	if (!is_exec(exec) || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}
SIM_API(cuGraphExecGetFlags, (CUgraphExec exec, cuuint64_t *flags), get_flags(exec, flags))

/* --- launch */

struct flattening {
	CUstream stream;
	CUgraphExec exec;
	struct sim_run *run;
	uint32_t room, edge_room;
	int failed;
	uint64_t other_ids; /* of nodes in child graphs, added to those that callbacks tell */
};

static int has_other_ids(void)
{
	const char *value = getenv("SIMCUDA_CUPTI_NODES");

	return value && !strcmp(value, "other");
}

static uint32_t add_op(struct flattening *f, const struct sim_work *work, CUgraphNode node)
{
	struct sim_run *run = f->run;
	struct sim_op *op = sim_op_new(f->stream, work);

	if (run->ops == f->room) {
		uint32_t room = f->room ? 2 * f->room : 64;
		struct sim_op **more = realloc(run->op, room * sizeof(*more));

		if (more) {
			f->room = room;
			run->op = more;
		} else {
			f->failed = 1;
		}
	}
	if (!op || f->failed) {
		sim_op_release(op);
		f->failed = 1;
		return 0;
	}
	op->activity.correlation = run->correlation;
	op->collected &= !run->unfold;
	op->whole = run->end->collected ? run->end : NULL;
	op->activity.graph_id = f->exec->id;
	op->activity.graph_node_id = node->id + (node->graph != f->exec->graph ? f->other_ids : 0);
	run->has_host |= work->kind == SIM_DO_HOST;
	run->op[run->ops] = op;
	return run->ops++;
}

static void add_edge(struct flattening *f, uint32_t from, uint32_t to)
{
	struct sim_run *run = f->run;

	if (run->edges == f->edge_room) {
		uint32_t room = f->edge_room ? 2 * f->edge_room : 64;
		uint32_t(*more)[2] = realloc(run->edge, room * sizeof(*more));

		if (!more) {
			f->failed = 1;
			return;
		}
		run->edge = more;
		f->edge_room = room;
	}
	run->edge[run->edges][0] = from;
	run->edge[run->edges][1] = to;
	run->edges++;
}

static uint32_t flatten(struct flattening *f, CUgraph graph, const uint32_t *before, CUgraphNode parent);

/* Returns the index of the op that ends the node; its dependencies' ends are in ends[]. */
static uint32_t flatten_node(struct flattening *f, CUgraphNode node, const uint32_t *ends, const uint32_t *before)
{
	static const struct sim_work nothing = {.kind = SIM_DO_NOTHING};
	uint32_t begin = add_op(f, node->disabled || node->child ? &nothing : &node->work, node);
	size_t i;

	for (i = 0; i < node->dependencies; i++)
		add_edge(f, ends[node->dependency[i]->index], begin);
	if (before && !node->dependencies)
		add_edge(f, *before, begin);
	return node->child && !node->disabled ? flatten(f, node->child, &begin, node) : begin;
}

/* Returns the index of an op that ends after all nodes of the graph. Only child graphs use it. */
static uint32_t flatten(struct flattening *f, CUgraph graph, const uint32_t *before, CUgraphNode parent)
{
	static const struct sim_work nothing = {.kind = SIM_DO_NOTHING};
	uint32_t *ends = calloc(graph->nodes + 1, sizeof(*ends)), end = 0;
	size_t i;

	if (!ends) {
		f->failed = 1;
		return 0;
	}
	for (i = 0; i < graph->nodes && !f->failed; i++)
		ends[i] = flatten_node(f, graph->node[i], ends, before);
	if (parent) {
		end = add_op(f, &nothing, parent);
		for (i = 0; i < graph->nodes && !f->failed; i++)
			add_edge(f, ends[i], end);
		add_edge(f, *before, end);
	}
	free(ends);
	return end;
}

static void run_free(struct sim_run *run)
{
	uint32_t i;

	for (i = 0; i < run->ops; i++)
		sim_op_release(run->op[i]);
	sim_op_release(run->end);
	free(run->op);
	free(run->edge);
	free(run);
}

/* As a driver does: the nodes are on the device already, and the launch itself takes microseconds. */
static int unfold(struct sim_run *run, CUstream stream)
{
	struct flattening f = {.stream = stream, .exec = run->exec, .run = run};

	if (has_other_ids())
		f.other_ids = UINT64_C(1) << 32;

	flatten(&f, run->exec->graph, NULL, NULL);
	return !f.failed;
}

/* Whether records are to be made of the nodes: their places are taken in the call, one by one, as CUPTI does. */
static int is_collected(void)
{
	if (sim_collects(SIMCUDA_GRAPH) && !simcuda_faults()->cupti_graph_nodes)
		return 0;
	return sim_collects(SIMCUDA_KERNEL) || sim_collects(SIMCUDA_MEMCPY) || sim_collects(SIMCUDA_MEMSET);
}

static struct sim_op *end_new(CUgraphExec exec, CUstream stream)
{
	static const struct sim_work nothing = {.kind = SIM_DO_NOTHING};
	struct sim_op *end = sim_op_new(stream, &nothing);

	if (end && sim_collects(SIMCUDA_GRAPH)) {
		end->activity.kind = SIMCUDA_GRAPH;
		end->activity.graph_id = exec->id;
		end->collected = 1;
	}
	return end;
}

static struct sim_run *run_new(CUgraphExec exec, CUstream stream)
{
	struct sim_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->serial = &exec->tail;
	run->end = end_new(exec, stream);
	run->exec = exec;
	run->correlation = sim_correlation();
	run->has_host = exec->has_host;
	if (run->end && !sim.null_mode && !is_collected()) {
		run->unfold = unfold;
		return run;
	}
	if (run->end && unfold(run, stream))
		return run;
	run_free(run);
	return NULL;
}

static CUresult launch(CUgraphExec exec, CUstream stream)
{
	struct sim_work work = {.kind = SIM_DO_GRAPH};
	struct sim_op *op;

	if (!is_exec(exec))
		return CUDA_ERROR_INVALID_VALUE;
	if (!stream)
		return sim_context() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (sim_failed())
		return sim_failed();
	if (sim_fault_oom())
		return CUDA_ERROR_OUT_OF_MEMORY;
	work.run = run_new(exec, stream);
	if (!work.run)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op = sim_op_new(stream, &work);
	if (!op) {
		run_free(work.run);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	note_attachment(exec);
	sim_fault_cost(exec->graph->nodes);
	sim_count(&sim.log->graph_launches);
	sim_enqueue(op);
	return CUDA_SUCCESS;
}
SIM_API_PTSZ_WITH(cuGraphLaunch, (CUgraphExec exec, CUstream stream), TOLD(exec, stream),
		  launch(exec, sim_stream(stream, per_thread)))
SIM_API_PTSZ(cuGraphUpload, (CUgraphExec exec, CUstream stream),
	     !is_exec(exec)                   ? CUDA_ERROR_INVALID_VALUE
	     : sim_stream(stream, per_thread) ? CUDA_SUCCESS
					      : CUDA_ERROR_INVALID_CONTEXT)

/* --- changes to an executable graph, which take effect from the next launch on */

/* Launches that were made before the change have their nodes. */
static void settle(void)
{
	sim_lock();
	sim_take_in();
	sim_unlock();
}

static CUgraphNode node_for(CUgraphExec exec, CUgraphNode original)
{
	size_t i;

	if (!is_exec(exec) || !original)
		return NULL;
	/* Where it was when it was copied, unless the original graph has changed since. */
	if (original->index < exec->graph->nodes && exec->copied[original->index]->original == original)
		return exec->copied[original->index];
	for (i = 0; i < exec->graph->nodes; i++)
		if (exec->graph->node[i]->original == original)
			return exec->graph->node[i];
	return NULL;
}

static CUresult set(CUgraphExec exec, CUgraphNode original, CUgraphNodeType type, const void *params, CUcontext context)
{
	CUgraphNode node = node_for(exec, original);
	CUresult result;

	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	settle();
	result = sim_node_set_params(node, type, params, context);
	if (!result && type == CU_GRAPH_NODE_TYPE_GRAPH && !sort_all(node->child))
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

#define SET(name, type, parameter, params)                                                                             \
	SIM_API_WITH(name, (CUgraphExec exec, CUgraphNode node, parameter), TOLD(exec, node, params),                  \
		     set(exec, node, CU_GRAPH_NODE_TYPE_##type, params, NULL))
SET(cuGraphExecKernelNodeSetParams_v2, KERNEL, const CUDA_KERNEL_NODE_PARAMS *params, params)
SET(cuGraphExecHostNodeSetParams, HOST, const CUDA_HOST_NODE_PARAMS *params, params)
SET(cuGraphExecEventRecordNodeSetEvent, EVENT_RECORD, CUevent event, event)
SET(cuGraphExecEventWaitNodeSetEvent, WAIT_EVENT, CUevent event, event)
SET(cuGraphExecChildGraphNodeSetParams, GRAPH, CUgraph child, child)
SIM_API(cuGraphExecMemcpyNodeSetParams,
	(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext context),
	set(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, params, context))
SIM_API(cuGraphExecMemsetNodeSetParams,
	(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context),
	set(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, params, context))

static CUresult set_kernel_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all = {0};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&all, params, sizeof(*params));
	return set(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, &all, NULL);
}
SIM_API_WITH(cuGraphExecKernelNodeSetParams,
	     (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params), TOLD(exec, node, params),
	     set_kernel_v1(exec, node, params))

static CUresult set_any(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params)
{
	CUgraphNode node = node_for(exec, original);

	settle();
	return node ? sim_node_set_any(node, params) : CUDA_ERROR_INVALID_VALUE;
}
SIM_API_WITH(cuGraphExecNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params),
	     TOLD(exec, node, params), set_any(exec, node, params))

static CUresult enabled(CUgraphExec exec, CUgraphNode original, unsigned *get, const unsigned *set_to)
{
	CUgraphNode node = node_for(exec, original);

	if (!node || (!get && !set_to))
		return CUDA_ERROR_INVALID_VALUE;
	if (node->type != CU_GRAPH_NODE_TYPE_KERNEL && node->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
	    node->type != CU_GRAPH_NODE_TYPE_MEMSET)
		return CUDA_ERROR_INVALID_VALUE;
	settle();
	if (set_to)
		node->disabled = !*set_to;
	else
		*get = !node->disabled;
	return CUDA_SUCCESS;
}
SIM_API_WITH(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned int is_enabled),
	     TOLD(exec, node, is_enabled), enabled(exec, node, NULL, &is_enabled))
SIM_API(cuGraphNodeGetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned int *is_enabled),
	enabled(exec, node, is_enabled, NULL))

/* Whether b could replace a: same edges, and nodes of the same types in the same order. */
static CUgraphExecUpdateResult compare(CUgraph a, CUgraph b)
{
	size_t i, j;

	if (a->nodes != b->nodes)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (i = 0; i < a->nodes; i++) {
		CUgraphNode x = a->node[i], y = b->node[i];

		if (x->type != y->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (x->dependencies != y->dependencies)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		for (j = 0; j < x->dependencies; j++)
			if (x->dependency[j]->index != y->dependency[j]->index)
				return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult *outcome)
{
	CUgraph next;
	size_t i;
	int ok = 1;

	*outcome = CU_GRAPH_EXEC_UPDATE_ERROR;
	if (!is_exec(exec) || !sim_is_graph(graph))
		return CUDA_ERROR_INVALID_VALUE;
	next = sim_graph_copy(graph);
	if (!next || !sort_all(next)) {
		if (next)
			sim_graph_free(next);
		return CUDA_ERROR_INVALID_VALUE;
	}
	settle();
	*outcome = compare(exec->graph, next);
	for (i = 0; *outcome == CU_GRAPH_EXEC_UPDATE_SUCCESS && ok && i < next->nodes; i++) {
		ok = sim_node_copy_contents(exec->graph->node[i], next->node[i]);
		if (ok && exec->graph->node[i]->child)
			ok = sort_all(exec->graph->node[i]->child);
	}
	sim_graph_free(next);
	if (!ok)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return *outcome == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

static CUresult update_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *bad, CUgraphExecUpdateResult *outcome)
{
	if (!outcome)
		return CUDA_ERROR_INVALID_VALUE;
	if (bad)
		*bad = NULL;
	return update(exec, graph, outcome);
}
SIM_API_WITH(cuGraphExecUpdate, (CUgraphExec exec, CUgraph graph, CUgraphNode *bad, CUgraphExecUpdateResult *outcome),
	     TOLD(exec, graph, bad, outcome), update_v1(exec, graph, bad, outcome))

static CUresult update_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	if (!info)
		return CUDA_ERROR_INVALID_VALUE;
	memset(info, 0, sizeof(*info));
	return update(exec, graph, &info->result);
}
SIM_API_WITH(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info),
	     TOLD(exec, graph, info), update_v2(exec, graph, info))
