/* cuUserObject*: what an application's object counts on to live as long as the graphs that use it. */
#include "cu_graph.h"

#include <limits.h>
#include <stdlib.h>

struct CUuserObject_st {
	uint32_t magic;
	atomic_llong references; /* of the application and of graphs */
	CUhostFn destroy;
	void *object;
};

struct sim_reference { /* a graph's */
	struct sim_reference *next;
	CUuserObject to;
	unsigned count;
};

static int is_user_object(CUuserObject object)
{
	return object && object->magic == SIM_USER_OBJECT;
}

static CUresult create(CUuserObject *out, void *object, CUhostFn destroy, unsigned count, unsigned flags)
{
	if (!out || !destroy || !count || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->magic = SIM_USER_OBJECT;
	(*out)->destroy = destroy;
	(*out)->object = object;
	atomic_store(&(*out)->references, count);
	return CUDA_SUCCESS;
}
SIM_API(cuUserObjectCreate,
	(CUuserObject * out, void *object, CUhostFn destroy, unsigned int initialRefcount, unsigned int flags),
	create(out, object, destroy, initialRefcount, flags))

static CUresult retain(CUuserObject object, unsigned count)
{
	if (!is_user_object(object) || !count || count > INT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&object->references, count);
	return CUDA_SUCCESS;
}
SIM_API(cuUserObjectRetain, (CUuserObject object, unsigned int count), retain(object, count))

static CUresult release(CUuserObject object, unsigned count)
{
	if (!is_user_object(object) || !count || count > INT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_fetch_sub(&object->references, count) > count)
		return CUDA_SUCCESS;
	object->destroy(object->object);
	object->magic = 0;
	free(object);
	return CUDA_SUCCESS;
}
SIM_API(cuUserObjectRelease, (CUuserObject object, unsigned int count), release(object, count))

static struct sim_reference **reference_of(CUgraph graph, CUuserObject object)
{
	struct sim_reference **link = &graph->references;

	while (*link && (*link)->to != object)
		link = &(*link)->next;
	return link;
}

static int hold(CUgraph graph, CUuserObject object, unsigned count)
{
	struct sim_reference **link = reference_of(graph, object);

	if (!*link)
		*link = calloc(1, sizeof(**link));
	if (!*link)
		return 0;
	(*link)->to = object;
	(*link)->count += count;
	return 1;
}

static CUresult graph_retain(CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
	if (!sim_is_graph(graph) || !is_user_object(object) || !count || count > INT_MAX ||
	    (flags & ~CU_GRAPH_USER_OBJECT_MOVE))
		return CUDA_ERROR_INVALID_VALUE;
	if (!hold(graph, object, count))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return flags & CU_GRAPH_USER_OBJECT_MOVE ? CUDA_SUCCESS : retain(object, count);
}
SIM_API(cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags),
	graph_retain(graph, object, count, flags))

static CUresult graph_release(CUgraph graph, CUuserObject object, unsigned count)
{
	struct sim_reference **link, *reference;

	if (!sim_is_graph(graph) || !is_user_object(object) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	link = reference_of(graph, object);
	reference = *link;
	if (!reference || reference->count < count)
		return CUDA_ERROR_INVALID_VALUE;
	reference->count -= count;
	if (!reference->count) {
		*link = reference->next;
		free(reference);
	}
	return release(object, count);
}
SIM_API(cuGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned int count),
	graph_release(graph, object, count))

int sim_references_copy(CUgraph to, const struct CUgraph_st *from)
{
	for (const struct sim_reference *reference = from->references; reference; reference = reference->next) {
		if (!hold(to, reference->to, reference->count))
			return 0;
		retain(reference->to, reference->count);
	}
	return 1;
}

void sim_references_drop(CUgraph graph)
{
	while (graph->references) {
		struct sim_reference *reference = graph->references;

		graph->references = reference->next;
		release(reference->to, reference->count);
		free(reference);
	}
}
