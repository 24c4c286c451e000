/* cuGraph*Node*: the work of nodes. */
#include "cu_graph.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>

void sim_node_drop_contents(CUgraphNode node)
{
	free(node->arguments);
	free(node->argument);
	node->arguments = NULL;
	node->argument = NULL;
	if (node->child)
		sim_graph_free(node->child);
	node->child = NULL;
}

static const struct sim_preset *preset_of(CUgraphNode node)
{
	return node->context ? node->context->device->preset : sim.device[0].preset;
}

/* Copies the arguments, because the application's are only valid during the call. */
static CUresult copy_arguments(CUgraphNode node, const struct sim_kernel *kernel, void **params, void **extra)
{
	size_t bytes = 0;
	const void *packed = params ? NULL : sim_launch_packed(extra, &bytes);
	uint32_t i;

	for (i = 0; params && i < kernel->params; i++)
		if (kernel->param[i].offset + kernel->param[i].size > bytes)
			bytes = kernel->param[i].offset + kernel->param[i].size;
	if (kernel->params && !params && !packed)
		return CUDA_ERROR_INVALID_VALUE;
	node->arguments = calloc(1, bytes + 1);
	node->argument = calloc(kernel->params + 1, sizeof(*node->argument));
	node->argument_bytes = bytes;
	if (!node->arguments || !node->argument)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (packed)
		memcpy(node->arguments, packed, bytes);
	for (i = 0; i < kernel->params; i++) {
		const struct sim_param *param = &kernel->param[i];

		if (param->offset + param->size > bytes)
			return CUDA_ERROR_INVALID_VALUE;
		node->argument[i] = node->arguments + param->offset;
		if (params)
			memcpy(node->argument[i], params[i], param->size);
	}
	return CUDA_SUCCESS;
}

CUresult sim_node_set_launch(CUgraphNode node, const struct sim_work *work, void **params, void **extra)
{
	const struct sim_kernel *kernel = work->launch.kernel;
	struct CUgraphNode_st next = {.context = node->context, .work = *work};
	CUresult result;

	if (!kernel)
		return CUDA_ERROR_INVALID_VALUE;
	result = copy_arguments(&next, kernel, params, extra);
	if (!result)
		result = sim_launch_prepare(&next.work.launch, preset_of(node), next.argument, NULL);
	if (result) {
		sim_node_drop_contents(&next);
		return result;
	}
	sim_node_drop_contents(node);
	node->work = next.work;
	node->arguments = next.arguments;
	node->argument = next.argument;
	node->argument_bytes = next.argument_bytes;
	return CUDA_SUCCESS;
}

CUresult sim_node_set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct sim_work work = {.kind = SIM_DO_KERNEL};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (node->work.kind == SIM_DO_KERNEL) /* keep the attributes */
		work = node->work;
	work.launch.by_kernel = !params->func;
	work.launch.kernel = params->func ? sim_kernel_of_function(params->func) : sim_kernel_of_kernel(params->kern);
	work.launch.grid[0] = params->gridDimX;
	work.launch.grid[1] = params->gridDimY;
	work.launch.grid[2] = params->gridDimZ;
	work.launch.block[0] = params->blockDimX;
	work.launch.block[1] = params->blockDimY;
	work.launch.block[2] = params->blockDimZ;
	work.launch.dynamic_shared_bytes = params->sharedMemBytes;
	return sim_node_set_launch(node, &work, params->kernelParams, params->extra);
}

static CUmemorytype type_of(const struct sim_place *place)
{
	if (place->array)
		return CU_MEMORYTYPE_ARRAY;
	return place->kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE || place->kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED
		   ? CU_MEMORYTYPE_DEVICE
		   : CU_MEMORYTYPE_HOST;
}

static void place_in_array(const struct sim_place *place, size_t *x_bytes, size_t *y, size_t *z)
{
	size_t offset;

	if (!place->array)
		return;
	offset = place->base - place->array->base;
	*x_bytes = offset % place->pitch;
	*y = offset % place->slice / place->pitch;
	*z = offset / place->slice;
}

static CUDA_MEMCPY3D box_of(const struct sim_copy *copy)
{
	CUDA_MEMCPY3D box = {.WidthInBytes = copy->width_bytes, .Height = copy->height, .Depth = copy->depth};

	box.srcMemoryType = type_of(&copy->from);
	box.srcHost = copy->from.base;
	box.srcDevice = (CUdeviceptr)(uintptr_t)copy->from.base;
	box.srcPitch = copy->from.pitch;
	box.srcHeight = copy->from.pitch ? copy->from.slice / copy->from.pitch : 0;
	box.dstMemoryType = type_of(&copy->to);
	box.dstHost = copy->to.base;
	box.dstDevice = (CUdeviceptr)(uintptr_t)copy->to.base;
	box.dstPitch = copy->to.pitch;
	box.dstHeight = copy->to.pitch ? copy->to.slice / copy->to.pitch : 0;
	box.srcArray = copy->from.array;
	place_in_array(&copy->from, &box.srcXInBytes, &box.srcY, &box.srcZ);
	box.dstArray = copy->to.array;
	place_in_array(&copy->to, &box.dstXInBytes, &box.dstY, &box.dstZ);
	return box;
}

CUresult sim_node_set_work(CUgraphNode node, const struct sim_work *work)
{
	node->work = *work;
	if (work->kind == SIM_DO_COPY) {
		node->box = box_of(&work->copy);
	} else if (work->kind == SIM_DO_FILL) {
		const struct sim_fill *fill = &work->fill;

		node->fill = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)(uintptr_t)fill->to.base,
						       .pitch = fill->to.pitch,
						       .value = fill->value,
						       .elementSize = fill->element_bytes,
						       .width = fill->width,
						       .height = fill->height};
	} else if (work->kind == SIM_DO_HOST) {
		node->host.fn = work->host.function;
		node->host.userData = work->host.data;
	}
	return CUDA_SUCCESS;
}

int sim_node_copy_contents(CUgraphNode to, const struct CUgraphNode_st *from)
{
	uint32_t i, params = from->work.kind == SIM_DO_KERNEL ? from->work.launch.kernel->params : 0;
	CUgraph child = NULL;

	if (from->child && !(child = sim_graph_copy(from->child)))
		return 0;
	sim_node_drop_contents(to);
	to->child = child;
	if (child)
		child->owned = 1;
	to->work = from->work;
	to->context = from->context;
	to->box = from->box;
	to->fill = from->fill;
	to->host = from->host;
	to->disabled = from->disabled;
	if (!from->arguments)
		return 1;
	to->argument_bytes = from->argument_bytes;
	to->arguments = malloc(from->argument_bytes + 1);
	to->argument = calloc(params + 1, sizeof(*to->argument));
	if (!to->arguments || !to->argument)
		return 0;
	memcpy(to->arguments, from->arguments, from->argument_bytes);
	for (i = 0; i < params; i++)
		to->argument[i] = to->arguments + from->work.launch.kernel->param[i].offset;
	return 1;
}

static CUresult set_copy(CUgraphNode node, const CUDA_MEMCPY3D *box, CUcontext context)
{
	struct sim_work work;
	CUresult result = box ? sim_copy_work(&work, box) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	work.copy.async = 1;
	node->work = work;
	node->box = *box;
	node->context = context ? context : node->context;
	return CUDA_SUCCESS;
}

static CUresult set_fill(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
	struct sim_work work;
	CUresult result = params ? sim_fill_work(&work, params) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	work.fill.async = 1;
	node->work = work;
	node->fill = *params;
	node->context = context ? context : node->context;
	return CUDA_SUCCESS;
}

static CUresult set_host(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	if (!params || !params->fn)
		return CUDA_ERROR_INVALID_VALUE;
	node->work = (struct sim_work){.kind = SIM_DO_HOST, .host = {.function = params->fn, .data = params->userData}};
	node->host = *params;
	return CUDA_SUCCESS;
}

static CUresult set_event(CUgraphNode node, CUevent event)
{
	if (!event || event->magic != SIM_EVENT)
		return CUDA_ERROR_INVALID_VALUE;
	node->work.kind = node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? SIM_DO_RECORD : SIM_DO_WAIT;
	node->work.event = event;
	return CUDA_SUCCESS;
}

static CUresult set_child(CUgraphNode node, CUgraph child)
{
	CUgraph clone = sim_is_graph(child) ? sim_graph_clone(child) : NULL;

	if (!clone)
		return sim_is_graph(child) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	sim_node_drop_contents(node);
	clone->owned = 1;
	node->child = clone;
	return CUDA_SUCCESS;
}

/* params: the struct or handle that belongs to the type. */
CUresult sim_node_set_params(CUgraphNode node, CUgraphNodeType type, const void *params, CUcontext context)
{
	if (!sim_is_node(node) || node->type != type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return sim_node_set_kernel(node, params);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return set_copy(node, params, context);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_fill(node, params, context);
	case CU_GRAPH_NODE_TYPE_HOST:
		return set_host(node, params);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return set_event(node, (CUevent)params);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return set_child(node, (CUgraph)params);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n, CUgraphNodeType type,
		    const void *params, CUcontext context)
{
	CUresult result;
	size_t i;

	if (!out || !sim_is_graph(graph) || (n && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n; i++)
		if (!sim_is_node(dependencies[i]) || dependencies[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	*out = sim_node_new(graph, type, dependencies, n);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sim_node_set_params(*out, type, params, context);
	if (result)
		sim_node_free(*out);
	return result;
}

#define ADD(name, type, parameter, params, context)                                                                    \
	SIM_API(name, (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t n parameter),        \
		add(node, graph, dependencies, n, CU_GRAPH_NODE_TYPE_##type, params, context))
#define COMMA ,
ADD(cuGraphAddKernelNode_v2, KERNEL, COMMA const CUDA_KERNEL_NODE_PARAMS *params, params, NULL)
ADD(cuGraphAddMemcpyNode, MEMCPY, COMMA const CUDA_MEMCPY3D *params COMMA CUcontext context, params, context)
ADD(cuGraphAddMemsetNode, MEMSET, COMMA const CUDA_MEMSET_NODE_PARAMS *params COMMA CUcontext context, params, context)
ADD(cuGraphAddHostNode, HOST, COMMA const CUDA_HOST_NODE_PARAMS *params, params, NULL)
ADD(cuGraphAddEmptyNode, EMPTY, , NULL, NULL)
ADD(cuGraphAddEventRecordNode, EVENT_RECORD, COMMA CUevent event, event, NULL)
ADD(cuGraphAddEventWaitNode, WAIT_EVENT, COMMA CUevent event, event, NULL)
ADD(cuGraphAddChildGraphNode, GRAPH, COMMA CUgraph child, child, NULL)

/* The older struct is the newer one without its last two members. */
static CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all = {0};

	if (params)
		memcpy(&all, params, sizeof(*params));
	return all;
}

static CUresult add_kernel_v1(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all = newer(params);

	return add(out, graph, dependencies, n, CU_GRAPH_NODE_TYPE_KERNEL, params ? &all : NULL, NULL);
}
SIM_API(cuGraphAddKernelNode,
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t n,
	 const CUDA_KERNEL_NODE_PARAMS_v1 *params),
	add_kernel_v1(node, graph, dependencies, n, params))

/* Takes from the all-in-one struct of cuGraphAddNode the part that sim_node_set_params() expects. */
static const void *open_params(const CUgraphNodeParams *params, CUDA_KERNEL_NODE_PARAMS *kernel,
			       CUDA_MEMSET_NODE_PARAMS *fill, CUcontext *context)
{
	*context = NULL;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(kernel, &params->kernel, sizeof(*kernel));
		*context = kernel->ctx;
		return kernel;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		*context = params->memcpy.copyCtx;
		return &params->memcpy.copyParams;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(fill, &params->memset, sizeof(*fill));
		*context = params->memset.ctx;
		return fill;
	case CU_GRAPH_NODE_TYPE_HOST:
		return &params->host;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return params->eventRecord.event;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return params->eventWait.event;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return params->graph.graph;
	default:
		return NULL;
	}
}

static CUresult add_any(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n,
			const CUgraphNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUcontext context;
	const void *inner;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	inner = open_params(params, &kernel, &fill, &context);
	return add(out, graph, dependencies, n, params->type, inner, context);
}
SIM_API(cuGraphAddNode,
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t n, CUgraphNodeParams *params),
	add_any(node, graph, dependencies, n, params))
SIM_API(cuGraphAddNode_v2,
	(CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t n,
	 CUgraphNodeParams *params),
	((void)edges, add_any(node, graph, dependencies, n, params)))

CUresult sim_node_set_any(CUgraphNode node, const CUgraphNodeParams *params)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUcontext context;
	const void *inner;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	inner = open_params(params, &kernel, &fill, &context);
	return sim_node_set_params(node, params->type, inner, context);
}
SIM_API(cuGraphNodeSetParams, (CUgraphNode node, CUgraphNodeParams *params), sim_node_set_any(node, params))

/* --- set and get functions of each type */

#define SET(name, type, parameter, params)                                                                             \
	SIM_API(name, (CUgraphNode node, parameter), sim_node_set_params(node, CU_GRAPH_NODE_TYPE_##type, params, NULL))
SET(cuGraphKernelNodeSetParams_v2, KERNEL, const CUDA_KERNEL_NODE_PARAMS *params, params)
SET(cuGraphMemcpyNodeSetParams, MEMCPY, const CUDA_MEMCPY3D *params, params)
SET(cuGraphMemsetNodeSetParams, MEMSET, const CUDA_MEMSET_NODE_PARAMS *params, params)
SET(cuGraphHostNodeSetParams, HOST, const CUDA_HOST_NODE_PARAMS *params, params)
SET(cuGraphEventRecordNodeSetEvent, EVENT_RECORD, CUevent event, event)
SET(cuGraphEventWaitNodeSetEvent, WAIT_EVENT, CUevent event, event)

static CUresult set_kernel_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS all = newer(params);

	return sim_node_set_params(node, CU_GRAPH_NODE_TYPE_KERNEL, params ? &all : NULL, NULL);
}
SIM_API(cuGraphKernelNodeSetParams, (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params),
	set_kernel_v1(node, params))

/* The handle is of the kind that the node was made with; the older struct has a place for a CUfunction alone. */
static CUresult get_kernel(CUgraphNode node, void *out, size_t bytes)
{
	int has_kern = bytes > offsetof(CUDA_KERNEL_NODE_PARAMS, kern);
	CUDA_KERNEL_NODE_PARAMS all = {0};
	const struct sim_launch *launch;

	if (!out || !sim_is_node(node) || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	launch = &node->work.launch;
	if (launch->by_kernel && has_kern)
		all.kern = (CUkernel)launch->kernel;
	else
		all.func = (CUfunction)&launch->kernel->function;
	all.gridDimX = launch->grid[0];
	all.gridDimY = launch->grid[1];
	all.gridDimZ = launch->grid[2];
	all.blockDimX = launch->block[0];
	all.blockDimY = launch->block[1];
	all.blockDimZ = launch->block[2];
	all.sharedMemBytes = launch->dynamic_shared_bytes;
	all.kernelParams = node->argument;
	all.ctx = node->context;
	memcpy(out, &all, bytes);
	return CUDA_SUCCESS;
}
SIM_API(cuGraphKernelNodeGetParams, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params),
	get_kernel(node, params, sizeof(*params)))
SIM_API(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params),
	get_kernel(node, params, sizeof(*params)))

static CUresult get(CUgraphNode node, CUgraphNodeType type, void *out, size_t offset, size_t bytes)
{
	if (!out || !sim_is_node(node) || node->type != type)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(out, (const char *)node + offset, bytes);
	return CUDA_SUCCESS;
}
#define GET(name, type, out_type, member)                                                                              \
	SIM_API(name, (CUgraphNode node, out_type * out),                                                              \
		get(node, CU_GRAPH_NODE_TYPE_##type, out, offsetof(struct CUgraphNode_st, member), sizeof(*out)))
GET(cuGraphMemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D, box)
GET(cuGraphMemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, fill)
GET(cuGraphHostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS, host)
GET(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, CUevent, work.event)
GET(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, CUevent, work.event)
GET(cuGraphChildGraphNodeGetGraph, GRAPH, CUgraph, child)

static CUresult kernel_attribute(CUgraphNode node, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *get_value,
				 const CUkernelNodeAttrValue *set_value)
{
	struct sim_launch *launch;

	if (!sim_is_node(node) || node->type != CU_GRAPH_NODE_TYPE_KERNEL || (!get_value && !set_value))
		return CUDA_ERROR_INVALID_VALUE;
	launch = &node->work.launch;
	if (get_value)
		memset(get_value, 0, sizeof(*get_value));
	if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY && set_value) {
		launch->priority = set_value->priority;
		launch->has_priority = 1;
	} else if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
		get_value->priority = launch->priority;
	} else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && set_value) {
		launch->cooperative = set_value->cooperative;
	} else if (attribute == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
		get_value->cooperative = launch->cooperative;
	} else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && set_value) {
		memcpy(launch->cluster, &set_value->clusterDim, sizeof(launch->cluster));
	} else if (attribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		memcpy(&get_value->clusterDim, launch->cluster, sizeof(launch->cluster));
	}
	return CUDA_SUCCESS;
}
SIM_API(cuGraphKernelNodeGetAttribute, (CUgraphNode node, CUkernelNodeAttrID attribute, CUkernelNodeAttrValue *value),
	kernel_attribute(node, attribute, value, NULL))
SIM_API(cuGraphKernelNodeSetAttribute,
	(CUgraphNode node, CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue *value),
	kernel_attribute(node, attribute, NULL, value))

static CUresult copy_attributes(CUgraphNode to, CUgraphNode from)
{
	if (!sim_is_node(to) || !sim_is_node(from) || to->type != CU_GRAPH_NODE_TYPE_KERNEL || from->type != to->type)
		return CUDA_ERROR_INVALID_VALUE;
	to->work.launch.priority = from->work.launch.priority;
	to->work.launch.has_priority = from->work.launch.has_priority;
	to->work.launch.cooperative = from->work.launch.cooperative;
	to->work.launch.programmatic = from->work.launch.programmatic;
	memcpy(to->work.launch.cluster, from->work.launch.cluster, sizeof(to->work.launch.cluster));
	return CUDA_SUCCESS;
}
SIM_API(cuGraphKernelNodeCopyAttributes, (CUgraphNode to, CUgraphNode from), copy_attributes(to, from))
