/*
 * Memory of the application that the driver knows: device memory, which is host
 * memory here, pinned, managed and registered memory; as a sorted array of ranges.
 */
#include "cuda_tests/simcuda/sim.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 512             /* alignment of cuMemAlloc's addresses */
#define MAPPED_FROM (1024 * 1024) /* larger ones are mapped on their own, so that only the pages used cost memory */
#define PAGE 4096

static struct {
	pthread_rwlock_t lock;
	struct sim_range *range;
	size_t ranges, room;
	uint64_t ids;
} heap = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* Returns the index of the first range that begins after the pointer. */
static size_t first_after(const uint8_t *pointer)
{
	size_t low = 0, high = heap.ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (heap.range[middle].base > pointer)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct sim_range *find(const void *pointer)
{
	size_t i = first_after(pointer);

	if (i == 0)
		return NULL;
	i--;
	return (const uint8_t *)pointer < heap.range[i].base + heap.range[i].bytes ? &heap.range[i] : NULL;
}

int sim_range_of(const void *pointer, struct sim_range *range)
{
	struct sim_range *found;

	pthread_rwlock_rdlock(&heap.lock);
	found = find(pointer);
	if (found)
		*range = *found;
	pthread_rwlock_unlock(&heap.lock);
	return found != NULL;
}

uint32_t sim_memory_kind(const void *pointer, uint32_t *device)
{
	struct sim_range range;

	if (!sim_range_of(pointer, &range))
		return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	if (device)
		*device = range.device;
	return range.kind;
}

int sim_range_add(const struct sim_range *range)
{
	size_t at;

	pthread_rwlock_wrlock(&heap.lock);
	if (heap.ranges == heap.room) {
		size_t room = heap.room ? 2 * heap.room : 64;
		struct sim_range *more = realloc(heap.range, room * sizeof(*more));

		if (!more) {
			pthread_rwlock_unlock(&heap.lock);
			return 0;
		}
		heap.range = more;
		heap.room = room;
	}
	at = first_after(range->base);
	memmove(&heap.range[at + 1], &heap.range[at], (heap.ranges - at) * sizeof(*range));
	heap.range[at] = *range;
	heap.range[at].id = ++heap.ids;
	heap.ranges++;
	pthread_rwlock_unlock(&heap.lock);
	return 1;
}

int sim_range_remove(const void *base, struct sim_range *range, enum sim_range_owner owner)
{
	struct sim_range *found;
	int ok;

	pthread_rwlock_wrlock(&heap.lock);
	found = find(base);
	ok = found && found->base == base && found->owner == owner;
	if (ok) {
		size_t i = found - heap.range;

		*range = *found;
		memmove(found, found + 1, (heap.ranges - i - 1) * sizeof(*found));
		heap.ranges--;
	}
	pthread_rwlock_unlock(&heap.lock);
	return ok;
}

static uint8_t *get_memory(size_t bytes, int *mapped)
{
	void *memory;

	*mapped = bytes >= MAPPED_FROM;
	if (!*mapped)
		return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void put_memory(const struct sim_range *range)
{
	if (range->mapped)
		munmap(range->base, range->bytes);
	else
		free(range->base);
}

static int counts(uint32_t kind)
{
	return kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE || kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED ||
	       kind == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
}

int sim_heap_reserve(struct sim_device *device, size_t bytes)
{
	if (atomic_fetch_add(&device->memory_used, bytes) + bytes <= device->preset->memory_bytes)
		return 1;
	atomic_fetch_sub(&device->memory_used, bytes);
	return 0;
}

CUresult sim_allocate(CUdeviceptr *address, size_t bytes, uint32_t kind, uint32_t flags)
{
	CUcontext context = sim_context();
	struct sim_range range = {.bytes = bytes, .kind = kind, .flags = flags, .context = context};

	if (!address || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sim_failed())
		return sim_failed();
	range.device = context->device->ordinal;
	if (sim_fault_oom() || bytes > context->device->preset->memory_bytes ||
	    (counts(kind) && !sim_heap_reserve(context->device, bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	range.base = get_memory(bytes, &range.mapped);
	if (range.base && sim_range_add(&range)) {
		*address = (CUdeviceptr)(uintptr_t)range.base;
		return CUDA_SUCCESS;
	}
	if (range.base)
		put_memory(&range);
	if (counts(kind))
		atomic_fetch_sub(&context->device->memory_used, bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_deallocate(const void *pointer)
{
	struct sim_range range;

	if (!sim_range_remove(pointer, &range, SIM_RANGE_OF_DRIVER))
		return CUDA_ERROR_INVALID_VALUE;
	if (counts(range.kind))
		atomic_fetch_sub(&sim.device[range.device].memory_used, range.bytes);
	put_memory(&range);
	return CUDA_SUCCESS;
}

static CUresult host_register(void *pointer, size_t bytes, unsigned flags)
{
	struct sim_range range = {.base = pointer,
				  .bytes = bytes,
				  .kind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
				  .flags = flags,
				  .context = sim_context(),
				  .owner = SIM_RANGE_OF_APPLICATION};
	struct sim_range other;

	if (!range.context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!pointer || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_range_of(pointer, &other))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	range.device = range.context->device->ordinal;
	return sim_range_add(&range) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
SIM_API(cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned int flags), host_register(pointer, bytes, flags))

static CUresult host_unregister(const void *pointer)
{
	struct sim_range range;

	return sim_range_remove(pointer, &range, SIM_RANGE_OF_APPLICATION) ? CUDA_SUCCESS
									   : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
SIM_API(cuMemHostUnregister, (void *pointer), host_unregister(pointer))

static CUresult address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	struct sim_range range;

	if (!sim_range_of((void *)(uintptr_t)address, &range))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = (CUdeviceptr)(uintptr_t)range.base;
	if (bytes)
		*bytes = range.bytes;
	return CUDA_SUCCESS;
}
SIM_API(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t *bytes, CUdeviceptr address),
	address_range(base, bytes, address))

static CUmemorytype type_of(uint32_t kind)
{
	return kind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static CUresult pointer_attribute(void *answer, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct sim_range range;

	if (!answer)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_range_of((void *)(uintptr_t)address, &range))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)answer = range.context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)answer = type_of(range.kind);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && range.kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		*(CUdeviceptr *)answer = address;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)answer = range.id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)answer = range.kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)answer = range.device;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)answer = (CUdeviceptr)(uintptr_t)range.base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)answer = range.bytes;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)answer = 1;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned *)answer = 0;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(void **)answer = NULL;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}
SIM_API(cuPointerGetAttribute, (void *answer, CUpointer_attribute attribute, CUdeviceptr address),
	pointer_attribute(answer, attribute, address))

/* Unlike with a single attribute, an unknown pointer is no error: all values are 0. */
static CUresult pointer_attributes(unsigned n, CUpointer_attribute *attribute, void **answer, CUdeviceptr address)
{
	unsigned i;

	if (!attribute || !answer)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n; i++) {
		if (!pointer_attribute(answer[i], attribute[i], address))
			continue;
		switch (attribute[i]) {
		case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
			*(int *)answer[i] = -2; /* cudart's cudaMemoryTypeUnregistered relies on it */
			break;
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		case CU_POINTER_ATTRIBUTE_MAPPED:
			*(unsigned *)answer[i] = 0;
			break;
		case CU_POINTER_ATTRIBUTE_HOST_POINTER:
			*(CUdeviceptr *)answer[i] = address;
			break;
		default:
			memset(answer[i], 0, sizeof(void *));
		}
	}
	return CUDA_SUCCESS;
}
SIM_API(cuPointerGetAttributes, (unsigned int n, CUpointer_attribute *attributes, void **answers, CUdeviceptr address),
	pointer_attributes(n, attributes, answers, address))
SIM_API(cuPointerSetAttribute, (const void *value, CUpointer_attribute attribute, CUdeviceptr address),
	((void)attribute, value &&address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE))
