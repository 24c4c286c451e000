/* Copies and memsets: their checks, and the transfer of the bytes. */
#include "cuda_tests/simcuda/sim.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>

static int is_host(uint32_t kind)
{
	return kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE || kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

uint32_t sim_copy_kind(uint32_t from, uint32_t to)
{
	enum { HOST, DEVICE, ARRAY };
	static const uint32_t kinds[][3] = {
	    [HOST] = {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
		      CUPTI_ACTIVITY_MEMCPY_KIND_HTOA},
	    [DEVICE] = {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
			CUPTI_ACTIVITY_MEMCPY_KIND_DTOA},
	    [ARRAY] = {CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOD,
		       CUPTI_ACTIVITY_MEMCPY_KIND_ATOA},
	};
#define SIDE(kind) (is_host(kind) ? HOST : (kind) == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY ? ARRAY : DEVICE)
	return kinds[SIDE(from)][SIDE(to)];
#undef SIDE
}

int sim_is_device_copy(uint32_t copy_kind)
{
	return copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD || copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOA ||
	       copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_ATOD || copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_ATOA;
}

void sim_copy_now(const struct sim_copy *copy)
{
	size_t y, z;

	for (z = 0; z < copy->depth; z++)
		for (y = 0; y < copy->height; y++)
			memmove(copy->to.base + z * copy->to.slice + y * copy->to.pitch,
				copy->from.base + z * copy->from.slice + y * copy->from.pitch, copy->width_bytes);
}

void sim_fill_now(const struct sim_fill *fill)
{
	size_t x, y;

	for (y = 0; y < fill->height; y++) {
		uint8_t *row = fill->to.base + y * fill->to.pitch;

		if (fill->element_bytes == 1) {
			memset(row, fill->value, fill->width);
			continue;
		}
		for (x = 0; x < fill->width; x++)
			memcpy(row + x * fill->element_bytes, &fill->value, fill->element_bytes);
	}
}

/* Whether all bytes lie inside the range of the pointer, where the driver knows that range. */
static int fits(const uint8_t *first, size_t bytes)
{
	struct sim_range range;

	if (!bytes || !sim_range_of(first, &range) || range.owner != SIM_RANGE_OF_DRIVER)
		return 1;
	return bytes <= range.bytes - (size_t)(first - range.base);
}

static size_t extent(const struct sim_place *place, const struct sim_copy *copy)
{
	if (!copy->width_bytes || !copy->height || !copy->depth)
		return 0;
	return (copy->depth - 1) * place->slice + (copy->height - 1) * place->pitch + copy->width_bytes;
}

static CUresult place_of(struct sim_place *place, CUmemorytype type, const void *host, CUdeviceptr device,
			 const size_t offset[3], size_t pitch, size_t rows, size_t width)
{
	uint8_t *base;

	if (type == CU_MEMORYTYPE_HOST)
		base = (uint8_t *)host;
	else if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED)
		base = (uint8_t *)(uintptr_t)device;
	else
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!base)
		return CUDA_ERROR_INVALID_VALUE;
	place->pitch = pitch ? pitch : width;
	place->slice = place->pitch * (rows ? rows : 1);
	place->base = base + offset[2] * place->slice + offset[1] * place->pitch + offset[0];
	place->kind = sim_memory_kind(place->base, &place->device);
	if (type == CU_MEMORYTYPE_DEVICE && place->kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_copy_work(struct sim_work *work, const CUDA_MEMCPY3D *box)
{
	struct sim_copy *copy = &work->copy;
	CUcontext context = sim_context();
	CUresult result;

	if (!box)
		return CUDA_ERROR_INVALID_VALUE;
	memset(work, 0, sizeof(*work));
	work->kind = SIM_DO_COPY;
	copy->width_bytes = box->WidthInBytes;
	copy->height = box->Height;
	copy->depth = box->Depth;
	copy->from.device = copy->to.device = context ? context->device->ordinal : 0;
	if (box->srcMemoryType == CU_MEMORYTYPE_ARRAY)
		result = sim_array_place(&copy->from, box->srcArray, box->srcXInBytes, box->srcY, box->srcZ, box);
	else
		result = place_of(&copy->from, box->srcMemoryType,
				  box->srcMemoryType == CU_MEMORYTYPE_HOST ? box->srcHost : NULL, box->srcDevice,
				  (size_t[3]){box->srcXInBytes, box->srcY, box->srcZ}, box->srcPitch, box->srcHeight,
				  box->WidthInBytes);
	if (!result && box->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		result = sim_array_place(&copy->to, box->dstArray, box->dstXInBytes, box->dstY, box->dstZ, box);
	else if (!result)
		result = place_of(&copy->to, box->dstMemoryType,
				  box->dstMemoryType == CU_MEMORYTYPE_HOST ? box->dstHost : NULL, box->dstDevice,
				  (size_t[3]){box->dstXInBytes, box->dstY, box->dstZ}, box->dstPitch, box->dstHeight,
				  box->WidthInBytes);
	if (result)
		return result;
	if (!fits(copy->from.base, extent(&copy->from, copy)) || !fits(copy->to.base, extent(&copy->to, copy)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_fill_work(struct sim_work *work, const CUDA_MEMSET_NODE_PARAMS *params)
{
	struct sim_fill *fill = &work->fill;
	size_t bytes;

	memset(work, 0, sizeof(*work));
	work->kind = SIM_DO_FILL;
	fill->to.base = (uint8_t *)(uintptr_t)params->dst;
	fill->to.pitch = params->pitch;
	fill->width = params->width;
	fill->height = params->height;
	fill->value = params->value;
	fill->element_bytes = params->elementSize;
	fill->to.kind = sim_memory_kind(fill->to.base, &fill->to.device);
	if (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->dst % params->elementSize)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fill->width || !fill->height)
		return CUDA_SUCCESS;
	bytes = (fill->height - 1) * fill->to.pitch + fill->width * fill->element_bytes;
	if (fill->to.kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE || !fits(fill->to.base, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
