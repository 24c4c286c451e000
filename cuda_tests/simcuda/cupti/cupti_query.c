/* Versions, names and ids. */
#include "cupti_private.h"

#define DRIVER(name)
#define RUNTIME(name)
#define RESULT(name) {name, #name},
static const struct {
	CUptiResult result;
	const char *name;
} results[] = {
#include "cupti_names.h"
};
#undef RESULT
#undef DRIVER
#undef RUNTIME

#define RESULT(name)
#define DRIVER(name) [CUPTI_DRIVER_TRACE_CBID_##name] = #name,
#define RUNTIME(name)
static const char *const driver_names[CUPTI_CBIDS_MAX] = {
#include "cupti_names.h"
};
#undef DRIVER
#undef RUNTIME

#define DRIVER(name)
#define RUNTIME(name) [CUPTI_RUNTIME_TRACE_CBID_##name] = #name,
static const char *const runtime_names[CUPTI_CBIDS_MAX] = {
#include "cupti_names.h"
};

CUptiResult cuptiGetVersion(uint32_t *version)
{
	if (!version)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	*version = cupti__version();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	for (size_t i = 0; text && i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].result == result) {
			*text = results[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return cuptiGetResultString(result, text);
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
	if (!name || id >= CUPTI_CBIDS_MAX)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	*name = domain == CUPTI_CB_DOMAIN_DRIVER_API    ? driver_names[id]
		: domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_names[id]
							: NULL;
	return *name ? CUPTI_SUCCESS : cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	CUptiResult result = cupti__attach();

	if (result || !id)
		return cupti__result(result ? result : CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti__self.driver.context_id(context);
	return *id ? CUPTI_SUCCESS : cupti__result(CUPTI_ERROR_INVALID_CONTEXT);
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
	CUptiResult result = cupti__attach();

	if (result || !id)
		return cupti__result(result ? result : CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti__self.driver.stream_id(context, stream, per_thread);
	return *id ? CUPTI_SUCCESS : cupti__result(CUPTI_ERROR_INVALID_STREAM);
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	CUdevice device;
	CUptiResult result = cupti__attach();

	if (result || !id)
		return cupti__result(result ? result : CUPTI_ERROR_INVALID_PARAMETER);
	if (cupti__self.driver.context_device(&device, context))
		return cupti__result(CUPTI_ERROR_INVALID_CONTEXT);
	*id = (uint32_t)device;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	/* Asked once for each node of a graph: attaching looks symbols up. */
	CUptiResult result = atomic_load(&cupti__self.attached) ? CUPTI_SUCCESS : cupti__attach();

	if (result || !id)
		return cupti__result(result ? result : CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti__self.driver.node_id(node);
	return *id ? CUPTI_SUCCESS : cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	CUptiResult result = cupti__attach();

	if (result || !id)
		return cupti__result(result ? result : CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti__self.driver.graph_id(graph);
	return *id ? CUPTI_SUCCESS : cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	CUptiResult result = cupti__attach();

	if (result || !id)
		return cupti__result(result ? result : CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti__self.driver.graph_exec_id(exec);
	return *id ? CUPTI_SUCCESS : cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
}
