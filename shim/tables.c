#include "shim/tables.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * Bounds, in entries. A program past them is still recorded; what has no entry
 * is "table full" in the ledger.
 */
enum {
	FUNCTIONS_MAX = 65536,
	KERNELS_MAX = 32768,
	SHAPES_MAX = 65536,
	STREAMS_MAX = 16384,
	EVENTS_MAX = 65536,
	HANDLES_MAX = 131072,
	GRAPHS_MAX = 16384,
	CODES_MAX = 8192,
};
#define ARENA_CHUNK_BYTES (256u << 10)
#define ARENA_MAX_BYTES (40u << 20)

static struct {
	char *at;
	size_t left, total;
} arena;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* LeakSanitizer's, where the application has it: it would take heap memory that is known from here alone for lost. */
extern void __lsan_register_root_region(const void *at, size_t bytes) __attribute__((weak));
extern void __lsan_unregister_root_region(const void *at, size_t bytes) __attribute__((weak));

void *kc__map_root(size_t bytes)
{
	void *p = map(bytes);

	if (p && __lsan_register_root_region)
		__lsan_register_root_region(p, bytes);
	return p;
}

void kc__unmap_root(void *p, size_t bytes)
{
	if (__lsan_unregister_root_region)
		__lsan_unregister_root_region(p, bytes);
	munmap(p, bytes);
}

static char *new_chunk(size_t bytes)
{
	char *p = arena.total + bytes <= ARENA_MAX_BYTES ? kc__map_root(bytes) : NULL;

	if (!p)
		return NULL;
	arena.total += bytes;
	return p;
}

void *kc__arena(size_t bytes)
{
	char *p;

	bytes = (bytes + 63) & ~(size_t)63;
	if (bytes > arena.left) {
		size_t chunk = bytes > ARENA_CHUNK_BYTES ? bytes : ARENA_CHUNK_BYTES;

		if (!(p = new_chunk(chunk)))
			return NULL;
		arena.at = p;
		arena.left = chunk;
	}
	p = arena.at;
	arena.at += bytes;
	arena.left -= bytes;
	return p;
}

static int table_init(struct kc__table *t, uint32_t limit)
{
	t->mask = limit * 2 - 1;
	t->limit = limit;
	t->count = 0;
	t->slots = map((size_t)limit * 2 * sizeof(*t->slots));
	return t->slots ? 0 : -ENOMEM;
}

int kc__tables_init(void)
{
	struct {
		struct kc__table *table;
		uint32_t limit;
	} all[] = {
	    {&kc__shim.functions, FUNCTIONS_MAX}, {&kc__shim.kernels, KERNELS_MAX}, {&kc__shim.keys, SHAPES_MAX},
	    {&kc__shim.shapes, SHAPES_MAX},       {&kc__shim.streams, STREAMS_MAX}, {&kc__shim.events, EVENTS_MAX},
	    {&kc__shim.handles, HANDLES_MAX},     {&kc__shim.graphs, GRAPHS_MAX},   {&kc__shim.codes, CODES_MAX},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (table_init(all[i].table, all[i].limit))
			return -ENOMEM;
	kc__shim.shape_by_id = map((SHAPES_MAX + 1) * sizeof(*kc__shim.shape_by_id));
	kc__shim.stream_by_id = map((size_t)KC__STREAM_IDS_MAX * sizeof(*kc__shim.stream_by_id));
	kc__shim.cells = map(kc_cells_bytes());
	if (!kc__shim.shape_by_id || !kc__shim.stream_by_id || !kc__shim.cells)
		return -ENOMEM;
	kc_cells_init(kc__shim.cells);
	return 0;
}

void kc__insert(struct kc__table *t, void *entry, int words)
{
	uint32_t at = (uint32_t)kc__mix(entry, words) & t->mask;

	while (atomic_load_explicit(&t->slots[at], memory_order_relaxed))
		at = (at + 1) & t->mask;
	atomic_store_explicit(&t->slots[at], entry, memory_order_release);
	t->count++;
}

void *kc__fresh(struct kc__table *t, size_t bytes, const uint64_t *key, int words)
{
	void *entry = t->count < t->limit ? kc__arena(bytes) : NULL;

	if (entry)
		memcpy(entry, key, (size_t)words * 8);
	return entry;
}

char *kc__keep_text(const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = kc__arena(n);

	return copy ? memcpy(copy, text, n) : NULL;
}

/* Contexts and devices */

struct kc__device *kc__device_of_handle(CUdevice handle)
{
	for (int i = 0; i < kc__shim.device_count; i++)
		if (kc__shim.devices[i].handle == handle)
			return kc__shim.devices[i].known ? &kc__shim.devices[i] : NULL;
	return NULL;
}

struct kc__device *kc__current_device(struct kc__thread *t, CUcontext *context)
{
	static CUresult(CUDAAPI * _Atomic get_current)(CUcontext *);
	static CUresult(CUDAAPI * _Atomic get_device)(CUdevice *);
	uint32_t generation = atomic_load_explicit(&kc__shim.context_generation, memory_order_relaxed);
	CUresult(CUDAAPI * current_of)(CUcontext *) = atomic_load_explicit(&get_current, memory_order_relaxed);
	CUresult(CUDAAPI * device_of)(CUdevice *) = atomic_load_explicit(&get_device, memory_order_relaxed);
	CUcontext current = NULL;
	CUdevice handle;

	if (!current_of || !device_of) {
		get_current = current_of = (CUresult(CUDAAPI *)(CUcontext *))kc__driver_symbol("cuCtxGetCurrent");
		get_device = device_of = (CUresult(CUDAAPI *)(CUdevice *))kc__driver_symbol("cuCtxGetDevice");
	}
	*context = NULL;
	if (!current_of || !device_of || current_of(&current) != CUDA_SUCCESS || !current)
		return NULL;
	*context = current;
	if (t->context != current || t->context_generation != generation || !t->device) {
		t->device = device_of(&handle) == CUDA_SUCCESS ? kc__device_of_handle(handle) : NULL;
		t->context = current;
		t->context_generation = generation;
	}
	return t->device;
}
