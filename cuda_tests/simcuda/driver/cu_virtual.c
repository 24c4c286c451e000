/*
 * cuMemAddressReserve, cuMemCreate, cuMemMap and related calls: an application lays out addresses itself.
 *
 *   reservation  addresses that nothing is mapped at yet; inaccessible host memory
 *   memory       what cuMemCreate made: a file in memory, so that it can be mapped at several addresses
 *   mapping      of a memory into a reservation
 *
 * A mapping is known to the heap as device memory. Its pages cannot be touched before cuMemSetAccess.
 */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <cupti_activity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULARITY (2 * 1024 * 1024) /* bytes; ours, the documentation leaves it to the driver */
#define PAGE 4096

struct reservation {
	struct reservation *next;
	uint8_t *base, *room; /* room: what was mapped to have an aligned base in it */
	size_t bytes, room_bytes;
};

struct memory {
	uint32_t magic;
	int file;
	size_t bytes;
	struct sim_device *device;
	uint32_t references; /* the handle's and one for each mapping */
	int released;
};

struct mapping {
	struct mapping *next;
	uint8_t *base;
	size_t bytes;
	struct memory *memory;
};

static struct {
	pthread_mutex_t lock;
	struct reservation *reservations;
	struct mapping *mappings;
} space = {.lock = PTHREAD_MUTEX_INITIALIZER};

static CUresult device_of(const CUmemAllocationProp *properties, struct sim_device **device)
{
	if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || properties->requestedHandleTypes)
		return CUDA_ERROR_NOT_SUPPORTED;
	*device = sim_device_get(properties->location.id);
	return *device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult granularity(size_t *bytes, const CUmemAllocationProp *properties)
{
	struct sim_device *device = NULL;
	CUresult result = device_of(properties, &device);

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*bytes = GRANULARITY;
	return result;
}
SIM_API(cuMemGetAllocationGranularity,
	(size_t * bytes, const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags option),
	((void)option, granularity(bytes, properties)))

/* --- addresses */

static CUresult reserve(CUdeviceptr *address, size_t bytes, size_t alignment, unsigned long long flags)
{
	struct reservation *made;

	if (!address || !bytes || bytes % PAGE || (alignment & (alignment - 1)) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment < GRANULARITY)
		alignment = GRANULARITY;
	made = calloc(1, sizeof(*made));
	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->bytes = bytes;
	made->room_bytes = bytes + alignment;
	made->room = mmap(NULL, made->room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made->room == MAP_FAILED) {
		free(made);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->base = (uint8_t *)(((uintptr_t)made->room + alignment - 1) & ~(alignment - 1));
	pthread_mutex_lock(&space.lock);
	made->next = space.reservations;
	space.reservations = made;
	pthread_mutex_unlock(&space.lock);
	*address = (CUdeviceptr)(uintptr_t)made->base;
	return CUDA_SUCCESS;
}
SIM_API(cuMemAddressReserve,
	(CUdeviceptr * address, size_t bytes, size_t alignment, CUdeviceptr hint, unsigned long long flags),
	((void)hint, reserve(address, bytes, alignment, flags)))

/* Lock held. The first mapping that meets these addresses, or null. */
static struct mapping *mapped_in(const uint8_t *base, size_t bytes)
{
	struct mapping *mapping = space.mappings;

	while (mapping && (mapping->base >= base + bytes || mapping->base + mapping->bytes <= base))
		mapping = mapping->next;
	return mapping;
}

static CUresult free_addresses(CUdeviceptr address, size_t bytes)
{
	struct reservation **link, *found;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&space.lock);
	for (link = &space.reservations; *link && (uintptr_t)(*link)->base != address;)
		link = &(*link)->next;
	found = *link;
	if (found && found->bytes == bytes && !mapped_in(found->base, bytes)) {
		*link = found->next;
		munmap(found->room, found->room_bytes);
		free(found);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&space.lock);
	return result;
}
SIM_API(cuMemAddressFree, (CUdeviceptr address, size_t bytes), free_addresses(address, bytes))

/* --- memory */

static struct memory *memory_of(CUmemGenericAllocationHandle handle)
{
	struct memory *memory = (struct memory *)(uintptr_t)handle;

	return memory && memory->magic == SIM_MEMORY && !memory->released ? memory : NULL;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties,
		       unsigned long long flags)
{
	struct sim_device *device = NULL;
	struct memory *memory;
	CUresult result = device_of(properties, &device);

	if (!handle || !bytes || bytes % GRANULARITY || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (sim_fault_oom() || !sim_heap_reserve(device, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = calloc(1, sizeof(*memory));
	if (memory)
		memory->file = memfd_create("simcuda", MFD_CLOEXEC);
	if (!memory || memory->file < 0 || ftruncate(memory->file, (off_t)bytes)) {
		if (memory && memory->file >= 0)
			close(memory->file);
		free(memory);
		atomic_fetch_sub(&device->memory_used, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memory->magic = SIM_MEMORY;
	memory->bytes = bytes;
	memory->device = device;
	memory->references = 1;
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)memory;
	return CUDA_SUCCESS;
}
SIM_API(cuMemCreate,
	(CUmemGenericAllocationHandle * handle, size_t bytes, const CUmemAllocationProp *properties,
	 unsigned long long flags),
	create(handle, bytes, properties, flags))

static void drop(struct memory *memory) /* lock held */
{
	if (--memory->references)
		return;
	close(memory->file);
	atomic_fetch_sub(&memory->device->memory_used, memory->bytes);
	memory->magic = 0;
	free(memory);
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
	struct memory *memory;

	pthread_mutex_lock(&space.lock);
	memory = memory_of(handle);
	if (memory) {
		memory->released = 1;
		drop(memory);
	}
	pthread_mutex_unlock(&space.lock);
	return memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM_API(cuMemRelease, (CUmemGenericAllocationHandle handle), release(handle))

/* --- mappings */

static int is_reserved(const uint8_t *base, size_t bytes) /* lock held */
{
	const struct reservation *reservation = space.reservations;

	while (reservation && (base < reservation->base || base + bytes > reservation->base + reservation->bytes))
		reservation = reservation->next;
	return reservation && !mapped_in(base, bytes);
}

static CUresult map_locked(uint8_t *base, size_t bytes, struct memory *memory)
{
	struct sim_range range = {
	    .base = base, .bytes = bytes, .kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, .owner = SIM_RANGE_MAPPED};
	struct mapping *mapping;

	if (!memory || bytes > memory->bytes || !is_reserved(base, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	range.device = memory->device->ordinal;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (mmap(base, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->file, 0) == MAP_FAILED ||
	    !sim_range_add(&range)) {
		free(mapping);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*mapping = (struct mapping){space.mappings, base, bytes, memory};
	space.mappings = mapping;
	memory->references++;
	return CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
		    unsigned long long flags)
{
	CUresult result;

	if (!bytes || address % GRANULARITY || bytes % GRANULARITY || offset || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&space.lock);
	result = map_locked((uint8_t *)(uintptr_t)address, bytes, memory_of(handle));
	pthread_mutex_unlock(&space.lock);
	return result;
}
SIM_API(cuMemMap,
	(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
	 unsigned long long flags),
	map(address, bytes, offset, handle, flags))

/* Work that uses the memory ends first; it would have to before the call in any case. */
static CUresult unmap(CUdeviceptr address, size_t bytes)
{
	CUcontext context = sim_context();
	struct mapping **link, *found;
	struct sim_range range;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (context)
		sim_context_wait(context);
	pthread_mutex_lock(&space.lock);
	for (link = &space.mappings; *link && (uintptr_t)(*link)->base != address;)
		link = &(*link)->next;
	found = *link;
	if (found && found->bytes == bytes) {
		*link = found->next;
		sim_range_remove(found->base, &range, SIM_RANGE_MAPPED);
		mmap(found->base, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		drop(found->memory);
		free(found);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&space.lock);
	return result;
}
SIM_API(cuMemUnmap, (CUdeviceptr address, size_t bytes), unmap(address, bytes))

/* Whole mappings, as "the range must be a fully mapped address range". */
static int protect_locked(uint8_t *base, size_t bytes, int protection)
{
	while (bytes) {
		struct mapping *mapping = mapped_in(base, 1);

		if (!mapping || mapping->base != base || mapping->bytes > bytes)
			return 0;
		if (mprotect(base, mapping->bytes, protection))
			return 0;
		base += mapping->bytes;
		bytes -= mapping->bytes;
	}
	return 1;
}

static CUresult set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
	int ok = 1;
	size_t i;

	if (!bytes || !access || !count)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&space.lock);
	for (i = 0; i < count && ok; i++) {
		int protection = (access[i].flags & CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_NONE) |
				 (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_WRITE : PROT_NONE);

		ok = access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && sim_device_get(access[i].location.id) &&
		     protect_locked((uint8_t *)(uintptr_t)address, bytes, protection);
	}
	pthread_mutex_unlock(&space.lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM_API(cuMemSetAccess, (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count),
	set_access(address, bytes, access, count))
