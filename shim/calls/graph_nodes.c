#include "graph_nodes.h"
#include "calls.h"
#include "launch.h"
#include "shim/entry/real.h"
#include "shim/tables/memory.h"
#include "shim/tables/functions.h"

#include <stdlib.h>
#include <string.h>

#define CHILD_DEPTH_MAX 16
#define ARGUMENTS_MAX_BYTES 4096u /* of one node; a longer list is not kept */
#define ASKED_FUNCTIONS 4u        /* whose parameters are remembered while a graph is walked */

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
	__typeof__(&cuGraphMemcpyNodeGetParams) get_copy;
	__typeof__(&cuGraphMemsetNodeGetParams) get_memset;
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
	r->get_copy = KC_ASK(cuGraphMemcpyNodeGetParams);
	r->get_memset = KC_ASK(cuGraphMemsetNodeGetParams);
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

struct arguments {
	struct kc__parameter at[KC__PARAMETERS_MAX];
	char block[ARGUMENTS_MAX_BYTES];
};
_Static_assert(sizeof(struct arguments) <= KC__ROOM_BYTES, "too large for a stack");

/* A copy, as the application may free or change the list that it passed. r: NULL for a single node. */
static void set_arguments(struct reader *r, struct kc__node *node, bool as_kernel, const struct kc__given *given)
{
	struct arguments *room = kc__room_take();
	struct kc__parameters one = {.at = room ? room->at : NULL};
	const struct kc__parameters *parameters = &one;

	free(node->arguments);
	node->arguments = NULL;
	node->argument_bytes = 0;
	node->variant = NULL;
	if (!room)
		return;
	if (r && node->function)
		parameters = parameters_of(r, node->function, as_kernel);
	else
		one.known = kc__ask_parameters(node->function, as_kernel, room->at, &one.count);
	node->argument_bytes = kc__arguments_pack(parameters, given, room->block, sizeof(room->block));
	if (node->argument_bytes && (node->arguments = malloc(node->argument_bytes)))
		memcpy(node->arguments, room->block, node->argument_bytes);
	else
		node->argument_bytes = 0;
	kc__room_give(room);
}

/* p: any version of the driver's struct. */
#define SET_KERNEL(r, node, p, kernel)                                                                                 \
	do {                                                                                                           \
		(node)->function = (p)->func ? (p)->func : (CUfunction)(kernel);                                       \
		(node)->dims = (struct kc_shape){.grid = {(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ},                \
						 .block = {(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ},            \
						 .dynamic_shared_bytes = (p)->sharedMemBytes};                         \
		set_arguments(r, node, !(p)->func,                                                                     \
			      &(struct kc__given){.params = (p)->kernelParams, .extra = (p)->extra});                  \
	} while (0)

void kc__node_set(struct kc__node *node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	SET_KERNEL(NULL, node, p, p->kern);
}

void kc__node_set_v1(struct kc__node *node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	SET_KERNEL(NULL, node, p, NULL);
}

void kc__node_set_v3(struct kc__node *node, const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	SET_KERNEL(NULL, node, p, p->kern);
}

static bool ask_kernel(struct reader *r, CUgraphNode handle, struct kc__node *node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	CUDA_KERNEL_NODE_PARAMS_v1 params_v1;

	node->original = handle;
	node->enabled = true;
	if (r->get && r->get(handle, &params) == CUDA_SUCCESS)
		SET_KERNEL(r, node, &params, params.kern);
	else if (!r->get && r->get_v1 && r->get_v1(handle, &params_v1) == CUDA_SUCCESS)
		SET_KERNEL(r, node, &params_v1, NULL);
	else
		return false;
	return true;
}

static void add_kernel(struct reader *r, struct kc__graph_exec *exec, CUgraphNode handle, bool in_child)
{
	struct kc__node *nodes = grown(exec->nodes, exec->count, &exec->capacity, sizeof(*nodes));

	if (!nodes) {
		exec->unknown = true;
		return;
	}
	exec->nodes = nodes;
	memset(&nodes[exec->count], 0, sizeof(*nodes));
	nodes[exec->count].in_child = in_child;
	if (ask_kernel(r, handle, &nodes[exec->count])) {
		exec->count++;
		exec->enabled++;
	} else {
		exec->unknown = true;
	}
}

static void ask_copy(const struct reader *r, bool is_memset, struct kc__copy_node *copy)
{
	CUDA_MEMSET_NODE_PARAMS set;
	CUDA_MEMCPY3D box;

	copy->kind = is_memset ? KC_MEMSET : KC_COPY_OTHER;
	if (is_memset && r->get_memset && r->get_memset(copy->original, &set) == CUDA_SUCCESS)
		copy->bytes = (uint64_t)set.elementSize * set.width * set.height;
	if (is_memset || !r->get_copy || r->get_copy(copy->original, &box) != CUDA_SUCCESS)
		return;
	copy->kind = kc__copy_kind(box.srcMemoryType, box.dstMemoryType);
	copy->bytes = (uint64_t)box.WidthInBytes * box.Height * box.Depth;
}

static void add_copy(const struct reader *r, struct kc__graph_exec *exec, CUgraphNode handle, bool is_memset,
		     bool in_child)
{
	struct kc__copy_node *copies = grown(exec->copies, exec->copy_count, &exec->copy_capacity, sizeof(*copies));

	if (!copies) {
		exec->unknown = true;
		return;
	}
	exec->copies = copies;
	copies[exec->copy_count] = (struct kc__copy_node){.original = handle, .enabled = true, .in_child = in_child};
	ask_copy(r, is_memset, &copies[exec->copy_count++]);
	exec->copies_enabled++;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (const CUgraphNode *)a, y = (uintptr_t) * (const CUgraphNode *)b;

	return (x > y) - (x < y);
}

static bool all_different(CUgraphNode *nodes, size_t count)
{
	qsort(nodes, count, sizeof(*nodes), by_address);
	for (size_t i = 1; i < count; i++)
		if (nodes[i] == nodes[i - 1])
			return false;
	return true;
}

/* from[i] to to[i]: as drivers list the edges of a chain that was captured or made from its front. */
static bool is_path(CUgraphNode *const *ends, size_t edges)
{
	for (size_t i = 1; i < edges; i++)
		if (ends[0][i] != ends[1][i - 1])
			return false;
	return true;
}

/* Edges of a graph, n at most. data: not asked of drivers before 12.3, which have none. */
static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *n)
{
	__auto_type get = KC_ASK(cuGraphGetEdges_v2);
	CUresult(CUDAAPI * get_v1)(CUgraph, CUgraphNode *, CUgraphNode *, size_t *) =
	    kc__driver_symbol("cuGraphGetEdges");

	if (get)
		return get(graph, from, to, data, n);
	return get_v1 ? get_v1(graph, from, to, n) : CUDA_ERROR_NOT_SUPPORTED;
}

/* An edge whose end begins when its front has ended. */
static bool all_plain(const CUgraphEdgeData *data, size_t edges)
{
	for (size_t i = 0; i < edges; i++)
		if (data[i].type || data[i].from_port)
			return false;
	return true;
}

/* Whether each node begins when the one before it has ended. There are then as many edges as nodes, less one, and no
 * two of them begin or end at the same node. */
static bool is_chain(CUgraph graph, size_t nodes)
{
	size_t edges = nodes - 1, total = 0;
	CUgraphNode *ends[2] = {malloc(edges * sizeof(*ends[0])), malloc(edges * sizeof(*ends[1]))};
	CUgraphEdgeData *data = calloc(edges, sizeof(*data));
	bool chain = ends[0] && ends[1] && data && get_edges(graph, NULL, NULL, NULL, &total) == CUDA_SUCCESS &&
		     total == edges && get_edges(graph, ends[0], ends[1], data, &edges) == CUDA_SUCCESS &&
		     edges == total && all_plain(data, edges) &&
		     (is_path(ends, edges) || (all_different(ends[0], edges) && all_different(ends[1], edges)));

	free(ends[0]);
	free(ends[1]);
	free(data);
	return chain;
}

static void walk_from(struct reader *r, struct kc__graph_exec *exec, CUgraph graph, int depth)
{
	CUgraphNode *nodes = NULL;
	size_t count = 0;

	if (!r->get_type || depth > CHILD_DEPTH_MAX || get_nodes(graph, &nodes, &count) != CUDA_SUCCESS) {
		exec->unknown = true;
		count = 0;
	}
	exec->parallel |= count > 1 && !is_chain(graph, count);
	for (size_t i = 0; i < count; i++) {
		CUgraphNodeType type;
		CUgraph child;

		if (r->get_type(nodes[i], &type) != CUDA_SUCCESS)
			exec->unknown = true;
		else if (type == CU_GRAPH_NODE_TYPE_KERNEL)
			add_kernel(r, exec, nodes[i], depth > 0);
		else if (type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET)
			add_copy(r, exec, nodes[i], type == CU_GRAPH_NODE_TYPE_MEMSET, depth > 0);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH && r->get_child &&
			 r->get_child(nodes[i], &child) == CUDA_SUCCESS)
			walk_from(r, exec, child, depth + 1);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			exec->unknown = true;
	}
	free(nodes);
}

void kc__graph_read(struct kc__graph_exec *exec, CUgraph graph)
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

/* Of nodes with the same original, the first is found. */
void kc__graph_index(struct kc__graph_exec *exec)
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

struct kc__node *kc__graph_node(const struct kc__graph_exec *exec, CUgraphNode original)
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

/* Graphs have few of them. */
struct kc__copy_node *kc__graph_copy(const struct kc__graph_exec *exec, CUgraphNode original)
{
	for (size_t i = 0; i < exec->copy_count; i++)
		if (exec->copies[i].original == original)
			return &exec->copies[i];
	return NULL;
}

void kc__graph_free_nodes(struct kc__graph_exec *exec)
{
	for (size_t i = 0; i < exec->count; i++)
		free(exec->nodes[i].arguments);
	free(exec->nodes);
	free(exec->copies);
	free(exec->places);
}

/* Copies are told of in the order in which they were read, for the most part. */
static struct kc__copy_node *next_copy(const struct kc__graph_exec *exec, CUgraphNode original, size_t *next)
{
	struct kc__copy_node *copy = *next < exec->copy_count && exec->copies[*next].original == original
					 ? &exec->copies[*next]
					 : kc__graph_copy(exec, original);

	if (copy)
		*next = (size_t)(copy - exec->copies) + 1;
	return copy;
}

void kc__graph_name(struct kc__graph_exec *exec, const struct kc__clones *clones)
{
	size_t next = 0;

	for (size_t i = 0; i < clones->count; i++) {
		struct kc__node *node = kc__graph_node(exec, clones->at[i].original);

		struct kc__copy_node *copy = node ? NULL : next_copy(exec, clones->at[i].original, &next);

		if (node && !node->record_id)
			node->record_id = clones->at[i].id;
		if (copy && !copy->record_id)
			copy->record_id = clones->at[i].id;
	}
}
