/*
 * Correlation ids. CUPTI gives each call of the driver and of the runtime an id, and the record of a kernel or a copy
 * carries the id of the call that launched it. cupti_activity.h leaves open which call that is where a runtime call
 * encloses the driver's: "driver or runtime API activity record". With 13.0 it is the driver's as long as only its
 * calls are asked for (scripts/gpu-check, question F1), so no more is asked. From an older CUPTI both are asked for,
 * which costs every launch a callback more, and a launch is matched by either; likewise where records match nothing
 * after all.
 *
 * The runtime's are never switched off again: CUPTI 13.0 then gives a thread that is in a call at that moment the id of
 * this call for all its later calls (cuda_tests/results/README.md).
 *
 * Launches, launches of graphs and transfers are told apart: their records have no common documentation.
 */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "shim/worker/cupti/measuring.h"

#include <cupti.h>

#include <string.h>

/* Records without a launch: before one with the driver's id has come, and since the first of them. Those of launches
 * that are not seen match nothing either. */
enum { FIRST_STRAYS = 8, STRAYS = 64 };

/* Worker, but for the beginning. */
static struct {
	bool by_driver; /* a record had the driver's id */
	uint32_t strays;
} use[KC__CALLS];

#define CBID(symbol) CUPTI_RUNTIME_TRACE_CBID_##symbol

/* Versions of older runtimes, which a program may be linked to statically, are among them. */
static const CUpti_CallbackId launch_ids[] = {
    CBID(cudaLaunch_v3020),
    CBID(cudaLaunch_ptsz_v7000),
    CBID(cudaLaunchKernel_v7000),
    CBID(cudaLaunchKernel_ptsz_v7000),
    CBID(cudaLaunchCooperativeKernel_v9000),
    CBID(cudaLaunchCooperativeKernel_ptsz_v9000),
    CBID(cudaLaunchCooperativeKernelMultiDevice_v9000),
    CBID(cudaLaunchKernelExC_v11060),
    CBID(cudaLaunchKernelExC_ptsz_v11060),
    CBID(__cudaLaunchKernel_v13000),
    CBID(__cudaLaunchKernel_ptsz_v13000),
};
static const CUpti_CallbackId graph_ids[] = {
    CBID(cudaGraphLaunch_v10000),
    CBID(cudaGraphLaunch_ptsz_v10000),
};
/* A call, and its twin with the thread's default stream. */
#define WITH_PTDS(name, version) CBID(name##_##version), CBID(name##_ptds_v7000)
#define WITH_PTSZ(name, version) CBID(name##_##version), CBID(name##_ptsz_v7000)
static const CUpti_CallbackId transfer_ids[] = {
    WITH_PTDS(cudaMemcpy, v3020),
    WITH_PTDS(cudaMemcpy2D, v3020),
    WITH_PTDS(cudaMemcpyToArray, v3020),
    WITH_PTDS(cudaMemcpy2DToArray, v3020),
    WITH_PTDS(cudaMemcpyFromArray, v3020),
    WITH_PTDS(cudaMemcpy2DFromArray, v3020),
    WITH_PTDS(cudaMemcpyArrayToArray, v3020),
    WITH_PTDS(cudaMemcpy2DArrayToArray, v3020),
    WITH_PTDS(cudaMemcpyToSymbol, v3020),
    WITH_PTDS(cudaMemcpyFromSymbol, v3020),
    WITH_PTDS(cudaMemcpy3D, v3020),
    WITH_PTDS(cudaMemset, v3020),
    WITH_PTDS(cudaMemset2D, v3020),
    WITH_PTDS(cudaMemset3D, v3020),
    WITH_PTSZ(cudaMemcpyAsync, v3020),
    WITH_PTSZ(cudaMemcpyToArrayAsync, v3020),
    WITH_PTSZ(cudaMemcpyFromArrayAsync, v3020),
    WITH_PTSZ(cudaMemcpy2DAsync, v3020),
    WITH_PTSZ(cudaMemcpy2DToArrayAsync, v3020),
    WITH_PTSZ(cudaMemcpy2DFromArrayAsync, v3020),
    WITH_PTSZ(cudaMemcpyToSymbolAsync, v3020),
    WITH_PTSZ(cudaMemcpyFromSymbolAsync, v3020),
    WITH_PTSZ(cudaMemcpy3DAsync, v3020),
    WITH_PTSZ(cudaMemsetAsync, v3020),
    WITH_PTSZ(cudaMemset2DAsync, v3020),
    WITH_PTSZ(cudaMemset3DAsync, v3020),
    CBID(cudaMemcpyPeer_v4000),
    CBID(cudaMemcpyPeerAsync_v4000),
    WITH_PTDS(cudaMemcpy3DPeer, v4000),
    WITH_PTSZ(cudaMemcpy3DPeerAsync, v4000),
};

#define LIST(ids)                                                                                                      \
	{                                                                                                              \
		(ids), sizeof(ids) / sizeof(*(ids))                                                                    \
	}
static const struct {
	const CUpti_CallbackId *ids;
	size_t count;
} calls_of[KC__CALLS] = {
    [KC__LAUNCH_CALLS] = LIST(launch_ids),
    [KC__GRAPH_CALLS] = LIST(graph_ids),
    [KC__TRANSFER_CALLS] = LIST(transfer_ids),
};

static void ask_for(enum kc__calls calls)
{
	kc__cupti_runtime_callbacks(calls_of[calls].ids, calls_of[calls].count);
	atomic_store_explicit(&kc__shim.enclosing_of[calls], true, memory_order_relaxed);
}

static bool asked_for(enum kc__calls calls)
{
	return atomic_load_explicit(&kc__shim.enclosing_of[calls], memory_order_relaxed);
}

void kc__correlation_begin(bool both, bool transfers)
{
	memset(use, 0, sizeof(use));
	for (enum kc__calls calls = 0; calls < KC__CALLS; calls++)
		if (asked_for(calls) /* before CUPTI was given up */ ||
		    (both && (transfers || calls != KC__TRANSFER_CALLS)))
			ask_for(calls);
}

/* Each has an id of its own, where the runtime's calls are not asked for. One that comes again would have its records
 * taken for those of another call. */
void kc__correlation_driver_call(uint32_t id)
{
	if (id != kc__thread.before || asked_for(KC__LAUNCH_CALLS) || asked_for(KC__GRAPH_CALLS) ||
	    asked_for(KC__TRANSFER_CALLS))
		kc__thread.correlation = id;
}

void kc__correlation_runtime_call(uint32_t id, bool begins)
{
	if (begins)
		kc__thread.runtime_call = id;
	else if (kc__thread.runtime_call == id)
		kc__thread.runtime_call = 0;
	/* The launch is recorded at the runtime's level, and its record has been begun. */
	if (begins && kc__thread.depth)
		kc__thread.enclosing = id;
}

void kc__correlation_matched(enum kc__calls calls, bool by_enclosing)
{
	use[calls].by_driver |= !by_enclosing;
}

void kc__correlation_unmatched(enum kc__calls calls)
{
	if (!asked_for(calls) && ++use[calls].strays >= (use[calls].by_driver ? STRAYS : FIRST_STRAYS))
		ask_for(calls);
}
