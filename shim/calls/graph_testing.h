/* The driver's graphs, for tests: what a test has put into a struct graph. */
#ifndef KC_GRAPH_TESTING_H
#define KC_GRAPH_TESTING_H

#include "shim/entry/real.h"

#include <string.h>

enum { NODES_MAX = 40, EDGES_MAX = 4 };

struct graph;
struct graph_node {
	CUgraphNodeType type;
	unsigned blocks;
	struct graph *child;
};
struct edge {
	int from, to;
	unsigned char type; /* CUgraphDependencyType */
};
struct graph {
	size_t count;
	struct graph_node nodes[NODES_MAX];
	size_t edge_count;
	struct edge edges[EDGES_MAX];
};

#define KERNEL(blocks_)                                                                                                \
	{                                                                                                              \
		.type = CU_GRAPH_NODE_TYPE_KERNEL, .blocks = blocks_                                                   \
	}
#define HANDLE(graph) ((CUgraph) & (graph))
#define NODE(graph, i) ((CUgraphNode) & (graph).nodes[i])

static CUresult CUDAAPI get_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct graph *graph = (struct graph *)handle;

	*count = graph->count;
	for (size_t i = 0; nodes && i < graph->count; i++)
		nodes[i] = (CUgraphNode)&graph->nodes[i];
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_type(CUgraphNode node, CUgraphNodeType *type)
{
	*type = ((struct graph_node *)node)->type;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_child(CUgraphNode node, CUgraph *child)
{
	*child = (CUgraph)((struct graph_node *)node)->child;
	return CUDA_SUCCESS;
}

static CUDA_KERNEL_NODE_PARAMS_v2 params_of(unsigned blocks)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){
	    .gridDimX = blocks, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
}

static CUresult CUDAAPI get_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	*params = params_of(((struct graph_node *)node)->blocks);
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
				  size_t *count)
{
	struct graph *graph = (struct graph *)handle;

	*count = graph->edge_count;
	for (size_t i = 0; from && i < graph->edge_count; i++) {
		from[i] = (CUgraphNode)&graph->nodes[graph->edges[i].from];
		to[i] = (CUgraphNode)&graph->nodes[graph->edges[i].to];
		data[i] = (CUgraphEdgeData){.type = graph->edges[i].type};
	}
	return CUDA_SUCCESS;
}

void *kc__driver_symbol(const char *symbol)
{
	static const struct {
		const char *name;
		void *address;
	} functions[] = {{"cuGraphGetNodes", get_nodes},
			 {"cuGraphNodeGetType", get_type},
			 {"cuGraphChildGraphNodeGetGraph", get_child},
			 {"cuGraphGetEdges_v2", get_edges},
			 {"cuGraphKernelNodeGetParams_v2", get_params}};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(functions[i].name, symbol))
			return functions[i].address;
	return NULL;
}

void *_Atomic kc__real[KC_HOOK_COUNT];

void *kc__real_slow(enum kc_hook hook)
{
	(void)hook;
	return NULL;
}

#endif
