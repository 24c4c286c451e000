/*
 * The nodes of an executable graph that CUPTI makes records of, kernels apart from copies and memsets: read from the
 * driver, and found by the nodes that they were made from.
 */
#ifndef KC_GRAPH_NODES_H
#define KC_GRAPH_NODES_H

#include "shim/code/kernel_formula.h"

struct kc__node { /* a kernel node */
	CUgraphNode original;
	CUfunction function;
	struct kc_shape dims;
	void *arguments; /* its list as one block; NULL: not known */
	size_t argument_bytes;
	uint64_t record_id; /* in CUPTI's records; 0: not known */
	bool enabled;
	bool in_child; /* graph */
	/* As its latest launch found it, on the device of its kernel; NULL: to be looked up. */
	struct kc__variant *variant;
	uint32_t generation; /* of modules, then */
};

/* A copy or memset, as it was when the graph was instantiated or updated: its record says what it has become since. */
struct kc__copy_node {
	CUgraphNode original;
	uint64_t record_id;         /* as of a kernel node */
	uint64_t bytes;             /* 0: not known */
	enum kc_transfer_kind kind; /* KC_COPY_OTHER: as the driver finds */
	bool enabled, in_child;
};

struct kc__plan; /* graph_plan.h */

struct kc__graph_exec {
	struct kc__node *nodes; /* in the order the driver lists them, child graphs in place */
	size_t count, capacity;
	struct kc__copy_node *copies; /* likewise */
	size_t copy_count, copy_capacity;
	uint32_t *places; /* open addressing, by original: index of a node + 1; 0: free */
	size_t place_mask;
	struct kc__plan *plan; /* what its next launch finds; NULL: it is made then. kc__plan_lock() */
	struct kc_slot *slot;  /* while a launch is under way: its record; NULL: it was dropped */
	_Atomic bool changed;  /* since the plan was made */
	uint32_t enabled;      /* kernel nodes */
	uint32_t copies_enabled;
	bool parallel; /* kernels of one launch may run beside each other */
	bool unknown;  /* it has nodes whose launches cannot be counted, such as conditional ones */
};

struct kc__graph_exec *kc__graph_exec_of(CUgraphExec handle); /* NULL: not known */

struct kc__clones; /* launch.h */

/* Adds the kernels, copies and memsets of a graph and of its child graphs. */
void kc__graph_read(struct kc__graph_exec *exec, CUgraph graph);
void kc__graph_free_nodes(struct kc__graph_exec *exec);
/* All nodes have been read. Without memory for an index every search looks at all nodes. */
void kc__graph_index(struct kc__graph_exec *exec);
struct kc__node *kc__graph_node(const struct kc__graph_exec *exec, CUgraphNode original); /* NULL: none */
struct kc__copy_node *kc__graph_copy(const struct kc__graph_exec *exec, CUgraphNode original);
/* Takes over the ids in CUPTI's records. */
void kc__graph_name(struct kc__graph_exec *exec, const struct kc__clones *clones);
/* The node is given another kernel, or other arguments. */
void kc__node_set(struct kc__node *node, const CUDA_KERNEL_NODE_PARAMS_v2 *p);
void kc__node_set_v1(struct kc__node *node, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
void kc__node_set_v3(struct kc__node *node, const CUDA_KERNEL_NODE_PARAMS_v3 *p);

/* graph.c: an instantiated copy of a node, and its id in CUPTI's records */
void kc__graph_node_cloned(CUgraphNode original, uint64_t id);

#endif
