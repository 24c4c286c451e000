/*
 * The entry points beside LD_PRELOAD.
 *
 * Of the loader: libkerncast-audit.so asks here about bindings that bypass the
 * hooks, as with RTLD_DEEPBIND or dlmopen(). Where the driver is in a namespace
 * opened by dlmopen(), launches are seen, but CUPTI does not reach there.
 *
 * Of the driver: while the first cuInit runs, it loads the library that
 * CUDA_INJECTION64_PATH names and calls InitializeInjection(). It is too late to
 * interpose anything then, so calls are seen through CUPTI's callbacks: launches
 * are recorded, and what the tables must know of code and streams is kept up to
 * date. Transfers and what orders streams are not seen in this way. Recording
 * begins when cuInit returns, or with the first launch where CUPTI does not report
 * that. Where the hooks see a call, its callback gives the correlation id only:
 * both entry points together make one record.
 */
#define KC_WITH_CUPTI
#include "shim/tables/handles.h"
#include "shim/code/loaded_code.h"
#include "shim/calls/launch.h"
#include "real.h"
#include "inject.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables.h"
#include "shim/calls/calls.h"
#include "shim/worker/cupti/measuring.h"
#include "lookup.h"

#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>

/* cuda.h's macros would turn these names of the older ABI into those of the newest. */
#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuGraphExecKernelNodeSetParams

KC_EXPORT void *kerncast_route(const char *symbol, void *address, struct link_map *base_driver);
KC_EXPORT int InitializeInjection(void);
KC_EXPORT int kerncast_recording(void);

/* The call of this thread that is being recorded, from its first callback to its second. */
static __thread struct {
	uint32_t open; /* its callback id, 0: none */
	uint32_t correlation;
	struct kc__call call;
	struct kc__graph_exec *graph; /* being launched */
	struct kc__clones clones;
} own __attribute__((tls_model("initial-exec")));

static _Atomic int injected;

void *kerncast_route(const char *symbol, void *address, struct link_map *base_driver)
{
	return atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__DISABLED
		   ? address
		   : kc__route_binding(symbol, address, base_driver);
}

/* For the application, which may want to know when --while has taken effect: 1: launches are recorded; 0: they are not
 * asked for at present; -1: CUDA is not initialised, or nothing is recorded. */
int kerncast_recording(void)
{
	switch (atomic_load(&kc__shim.stage)) {
	case KC__ON:
	case KC__COUNTED:
		return 1;
	case KC__PAUSED:
		return 0;
	default:
		return -1;
	}
}

/* This look-up tells the audit module the address: the loader reports it. */
static void *found_globally(void)
{
	return kc__real_dlsym ? kc__real_dlsym(RTLD_DEFAULT, "kerncast_route") : NULL;
}

void kc__tell_audit(void)
{
	if (!found_globally())
		dlerror();
}

bool kc__injected(void)
{
	return atomic_load(&injected);
}

/* Not by a search from here, which would find us in any case. */
bool kc__is_preloaded(void)
{
	void *program = kc__real_dlsym ? dlopen(NULL, RTLD_LAZY) : NULL;
	bool is_there = program && kc__real_dlsym(program, "kerncast_route") == (void *)kerncast_route;

	if (program)
		dlclose(program);
	if (!is_there)
		dlerror();
	return is_there;
}

bool kc__injected_alone(void)
{
	return kc__real_dlsym(RTLD_DEFAULT, "cuInit") != (void *)cuInit;
}

/* The library may have been loaded twice, by different paths: then the preloaded one records. */
int InitializeInjection(void)
{
	void *global = found_globally();

	if (kc__thread.in_init || (global && global != (void *)kerncast_route) ||
	    atomic_load(&kc__shim.stage) == KC__DISABLED)
		return 1;
	atomic_store(&injected, 1);
	if (!kc__cupti_watch(&kc__shim.options))
		kc__say(KC_MESSAGE_INJECTION, NULL);
	return 1;
}

#define CBID(symbol) CUPTI_DRIVER_TRACE_CBID_##symbol
#define PARAMS(symbol) ((const symbol##_params *)params)

#define INSTANTIATE(X)                                                                                                 \
	X(cuGraphInstantiate)                                                                                          \
	X(cuGraphInstantiate_v2)                                                                                       \
	X(cuGraphInstantiateWithFlags)                                                                                 \
	X(cuGraphInstantiateWithParams)                                                                                \
	X(cuGraphInstantiateWithParams_ptsz)

/* Besides launches. */
const uint32_t kc__injected_ids[] = {
#define ID(symbol) CBID(symbol),
    INSTANTIATE(ID)
#undef ID
	CBID(cuInit),
    CBID(cuStreamDestroy),
    CBID(cuStreamDestroy_v2),
    CBID(cuCtxDestroy),
    CBID(cuCtxDestroy_v2),
    CBID(cuDevicePrimaryCtxRelease_v2),
    CBID(cuDevicePrimaryCtxReset_v2),
    CBID(cuModuleLoad),
    CBID(cuModuleLoadData),
    CBID(cuModuleLoadDataEx),
    CBID(cuModuleLoadFatBinary),
    CBID(cuModuleUnload),
    CBID(cuModuleGetFunction),
    CBID(cuLibraryLoadData),
    CBID(cuLibraryLoadFromFile),
    CBID(cuLibraryUnload),
    CBID(cuLibraryGetKernel),
    CBID(cuLibraryEnumerateKernels),
    CBID(cuKernelGetFunction),
    CBID(cuGraphExecDestroy),
    CBID(cuGraphExecUpdate),
    CBID(cuGraphExecUpdate_v2),
    CBID(cuGraphExecKernelNodeSetParams),
    CBID(cuGraphExecKernelNodeSetParams_v2),
    CBID(cuGraphExecNodeSetParams),
    CBID(cuGraphExecChildGraphNodeSetParams),
    CBID(cuGraphNodeSetEnabled),
};
const size_t kc__injected_count = sizeof(kc__injected_ids) / sizeof(*kc__injected_ids);

/* Before a call that is recorded. true: its end is to be reported, too. */

#define GRID(p)                                                                                                        \
	(&(struct kc_shape){.grid = {(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ},                                     \
			    .block = {(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ},                                 \
			    .dynamic_shared_bytes = (p)->sharedMemBytes})
#define GIVEN(kernel_params, kernel_extra) (&(struct kc__given){.params = kernel_params, .extra = kernel_extra})
#define LAUNCH(symbol, api, twin)                                                                                      \
	case CBID(symbol):                                                                                             \
		return kc__launch_begin(&own.call, api, PARAMS(symbol)->f, GRID(PARAMS(symbol)),                       \
					GIVEN(PARAMS(symbol)->kernelParams, PARAMS(symbol)->extra),                    \
					PARAMS(symbol)->hStream, twin);
#define LAUNCH_COOPERATIVE(symbol, twin)                                                                               \
	case CBID(symbol):                                                                                             \
		return kc__launch_begin(&own.call, KC_API_LAUNCH_COOPERATIVE, PARAMS(symbol)->f, GRID(PARAMS(symbol)), \
					GIVEN(PARAMS(symbol)->kernelParams, NULL), PARAMS(symbol)->hStream, twin);
#define LAUNCH_EX(symbol, twin)                                                                                        \
	case CBID(symbol): {                                                                                           \
		const CUlaunchConfig *config = PARAMS(symbol)->config;                                                 \
		if (!config || !kc__launch_begin(&own.call, KC_API_LAUNCH_KERNEL_EX, PARAMS(symbol)->f, GRID(config),  \
						 GIVEN(PARAMS(symbol)->kernelParams, PARAMS(symbol)->extra),           \
						 config->hStream, twin))                                               \
			return false;                                                                                  \
		kc__launch_attributes(&own.call, config);                                                              \
		return true;                                                                                           \
	}

/* Parameters of cuGraphLaunch and its per-thread twin: CUPTI's headers name them differently by version. */
struct graph_launch {
	CUgraphExec exec;
	CUstream stream;
};

static bool begin(CUpti_CallbackId id, const void *params)
{
	const struct graph_launch *graph = params;

	switch (id) {
		LAUNCH(cuLaunchKernel, KC_API_LAUNCH_KERNEL, false)
		LAUNCH(cuLaunchKernel_ptsz, KC_API_LAUNCH_KERNEL, true)
		LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
		LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)
		LAUNCH_EX(cuLaunchKernelEx, false)
		LAUNCH_EX(cuLaunchKernelEx_ptsz, true)
	case CBID(cuGraphLaunch):
	case CBID(cuGraphLaunch_ptsz):
		return kc__graph_launch_begin(graph->exec, graph->stream, id == CBID(cuGraphLaunch_ptsz), &own.graph);
#define CASE(symbol) case CBID(symbol):
		INSTANTIATE(CASE)
#undef CASE
		return kc__graph_instantiate_begin(&own.clones);
	default:
		return false;
	}
}

static void end(CUpti_CallbackId id, const void *params, CUresult result)
{
	const struct graph_launch *graph = params;

	switch (id) {
	case CBID(cuGraphLaunch):
	case CBID(cuGraphLaunch_ptsz):
		kc__graph_launch_end(own.graph, graph->stream, id == CBID(cuGraphLaunch_ptsz), result);
		break;
#define INSTANTIATE_END(symbol)                                                                                        \
	case CBID(symbol):                                                                                             \
		kc__graph_instantiate_end(result, PARAMS(symbol)->phGraphExec, PARAMS(symbol)->hGraph, &own.clones);   \
		break;
		INSTANTIATE(INSTANTIATE_END)
#undef INSTANTIATE_END
	default:
		kc__launch_end(&own.call, result);
	}
}

/* Calls that are noted, not recorded. Those after which another thread may be given the handle are noted before
 * they are made. */

static void entering(CUpti_CallbackId id, const void *params)
{
	switch (id) {
	case CBID(cuStreamDestroy):
		kc__stream_destroyed(PARAMS(cuStreamDestroy)->hStream);
		break;
	case CBID(cuStreamDestroy_v2):
		kc__stream_destroyed(PARAMS(cuStreamDestroy_v2)->hStream);
		break;
	case CBID(cuGraphExecDestroy):
		kc__graph_gone(PARAMS(cuGraphExecDestroy)->hGraphExec);
		break;
	case CBID(cuModuleUnload):
		kc__handle_gone(PARAMS(cuModuleUnload)->hmod);
		break;
	case CBID(cuLibraryUnload):
		kc__handle_gone(PARAMS(cuLibraryUnload)->library);
		break;
	case CBID(cuCtxDestroy):
	case CBID(cuCtxDestroy_v2):
	case CBID(cuDevicePrimaryCtxRelease_v2):
	case CBID(cuDevicePrimaryCtxReset_v2):
		kc__context_ends();
		break;
	default:
		break;
	}
}

#define LOADED(symbol, handle, loaded, from)                                                                           \
	case CBID(symbol):                                                                                             \
		loaded(*PARAMS(symbol)->handle, PARAMS(symbol)->from);                                                 \
		break;
#define NOTED(symbol, note, value)                                                                                     \
	case CBID(symbol):                                                                                             \
		note(PARAMS(symbol)->hGraphExec, PARAMS(symbol)->hNode, PARAMS(symbol)->value);                        \
		break;

static void enumerated(const cuLibraryEnumerateKernels_params *p)
{
	for (unsigned i = 0; p->kernels && i < p->numKernels; i++)
		kc__handle_named(p->kernels[i], KC__FORM_KERNEL, NULL, p->lib);
}

static void left(CUpti_CallbackId id, const void *params)
{
	switch (id) {
	case CBID(cuModuleUnload):
	case CBID(cuLibraryUnload):
		atomic_fetch_add_explicit(&kc__shim.module_generation, 1, memory_order_release);
		break;
		LOADED(cuModuleLoad, module, kc__code_loaded_file, fname)
		LOADED(cuModuleLoadData, module, kc__code_loaded, image)
		LOADED(cuModuleLoadDataEx, module, kc__code_loaded, image)
		LOADED(cuModuleLoadFatBinary, module, kc__code_loaded, fatCubin)
		LOADED(cuLibraryLoadData, library, kc__code_loaded, code)
		LOADED(cuLibraryLoadFromFile, library, kc__code_loaded_file, fileName)
	case CBID(cuModuleGetFunction):
		kc__handle_named(*PARAMS(cuModuleGetFunction)->hfunc, KC__FORM_FUNCTION,
				 PARAMS(cuModuleGetFunction)->name, PARAMS(cuModuleGetFunction)->hmod);
		break;
	case CBID(cuLibraryGetKernel):
		kc__handle_named(*PARAMS(cuLibraryGetKernel)->pKernel, KC__FORM_KERNEL,
				 PARAMS(cuLibraryGetKernel)->name, PARAMS(cuLibraryGetKernel)->library);
		break;
	case CBID(cuLibraryEnumerateKernels):
		enumerated(params);
		break;
	case CBID(cuKernelGetFunction):
		kc__handle_function(*PARAMS(cuKernelGetFunction)->pFunc, PARAMS(cuKernelGetFunction)->kernel);
		break;
	case CBID(cuGraphExecUpdate):
		kc__graph_updated(PARAMS(cuGraphExecUpdate)->hGraphExec, PARAMS(cuGraphExecUpdate)->hGraph);
		break;
	case CBID(cuGraphExecUpdate_v2):
		kc__graph_updated(PARAMS(cuGraphExecUpdate_v2)->hGraphExec, PARAMS(cuGraphExecUpdate_v2)->hGraph);
		break;
		NOTED(cuGraphExecKernelNodeSetParams, kc__graph_set_kernel_v1, nodeParams)
		NOTED(cuGraphExecKernelNodeSetParams_v2, kc__graph_set_kernel, nodeParams)
		NOTED(cuGraphExecNodeSetParams, kc__graph_set_node, nodeParams)
		NOTED(cuGraphExecChildGraphNodeSetParams, kc__graph_set_child, childGraph)
		NOTED(cuGraphNodeSetEnabled, kc__graph_set_enabled, isEnabled)
	default:
		break;
	}
}

/* CUPTI does not report that a capture begins: each launch has to ask. */
static void start(bool wait)
{
	int none = 0;

	atomic_compare_exchange_strong(&kc__shim.captures, &none, 1);
	kc__start(wait);
}

static void enter(CUpti_CallbackId id, const CUpti_CallbackData *call)
{
	if (!kc__begun() && id != CBID(cuInit))
		start(true);
	if (!call->functionParams || (!kc__begun() && !kc__ended()))
		return;
	if (!begin(id, call->functionParams)) {
		if (kc__begun())
			entering(id, call->functionParams);
		return;
	}
	own.open = id;
	own.correlation = call->correlationId;
	kc__thread.correlation = call->correlationId;
}

static void leave(CUpti_CallbackId id, const CUpti_CallbackData *call, CUresult result)
{
	if (own.open) {
		own.open = 0;
		end(id, call->functionParams, result);
	} else if (result == CUDA_SUCCESS && id == CBID(cuInit)) {
		start(false);
	} else if (result == CUDA_SUCCESS && kc__begun() && call->functionParams) {
		left(id, call->functionParams);
	}
}

bool kc__injected_call(uint32_t id, const void *data)
{
	const CUpti_CallbackData *call = data;
	int saved_errno = errno;

	if (own.open ? call->callbackSite == CUPTI_API_ENTER || own.open != id || own.correlation != call->correlationId
		     : kc__thread.depth > 0)
		return own.open != 0;
	if (call->callbackSite == CUPTI_API_ENTER)
		enter(id, call);
	else
		leave(id, call, *(const CUresult *)call->functionReturnValue);
	errno = saved_errno;
	return true;
}
