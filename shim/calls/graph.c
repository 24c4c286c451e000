/*
 * CUDA graphs. One call launches all kernels of a graph, so what they are is noted
 * when the graph is instantiated, and kept up to date when the executable graph is
 * changed. Each launch of it makes one record per enabled kernel node.
 *
 * CUPTI's records name a node by the id of its instantiated copy. A callback during
 * instantiation reports each copy with its original node; where it does not come,
 * records are matched by launch shape.
 */
#include "shim/tables/kernel_formula.h"
#include "launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHILD_DEPTH_MAX 16
#define ARGUMENTS_MAX_BYTES 4096u /* of one node; a longer list is not kept */
#define ASKED_FUNCTIONS 4u        /* whose parameters are remembered while a graph is walked */

struct node { /* a kernel node */
	CUgraphNode original;
	CUfunction function;
	struct kc_shape dims;
	void *arguments; /* its list as one block; NULL: not known */
	size_t argument_bytes;
	uint64_t record_id; /* in CUPTI's records; 0: not known */
	bool enabled;
	struct kc_slot *slot; /* its record, while a launch of the graph is under way */
	/* As its latest launch found it, on the device of its kernel; NULL: to be looked up. */
	struct kc__variant *variant;
	uint32_t generation; /* of modules, then */
};

struct kc__graph_exec {
	struct node *nodes; /* in the order the driver lists them, child graphs in place */
	size_t count, capacity;
	uint32_t *places; /* open addressing, by original: index of a node + 1; 0: free */
	size_t place_mask;
	bool unknown; /* it has nodes whose launches cannot be counted, such as conditional ones */
};

static void *grown(void *list, size_t count, size_t *capacity, size_t item_bytes)
{
	void *bigger;

	if (count < *capacity)
		return list;
	bigger = realloc(list, (*capacity ? *capacity * 2 : 16) * item_bytes);
	if (bigger)
		*capacity = *capacity ? *capacity * 2 : 16;
	return bigger;
}

void kc__graph_node_cloned(CUgraphNode original, uint64_t id)
{
	struct kc__clones *clones = kc__thread.clones;
	struct kc__clone *at = grown(clones->at, clones->count, &clones->capacity, sizeof(*at));

	if (!at)
		return;
	clones->at = at;
	at[clones->count++] = (struct kc__clone){original, id};
}

/* Walking a graph */

static CUresult get_nodes(CUgraph graph, CUgraphNode **nodes, size_t *count)
{
	__auto_type get = KC_ASK(cuGraphGetNodes);
	CUresult result = get ? get(graph, NULL, count) : CUDA_ERROR_NOT_SUPPORTED;

	*nodes = NULL;
	if (result != CUDA_SUCCESS || !*count)
		return result;
	*nodes = malloc(*count * sizeof(**nodes));
	return *nodes ? get(graph, *nodes, count) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* While nodes are read: the driver's functions, and what it said of kernels, as many nodes run few of them. */
struct reader {
	__typeof__(&cuGraphKernelNodeGetParams_v2) get;
	__typeof__(&cuGraphKernelNodeGetParams) get_v1;
	__typeof__(&cuGraphNodeGetType) get_type;
	__typeof__(&cuGraphChildGraphNodeGetGraph) get_child;
	struct {
		CUfunction function; /* NULL: none */
		struct kc__parameters parameters;
		struct kc__parameter at[KC__PARAMETERS_MAX];
	} asked[ASKED_FUNCTIONS];
	uint32_t next;
};

static struct reader *reader_new(void)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->get = KC_ASK(cuGraphKernelNodeGetParams_v2);
	r->get_v1 = KC_ASK(cuGraphKernelNodeGetParams);
	r->get_type = KC_ASK(cuGraphNodeGetType);
	r->get_child = KC_ASK(cuGraphChildGraphNodeGetGraph);
	return r;
}

static const struct kc__parameters *parameters_of(struct reader *r, CUfunction f, bool as_kernel)
{
	uint32_t i = 0;

	while (i < ASKED_FUNCTIONS && r->asked[i].function != f)
		i++;
	if (i == ASKED_FUNCTIONS) {
		i = r->next++ % ASKED_FUNCTIONS;
		r->asked[i].function = f;
		r->asked[i].parameters.at = r->asked[i].at;
		r->asked[i].parameters.known =
		    kc__ask_parameters(f, as_kernel, r->asked[i].at, &r->asked[i].parameters.count);
	}
	return &r->asked[i].parameters;
}

/* A copy, as the application may free or change the list that it passed. r: NULL for a single node. */
static void set_arguments(struct reader *r, struct node *node, bool as_kernel, const struct kc__given *given)
{
	struct kc__parameter at[KC__PARAMETERS_MAX];
	struct kc__parameters one = {.at = at};
	const struct kc__parameters *parameters = &one;
	char block[ARGUMENTS_MAX_BYTES];

	free(node->arguments);
	node->arguments = NULL;
	node->variant = NULL;
	if (r && node->function)
		parameters = parameters_of(r, node->function, as_kernel);
	else
		one.known = kc__ask_parameters(node->function, as_kernel, at, &one.count);
	node->argument_bytes = kc__arguments_pack(parameters, given, block, sizeof(block));
	if (node->argument_bytes && (node->arguments = malloc(node->argument_bytes)))
		memcpy(node->arguments, block, node->argument_bytes);
	else
		node->argument_bytes = 0;
}

/* p: any version of the driver's struct. */
#define SET_KERNEL(r, node, p, kernel)                                                                                 \
	do {                                                                                                           \
		(node)->function = (p)->func ? (p)->func : (CUfunction)(kernel);                                       \
		(node)->dims = (struct kc_shape){.grid = {(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ},                \
						 .block = {(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ},            \
						 .dynamic_shared_bytes = (p)->sharedMemBytes};                         \
		set_arguments(r, node, !(p)->func, &(struct kc__given){(p)->kernelParams, (p)->extra});                \
	} while (0)

static void set_kernel(struct reader *r, struct node *node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	SET_KERNEL(r, node, p, p->kern);
}

static void set_kernel_v1(struct reader *r, struct node *node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	SET_KERNEL(r, node, p, NULL);
}

static bool ask_kernel(struct reader *r, CUgraphNode handle, struct node *node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	CUDA_KERNEL_NODE_PARAMS_v1 params_v1;

	node->original = handle;
	node->enabled = true;
	if (r->get && r->get(handle, &params) == CUDA_SUCCESS)
		set_kernel(r, node, &params);
	else if (!r->get && r->get_v1 && r->get_v1(handle, &params_v1) == CUDA_SUCCESS)
		set_kernel_v1(r, node, &params_v1);
	else
		return false;
	return true;
}

static void add_kernel(struct reader *r, struct kc__graph_exec *exec, CUgraphNode handle)
{
	struct node *nodes = grown(exec->nodes, exec->count, &exec->capacity, sizeof(*nodes));

	if (!nodes) {
		exec->unknown = true;
		return;
	}
	exec->nodes = nodes;
	memset(&nodes[exec->count], 0, sizeof(*nodes));
	if (ask_kernel(r, handle, &nodes[exec->count]))
		exec->count++;
	else
		exec->unknown = true;
}

static void walk_from(struct reader *r, struct kc__graph_exec *exec, CUgraph graph, int depth)
{
	CUgraphNode *nodes = NULL;
	size_t count = 0;

	if (!r->get_type || depth > CHILD_DEPTH_MAX || get_nodes(graph, &nodes, &count) != CUDA_SUCCESS) {
		exec->unknown = true;
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		CUgraphNodeType type;
		CUgraph child;

		if (r->get_type(nodes[i], &type) != CUDA_SUCCESS)
			exec->unknown = true;
		else if (type == CU_GRAPH_NODE_TYPE_KERNEL)
			add_kernel(r, exec, nodes[i]);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH && r->get_child &&
			 r->get_child(nodes[i], &child) == CUDA_SUCCESS)
			walk_from(r, exec, child, depth + 1);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			exec->unknown = true;
	}
	free(nodes);
}

static void walk(struct kc__graph_exec *exec, CUgraph graph)
{
	struct reader *r = reader_new();

	if (r)
		walk_from(r, exec, graph, 0);
	else
		exec->unknown = true;
	free(r);
}

/* Finding a node by its original */

static size_t place_of(const struct kc__graph_exec *exec, CUgraphNode original)
{
	uint64_t hash = (uint64_t)(uintptr_t)original * 0x9e3779b97f4a7c15ull;
	size_t place = hash >> 32 & exec->place_mask;

	while (exec->places[place] && exec->nodes[exec->places[place] - 1].original != original)
		place = (place + 1) & exec->place_mask;
	return place;
}

/* Of nodes with the same original, the first is found. Without memory for it every search looks at all nodes. */
static void index_nodes(struct kc__graph_exec *exec)
{
	size_t places = 4;

	while (places < 2 * exec->count)
		places *= 2;
	if (exec->count < UINT32_MAX)
		exec->places = calloc(places, sizeof(*exec->places));
	exec->place_mask = places - 1;
	for (size_t i = 0; exec->places && i < exec->count; i++) {
		size_t place = place_of(exec, exec->nodes[i].original);

		if (!exec->places[place])
			exec->places[place] = (uint32_t)i + 1;
	}
}

static struct node *node_from(const struct kc__graph_exec *exec, CUgraphNode original)
{
	uint32_t found;

	if (exec->places) {
		found = exec->places[place_of(exec, original)];
		return found ? &exec->nodes[found - 1] : NULL;
	}
	for (size_t i = 0; i < exec->count; i++)
		if (exec->nodes[i].original == original)
			return &exec->nodes[i];
	return NULL;
}

/* The table of executable graphs. The driver does not allow two threads to use one of
 * them at the same time, so neither is it locked here. */

static struct kc__graph_exec *exec_of(CUgraphExec handle)
{
	struct kc__graph *g = kc__graph_of(handle, false);

	return g ? g->exec : NULL;
}

static void free_nodes(struct kc__graph_exec *exec)
{
	for (size_t i = 0; i < exec->count; i++)
		free(exec->nodes[i].arguments);
	free(exec->nodes);
	free(exec->places);
}

static void forget(CUgraphExec handle)
{
	struct kc__graph *g = kc__graph_of(handle, false);

	if (!g || !g->exec)
		return;
	free_nodes(g->exec);
	free(g->exec);
	g->exec = NULL;
}

static void name_nodes(struct kc__graph_exec *exec, const struct kc__clones *clones)
{
	for (size_t i = 0; i < clones->count; i++) {
		struct node *node = node_from(exec, clones->at[i].original);

		if (node && !node->record_id)
			node->record_id = clones->at[i].id;
	}
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
	walk(exec, graph);
	index_nodes(exec);
	name_nodes(exec, clones);
	g->exec = exec;
}

/* Instantiation */

bool kc__graph_instantiate_begin(struct kc__clones *clones)
{
	struct kc__thread *t = &kc__thread;

	memset(clones, 0, sizeof(*clones));
	if (!kc__recording() || t->depth)
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
	if (kc__recording() && !kc__thread.depth)
		forget(exec);
}

KC_EXPORT CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
	/* Before the call: afterwards another thread may be given the handle. */
	kc__graph_gone(exec);
	return KC_REAL(cuGraphExecDestroy)(exec);
}

/* Changes of an executable graph */

static struct node *node_of(CUgraphExec handle, CUgraphNode original)
{
	struct kc__graph_exec *exec = kc__recording() && !kc__thread.depth ? exec_of(handle) : NULL;

	return exec ? node_from(exec, original) : NULL;
}

void kc__graph_set_kernel(CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct node *node = node_of(exec, original);

	if (node)
		set_kernel(NULL, node, params);
}

void kc__graph_set_kernel_v1(CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	struct node *node = node_of(exec, original);

	if (node)
		set_kernel_v1(NULL, node, params);
}

void kc__graph_set_node(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params)
{
	struct node *node = params->type == CU_GRAPH_NODE_TYPE_KERNEL ? node_of(exec, original) : NULL;
	const CUDA_KERNEL_NODE_PARAMS_v3 *p = &params->kernel;

	if (!node)
		return;
	SET_KERNEL(NULL, node, p, p->kern);
}

void kc__graph_set_enabled(CUgraphExec exec, CUgraphNode original, unsigned enabled)
{
	struct node *node = node_of(exec, original);

	if (node)
		node->enabled = enabled != 0;
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
static void take_params(struct kc__graph_exec *exec, CUgraph graph, size_t first)
{
	struct kc__graph_exec other = {0};
	int saved_errno = errno;

	kc__thread.depth = 1;
	walk(&other, graph);
	for (size_t i = 0; i < other.count && first + i < exec->count; i++) {
		struct node *node = &exec->nodes[first + i], *from = &other.nodes[i];
		void *arguments = node->arguments;

		node->function = from->function;
		node->dims = from->dims;
		node->variant = NULL;
		node->arguments = from->arguments;
		node->argument_bytes = from->argument_bytes;
		from->arguments = arguments; /* freed with it */
	}
	free_nodes(&other);
	kc__thread.depth = 0;
	errno = saved_errno;
}

void kc__graph_updated(CUgraphExec handle, CUgraph graph)
{
	struct kc__graph_exec *exec = kc__recording() && !kc__thread.depth ? exec_of(handle) : NULL;

	if (exec)
		take_params(exec, graph, 0);
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
	struct kc__graph_exec *exec = kc__recording() && !kc__thread.depth ? exec_of(handle) : NULL;
	struct kc__graph_exec old = {0};
	struct node *first;
	CUgraph child;
	__typeof__(&cuGraphChildGraphNodeGetGraph) get_child;

	if (!exec)
		return;
	get_child = KC_ASK(cuGraphChildGraphNodeGetGraph);
	if (!get_child || get_child(node, &child) != CUDA_SUCCESS)
		return;
	/* The child's kernels begin in the list where the first one of the original child is. */
	walk(&old, child);
	first = old.count ? node_from(exec, old.nodes[0].original) : NULL;
	if (first)
		take_params(exec, graph, (size_t)(first - exec->nodes));
	free_nodes(&old);
}
SET(cuGraphExecChildGraphNodeSetParams, CUgraph, kc__graph_set_child)

/* Launching */

/* What is known of the node's kernel is kept from launch to launch, as looking it up again costs as much as a third of
 * the rest. on: the stream and its device. */
static void know_node(struct kc__known *known, struct node *node, const struct kc__known *on, struct kc__given *given)
{
	uint32_t generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
	struct kc__variant *variant = node->variant;

	*known = *on;
	known->function = node->function;
	known->given = given;
	if (variant && on->stream && node->generation == generation && variant->kernel->device == on->device &&
	    !kc__variant_is_outdated(variant)) {
		known->kernel = variant->kernel;
		known->variant = variant;
		return;
	}
	kc__know_kernel(known, &node->dims);
	node->variant = known->variant;
	node->generation = generation;
}

static void record_node(struct node *node, size_t ordinal, uint32_t launch_number, const struct kc__known *on)
{
	struct kc__packed packed;
	struct kc__given given = {0};
	struct kc__known known;
	struct kc_slot *slot;

	if (node->arguments)
		given = kc__given_packed(&packed, node->arguments, node->argument_bytes);
	know_node(&known, node, on, &given);
	slot = kc_journal_claim(kc__shim.journal, KC_KIND_LAUNCH);
	if (!slot) {
		kc__launch_without_slot();
		return;
	}
	kc__record(&slot->launch, &known, KC_API_GRAPH, &node->dims);
	slot->launch.graph_launch = launch_number;
	slot->launch.graph_node = (uint32_t)ordinal;
	slot->launch.graph_record = node->record_id;
	slot->launch.launched_ns = slot->launch.predicted_at_ns; /* reading the clock again would take a tenth */
	kc_journal_commit(slot, KC_SLOT_CALLED);
	node->slot = slot;
}

static uint64_t kernels_of(const struct kc__graph_exec *exec)
{
	uint64_t kernels = 0;

	for (size_t i = 0; exec && i < exec->count; i++)
		kernels += exec->nodes[i].enabled;
	return kernels;
}

bool kc__graph_launch_begin(CUgraphExec handle, CUstream stream, bool per_thread, struct kc__graph_exec **launched)
{
	struct kc__graph_exec *exec;
	int saved_errno = errno;
	struct kc__known on;
	uint32_t number;

	if (!kc__launch_enter()) {
		if (kc__ended())
			kc__launch_passed(stream, per_thread, kernels_of(exec_of(handle)));
		return false;
	}
	kc__thread.depth = 1;
	if (kc__capturing(stream, per_thread) || !(exec = exec_of(handle))) {
		if (!kc__capturing(stream, per_thread))
			kc__count(KC_COUNT_GRAPHS_UNKNOWN);
		kc__thread.depth = 0;
		errno = saved_errno;
		return false;
	}
	kc__count(KC_COUNT_GRAPH_LAUNCHES);
	if (exec->unknown)
		kc__count(KC_COUNT_GRAPHS_UNKNOWN);
	number = atomic_fetch_add_explicit(&kc__shim.graph_launches, 1, memory_order_relaxed) + 1;
	kc__know_stream(&on, stream, per_thread);
	for (size_t i = 0; i < exec->count; i++)
		if (exec->nodes[i].enabled)
			record_node(&exec->nodes[i], i + 1, number, &on);
	*launched = exec;
	kc__expect_ids(KC__GRAPH_CALLS);
	errno = saved_errno;
	return true;
}

void kc__graph_launch_end(struct kc__graph_exec *launched, CUstream stream, bool per_thread, CUresult result)
{
	struct kc__thread *t = &kc__thread;
	int saved_errno = errno;
	struct kc__stream *s = result == CUDA_SUCCESS ? NULL : kc__stream_of(stream, per_thread);

	for (size_t i = 0; i < launched->count; i++) {
		struct kc_slot *slot = launched->nodes[i].slot;

		if (slot)
			kc__returned(slot, s, result, t->correlation);
		launched->nodes[i].slot = NULL;
	}
	t->depth = 0;
	errno = saved_errno;
}

#define GRAPH_LAUNCH(symbol, twin)                                                                                     \
	KC_EXPORT CUresult CUDAAPI symbol(CUgraphExec exec, CUstream stream)                                           \
	{                                                                                                              \
		struct kc__graph_exec *launched;                                                                       \
		CUresult result;                                                                                       \
                                                                                                                       \
		if (!kc__graph_launch_begin(exec, stream, twin, &launched))                                            \
			return KC_REAL(symbol)(exec, stream);                                                          \
		result = KC_REAL(symbol)(exec, stream);                                                                \
		kc__graph_launch_end(launched, stream, twin, result);                                                  \
		return result;                                                                                         \
	}

GRAPH_LAUNCH(cuGraphLaunch, false)
GRAPH_LAUNCH(cuGraphLaunch_ptsz, true)
