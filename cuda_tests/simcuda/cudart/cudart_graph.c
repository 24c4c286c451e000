/* Graphs as a whole. cudart_graph_node.c has their nodes. */
#include "cudart.h"

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "edge data differ");

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
	CUDART_BEGIN(cudaGraphCreate, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphCreate(graph, flags));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	CUDART_BEGIN(cudaGraphDestroy, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphDestroy(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t original)
{
	CUDART_BEGIN(cudaGraphClone, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphClone(clone, original));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	CUDART_BEGIN(cudaGraphInstantiate, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphInstantiateWithFlags(exec, graph, flags));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	CUDART_BEGIN(cudaGraphInstantiateWithFlags, CUDART_CONTEXT);
	CUDART_END(cudart__driver()->cuGraphInstantiateWithFlags(exec, graph, flags));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	CUDART_BEGIN(cudaGraphExecDestroy, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphExecDestroy(exec));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
	CUDART_BEGIN(cudaGraphExecGetFlags, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphExecGetFlags(exec, (cuuint64_t *)flags));
}

_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo), "update results differ");

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
	CUDART_BEGIN(cudaGraphExecUpdate, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphExecUpdate(exec, graph, (CUgraphExecUpdateResultInfo *)info));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	CUDART_BEGIN(cudaGraphGetNodes, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	CUDART_BEGIN(cudaGraphGetRootNodes, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphGetRootNodes(graph, nodes, count));
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
			      size_t *count)
{
	CUDART_BEGIN(cudaGraphGetEdges, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphGetEdges(graph, from, to, (CUgraphEdgeData *)edges, count));
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
				     const cudaGraphEdgeData *edges, size_t count)
{
	CUDART_BEGIN(cudaGraphAddDependencies, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphAddDependencies(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					const cudaGraphEdgeData *edges, size_t count)
{
	CUDART_BEGIN(cudaGraphRemoveDependencies, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphRemoveDependencies(graph, from, to, (const CUgraphEdgeData *)edges, count));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
					 size_t *count)
{
	CUDART_BEGIN(cudaGraphNodeGetDependencies, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphNodeGetDependencies(node, nodes, (CUgraphEdgeData *)edges, count));
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
					   size_t *count)
{
	CUDART_BEGIN(cudaGraphNodeGetDependentNodes, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphNodeGetDependentNodes(node, nodes, (CUgraphEdgeData *)edges, count));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
	CUDART_BEGIN(cudaGraphNodeGetType, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphNodeGetType(node, (CUgraphNodeType *)type));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone)
{
	CUDART_BEGIN(cudaGraphNodeFindInClone, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphNodeFindInClone(node, original, clone));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	CUDART_BEGIN(cudaGraphDestroyNode, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphDestroyNode(node));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled)
{
	CUDART_BEGIN(cudaGraphNodeSetEnabled, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphNodeSetEnabled(exec, node, enabled));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled)
{
	CUDART_BEGIN(cudaGraphNodeGetEnabled, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphNodeGetEnabled(exec, node, enabled));
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
	CUDART_BEGIN(cudaGraphDebugDotPrint, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphDebugDotPrint(graph, path, flags));
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy, unsigned count,
				 unsigned flags)
{
	CUDART_BEGIN(cudaUserObjectCreate, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuUserObjectCreate(object, data, destroy, count, flags));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count)
{
	CUDART_BEGIN(cudaUserObjectRetain, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuUserObjectRetain(object, count));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count)
{
	CUDART_BEGIN(cudaUserObjectRelease, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuUserObjectRelease(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags)
{
	CUDART_BEGIN(cudaGraphRetainUserObject, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count)
{
	CUDART_BEGIN(cudaGraphReleaseUserObject, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuGraphReleaseUserObject(graph, object, count));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	CUDART_BEGIN(cudaDeviceGetGraphMemAttribute, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value)
{
	CUDART_BEGIN(cudaDeviceSetGraphMemAttribute, CUDART_DRIVER);
	CUDART_END(cudart__driver()->cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value));
}
