/*
 * From the handle of a launch to the kernel behind it.
 */
#include "loaded_code.h"
#include "tables.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <string.h>

#define VARIANTS_MAX 2048u /* launch shapes of a kernel told apart by arguments */
#define ARGUMENTS_TEXT_BYTES 256u

static uint64_t hash_text(const char *s)
{
	return kc_fnv(KC_FNV_OFFSET, s, strlen(s));
}

/* Handles: which are CUkernels, and their names where the driver does not tell */

struct handle {
	uint64_t key[1];
	const char *_Atomic name;
	struct kc__code *_Atomic code; /* modules and libraries have it, too */
	_Atomic uint32_t is_kernel;
};

static struct handle *find_handle(const void *handle)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};

	return kc__find(&kc__shim.handles, key, 1);
}

/* tables_lock held. */
static struct handle *make_handle(const void *handle)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};
	struct handle *h = find_handle(handle);

	if (!h && (h = kc__fresh(&kc__shim.handles, sizeof(*h), key, 1)))
		kc__insert(&kc__shim.handles, h, 1);
	return h;
}

static struct kc__code *code_of(const void *handle)
{
	const struct handle *h = handle ? find_handle(handle) : NULL;

	return h ? atomic_load_explicit(&h->code, memory_order_acquire) : NULL;
}

void kc__handle_code_set(const void *handle, struct kc__code *code)
{
	struct handle *h = make_handle(handle);

	if (h)
		atomic_store_explicit(&h->code, code, memory_order_release);
}

void kc__handle_gone(const void *handle)
{
	struct handle *h = find_handle(handle);

	if (h)
		atomic_store_explicit(&h->code, NULL, memory_order_release);
}

void kc__handle_named(const void *handle, bool is_kernel, const char *name, const void *container)
{
	bool driver_tells = kc__driver_symbol("cuFuncGetName") != NULL; /* 12.3 and later */
	struct handle *h;

	if (!handle)
		return;
	pthread_mutex_lock(&kc__shim.tables_lock);
	h = make_handle(handle);
	if (h) {
		const char *known = atomic_load_explicit(&h->name, memory_order_relaxed);

		atomic_store_explicit(&h->is_kernel, is_kernel, memory_order_relaxed);
		if (container)
			atomic_store_explicit(&h->code, code_of(container), memory_order_release);
		if (name && !driver_tells && (!known || strcmp(known, name)))
			atomic_store_explicit(&h->name, kc__keep_text(name), memory_order_release);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Functions and kernels */

struct answers { /* what the driver tells about a function */
	const char *name;
	struct kc_resources resources;
	int binary_version, ptx_version;
	struct kc__code *code;
	bool parameters_known;
	uint32_t parameter_count;
	struct kc__parameter parameters[KC__PARAMETERS_MAX];
};

static int ask_attribute(CUfunction f, bool is_kernel, CUdevice device, CUfunction_attribute attribute, int *value)
{
	if (is_kernel) {
		__auto_type get = KC_ASK(cuKernelGetAttribute);

		return get && get(value, attribute, (CUkernel)f, device) == CUDA_SUCCESS ? 0 : -ENOENT;
	}
	__auto_type get = KC_ASK(cuFuncGetAttribute);

	return get && get(value, attribute, f) == CUDA_SUCCESS ? 0 : -ENOENT;
}

static const char *ask_name(CUfunction f, const struct handle *h, bool is_kernel)
{
	const char *name = NULL;
	CUresult(CUDAAPI * get)(const char **, void *) =
	    kc__driver_symbol(is_kernel ? "cuKernelGetName" : "cuFuncGetName");

	if (get && get(&name, f) == CUDA_SUCCESS && name)
		return name;
	return h ? atomic_load_explicit(&h->name, memory_order_acquire) : NULL;
}

/* For a handle from a call that is not hooked, the driver is asked for the module. */
static struct kc__code *ask_code(CUfunction f, bool is_kernel)
{
	CUresult(CUDAAPI * get)(void **, void *) =
	    kc__driver_symbol(is_kernel ? "cuKernelGetLibrary" : "cuFuncGetModule");
	struct kc__code *code = code_of(f);
	void *container = NULL;

	if (!code && get && get(&container, f) == CUDA_SUCCESS)
		code = code_of(container);
	return code;
}

bool kc__ask_parameters(CUfunction f, bool is_kernel, struct kc__parameter *at, uint32_t *count)
{
	CUresult(CUDAAPI * get)(void *, size_t, size_t *, size_t *) =
	    kc__driver_symbol(is_kernel ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo");
	size_t offset, bytes;

	*count = 0;
	while (get && *count < KC__PARAMETERS_MAX && get(f, *count, &offset, &bytes) == CUDA_SUCCESS)
		at[(*count)++] = (struct kc__parameter){(uint16_t)offset, (uint16_t)bytes};
	return get != NULL;
}

static int ask(CUfunction f, struct kc__device *device, struct answers *a)
{
	const struct handle *h = find_handle(f);
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
	a->code = ask_code(f, is_kernel);
	a->parameters_known = kc__ask_parameters(f, is_kernel, a->parameters, &a->parameter_count);
	return 0;
}

static void put_kernel(const struct kc__kernel *kernel, const struct answers *a)
{
	size_t n = strlen(kernel->name) + 1;
	char buffer[sizeof(struct kc_kernel_entry) + 4096];
	struct kc_kernel_entry entry = {
	    .id = kernel->id,
	    .device = kernel->device->ordinal,
	    .code_hash = a->code ? a->code->key[0] : 0,
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
static struct kc__parameters kept_parameters(const struct answers *a)
{
	size_t bytes = a->parameter_count * sizeof(a->parameters[0]);
	struct kc__parameter *at = kc__arena(bytes + 1);

	if (!at)
		return (struct kc__parameters){0};
	memcpy(at, a->parameters, bytes);
	return (struct kc__parameters){a->parameters_known, a->parameter_count, at};
}

/* tables_lock held. */
static struct kc__kernel *kernel_of(const struct answers *a, struct kc__device *device)
{
	uint64_t resources =
	    ((uint64_t)a->resources.registers << 32 | a->resources.static_shared_bytes) * 31 + a->resources.local_bytes;
	uint64_t key[4] = {hash_text(a->name), resources, device->ordinal, a->code ? a->code->key[0] : 0};
	struct kc__kernel *kernel = kc__find(&kc__shim.kernels, key, 4);

	if (kernel || !(kernel = kc__fresh(&kc__shim.kernels, sizeof(*kernel), key, 4)))
		return kernel;
	kernel->name = kc__keep_text(a->name);
	if (!kernel->name)
		return NULL;
	kernel->id = ++kc__shim.kernel_count;
	kernel->device = device;
	kernel->resources = a->resources;
	kernel->code = a->code;
	kernel->parameters = kept_parameters(a);
	kc_engine_kernel_init(&kernel->engine, &device->engine);
	kc__recall_kernel(kernel);
	put_kernel(kernel, a);
	kc__insert(&kc__shim.kernels, kernel, 4);
	kc__code_wanted(kernel);
	return kernel;
}

/* The driver did not answer. If the table of handles is full, it may have been asked as for the wrong kind of handle.
 */
static enum kc_unpredictable unanswered(CUfunction f)
{
	bool full = atomic_load_explicit(&kc__shim.handles.full.reached, memory_order_relaxed);

	return full && !find_handle(f) ? KC_TABLE_FULL : KC_NO_ATTRIBUTES;
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

		atomic_store_explicit(&fn->unpredictable, known == 0 ? KC_TABLE_FULL : unanswered(f),
				      memory_order_relaxed);
		atomic_store_explicit(&fn->kernel, kernel, memory_order_release);
		atomic_store_explicit(&fn->generation, generation, memory_order_release);
	}
	if (made)
		kc__insert(&kc__shim.functions, fn, 2);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return fn;
}
