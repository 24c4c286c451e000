/*
 * Graphs. A node holds the sim_work it does and, for the API to read back, what
 * it was made from. An executable graph owns a clone in topological order whose
 * nodes know their originals; a launch makes a sim_run of it, child graphs
 * flattened. A capture is a graph in the making and the streams that add to it.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "cuda_tests/simcuda/gpu/engine.h"

struct CUgraphNode_st {
	uint32_t magic;
	CUgraphNodeType type;
	uint64_t id;
	struct CUgraph_st *graph;
	struct CUgraphNode_st *original; /* what it was cloned from */
	int disabled;
	size_t dependencies;
	struct CUgraphNode_st **dependency;
	struct sim_work work;
	CUcontext context;
	uint8_t *arguments;
	size_t argument_bytes;
	void **argument;
	CUDA_MEMCPY3D box;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUDA_HOST_NODE_PARAMS host;
	struct CUgraph_st *child;
	size_t index; /* scratch: index in the list of nodes */
};

struct CUgraph_st {
	uint32_t magic;
	uint32_t id;
	struct CUgraph_st *original;
	int owned; /* owned by a child node or an executable graph */
	size_t nodes, room;
	struct CUgraphNode_st **node;
	struct sim_reference *references; /* to user objects */
};

struct CUgraphExec_st {
	uint32_t magic;
	uint32_t id;
	unsigned long long flags;
	struct CUgraph_st *graph;
	struct CUgraphNode_st **copied; /* its nodes in the order of the original graph's */
	struct sim_op *tail;            /* end of the latest launch */
	int has_host;                   /* some node is a host function */
	atomic_uint attached;           /* the attachment of CUPTI in which it was instantiated or launched; 0: none */
};

struct sim_capture {
	struct sim_capture *next;
	struct CUgraph_st *graph;
	unsigned long long id;
	struct CUstream_st *origin;
	CUstreamCaptureMode mode;
	int into_graph; /* cuStreamBeginCaptureToGraph: the graph is the application's */
	int again;      /* cuStreamBeginRecaptureToGraph: its nodes are given new contents, one after another */
	size_t nodes;   /* that have been */
	int failed;     /* the recapture has */
	int invalidated;
};

/* graph.c */
int sim_is_graph(CUgraph graph);
int sim_is_node(CUgraphNode node);
CUgraph sim_graph_new(void);
CUgraph sim_graph_copy(CUgraph graph);  /* null: out of memory */
CUgraph sim_graph_clone(CUgraph graph); /* a copy that CUPTI's callbacks report */
void sim_graph_free(CUgraph graph);
/* Adds a node with these dependencies; the caller sets its contents. */
CUgraphNode sim_node_new(CUgraph graph, CUgraphNodeType type, const CUgraphNode *dependencies, size_t n);
void sim_node_free(CUgraphNode node);                  /* and out of its graph */
int sim_node_depend(CUgraphNode node, CUgraphNode on); /* 1: added or there already */
int sim_graph_sort(CUgraph graph);                     /* 1: sorted, 0: it has a cycle */

/* graph_node.c */
CUresult sim_node_set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
CUresult sim_node_set_launch(CUgraphNode node, const struct sim_work *work, void **params, void **extra);
CUresult sim_node_set_params(CUgraphNode node, CUgraphNodeType type, const void *params, CUcontext context);
CUresult sim_node_set_any(CUgraphNode node, const CUgraphNodeParams *params);
CUresult sim_node_set_work(CUgraphNode node, const struct sim_work *work);     /* as captured; not kernels */
int sim_node_copy_contents(CUgraphNode to, const struct CUgraphNode_st *from); /* 1: copied */
void sim_node_drop_contents(CUgraphNode node);

/* cu_user_object.c. A copy holds as many references as its original, an executable graph's included. */
int sim_references_copy(CUgraph to, const struct CUgraph_st *from); /* 1: copied */
void sim_references_drop(CUgraph graph);

#endif
