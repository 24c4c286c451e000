/* What the driver tells about each device, asked once. */
#include "shim/shim.h"
#include "shim/entry/real.h"
#include "tables.h"
#include "shim/worker/threads.h"

#include "store/database/devices/calibration.h"
#include "store/database/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SIMULATED_PREFIX "Simulated "
#define HARDWARE_QUEUES_DEFAULT 8 /* CUDA_DEVICE_MAX_CONNECTIONS, programming guide */

struct driver {
	CUresult(CUDAAPI *get)(CUdevice *, int);
	CUresult(CUDAAPI *name)(char *, int, CUdevice);
	CUresult(CUDAAPI *attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult(CUDAAPI *memory)(size_t *, CUdevice);
	CUresult(CUDAAPI *uuid)(CUuuid *, CUdevice);
	CUresult(CUDAAPI *version)(int *);
};

static uint32_t ask(const struct driver *d, CUdevice handle, CUdevice_attribute attribute)
{
	int value = 0;

	return d->attribute(&value, attribute, handle) == CUDA_SUCCESS && value > 0 ? (uint32_t)value : 0;
}

static void fill(const struct driver *d, CUdevice handle, struct kc_device *info)
{
	static const struct {
		CUdevice_attribute attribute;
		size_t offset;
	} fields[] = {
#define FIELD(attribute, field) {CU_DEVICE_ATTRIBUTE_##attribute, offsetof(struct kc_device, field)}
	    FIELD(COMPUTE_CAPABILITY_MAJOR, cc_major),
	    FIELD(COMPUTE_CAPABILITY_MINOR, cc_minor),
	    FIELD(MULTIPROCESSOR_COUNT, sm_count),
	    FIELD(WARP_SIZE, warp_size),
	    FIELD(CLOCK_RATE, clock_khz),
	    FIELD(MEMORY_CLOCK_RATE, memory_clock_khz),
	    FIELD(GLOBAL_MEMORY_BUS_WIDTH, memory_bus_bits),
	    FIELD(L2_CACHE_SIZE, l2_bytes),
	    FIELD(MAX_THREADS_PER_BLOCK, max_threads_per_block),
	    FIELD(MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_sm),
	    FIELD(MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_sm),
	    FIELD(MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_sm),
	    FIELD(MAX_REGISTERS_PER_BLOCK, registers_per_block),
	    FIELD(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_per_sm_bytes),
	    FIELD(MAX_SHARED_MEMORY_PER_BLOCK, shared_per_block_bytes),
	    FIELD(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_per_block_optin_bytes),
	    FIELD(RESERVED_SHARED_MEMORY_PER_BLOCK, shared_reserved_per_block_bytes),
	    FIELD(ASYNC_ENGINE_COUNT, copy_engines),
#undef FIELD
	};
	const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		*(uint32_t *)((char *)info + fields[i].offset) = ask(d, handle, fields[i].attribute);
	if (d->name(info->name, sizeof(info->name), handle) != CUDA_SUCCESS)
		strcpy(info->name, "unknown");
	if (d->memory && d->memory(&bytes, handle) == CUDA_SUCCESS)
		info->memory_bytes = bytes;
	/* Double data rate: two transfers per clock. */
	info->memory_bytes_per_s = 2000ull * info->memory_clock_khz * (info->memory_bus_bits / 8);
	info->hardware_queues =
	    connections && atoi(connections) > 0 ? (uint32_t)atoi(connections) : HARDWARE_QUEUES_DEFAULT;
	info->simulated = !strncmp(info->name, SIMULATED_PREFIX, strlen(SIMULATED_PREFIX));
	kc_device_complete(info);
}

static int device_ask(const struct driver *d, int ordinal, struct kc__device *device, struct kc_device_entry *entry)
{
	CUuuid uuid;

	*entry =
	    (struct kc_device_entry){.ordinal = (uint32_t)ordinal, .driver_version = (uint32_t)kc__shim.driver_version};
	device->ordinal = (uint32_t)ordinal;
	if (d->get(&device->handle, ordinal) != CUDA_SUCCESS)
		return -ENODEV;
	if (d->uuid && d->uuid(&uuid, device->handle) == CUDA_SUCCESS)
		memcpy(entry->uuid, uuid.bytes, sizeof(entry->uuid));
	kc_uuid_text(entry->uuid, device->uuid);
	fill(d, device->handle, &device->info);
	return 0;
}

/* What `kerncast calibrate` has measured of these very devices. */
static void calibrate(void *entries)
{
	struct kc_store *store;

	if (kc_store_peek(kc__shim.options.db, &kc__shim.start_reads, &store, NULL, 0))
		return;
	for (int i = 0; i < kc__shim.device_count; i++) {
		struct kc_device *info = &kc__shim.devices[i].info;
		const struct kc_calibrated self = {info->name, ((struct kc_device_entry *)entries)[i].uuid};
		struct kc_calibration measured;

		if (kc_calibration_find(kc_store_db(store), &self, &measured) > 0)
			kc_device_calibrate(info, &measured);
	}
	kc_store_close(store);
}

static int device_begin(struct kc__device *device, struct kc_device_entry *entry)
{
	device->timeline = mmap(NULL, kc_timeline_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	device->answers = mmap(NULL, kc_estimate_cache_bytes(), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (device->timeline == MAP_FAILED || device->answers == MAP_FAILED)
		return -ENOMEM;
	kc_timeline_init(device->timeline, &device->info);
	kc_engine_device_init(&kc__shim.engine, &device->engine, &device->info);
	kc_history_init(&device->history, 0);
	device->known = 1;
	if (device->info.simulated)
		atomic_store(&kc__shim.header->simulated, 1);
	entry->device = device->info;
	return kc_journal_put(kc__shim.journal, KC_KIND_DEVICE, entry, sizeof(*entry));
}

int kc__devices_look(void)
{
	__auto_type ask_count = KC_ASK(cuDeviceGetCount);
	int count = 0;

	if (!ask_count)
		return -ENOSYS;
	if (ask_count(&count) != CUDA_SUCCESS)
		return -EAGAIN;
	if (count <= 0)
		return -ENODEV;
	kc__shim.device_count = count < KC__DEVICES_MAX ? count : KC__DEVICES_MAX;
	return 0;
}

int kc__devices_init(void)
{
	struct driver d = {
	    .get = KC_ASK(cuDeviceGet),
	    .name = KC_ASK(cuDeviceGetName),
	    .attribute = KC_ASK(cuDeviceGetAttribute),
	    .memory = KC_ASK(cuDeviceTotalMem_v2),
	    .uuid = KC_ASK(cuDeviceGetUuid_v2),
	    .version = KC_ASK(cuDriverGetVersion),
	};
	struct kc_device_entry *entries;
	int error = 0;

	if (!d.get || !d.name || !d.attribute)
		return -ENOSYS;
	if (d.version)
		d.version(&kc__shim.driver_version);
	entries = calloc((size_t)kc__shim.device_count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (int i = 0; !error && i < kc__shim.device_count; i++)
		error = device_ask(&d, i, &kc__shim.devices[i], &entries[i]);
	if (!error)
		kc__files_do(calibrate, entries);
	for (int i = 0; !error && i < kc__shim.device_count; i++)
		error = device_begin(&kc__shim.devices[i], &entries[i]);
	free(entries);
	return error;
}
