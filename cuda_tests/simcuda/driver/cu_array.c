/* cuArray*, cuTexObject*, cuSurfObject*, and copies between arrays and plain memory. No kernel reads a texture here: an
 * array keeps what copies put there, a texture or surface what it was made of. Sizes have no limits but the memory's.
 */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <cupti_activity.h>
#include <stdlib.h>

#define CUBE_FACES 6
#define KNOWN_FLAGS                                                                                                    \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER)
#define TEXTURE_ALIGNMENT 512 /* CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, as cu_device.c answers */
#define PITCH_ALIGNMENT 32    /* CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, likewise */

struct sim_texture { /* what a CUtexObject or a CUsurfObject points to */
	uint32_t magic;
	int has_view;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC sampling; /* not of a surface */
	CUDA_RESOURCE_VIEW_DESC view;
};

static int is_array(CUarray array)
{
	return array && array->magic == SIM_ARRAY;
}

/* Bytes of one component; 0: not one of the formats without a rule of its own. */
static size_t component_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

/* cuArray3DCreate: which extents and flags make an array. */
static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *wanted)
{
	unsigned layered = wanted->Flags & CUDA_ARRAY3D_LAYERED, cube = wanted->Flags & CUDA_ARRAY3D_CUBEMAP;

	if (!wanted->Width || (wanted->NumChannels != 1 && wanted->NumChannels != 2 && wanted->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if ((wanted->Flags & ~KNOWN_FLAGS) || !component_bytes(wanted->Format))
		return CUDA_ERROR_NOT_SUPPORTED;
	if ((layered && !wanted->Depth) || (!layered && !wanted->Height && wanted->Depth))
		return CUDA_ERROR_INVALID_VALUE;
	if (cube && (wanted->Width != wanted->Height ||
		     (layered ? wanted->Depth % CUBE_FACES != 0 : wanted->Depth != CUBE_FACES)))
		return CUDA_ERROR_INVALID_VALUE;
	if ((wanted->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) && (!wanted->Height || wanted->Depth))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *wanted)
{
	CUarray array;
	CUdeviceptr address = 0;
	size_t bytes;
	CUresult result = out && wanted ? check(wanted) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	array = calloc(1, sizeof(*array));
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array->magic = SIM_ARRAY;
	array->descriptor = *wanted;
	array->element_bytes = component_bytes(wanted->Format) * wanted->NumChannels;
	array->rows = wanted->Height ? wanted->Height : 1;
	array->layers = wanted->Depth ? wanted->Depth : 1;
	result = __builtin_mul_overflow(wanted->Width, array->element_bytes, &array->row_bytes) ||
			 __builtin_mul_overflow(array->row_bytes, array->rows, &bytes) ||
			 __builtin_mul_overflow(bytes, array->layers, &bytes)
		     ? CUDA_ERROR_INVALID_VALUE
		     : sim_allocate(&address, bytes, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, 0);
	if (result) {
		free(array);
		return result;
	}
	array->base = (uint8_t *)(uintptr_t)address;
	*out = array;
	return CUDA_SUCCESS;
}
SIM_API(cuArray3DCreate_v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR *wanted), create(out, wanted))

static CUresult create_flat(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *flat)
{
	CUDA_ARRAY3D_DESCRIPTOR wanted = {0};

	if (!flat)
		return CUDA_ERROR_INVALID_VALUE;
	wanted.Width = flat->Width;
	wanted.Height = flat->Height;
	wanted.Format = flat->Format;
	wanted.NumChannels = flat->NumChannels;
	return create(out, &wanted);
}
SIM_API(cuArrayCreate_v2, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR *flat), create_flat(out, flat))

static CUresult describe(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray array)
{
	if (!is_array(array))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = array->descriptor;
	return CUDA_SUCCESS;
}
SIM_API(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * out, CUarray array), describe(out, array))

static CUresult describe_flat(CUDA_ARRAY_DESCRIPTOR *out, CUarray array)
{
	if (!is_array(array))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	out->Width = array->descriptor.Width;
	out->Height = array->descriptor.Height;
	out->Format = array->descriptor.Format;
	out->NumChannels = array->descriptor.NumChannels;
	return CUDA_SUCCESS;
}
SIM_API(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * out, CUarray array), describe_flat(out, array))

/* As cuMemFree: work that may use the memory ends before. */
static CUresult destroy(CUarray array)
{
	struct sim_range range;

	if (!is_array(array))
		return CUDA_ERROR_INVALID_HANDLE;
	if (sim_range_of(array->base, &range) && range.context->magic == SIM_CONTEXT)
		sim_context_wait(range.context);
	sim_deallocate(array->base);
	array->magic = 0;
	free(array);
	return CUDA_SUCCESS;
}
SIM_API(cuArrayDestroy, (CUarray array), destroy(array))

/* --- copies */

CUresult sim_array_place(struct sim_place *place, CUarray array, size_t x, size_t y, size_t z, const CUDA_MEMCPY3D *box)
{
	if (!is_array(array) || x % array->element_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (x > array->row_bytes || box->WidthInBytes > array->row_bytes - x || y > array->rows ||
	    box->Height > array->rows - y || z > array->layers || box->Depth > array->layers - z)
		return CUDA_ERROR_INVALID_VALUE;
	place->array = array;
	place->pitch = array->row_bytes;
	place->slice = array->row_bytes * array->rows;
	place->base = array->base + z * place->slice + y * place->pitch + x;
	place->kind = sim_memory_kind(array->base, &place->device);
	return CUDA_SUCCESS;
}

struct end { /* of a copy of one row */
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t offset; /* bytes into the array */
};
#define ARRAY(array_, offset_) ((struct end){.type = CU_MEMORYTYPE_ARRAY, .array = array_, .offset = offset_})
#define HOST(address) ((struct end){.type = CU_MEMORYTYPE_HOST, .host = address})
#define DEVICE(address) ((struct end){.type = CU_MEMORYTYPE_DEVICE, .device = address})

static CUresult copy(struct end to, struct end from, size_t bytes, CUstream stream, int async)
{
	CUDA_MEMCPY3D box = {.WidthInBytes = bytes, .Height = 1, .Depth = 1};

	box.srcMemoryType = from.type;
	box.srcHost = from.host;
	box.srcDevice = from.device;
	box.srcArray = from.array;
	box.srcXInBytes = from.offset;
	box.dstMemoryType = to.type;
	box.dstHost = (void *)to.host;
	box.dstDevice = to.device;
	box.dstArray = to.array;
	box.dstXInBytes = to.offset;
	return async ? sim_copy_box_async(&box, stream) : sim_copy_box(&box, stream);
}
#define NOW(to, from, bytes) copy(to, from, bytes, sim_stream(NULL, per_thread), 0)
SIM_API_PTDS(cuMemcpyAtoA_v2, (CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes),
	     NOW(ARRAY(to, to_offset), ARRAY(from, from_offset), bytes))
SIM_API_PTDS(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
	     NOW(DEVICE(to), ARRAY(from, offset), bytes))
SIM_API_PTDS(cuMemcpyDtoA_v2, (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
	     NOW(ARRAY(to, offset), DEVICE(from), bytes))
SIM_API_PTDS(cuMemcpyAtoH_v2, (void *to, CUarray from, size_t offset, size_t bytes),
	     NOW(HOST(to), ARRAY(from, offset), bytes))
SIM_API_PTDS(cuMemcpyHtoA_v2, (CUarray to, size_t offset, const void *from, size_t bytes),
	     NOW(ARRAY(to, offset), HOST(from), bytes))
SIM_API_PTSZ(cuMemcpyAtoHAsync_v2, (void *to, CUarray from, size_t offset, size_t bytes, CUstream stream),
	     copy(HOST(to), ARRAY(from, offset), bytes, sim_stream(stream, per_thread), 1))
SIM_API_PTSZ(cuMemcpyHtoAAsync_v2, (CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream),
	     copy(ARRAY(to, offset), HOST(from), bytes, sim_stream(stream, per_thread), 1))

/* --- textures and surfaces */

static CUresult check_memory(CUdeviceptr address, CUarray_format format, unsigned channels, size_t bytes)
{
	struct sim_range range;

	if (!component_bytes(format) || (channels != 1 && channels != 2 && channels != 4) ||
	    address % TEXTURE_ALIGNMENT || !sim_range_of((void *)(uintptr_t)address, &range) ||
	    bytes > range.bytes - (size_t)((uint8_t *)(uintptr_t)address - range.base))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_resource(const CUDA_RESOURCE_DESC *resource)
{
	size_t bytes;

	if (resource->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (resource->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return is_array(resource->res.array.hArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_RESOURCE_TYPE_LINEAR:
		return check_memory(resource->res.linear.devPtr, resource->res.linear.format,
				    resource->res.linear.numChannels, resource->res.linear.sizeInBytes);
	case CU_RESOURCE_TYPE_PITCH2D:
		if (resource->res.pitch2D.pitchInBytes % PITCH_ALIGNMENT ||
		    __builtin_mul_overflow(resource->res.pitch2D.pitchInBytes, resource->res.pitch2D.height, &bytes))
			return CUDA_ERROR_INVALID_VALUE;
		return check_memory(resource->res.pitch2D.devPtr, resource->res.pitch2D.format,
				    resource->res.pitch2D.numChannels, bytes);
	default: /* there are no mipmapped arrays */
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult create_object(unsigned long long *out, uint32_t magic, const CUDA_RESOURCE_DESC *resource,
			      const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct sim_texture *texture;
	CUresult result = out && resource ? check_resource(resource) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	if (!sim_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	texture = calloc(1, sizeof(*texture));
	if (!texture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	texture->magic = magic;
	texture->resource = *resource;
	if (sampling)
		texture->sampling = *sampling;
	texture->has_view = view != NULL;
	if (view)
		texture->view = *view;
	*out = (uintptr_t)texture;
	return CUDA_SUCCESS;
}

static CUresult create_texture(CUtexObject *out, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
			       const CUDA_RESOURCE_VIEW_DESC *view)
{
	if (!sampling || (view && resource && resource->resType != CU_RESOURCE_TYPE_ARRAY))
		return CUDA_ERROR_INVALID_VALUE;
	return create_object(out, SIM_TEXTURE, resource, sampling, view);
}
SIM_API(cuTexObjectCreate,
	(CUtexObject * out, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
	 const CUDA_RESOURCE_VIEW_DESC *view),
	create_texture(out, resource, sampling, view))

static CUresult create_surface(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource)
{
	if (!resource || resource->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	return create_object(out, SIM_SURFACE, resource, NULL, NULL);
}
SIM_API(cuSurfObjectCreate, (CUsurfObject * out, const CUDA_RESOURCE_DESC *resource), create_surface(out, resource))

/* Null: it is not one of these. */
static struct sim_texture *texture_of(unsigned long long object, uint32_t magic)
{
	struct sim_texture *texture = (struct sim_texture *)(uintptr_t)object;

	return texture && texture->magic == magic ? texture : NULL;
}

static CUresult destroy_object(unsigned long long object, uint32_t magic)
{
	struct sim_texture *texture = texture_of(object, magic);

	if (!texture)
		return CUDA_ERROR_INVALID_VALUE;
	texture->magic = 0;
	free(texture);
	return CUDA_SUCCESS;
}
SIM_API(cuTexObjectDestroy, (CUtexObject texture), destroy_object(texture, SIM_TEXTURE))
SIM_API(cuSurfObjectDestroy, (CUsurfObject surface), destroy_object(surface, SIM_SURFACE))

#define ANSWER(name, out_type, handle_type, magic, is_there, member)                                                   \
	static CUresult answer_##name(out_type *out, handle_type object)                                               \
	{                                                                                                              \
		const struct sim_texture *texture = texture_of(object, magic);                                         \
                                                                                                                       \
		if (!out || !texture || !(is_there))                                                                   \
			return CUDA_ERROR_INVALID_VALUE;                                                               \
		*out = texture->member;                                                                                \
		return CUDA_SUCCESS;                                                                                   \
	}                                                                                                              \
	SIM_API(name, (out_type * out, handle_type object), answer_##name(out, object))
ANSWER(cuTexObjectGetResourceDesc, CUDA_RESOURCE_DESC, CUtexObject, SIM_TEXTURE, 1, resource)
ANSWER(cuTexObjectGetTextureDesc, CUDA_TEXTURE_DESC, CUtexObject, SIM_TEXTURE, 1, sampling)
ANSWER(cuTexObjectGetResourceViewDesc, CUDA_RESOURCE_VIEW_DESC, CUtexObject, SIM_TEXTURE, texture->has_view, view)
ANSWER(cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC, CUsurfObject, SIM_SURFACE, 1, resource)
