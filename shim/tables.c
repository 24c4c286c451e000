#include "shim/shim.h"

#include <errno.h>
#include <string.h>
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

void *kc__arena(size_t bytes)
{
	char *p;

	bytes = (bytes + 63) & ~(size_t)63;
	if (bytes > arena.left) {
		size_t chunk = bytes > ARENA_CHUNK_BYTES ? bytes : ARENA_CHUNK_BYTES;

		if (arena.total + chunk > ARENA_MAX_BYTES || !(p = map(chunk)))
			return NULL;
		arena.at = p;
		arena.left = chunk;
		arena.total += chunk;
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
	    {&kc__shim.handles, HANDLES_MAX},     {&kc__shim.graphs, GRAPHS_MAX},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (table_init(all[i].table, all[i].limit))
			return -ENOMEM;
	kc__shim.shape_by_id = map((SHAPES_MAX + 1) * sizeof(*kc__shim.shape_by_id));
	kc__shim.stream_by_id = map((size_t)KC__STREAM_IDS_MAX * sizeof(*kc__shim.stream_by_id));
	return kc__shim.shape_by_id && kc__shim.stream_by_id ? 0 : -ENOMEM;
}

static inline uint64_t mix(const uint64_t *key, int words)
{
	uint64_t h = 0;

	for (int i = 0; i < words; i++) {
		h = (h ^ key[i]) * 0x9E3779B97F4A7C15u;
		h ^= h >> 29;
	}
	return h;
}

static inline void *find(const struct kc__table *t, const uint64_t *key, int words)
{
	uint32_t at = (uint32_t)mix(key, words) & t->mask;
	void *entry;

	while ((entry = atomic_load_explicit(&t->slots[at], memory_order_acquire))) {
		if (!memcmp(entry, key, (size_t)words * 8))
			return entry;
		at = (at + 1) & t->mask;
	}
	return NULL;
}

/* tables_lock held. From here on other threads find the entry: it is complete. */
static void insert(struct kc__table *t, void *entry, int words)
{
	uint32_t at = (uint32_t)mix(entry, words) & t->mask;

	while (atomic_load_explicit(&t->slots[at], memory_order_relaxed))
		at = (at + 1) & t->mask;
	atomic_store_explicit(&t->slots[at], entry, memory_order_release);
	t->count++;
}

/* tables_lock held. A new entry with its key set, not yet in the table. */
static void *fresh(struct kc__table *t, size_t bytes, const uint64_t *key, int words)
{
	void *entry = t->count < t->limit ? kc__arena(bytes) : NULL;

	if (entry)
		memcpy(entry, key, (size_t)words * 8);
	return entry;
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	while (*s)
		h = (h ^ (unsigned char)*s++) * 1099511628211u;
	return h;
}

/* Contexts and devices */

static struct kc__device *device_of_handle(CUdevice handle)
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
		t->device = device_of(&handle) == CUDA_SUCCESS ? device_of_handle(handle) : NULL;
		t->context = current;
		t->context_generation = generation;
	}
	return t->device;
}

/* Handles: which are CUkernels, and their names where the driver cannot tell */

struct handle {
	uint64_t key[1];
	const char *_Atomic name;
	_Atomic uint32_t is_kernel;
};

static char *keep_text(const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = kc__arena(n);

	return copy ? memcpy(copy, text, n) : NULL;
}

void kc__handle_named(uint64_t value, bool is_kernel, const char *name)
{
	bool driver_tells = kc__driver_symbol("cuFuncGetName") != NULL; /* 12.3 and later */
	struct handle *h;
	bool made;

	if (!value)
		return;
	if (!is_kernel && driver_tells) {
		if ((h = find(&kc__shim.handles, &value, 1))) /* a CUkernel's address, used again */
			atomic_store_explicit(&h->is_kernel, 0, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&kc__shim.tables_lock);
	h = find(&kc__shim.handles, &value, 1);
	made = !h && (h = fresh(&kc__shim.handles, sizeof(*h), &value, 1));
	if (h) {
		const char *known = atomic_load_explicit(&h->name, memory_order_relaxed);

		atomic_store_explicit(&h->is_kernel, is_kernel, memory_order_relaxed);
		if (name && !driver_tells && (!known || strcmp(known, name)))
			atomic_store_explicit(&h->name, keep_text(name), memory_order_release);
	}
	if (made)
		insert(&kc__shim.handles, h, 1);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Functions and kernels */

struct answers { /* the driver's, about a function */
	const char *name;
	struct kc_resources resources;
	int binary_version, ptx_version;
};

static int ask_attribute(CUfunction f, bool is_kernel, CUdevice device, CUfunction_attribute attribute, int *value)
{
	if (is_kernel) {
		CUresult(CUDAAPI * get)(int *, CUfunction_attribute, CUkernel, CUdevice) = (CUresult(CUDAAPI *)(
		    int *, CUfunction_attribute, CUkernel, CUdevice))kc__driver_symbol("cuKernelGetAttribute");

		return get && get(value, attribute, (CUkernel)f, device) == CUDA_SUCCESS ? 0 : -ENOENT;
	}
	CUresult(CUDAAPI * get)(int *, CUfunction_attribute, CUfunction) =
	    (CUresult(CUDAAPI *)(int *, CUfunction_attribute, CUfunction))kc__driver_symbol("cuFuncGetAttribute");

	return get && get(value, attribute, f) == CUDA_SUCCESS ? 0 : -ENOENT;
}

static const char *ask_name(CUfunction f, const struct handle *h, bool is_kernel)
{
	const char *name = NULL;
	CUresult(CUDAAPI * get)(const char **, void *) = (CUresult(CUDAAPI *)(const char **, void *))kc__driver_symbol(
	    is_kernel ? "cuKernelGetName" : "cuFuncGetName");

	if (get && get(&name, f) == CUDA_SUCCESS && name)
		return name;
	return h ? atomic_load_explicit(&h->name, memory_order_acquire) : NULL;
}

static int ask(CUfunction f, struct kc__device *device, struct answers *a)
{
	uint64_t value = (uint64_t)(uintptr_t)f;
	const struct handle *h = find(&kc__shim.handles, &value, 1);
	bool is_kernel = h && atomic_load_explicit(&h->is_kernel, memory_order_relaxed);
	int registers, shared, local, threads;

	memset(a, 0, sizeof(*a));
	if (ask_attribute(f, is_kernel, device->handle, CU_FUNC_ATTRIBUTE_NUM_REGS, &registers) ||
	    ask_attribute(f, is_kernel, device->handle, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared) ||
	    ask_attribute(f, is_kernel, device->handle, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local) ||
	    ask_attribute(f, is_kernel, device->handle, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads))
		return -ENOENT;
	ask_attribute(f, is_kernel, device->handle, CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a->binary_version);
	ask_attribute(f, is_kernel, device->handle, CU_FUNC_ATTRIBUTE_PTX_VERSION, &a->ptx_version);
	a->resources = (struct kc_resources){(uint32_t)registers, (uint32_t)shared, (uint32_t)local, (uint32_t)threads};
	a->name = ask_name(f, h, is_kernel);
	if (!a->name)
		a->name = "(unnamed)";
	return 0;
}

static void put_kernel(const struct kc__kernel *kernel, const struct answers *a)
{
	size_t n = strlen(kernel->name) + 1;
	char buffer[sizeof(struct kc_kernel_entry) + 4096];
	struct kc_kernel_entry entry = {
	    .id = kernel->id,
	    .device = kernel->device->ordinal,
	    .resources = a->resources,
	    .binary_version = (uint32_t)a->binary_version,
	    .ptx_version = (uint32_t)a->ptx_version,
	};

	if (n > 4094)
		n = 4094; /* a longer name is cut; its hash keeps it apart within the process */
	memcpy(buffer, &entry, sizeof(entry));
	memcpy(buffer + sizeof(entry), kernel->name, n);
	buffer[sizeof(entry) + n - 1] = 0;
	buffer[sizeof(entry) + n] = 0; /* module: not known */
	kc_journal_put(kc__shim.journal, KC_KIND_KERNEL, buffer, sizeof(entry) + n + 1);
}

/* tables_lock held. */
static struct kc__kernel *kernel_of(const struct answers *a, struct kc__device *device)
{
	uint64_t resources =
	    ((uint64_t)a->resources.registers << 32 | a->resources.static_shared_bytes) * 31 + a->resources.local_bytes;
	uint64_t key[3] = {hash_text(a->name), resources, device->ordinal};
	struct kc__kernel *kernel = find(&kc__shim.kernels, key, 3);

	if (kernel || !(kernel = fresh(&kc__shim.kernels, sizeof(*kernel), key, 3)))
		return kernel;
	kernel->name = keep_text(a->name);
	if (!kernel->name)
		return NULL;
	kernel->id = ++kc__shim.kernel_count;
	kernel->device = device;
	kernel->resources = a->resources;
	put_kernel(kernel, a);
	insert(&kc__shim.kernels, kernel, 3);
	return kernel;
}

struct kc__function *kc__function_of(CUfunction f, struct kc__device *device)
{
	uint64_t key[2] = {(uint64_t)(uintptr_t)f, device->ordinal};
	uint32_t generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
	struct kc__function *fn = find(&kc__shim.functions, key, 2);
	struct answers a;
	bool made;
	int known;

	if (fn && atomic_load_explicit(&fn->generation, memory_order_acquire) == generation)
		return fn;
	known = ask(f, device, &a); /* before the lock: a driver call */
	pthread_mutex_lock(&kc__shim.tables_lock);
	fn = find(&kc__shim.functions, key, 2);
	made = !fn && (fn = fresh(&kc__shim.functions, sizeof(*fn), key, 2));
	if (fn) {
		struct kc__kernel *kernel = known == 0 ? kernel_of(&a, device) : NULL;

		atomic_store_explicit(&fn->kernel, kernel, memory_order_release);
		atomic_store_explicit(&fn->generation, generation, memory_order_release);
	}
	if (made)
		insert(&kc__shim.functions, fn, 2);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return fn;
}

/* Launch shapes */

static uint32_t ask_occupancy(CUfunction f, uint32_t threads, uint32_t dynamic_shared_bytes)
{
	CUresult(CUDAAPI * get)(int *, CUfunction, int, size_t) = (CUresult(CUDAAPI *)(
	    int *, CUfunction, int, size_t))kc__driver_symbol("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	int blocks = 0;

	if (!get || get(&blocks, f, (int)threads, dynamic_shared_bytes) != CUDA_SUCCESS || blocks < 0)
		return 0;
	return (uint32_t)blocks;
}

/* tables_lock held. */
static struct kc__key *key_of(struct kc__kernel *kernel, const struct kc_shape *dims)
{
	uint64_t key[3] = {kernel->id | (uint64_t)dims->dynamic_shared_bytes << 32,
			   dims->block[0] | (uint64_t)dims->block[1] << 32, dims->block[2]};
	struct kc__key *k = find(&kc__shim.keys, key, 3);

	if (k || !(k = fresh(&kc__shim.keys, sizeof(*k), key, 3)))
		return k;
	k->kernel = kernel;
	kc_lambda_init(&k->learned.lambda, &kernel->device->learned.lambda);
	insert(&kc__shim.keys, k, 3);
	return k;
}

static struct kc__shape *shape_make(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
				    const uint64_t *key)
{
	uint32_t blocks_per_sm =
	    ask_occupancy(f, dims->block[0] * dims->block[1] * dims->block[2], dims->dynamic_shared_bytes);
	struct kc__shape *shape;

	pthread_mutex_lock(&kc__shim.tables_lock);
	shape = find(&kc__shim.shapes, key, 4);
	if (!shape && (shape = fresh(&kc__shim.shapes, sizeof(*shape), key, 4))) {
		shape->lambda_key = key_of(kernel, dims);
		if (!shape->lambda_key) {
			shape = NULL;
			goto out;
		}
		shape->kernel = kernel;
		shape->dims = *dims;
		if (kc_work_init(&shape->work, &kernel->device->info, &kernel->resources, dims, blocks_per_sm))
			shape->unpredictable = KC_DOES_NOT_FIT;
		kc_lambda_init(&shape->learned.lambda, &shape->lambda_key->learned.lambda);
		kc_contention_init(&shape->contention, &kernel->device->contention);
		shape->id = ++kc__shim.shape_count;
		atomic_store_explicit(&kc__shim.shape_by_id[shape->id], shape, memory_order_release);
		insert(&kc__shim.shapes, shape, 4);
	}
out:
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return shape;
}

struct kc__shape *kc__shape_of(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims)
{
	uint64_t key[4] = {
	    kernel->id | (uint64_t)dims->dynamic_shared_bytes << 32, dims->grid[0] | (uint64_t)dims->grid[1] << 32,
	    dims->grid[2] | (uint64_t)dims->block[0] << 32, dims->block[1] | (uint64_t)dims->block[2] << 32};
	struct kc__shape *shape = find(&kc__shim.shapes, key, 4);

	return shape ? shape : shape_make(kernel, f, dims, key);
}

/* Streams and events */

/* Which default stream a handle means; 0: one the application made. */
static uint64_t default_stream(CUstream stream, bool per_thread)
{
	if (stream == NULL)
		return (uint64_t)(uintptr_t)(per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
	return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ? (uint64_t)(uintptr_t)stream : 0;
}

static struct kc__device *device_of_stream(CUstream stream, struct kc__device *current)
{
	CUresult(CUDAAPI * get_ctx)(CUstream, CUcontext *) =
	    (CUresult(CUDAAPI *)(CUstream, CUcontext *))kc__driver_symbol("cuStreamGetCtx");
	CUresult(CUDAAPI * push)(CUcontext) = (CUresult(CUDAAPI *)(CUcontext))kc__driver_symbol("cuCtxPushCurrent_v2");
	CUresult(CUDAAPI * pop)(CUcontext *) =
	    (CUresult(CUDAAPI *)(CUcontext *))kc__driver_symbol("cuCtxPopCurrent_v2");
	CUresult(CUDAAPI * get_device)(CUdevice *) =
	    (CUresult(CUDAAPI *)(CUdevice *))kc__driver_symbol("cuCtxGetDevice");
	struct kc__device *device = NULL;
	CUcontext context = NULL;
	CUdevice handle;

	if (!get_ctx || !push || !pop || !get_device || get_ctx(stream, &context) != CUDA_SUCCESS)
		return current;
	if (push(context) != CUDA_SUCCESS)
		return current;
	if (get_device(&handle) == CUDA_SUCCESS)
		device = device_of_handle(handle);
	pop(&context);
	return device;
}

static void stream_properties(struct kc_stream_entry *entry, CUstream stream)
{
	CUresult(CUDAAPI * get_flags)(CUstream, unsigned *) =
	    (CUresult(CUDAAPI *)(CUstream, unsigned *))kc__driver_symbol("cuStreamGetFlags");
	CUresult(CUDAAPI * get_priority)(CUstream, int *) =
	    (CUresult(CUDAAPI *)(CUstream, int *))kc__driver_symbol("cuStreamGetPriority");
	unsigned flags = 0;
	int priority = 0;

	if (get_flags && get_flags(stream, &flags) == CUDA_SUCCESS)
		entry->flags = flags;
	if (get_priority && get_priority(stream, &priority) == CUDA_SUCCESS)
		entry->priority = priority;
	entry->kind = flags & CU_STREAM_NON_BLOCKING ? KC_STREAM_NONBLOCKING : KC_STREAM_BLOCKING;
}

/* tables_lock held. Past the bound all streams share the last lane. */
static uint32_t lane_take(struct kc__device *device)
{
	for (uint32_t i = 0; i < KC__LANES_MAX / 64; i++)
		if (~device->lanes[i]) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~device->lanes[i]);

			device->lanes[i] |= 1ull << bit;
			return i * 64 + bit;
		}
	return KC__LANES_MAX - 1;
}

static void stream_begin(struct kc__stream *s, struct kc__device *device, struct kc_stream_entry *entry)
{
	uint32_t lane = lane_take(device);

	entry->device = device->ordinal;
	entry->id = ++kc__shim.stream_count;
	kc_journal_put(kc__shim.journal, KC_KIND_STREAM, entry, sizeof(*entry));
	pthread_mutex_lock(&device->lock);
	kc_timeline_stream(device->timeline, lane, (enum kc_stream_kind)entry->kind, entry->priority);
	s->device = device;
	s->lane = lane;
	s->id = entry->id;
	pthread_mutex_unlock(&device->lock);
	if (entry->id < KC__STREAM_IDS_MAX)
		atomic_store_explicit(&kc__shim.stream_by_id[entry->id], s, memory_order_release);
	atomic_store_explicit(&s->gone, 0, memory_order_release);
}

static struct kc__stream *stream_make(const uint64_t *key, struct kc__device *device, struct kc_stream_entry *entry)
{
	struct kc__stream *s;

	pthread_mutex_lock(&kc__shim.tables_lock);
	s = find(&kc__shim.streams, key, 2);
	if (!s && (s = fresh(&kc__shim.streams, sizeof(*s), key, 2))) {
		stream_begin(s, device, entry);
		insert(&kc__shim.streams, s, 2);
	} else if (s && atomic_load_explicit(&s->gone, memory_order_relaxed)) {
		stream_begin(s, device, entry);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return s;
}

struct kc__stream *kc__stream_of(CUstream stream, bool per_thread)
{
	uint64_t special = default_stream(stream, per_thread);
	struct kc_stream_entry entry = {.handle = (uint64_t)(uintptr_t)stream};
	struct kc__thread *t = &kc__thread;
	struct kc__device *device;
	struct kc__stream *s;
	CUcontext context;
	uint64_t key[2] = {(uint64_t)(uintptr_t)stream, 0};

	if (special) {
		device = kc__current_device(t, &context);
		if (!device)
			return NULL;
		key[0] = special | (special == 2 ? (uint64_t)kc__thread_id(t) << 8 : 0);
		key[1] = (uint64_t)(uintptr_t)context;
		entry.context = key[1];
		entry.per_thread = special == 2 ? kc__thread_id(t) : 0;
		entry.kind = special == 2 ? KC_STREAM_BLOCKING : KC_STREAM_LEGACY;
		s = find(&kc__shim.streams, key, 2);
		return s ? s : stream_make(key, device, &entry);
	}
	s = find(&kc__shim.streams, key, 2);
	if (s && !atomic_load_explicit(&s->gone, memory_order_relaxed))
		return s;
	device = device_of_stream(stream, kc__current_device(t, &context));
	if (!device)
		return NULL;
	stream_properties(&entry, stream);
	return stream_make(key, device, &entry);
}

void kc__stream_created(CUstream stream)
{
	kc__stream_of(stream, false);
}

void kc__stream_destroyed(CUstream stream)
{
	uint64_t key[2] = {(uint64_t)(uintptr_t)stream, 0};
	struct kc__stream *s = find(&kc__shim.streams, key, 2);

	if (!s || atomic_exchange_explicit(&s->gone, 1, memory_order_acq_rel))
		return;
	pthread_mutex_lock(&s->device->lock);
	kc_timeline_stream_gone(s->device->timeline, s->lane);
	pthread_mutex_unlock(&s->device->lock);
	pthread_mutex_lock(&kc__shim.tables_lock);
	s->device->lanes[s->lane / 64] &= ~(1ull << s->lane % 64);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Entries that are their key and what their maker keeps in them. */
static void *simple_entry(struct kc__table *t, const void *handle, size_t bytes, bool make)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};
	void *entry = find(t, key, 1);

	if (entry || !make)
		return entry;
	pthread_mutex_lock(&kc__shim.tables_lock);
	entry = find(t, key, 1);
	if (!entry && (entry = fresh(t, bytes, key, 1)))
		insert(t, entry, 1);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return entry;
}

struct kc__event *kc__event_of(CUevent event, bool make)
{
	return simple_entry(&kc__shim.events, event, sizeof(struct kc__event), make);
}

struct kc__graph *kc__graph_of(CUgraphExec exec, bool make)
{
	return simple_entry(&kc__shim.graphs, exec, sizeof(struct kc__graph), make);
}
