/* cuGraph*: graphs as structures. */
#include "cu_graph.h"

#include <cupti_callbacks.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 16

int sim_is_graph(CUgraph graph)
{
	return graph && graph->magic == SIM_GRAPH;
}

int sim_is_node(CUgraphNode node)
{
	return node && node->magic == SIM_NODE;
}

uint64_t simcuda_node_id(void *node)
{
	return sim_is_node(node) ? ((CUgraphNode)node)->id : 0;
}

uint32_t simcuda_graph_id(void *graph)
{
	return sim_is_graph(graph) ? ((CUgraph)graph)->id : 0;
}

static void notify_node(CUpti_CallbackIdResource cbid, CUgraphNode node)
{
	struct simcuda_resource resource = {.cbid = cbid,
					    .context = sim_context(),
					    .graph = node->graph,
					    .original_graph = node->graph->original,
					    .node = node,
					    .original_node = node->original,
					    .node_type = node->type};

	sim_notify(&resource);
}

static void notify_graph(CUpti_CallbackIdResource cbid, CUgraph graph)
{
	struct simcuda_resource resource = {
	    .cbid = cbid, .context = sim_context(), .graph = graph, .original_graph = graph->original};

	sim_notify(&resource);
}

CUgraph sim_graph_new(void)
{
	CUgraph graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->magic = SIM_GRAPH;
	graph->id = atomic_fetch_add(&sim.next_graph_id, 1) + 1;
	return graph;
}

static CUgraphNode add_blank(CUgraph graph, CUgraphNodeType type)
{
	CUgraphNode node;

	if (graph->nodes == graph->room) {
		size_t room = graph->room ? 2 * graph->room : ROOM;
		CUgraphNode *more = realloc(graph->node, room * sizeof(*more));

		if (!more)
			return NULL;
		graph->node = more;
		graph->room = room;
	}
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->magic = SIM_NODE;
	node->type = type;
	node->graph = graph;
	node->context = sim_context();
	node->id = atomic_fetch_add(&sim.next_node_id, 1) + 1;
	graph->node[graph->nodes++] = node;
	return node;
}

int sim_node_depend(CUgraphNode node, CUgraphNode on)
{
	CUgraphNode *more;
	size_t i;

	for (i = 0; i < node->dependencies; i++)
		if (node->dependency[i] == on)
			return 1;
	more = realloc(node->dependency, (node->dependencies + 1) * sizeof(*more));
	if (!more)
		return 0;
	node->dependency = more;
	more[node->dependencies++] = on;
	return 1;
}

CUgraphNode sim_node_new(CUgraph graph, CUgraphNodeType type, const CUgraphNode *dependencies, size_t n)
{
	CUgraphNode node = add_blank(graph, type);
	size_t i;

	for (i = 0; node && i < n; i++)
		if (!sim_node_depend(node, dependencies[i])) {
			sim_node_free(node);
			return NULL;
		}
	if (node)
		notify_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node);
	return node;
}

static void remove_dependency(CUgraphNode node, CUgraphNode on)
{
	size_t i;

	for (i = 0; i < node->dependencies; i++)
		if (node->dependency[i] == on) {
			node->dependency[i] = node->dependency[--node->dependencies];
			return;
		}
}

static void node_release(CUgraphNode node)
{
	sim_node_drop_contents(node);
	free(node->dependency);
	node->magic = 0;
	free(node);
}

void sim_node_free(CUgraphNode node)
{
	CUgraph graph = node->graph;
	size_t i, kept = 0;

	notify_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, node);
	for (i = 0; i < graph->nodes; i++) {
		remove_dependency(graph->node[i], node);
		if (graph->node[i] != node)
			graph->node[kept++] = graph->node[i];
	}
	graph->nodes = kept;
	node_release(node);
}

void sim_graph_free(CUgraph graph)
{
	size_t i;

	notify_graph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, graph);
	for (i = 0; i < graph->nodes; i++)
		node_release(graph->node[i]);
	sim_references_drop(graph);
	free(graph->node);
	graph->magic = 0;
	free(graph);
}

static void number_nodes(CUgraph graph)
{
	size_t i;

	for (i = 0; i < graph->nodes; i++)
		graph->node[i]->index = i;
}

CUgraph sim_graph_copy(CUgraph graph)
{
	CUgraph copy = sim_graph_new();
	size_t i, j;

	if (!copy)
		return NULL;
	copy->original = graph;
	if (!sim_references_copy(copy, graph)) {
		sim_graph_free(copy);
		return NULL;
	}
	number_nodes(graph);
	for (i = 0; i < graph->nodes; i++) {
		CUgraphNode node = add_blank(copy, graph->node[i]->type);

		if (!node || !sim_node_copy_contents(node, graph->node[i])) {
			sim_graph_free(copy);
			return NULL;
		}
		node->original = graph->node[i];
	}
	for (i = 0; i < graph->nodes; i++) {
		const struct CUgraphNode_st *from = graph->node[i];
		CUgraphNode *list = malloc((from->dependencies + 1) * sizeof(*list));

		if (!list) {
			sim_graph_free(copy);
			return NULL;
		}
		for (j = 0; j < from->dependencies; j++)
			list[j] = copy->node[from->dependency[j]->index];
		copy->node[i]->dependency = list;
		copy->node[i]->dependencies = from->dependencies;
	}
	return copy;
}

static void notify_cloned(CUgraph graph)
{
	size_t i;

	notify_graph(CUPTI_CBID_RESOURCE_GRAPH_CLONED, graph);
	for (i = 0; i < graph->nodes; i++) {
		notify_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, graph->node[i]);
		if (graph->node[i]->child)
			notify_cloned(graph->node[i]->child);
	}
}

CUgraph sim_graph_clone(CUgraph graph)
{
	CUgraph clone = sim_graph_copy(graph);

	if (clone)
		notify_cloned(clone);
	return clone;
}

/* Appends the node after its dependencies; index: 0 not seen, 1 in progress, 2 placed. */
static int place(CUgraphNode node, CUgraphNode *sorted, size_t *n)
{
	size_t i;

	if (node->index)
		return node->index == 2;
	node->index = 1;
	for (i = 0; i < node->dependencies; i++)
		if (!place(node->dependency[i], sorted, n))
			return 0;
	node->index = 2;
	sorted[(*n)++] = node;
	return 1;
}

int sim_graph_sort(CUgraph graph)
{
	CUgraphNode *sorted = calloc(graph->nodes + 1, sizeof(*sorted));
	size_t i, n = 0;
	int ok = sorted != NULL;

	for (i = 0; i < graph->nodes; i++)
		graph->node[i]->index = 0;
	for (i = 0; ok && i < graph->nodes; i++)
		ok = place(graph->node[i], sorted, &n);
	if (ok && n)
		memcpy(graph->node, sorted, n * sizeof(*sorted));
	free(sorted);
	number_nodes(graph);
	return ok;
}

/* --- API */

static CUresult create(CUgraph *out, unsigned flags)
{
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = sim_graph_new();
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	notify_graph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, *out);
	return CUDA_SUCCESS;
}
SIM_API(cuGraphCreate, (CUgraph * graph, unsigned int flags), create(graph, flags))

static CUresult destroy(CUgraph graph)
{
	if (!sim_is_graph(graph) || graph->owned)
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_free(graph);
	return CUDA_SUCCESS;
}
SIM_API(cuGraphDestroy, (CUgraph graph), destroy(graph))

static CUresult destroy_node(CUgraphNode node)
{
	if (!sim_is_node(node))
		return CUDA_ERROR_INVALID_VALUE;
	sim_node_free(node);
	return CUDA_SUCCESS;
}
SIM_API(cuGraphDestroyNode, (CUgraphNode node), destroy_node(node))

static CUresult clone_graph(CUgraph *out, CUgraph graph)
{
	if (!out || !sim_is_graph(graph))
		return CUDA_ERROR_INVALID_VALUE;
	*out = sim_graph_clone(graph);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
SIM_API(cuGraphClone, (CUgraph * out, CUgraph graph), clone_graph(out, graph))

static CUresult find_in_clone(CUgraphNode *out, CUgraphNode original, CUgraph graph)
{
	size_t i;

	if (!out || !sim_is_node(original) || !sim_is_graph(graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < graph->nodes; i++)
		if (graph->node[i]->original == original) {
			*out = graph->node[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}
SIM_API(cuGraphNodeFindInClone, (CUgraphNode * out, CUgraphNode original, CUgraph graph),
	find_in_clone(out, original, graph))

static CUresult node_type(CUgraphNode node, CUgraphNodeType *type)
{
	if (!type || !sim_is_node(node))
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->type;
	return CUDA_SUCCESS;
}
SIM_API(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type), node_type(node, type))

/* How all list queries answer: a null `out` asks for the count; entries behind the last one are set to null. */
struct list {
	CUgraphNode *first, *second;
	CUgraphEdgeData *edges;
	size_t *n, found;
	int lossy; /* there is edge data to be told, and no room for it */
};

static void list_add(struct list *list, CUgraphNode first, CUgraphNode second)
{
	if (list->first && list->found < *list->n) {
		list->first[list->found] = first;
		if (list->second)
			list->second[list->found] = second;
	}
	list->found++;
}

/* What a captured programmatic dependent launch makes of the edge to it: CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC "may
 * only be used between kernel nodes" */
static int is_programmatic(CUgraphNode from, CUgraphNode to)
{
	return from->type == CU_GRAPH_NODE_TYPE_KERNEL && to->type == CU_GRAPH_NODE_TYPE_KERNEL &&
	       to->work.launch.programmatic;
}

static void list_add_edge(struct list *list, CUgraphNode first, CUgraphNode second, CUgraphNode from, CUgraphNode to)
{
	CUgraphEdgeData data = {0};

	if (is_programmatic(from, to)) {
		data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
		data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
		list->lossy |= list->first && !list->edges;
	}
	if (list->edges && list->found < *list->n)
		list->edges[list->found] = data;
	list_add(list, first, second);
}

/* "Attempting a lossy query via NULL edgeData will result in CUDA_ERROR_LOSSY_QUERY." */
static CUresult list_end(struct list *list)
{
	size_t i;

	if (list->lossy)
		return CUDA_ERROR_LOSSY_QUERY;
	for (i = list->found; list->first && i < *list->n; i++)
		list->first[i] = NULL;
	if (!list->first || list->found < *list->n)
		*list->n = list->found;
	return CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *n, int roots_only)
{
	struct list list = {.first = nodes, .n = n};
	size_t i;

	if (!n || !sim_is_graph(graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < graph->nodes; i++)
		if (!roots_only || !graph->node[i]->dependencies)
			list_add(&list, graph->node[i], NULL);
	return list_end(&list);
}
SIM_API(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *n), get_nodes(graph, nodes, n, 0))
SIM_API(cuGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *n), get_nodes(graph, nodes, n, 1))

static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n)
{
	struct list list = {.first = from, .second = to, .edges = edges, .n = n};
	size_t i, j;

	if (!n || !sim_is_graph(graph) || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < graph->nodes; i++)
		for (j = 0; j < graph->node[i]->dependencies; j++)
			list_add_edge(&list, graph->node[i]->dependency[j], graph->node[i],
				      graph->node[i]->dependency[j], graph->node[i]);
	return list_end(&list);
}
SIM_API(cuGraphGetEdges, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n),
	get_edges(graph, from, to, NULL, n))
SIM_API(cuGraphGetEdges_v2, (CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *n),
	get_edges(graph, from, to, edges, n))

static CUresult get_dependencies(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n)
{
	struct list list = {.first = nodes, .edges = edges, .n = n};
	size_t i;

	if (!n || !sim_is_node(node))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < node->dependencies; i++)
		list_add_edge(&list, node->dependency[i], NULL, node->dependency[i], node);
	return list_end(&list);
}
SIM_API(cuGraphNodeGetDependencies, (CUgraphNode node, CUgraphNode *nodes, size_t *n),
	get_dependencies(node, nodes, NULL, n))
SIM_API(cuGraphNodeGetDependencies_v2, (CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n),
	get_dependencies(node, nodes, edges, n))

static CUresult get_dependents(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n)
{
	struct list list = {.first = nodes, .edges = edges, .n = n};
	size_t i, j;

	if (!n || !sim_is_node(node))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < node->graph->nodes; i++)
		for (j = 0; j < node->graph->node[i]->dependencies; j++)
			if (node->graph->node[i]->dependency[j] == node)
				list_add_edge(&list, node->graph->node[i], NULL, node, node->graph->node[i]);
	return list_end(&list);
}
SIM_API(cuGraphNodeGetDependentNodes, (CUgraphNode node, CUgraphNode *nodes, size_t *n),
	get_dependents(node, nodes, NULL, n))
SIM_API(cuGraphNodeGetDependentNodes_v2, (CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *n),
	get_dependents(node, nodes, edges, n))

static CUresult change_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n, int add)
{
	size_t i;

	if (!sim_is_graph(graph) || (n && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n; i++) {
		if (!sim_is_node(from[i]) || !sim_is_node(to[i]) || from[i]->graph != graph || to[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
		if (!add)
			remove_dependency(to[i], from[i]);
		else if (!sim_node_depend(to[i], from[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}
SIM_API(cuGraphAddDependencies, (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n),
	change_dependencies(graph, from, to, n, 1))
SIM_API(cuGraphAddDependencies_v2,
	(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n),
	((void)edges, change_dependencies(graph, from, to, n, 1)))
SIM_API(cuGraphRemoveDependencies, (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n),
	change_dependencies(graph, from, to, n, 0))
SIM_API(cuGraphRemoveDependencies_v2,
	(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges, size_t n),
	((void)edges, change_dependencies(graph, from, to, n, 0)))
