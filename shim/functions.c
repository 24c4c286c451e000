/*
 * From the handle of a launch to what is known of the kernel and of this shape
 * of launching it.
 */
#include "shim/tables.h"

#include <errno.h>

static uint64_t hash_text(const char *s)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	while (*s)
		h = (h ^ (unsigned char)*s++) * 1099511628211u;
	return h;
}

/* Handles: which are CUkernels, and their names where the driver cannot tell */

struct handle {
	uint64_t key[1];
	const char *_Atomic name;
	_Atomic uint32_t is_kernel;
};

void kc__handle_named(uint64_t value, bool is_kernel, const char *name)
{
	bool driver_tells = kc__driver_symbol("cuFuncGetName") != NULL; /* 12.3 and later */
	struct handle *h;
	bool made;

	if (!value)
		return;
	if (!is_kernel && driver_tells) {
		if ((h = kc__find(&kc__shim.handles, &value, 1))) /* a CUkernel's address, used again */
			atomic_store_explicit(&h->is_kernel, 0, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&kc__shim.tables_lock);
	h = kc__find(&kc__shim.handles, &value, 1);
	made = !h && (h = kc__fresh(&kc__shim.handles, sizeof(*h), &value, 1));
	if (h) {
		const char *known = atomic_load_explicit(&h->name, memory_order_relaxed);

		atomic_store_explicit(&h->is_kernel, is_kernel, memory_order_relaxed);
		if (name && !driver_tells && (!known || strcmp(known, name)))
			atomic_store_explicit(&h->name, kc__keep_text(name), memory_order_release);
	}
	if (made)
		kc__insert(&kc__shim.handles, h, 1);
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
	const struct handle *h = kc__find(&kc__shim.handles, &value, 1);
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
	struct kc__kernel *kernel = kc__find(&kc__shim.kernels, key, 3);

	if (kernel || !(kernel = kc__fresh(&kc__shim.kernels, sizeof(*kernel), key, 3)))
		return kernel;
	kernel->name = kc__keep_text(a->name);
	if (!kernel->name)
		return NULL;
	kernel->id = ++kc__shim.kernel_count;
	kernel->device = device;
	kernel->resources = a->resources;
	put_kernel(kernel, a);
	kc__insert(&kc__shim.kernels, kernel, 3);
	return kernel;
}

struct kc__function *kc__function_of(CUfunction f, struct kc__device *device)
{
	uint64_t key[2] = {(uint64_t)(uintptr_t)f, device->ordinal};
	uint32_t generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
	struct kc__function *fn = kc__find(&kc__shim.functions, key, 2);
	struct answers a;
	bool made;
	int known;

	if (fn && atomic_load_explicit(&fn->generation, memory_order_acquire) == generation)
		return fn;
	known = ask(f, device, &a); /* before the lock: a driver call */
	pthread_mutex_lock(&kc__shim.tables_lock);
	fn = kc__find(&kc__shim.functions, key, 2);
	made = !fn && (fn = kc__fresh(&kc__shim.functions, sizeof(*fn), key, 2));
	if (fn) {
		struct kc__kernel *kernel = known == 0 ? kernel_of(&a, device) : NULL;

		atomic_store_explicit(&fn->kernel, kernel, memory_order_release);
		atomic_store_explicit(&fn->generation, generation, memory_order_release);
	}
	if (made)
		kc__insert(&kc__shim.functions, fn, 2);
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
	struct kc__key *k = kc__find(&kc__shim.keys, key, 3);

	if (k || !(k = kc__fresh(&kc__shim.keys, sizeof(*k), key, 3)))
		return k;
	k->kernel = kernel;
	kc_lambda_init(&k->learned.lambda, &kernel->device->learned.lambda);
	kc__insert(&kc__shim.keys, k, 3);
	return k;
}

static struct kc__shape *shape_make(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
				    const uint64_t *key)
{
	uint32_t blocks_per_sm =
	    ask_occupancy(f, dims->block[0] * dims->block[1] * dims->block[2], dims->dynamic_shared_bytes);
	struct kc__shape *shape;

	pthread_mutex_lock(&kc__shim.tables_lock);
	shape = kc__find(&kc__shim.shapes, key, 4);
	if (!shape && (shape = kc__fresh(&kc__shim.shapes, sizeof(*shape), key, 4))) {
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
		kc__insert(&kc__shim.shapes, shape, 4);
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
	struct kc__shape *shape = kc__find(&kc__shim.shapes, key, 4);

	return shape ? shape : shape_make(kernel, f, dims, key);
}
