/*
 * Functions that came after CUDA 13.0 (shim/later_driver.h). They are exported whatever the version, and
 * cuGetProcAddress answers with them from SIMCUDA_DRIVER_VERSION on. Of the copies alone CUPTI is told: with the
 * callback ids of later versions, as it accepts them.
 */
#include "cuda_tests/simcuda/sim.h"

#include <stdlib.h>

static CUresult launch_host_v2(CUstream handle, int per_thread, CUhostFn function, void *data, unsigned mode)
{
	enum { BLOCKING, SPIN_WAIT }; /* CUhostTaskSyncMode */
	CUresult result = sim_usable();

	if (result)
		return result;
	sim_count(&sim.log->host_functions_v2);
	return mode > SPIN_WAIT ? CUDA_ERROR_INVALID_VALUE
				: sim_launch_host(sim_stream(handle, per_thread), function, data);
}

CUresult CUDAAPI cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void *data, unsigned mode)
{
	return launch_host_v2(stream, 0, function, data, mode);
}

CUresult CUDAAPI cuLaunchHostFunc_v2_ptsz(CUstream stream, CUhostFn function, void *data, unsigned mode)
{
	return launch_host_v2(stream, 1, function, data, mode);
}

/* --- copies */

static CUresult with_attributes(CUdeviceptr to, CUdeviceptr from, size_t bytes, const CUmemcpyAttributes *attributes,
				CUstream stream)
{
	return attributes ? sim_copy_line_async(to, from, bytes, stream) : CUDA_ERROR_INVALID_VALUE;
}
SIM_API_PTSZ(cuMemcpyWithAttributesAsync,
	     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes *attributes, CUstream stream),
	     with_attributes(to, from, bytes, attributes, sim_stream(stream, per_thread)))

/* Between pointers; there are no arrays. A length or height of 0 is that of the extent. */
static CUresult box_with_attributes(const CUDA_MEMCPY3D_BATCH_OP *copy, unsigned long long flags, CUstream stream)
{
	CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .dstMemoryType = CU_MEMORYTYPE_UNIFIED};

	if (!copy || flags || !copy->extent.width || !copy->extent.height || !copy->extent.depth)
		return CUDA_ERROR_INVALID_VALUE;
	if (copy->src.type != CU_MEMCPY_OPERAND_TYPE_POINTER || copy->dst.type != CU_MEMCPY_OPERAND_TYPE_POINTER)
		return CUDA_ERROR_NOT_SUPPORTED;
	box.WidthInBytes = copy->extent.width;
	box.Height = copy->extent.height;
	box.Depth = copy->extent.depth;
	box.srcDevice = copy->src.op.ptr.ptr;
	box.srcPitch = copy->src.op.ptr.rowLength ? copy->src.op.ptr.rowLength : copy->extent.width;
	box.srcHeight = copy->src.op.ptr.layerHeight ? copy->src.op.ptr.layerHeight : copy->extent.height;
	box.dstDevice = copy->dst.op.ptr.ptr;
	box.dstPitch = copy->dst.op.ptr.rowLength ? copy->dst.op.ptr.rowLength : copy->extent.width;
	box.dstHeight = copy->dst.op.ptr.layerHeight ? copy->dst.op.ptr.layerHeight : copy->extent.height;
	return sim_copy_box_async(&box, stream);
}
SIM_API_PTSZ(cuMemcpy3DWithAttributesAsync, (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream stream),
	     box_with_attributes(copy, flags, sim_stream(stream, per_thread)))

/* --- captures */

/* name and its twin, which CUPTI is not told of */
#define UNREPORTED(name, arguments, work)                                                                              \
	UNREPORTED_AS(name, arguments, 0, work) UNREPORTED_AS(name##_ptsz, arguments, 1, work)
#define UNREPORTED_AS(name, arguments, twin, work)                                                                     \
	CUresult CUDAAPI name arguments                                                                                \
	{                                                                                                              \
		const int per_thread = twin;                                                                           \
		CUresult result = sim_usable();                                                                        \
                                                                                                                       \
		return result ? result : (work);                                                                       \
	}
UNREPORTED(cuStreamBeginRecaptureToGraph,
	   (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback mismatch, void *data),
	   ((void)mismatch, (void)data, sim_capture_again(sim_stream(stream, per_thread), mode, graph)))

/* Contexts count as created for a graphics API under SIMCUDA_CIG=1. cuStreamIsCapturing does not tell of these
 * captures: its documentation does not say that it does. */
static CUresult begin_cig(CUstream stream, const CUstreamCigCaptureParams *params)
{
	const char *cig = getenv("SIMCUDA_CIG");

	if (!stream || !params)
		return CUDA_ERROR_INVALID_VALUE;
	if (!cig || *cig != '1')
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->cig || stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	stream->cig = 1;
	return CUDA_SUCCESS;
}
UNREPORTED(cuStreamBeginCaptureToCig, (CUstream stream, CUstreamCigCaptureParams *params),
	   begin_cig(sim_stream(stream, per_thread), params))

static CUresult end_cig(CUstream stream)
{
	if (!stream || !stream->cig)
		return CUDA_ERROR_INVALID_VALUE;
	stream->cig = 0;
	return CUDA_SUCCESS;
}
UNREPORTED(cuStreamEndCaptureToCig, (CUstream stream), end_cig(sim_stream(stream, per_thread)))
