/*
 * Driver functions that came after CUDA 13.0, as cuda.h of CUDA 13.5 declares them, so that the tree builds with the
 * headers of either. Their twins for per-thread default streams are in no header.
 *
 *   13.1   cuLaunchHostFunc_v2, cuStreamBeginCaptureToCig, cuStreamEndCaptureToCig
 *   13.2   cuMemcpyWithAttributesAsync, cuMemcpy3DWithAttributesAsync
 *   13.3   cuStreamBeginRecaptureToGraph
 */
#ifndef KC_LATER_DRIVER_H
#define KC_LATER_DRIVER_H

#include <cuda.h>

#if CUDA_VERSION < 13010
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams; /* passed on, never looked into */
#endif
#if CUDA_VERSION < 13030
typedef CUresult(CUDA_CB *CUgraphRecaptureCallback)(void *data, CUgraphNode node, const CUgraphNodeParams *original,
						    const CUgraphNodeParams *recaptured, int status);
#endif

#define KC_LATER(symbol, ...)                                                                                          \
	CUresult CUDAAPI symbol(__VA_ARGS__);                                                                          \
	CUresult CUDAAPI symbol##_ptsz(__VA_ARGS__);
KC_LATER(cuLaunchHostFunc_v2, CUstream stream, CUhostFn fn, void *data, unsigned int mode)
KC_LATER(cuStreamBeginCaptureToCig, CUstream stream, CUstreamCigCaptureParams *params)
KC_LATER(cuStreamEndCaptureToCig, CUstream stream)
KC_LATER(cuMemcpyWithAttributesAsync, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes *attributes,
	 CUstream stream)
KC_LATER(cuMemcpy3DWithAttributesAsync, CUDA_MEMCPY3D_BATCH_OP *copy, unsigned long long flags, CUstream stream)
KC_LATER(cuStreamBeginRecaptureToGraph, CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
	 CUgraphRecaptureCallback mismatch, void *data)
#undef KC_LATER

/* Callback ids of CUPTI 13.5's cupti_driver_cbid.h. An older CUPTI refuses them, and gives such copies no id. */
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyWithAttributesAsync 837
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyWithAttributesAsync_ptsz 838
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DWithAttributesAsync 839
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DWithAttributesAsync_ptsz 840

#endif
