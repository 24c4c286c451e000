/*
 * Every driver function that is hooked: X(symbol, name, version, twin).
 * symbol: as libcuda exports it. name, version: as cuGetProcAddress is asked for it
 * (the first version with this ABI, from the PFN_<name>_v<version> types of
 * cudaTypedefs.h). twin: 1 for the variant with per-thread default streams.
 */
#ifndef KC_HOOKS_H
#define KC_HOOKS_H

/* With the headers of this version scripts/check-hooks --complete finds nothing
 * missing. Later versions may have further ABIs of these names. */
#define KC_HOOKS_CUDA_VERSION 13050

/* clang-format off */
#define KC_HOOKS_LAUNCH(X) \
	X(cuLaunchKernel, cuLaunchKernel, 4000, 0) \
	X(cuLaunchKernel_ptsz, cuLaunchKernel, 7000, 1) \
	X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, 0) \
	X(cuLaunchKernelEx_ptsz, cuLaunchKernelEx, 11060, 1) \
	X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, 0) \
	X(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel, 9000, 1)

#define KC_HOOKS_TRANSFER(X) \
	X(cuMemcpy, cuMemcpy, 4000, 0) \
	X(cuMemcpy_ptds, cuMemcpy, 7000, 1) \
	X(cuMemcpyAsync, cuMemcpyAsync, 4000, 0) \
	X(cuMemcpyAsync_ptsz, cuMemcpyAsync, 7000, 1) \
	X(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020, 0) \
	X(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD, 7000, 1) \
	X(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020, 0) \
	X(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH, 7000, 1) \
	X(cuMemcpyDtoD_v2, cuMemcpyDtoD, 3020, 0) \
	X(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD, 7000, 1) \
	X(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, 3020, 0) \
	X(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync, 7000, 1) \
	X(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, 3020, 0) \
	X(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync, 7000, 1) \
	X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020, 0) \
	X(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync, 7000, 1) \
	X(cuMemcpyPeer, cuMemcpyPeer, 4000, 0) \
	X(cuMemcpyPeer_ptds, cuMemcpyPeer, 7000, 1) \
	X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, 0) \
	X(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync, 7000, 1) \
	X(cuMemcpy2D_v2, cuMemcpy2D, 3020, 0) \
	X(cuMemcpy2D_v2_ptds, cuMemcpy2D, 7000, 1) \
	X(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, 3020, 0) \
	X(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned, 7000, 1) \
	X(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, 3020, 0) \
	X(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync, 7000, 1) \
	X(cuMemcpy3D_v2, cuMemcpy3D, 3020, 0) \
	X(cuMemcpy3D_v2_ptds, cuMemcpy3D, 7000, 1) \
	X(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, 3020, 0) \
	X(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync, 7000, 1) \
	X(cuMemcpy3DPeer, cuMemcpy3DPeer, 4000, 0) \
	X(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer, 7000, 1) \
	X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, 0) \
	X(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync, 7000, 1) \
	X(cuMemcpyAtoH_v2, cuMemcpyAtoH, 3020, 0) \
	X(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH, 7000, 1) \
	X(cuMemcpyHtoA_v2, cuMemcpyHtoA, 3020, 0) \
	X(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA, 7000, 1) \
	X(cuMemcpyAtoD_v2, cuMemcpyAtoD, 3020, 0) \
	X(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD, 7000, 1) \
	X(cuMemcpyDtoA_v2, cuMemcpyDtoA, 3020, 0) \
	X(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA, 7000, 1) \
	X(cuMemcpyAtoA_v2, cuMemcpyAtoA, 3020, 0) \
	X(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA, 7000, 1) \
	X(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync, 3020, 0) \
	X(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync, 7000, 1) \
	X(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync, 3020, 0) \
	X(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync, 7000, 1) \
	X(cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync, 13020, 0) \
	X(cuMemcpyWithAttributesAsync_ptsz, cuMemcpyWithAttributesAsync, 13020, 1) \
	X(cuMemcpy3DWithAttributesAsync, cuMemcpy3DWithAttributesAsync, 13020, 0) \
	X(cuMemcpy3DWithAttributesAsync_ptsz, cuMemcpy3DWithAttributesAsync, 13020, 1) \
	X(cuMemsetD8_v2, cuMemsetD8, 3020, 0) \
	X(cuMemsetD8_v2_ptds, cuMemsetD8, 7000, 1) \
	X(cuMemsetD16_v2, cuMemsetD16, 3020, 0) \
	X(cuMemsetD16_v2_ptds, cuMemsetD16, 7000, 1) \
	X(cuMemsetD32_v2, cuMemsetD32, 3020, 0) \
	X(cuMemsetD32_v2_ptds, cuMemsetD32, 7000, 1) \
	X(cuMemsetD2D8_v2, cuMemsetD2D8, 3020, 0) \
	X(cuMemsetD2D8_v2_ptds, cuMemsetD2D8, 7000, 1) \
	X(cuMemsetD2D16_v2, cuMemsetD2D16, 3020, 0) \
	X(cuMemsetD2D16_v2_ptds, cuMemsetD2D16, 7000, 1) \
	X(cuMemsetD2D32_v2, cuMemsetD2D32, 3020, 0) \
	X(cuMemsetD2D32_v2_ptds, cuMemsetD2D32, 7000, 1) \
	X(cuMemsetD8Async, cuMemsetD8Async, 3020, 0) \
	X(cuMemsetD8Async_ptsz, cuMemsetD8Async, 7000, 1) \
	X(cuMemsetD16Async, cuMemsetD16Async, 3020, 0) \
	X(cuMemsetD16Async_ptsz, cuMemsetD16Async, 7000, 1) \
	X(cuMemsetD32Async, cuMemsetD32Async, 3020, 0) \
	X(cuMemsetD32Async_ptsz, cuMemsetD32Async, 7000, 1) \
	X(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, 0) \
	X(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async, 7000, 1) \
	X(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, 0) \
	X(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async, 7000, 1) \
	X(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, 0) \
	X(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async, 7000, 1)

#define KC_HOOKS_ORDER(X) \
	X(cuInit, cuInit, 2000, 0) \
	X(cuGetProcAddress, cuGetProcAddress, 11030, 0) \
	X(cuGetProcAddress_v2, cuGetProcAddress, 12000, 0) \
	X(cuModuleLoad, cuModuleLoad, 2000, 0) \
	X(cuModuleLoadData, cuModuleLoadData, 2000, 0) \
	X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, 0) \
	X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, 0) \
	X(cuModuleUnload, cuModuleUnload, 2000, 0) \
	X(cuModuleGetFunction, cuModuleGetFunction, 2000, 0) \
	X(cuLinkAddData_v2, cuLinkAddData, 6050, 0) \
	X(cuLinkAddFile_v2, cuLinkAddFile, 6050, 0) \
	X(cuLinkComplete, cuLinkComplete, 5050, 0) \
	X(cuLinkDestroy, cuLinkDestroy, 5050, 0) \
	X(cuLibraryLoadData, cuLibraryLoadData, 12000, 0) \
	X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, 0) \
	X(cuLibraryUnload, cuLibraryUnload, 12000, 0) \
	X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, 0) \
	X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, 0) \
	X(cuKernelGetFunction, cuKernelGetFunction, 12000, 0) \
	X(cuStreamCreate, cuStreamCreate, 2000, 0) \
	X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, 0) \
	X(cuStreamDestroy, cuStreamDestroy, 2000, 0) \
	X(cuStreamDestroy_v2, cuStreamDestroy, 4000, 0) \
	X(cuStreamSynchronize, cuStreamSynchronize, 2000, 0) \
	X(cuStreamSynchronize_ptsz, cuStreamSynchronize, 7000, 1) \
	X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, 0) \
	X(cuStreamWaitEvent_ptsz, cuStreamWaitEvent, 7000, 1) \
	X(cuStreamBeginCapture, cuStreamBeginCapture, 10000, 0) \
	X(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000, 1) \
	X(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, 0) \
	X(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010, 1) \
	X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, 0) \
	X(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph, 12030, 1) \
	X(cuStreamBeginRecaptureToGraph, cuStreamBeginRecaptureToGraph, 13030, 0) \
	X(cuStreamBeginRecaptureToGraph_ptsz, cuStreamBeginRecaptureToGraph, 13030, 1) \
	X(cuStreamBeginCaptureToCig, cuStreamBeginCaptureToCig, 13010, 0) \
	X(cuStreamBeginCaptureToCig_ptsz, cuStreamBeginCaptureToCig, 13010, 1) \
	X(cuStreamEndCaptureToCig, cuStreamEndCaptureToCig, 13010, 0) \
	X(cuStreamEndCaptureToCig_ptsz, cuStreamEndCaptureToCig, 13010, 1) \
	X(cuStreamEndCapture, cuStreamEndCapture, 10000, 0) \
	X(cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, 1) \
	X(cuLaunchHostFunc, cuLaunchHostFunc, 10000, 0) \
	X(cuLaunchHostFunc_ptsz, cuLaunchHostFunc, 10000, 1) \
	X(cuLaunchHostFunc_v2, cuLaunchHostFunc, 13010, 0) \
	X(cuLaunchHostFunc_v2_ptsz, cuLaunchHostFunc, 13010, 1) \
	X(cuStreamAddCallback, cuStreamAddCallback, 5000, 0) \
	X(cuStreamAddCallback_ptsz, cuStreamAddCallback, 7000, 1) \
	X(cuGraphLaunch, cuGraphLaunch, 10000, 0) \
	X(cuGraphLaunch_ptsz, cuGraphLaunch, 10000, 1) \
	X(cuGraphInstantiate, cuGraphInstantiate, 10000, 0) \
	X(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, 0) \
	X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, 0) \
	X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, 0) \
	X(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams, 12000, 1) \
	X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, 0) \
	X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, 0) \
	X(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams, 12000, 0) \
	X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, 12020, 0) \
	X(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, 11010, 0) \
	X(cuGraphExecUpdate, cuGraphExecUpdate, 10020, 0) \
	X(cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000, 0) \
	X(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060, 0) \
	X(cuEventRecord, cuEventRecord, 2000, 0) \
	X(cuEventRecord_ptsz, cuEventRecord, 7000, 1) \
	X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, 0) \
	X(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags, 11010, 1) \
	X(cuEventSynchronize, cuEventSynchronize, 2000, 0) \
	X(cuEventDestroy, cuEventDestroy, 2000, 0) \
	X(cuEventDestroy_v2, cuEventDestroy, 4000, 0) \
	X(cuCtxSynchronize, cuCtxSynchronize, 2000, 0) \
	X(cuCtxSynchronize_v2, cuCtxSynchronize, 13000, 0) \
	X(cuCtxDestroy, cuCtxDestroy, 2000, 0) \
	X(cuCtxDestroy_v2, cuCtxDestroy, 4000, 0) \
	X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, 0) \
	X(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, 0) \
	X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, 0) \
	X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, 0) \
	X(cuMemFree_v2, cuMemFree, 3020, 0) \
	X(cuMemFreeHost, cuMemFreeHost, 2000, 0) \
	X(cuMemAllocAsync, cuMemAllocAsync, 11020, 0) \
	X(cuMemAllocAsync_ptsz, cuMemAllocAsync, 11020, 1) \
	X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, 0) \
	X(cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync, 11020, 1) \
	X(cuMemFreeAsync, cuMemFreeAsync, 11020, 0) \
	X(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, 1)
/* clang-format on */

#define KC_HOOKS(X) KC_HOOKS_LAUNCH(X) KC_HOOKS_TRANSFER(X) KC_HOOKS_ORDER(X)

enum kc_hook {
#define KC_HOOK_ENUM(symbol, name, version, twin) KC_HOOK_##symbol,
	KC_HOOKS(KC_HOOK_ENUM)
#undef KC_HOOK_ENUM
	    KC_HOOK_COUNT,
};

#endif
