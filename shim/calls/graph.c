/*
 * CUDA graphs. One call launches all kernels of a graph, so what they are is noted
 * when the graph is instantiated, and kept up to date when the executable graph is
 * changed. What its launches find is a plan (graph_plan.h).
 *
 * CUPTI's records name a node by the id of its instantiated copy. A callback during
 * instantiation reports each copy with its original node; where it does not come,
 * records are matched by launch shape.
 */
#include "graph_plan.h"
#include "shim/entry/real.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables.h"
#include "graph_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The table of executable graphs. The driver does not allow two threads to use one of
 * them at the same time, so neither is it locked here. */

struct kc__graph_exec *kc__graph_exec_of(CUgraphExec handle)
{
	struct kc__graph *g = kc__graph_of(handle, false);

	return g ? g->exec : NULL;
}

static void forget(CUgraphExec handle)
{
	struct kc__graph *g = kc__graph_of(handle, false);

	if (!g)
		return;
	if (g->exec) {
		kc__plan_leave(g->exec);
		kc__graph_free_nodes(g->exec);
	}
	free(g->exec);
	g->exec = NULL;
	kc__graph_let_go(g);
}

/* While recording is paused, the first launch afterwards makes it. */
static void plan(struct kc__graph_exec *exec)
{
	struct kc__known on = {.any_stream = true, .unpredictable = KC_PREDICTED};
	CUcontext context;

	on.device = kc__recording() ? kc__current_device(&kc__thread, &context) : NULL;
	if (on.device)
		kc__plan_make(exec, &on);
}

static void instantiated(CUgraphExec handle, CUgraph graph, const struct kc__clones *clones)
{
	struct kc__graph_exec *exec = calloc(1, sizeof(*exec));
	struct kc__graph *g;

	forget(handle);
	g = exec ? kc__graph_of(handle, true) : NULL;
	if (!g) {
		free(exec);
		return;
	}
	kc__graph_read(exec, graph);
	kc__graph_index(exec);
	kc__graph_name(exec, clones);
	plan(exec);
	g->exec = exec;
}

/* Instantiation */

bool kc__graph_instantiate_begin(struct kc__clones *clones)
{
	struct kc__thread *t = &kc__thread;

	memset(clones, 0, sizeof(*clones));
	if (!kc__begun() || t->depth)
		return false;
	t->depth = 1;
	t->clones = clones;
	return true;
}

void kc__graph_instantiate_end(CUresult result, const CUgraphExec *handle, CUgraph graph, struct kc__clones *clones)
{
	struct kc__thread *t = &kc__thread;
	int saved_errno = errno;

	t->clones = NULL;
	if (result == CUDA_SUCCESS)
		instantiated(*handle, graph, clones);
	free(clones->at);
	t->depth = 0;
	errno = saved_errno;
}

#define INSTANTIATE(symbol, parameters, arguments)                                                                     \
	KC_EXPORT CUresult CUDAAPI symbol parameters                                                                   \
	{                                                                                                              \
		struct kc__clones clones;                                                                              \
		bool watched = kc__graph_instantiate_begin(&clones);                                                   \
		CUresult result = KC_REAL(symbol) arguments;                                                           \
                                                                                                                       \
		if (watched)                                                                                           \
			kc__graph_instantiate_end(result, exec, graph, &clones);                                       \
		return result;                                                                                         \
	}

/* clang-format off */
INSTANTIATE(cuGraphInstantiate, (CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log, size_t n), (exec, graph, bad, log, n))
INSTANTIATE(cuGraphInstantiate_v2, (CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log, size_t n), (exec, graph, bad, log, n))
INSTANTIATE(cuGraphInstantiateWithFlags, (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))
INSTANTIATE(cuGraphInstantiateWithParams, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p), (exec, graph, p))
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, (CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p), (exec, graph, p))
/* clang-format on */

void kc__graph_gone(CUgraphExec exec)
{
	if (kc__begun() && !kc__thread.depth)
		forget(exec);
}

KC_EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
	/* Before the call: afterwards another thread may be given the handle. */
	kc__graph_gone(exec);
	return KC_REAL(cuGraphExecDestroy)(exec);
}

/* Changes of an executable graph */

/* That the application changes; NULL: nothing is recorded, or it is not known. */
static struct kc__graph_exec *changed_exec(CUgraphExec handle)
{
	return kc__begun() && !kc__thread.depth ? kc__graph_exec_of(handle) : NULL;
}

/* It is about to be changed. */
static struct kc__node *node_of(CUgraphExec handle, CUgraphNode original)
{
	struct kc__graph_exec *exec = changed_exec(handle);
	struct kc__node *node = exec ? kc__graph_node(exec, original) : NULL;

	if (node)
		exec->changed = true;
	return node;
}

void kc__graph_set_kernel(CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct kc__node *node = node_of(exec, original);

	if (node)
		kc__node_set(node, params);
}

void kc__graph_set_kernel_v1(CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	struct kc__node *node = node_of(exec, original);

	if (node)
		kc__node_set_v1(node, params);
}

void kc__graph_set_node(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params)
{
	struct kc__node *node = params->type == CU_GRAPH_NODE_TYPE_KERNEL ? node_of(exec, original) : NULL;

	if (node)
		kc__node_set_v3(node, &params->kernel);
}

static void set_copy_enabled(struct kc__graph_exec *exec, CUgraphNode original, bool enabled)
{
	struct kc__copy_node *copy = kc__graph_copy(exec, original);

	if (!copy || copy->enabled == enabled)
		return;
	copy->enabled = enabled;
	exec->copies_enabled += enabled ? 1u : -1u;
	exec->changed = true;
}

void kc__graph_set_enabled(CUgraphExec handle, CUgraphNode original, unsigned enabled)
{
	struct kc__node *node = node_of(handle, original);
	struct kc__graph_exec *exec = node ? NULL : changed_exec(handle);

	if (exec)
		set_copy_enabled(exec, original, enabled != 0);
	if (!node || node->enabled == (enabled != 0))
		return;
	node->enabled = enabled != 0;
	kc__graph_exec_of(handle)->enabled += node->enabled ? 1u : -1u;
}

/* Makes the driver's call, and notes the change when it has succeeded. */
#define SET(symbol, type, note)                                                                                        \
	KC_EXPORT CUresult CUDAAPI symbol(CUgraphExec exec, CUgraphNode original, type value)                          \
	{                                                                                                              \
		CUresult result = KC_REAL(symbol)(exec, original, value);                                              \
		int saved_errno = errno;                                                                               \
                                                                                                                       \
		if (result == CUDA_SUCCESS)                                                                            \
			note(exec, original, value);                                                                   \
		errno = saved_errno;                                                                                   \
		return result;                                                                                         \
	}
SET(cuGraphExecKernelNodeSetParams_v2, const CUDA_KERNEL_NODE_PARAMS_v2 *, kc__graph_set_kernel)
SET(cuGraphExecKernelNodeSetParams, const CUDA_KERNEL_NODE_PARAMS_v1 *, kc__graph_set_kernel_v1)
SET(cuGraphExecNodeSetParams, CUgraphNodeParams *, kc__graph_set_node)
SET(cuGraphNodeSetEnabled, unsigned, kc__graph_set_enabled)

/* Takes the parameters of another graph of the same topology, node by node. The
 * nodes keep their identity, and stay enabled or disabled. */
static void take_params(struct kc__graph_exec *exec, CUgraph graph, size_t first, size_t first_copy)
{
	struct kc__graph_exec other = {0};
	int saved_errno = errno;

	kc__thread.depth = 1;
	kc__graph_read(&other, graph);
	for (size_t i = 0; i < other.count && first + i < exec->count; i++) {
		struct kc__node *node = &exec->nodes[first + i], *from = &other.nodes[i];
		void *arguments = node->arguments;

		node->function = from->function;
		node->dims = from->dims;
		node->variant = NULL;
		node->arguments = from->arguments;
		node->argument_bytes = from->argument_bytes;
		from->arguments = arguments; /* freed with it */
	}
	for (size_t i = 0; i < other.copy_count && first_copy + i < exec->copy_count; i++) {
		exec->copies[first_copy + i].kind = other.copies[i].kind;
		exec->copies[first_copy + i].bytes = other.copies[i].bytes;
	}
	kc__graph_free_nodes(&other);
	exec->changed = true;
	plan(exec);
	kc__thread.depth = 0;
	errno = saved_errno;
}

void kc__graph_updated(CUgraphExec handle, CUgraph graph)
{
	struct kc__graph_exec *exec = changed_exec(handle);

	if (exec)
		take_params(exec, graph, 0, 0);
}

KC_EXPORT CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *bad,
					     CUgraphExecUpdateResult *why)
{
	CUresult result = KC_REAL(cuGraphExecUpdate)(exec, graph, bad, why);

	if (result == CUDA_SUCCESS)
		kc__graph_updated(exec, graph);
	return result;
}

KC_EXPORT CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUresult result = KC_REAL(cuGraphExecUpdate_v2)(exec, graph, info);

	if (result == CUDA_SUCCESS)
		kc__graph_updated(exec, graph);
	return result;
}

void kc__graph_set_child(CUgraphExec handle, CUgraphNode node, CUgraph graph)
{
	struct kc__graph_exec *exec = changed_exec(handle);
	struct kc__graph_exec old = {0};
	struct kc__copy_node *first_copy;
	struct kc__node *first;
	CUgraph child;
	__typeof__(&cuGraphChildGraphNodeGetGraph) get_child;

	if (!exec)
		return;
	get_child = KC_ASK(cuGraphChildGraphNodeGetGraph);
	if (!get_child || get_child(node, &child) != CUDA_SUCCESS)
		return;
	/* The child's nodes begin in each list where the first one of the original child is. */
	kc__graph_read(&old, child);
	first = old.count ? kc__graph_node(exec, old.nodes[0].original) : NULL;
	first_copy = old.copy_count ? kc__graph_copy(exec, old.copies[0].original) : NULL;
	if (first || first_copy)
		take_params(exec, graph, first ? (size_t)(first - exec->nodes) : exec->count,
			    first_copy ? (size_t)(first_copy - exec->copies) : exec->copy_count);
	kc__graph_free_nodes(&old);
}
SET(cuGraphExecChildGraphNodeSetParams, CUgraph, kc__graph_set_child)
