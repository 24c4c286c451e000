/*
 * From the handle of a launch to the kernel behind it.
 */
#include "handles.h"
#include "shim/worker/selection.h"
#include "tables.h"
#include "shim/entry/real.h"
#include "memory.h"
#include "functions.h"
#include "recall.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash_text(const char *s)
{
	return kc_fnv(KC_FNV_OFFSET, s, strlen(s));
}

/* An entry begins with its key. 0: the load was not seen. */
static uint64_t key_of(const struct kc__code *code)
{
	return code ? *(const uint64_t *)code : 0;
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
_Static_assert(sizeof(struct answers) <= KC__ROOM_BYTES, "too large for a stack");

/* The two forms of a kernel's handle have query functions that differ in name; of the attribute's alone the types do,
 * too. */
static const struct {
	const char *get_name, *get_container, *get_parameter;
} queries[] = {
    [KC__FORM_FUNCTION] = {"cuFuncGetName", "cuFuncGetModule", "cuFuncGetParamInfo"},
    [KC__FORM_KERNEL] = {"cuKernelGetName", "cuKernelGetLibrary", "cuKernelGetParamInfo"},
};

static enum kc__form other(enum kc__form form)
{
	return form == KC__FORM_KERNEL ? KC__FORM_FUNCTION : KC__FORM_KERNEL;
}

static int ask_attribute(CUfunction f, enum kc__form form, CUdevice device, CUfunction_attribute attribute, int *value)
{
	if (form == KC__FORM_KERNEL) {
		__auto_type get = KC_ASK(cuKernelGetAttribute);

		return get && get(value, attribute, (CUkernel)f, device) == CUDA_SUCCESS ? 0 : -ENOENT;
	}
	__auto_type get = KC_ASK(cuFuncGetAttribute);

	return get && get(value, attribute, f) == CUDA_SUCCESS ? 0 : -ENOENT;
}

static int ask_resources(CUfunction f, enum kc__form form, CUdevice device, struct kc_resources *resources)
{
	int registers, shared, local, threads;

	if (ask_attribute(f, form, device, CU_FUNC_ATTRIBUTE_NUM_REGS, &registers) ||
	    ask_attribute(f, form, device, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared) ||
	    ask_attribute(f, form, device, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local) ||
	    ask_attribute(f, form, device, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads))
		return -ENOENT;
	*resources = (struct kc_resources){(uint32_t)registers, (uint32_t)shared, (uint32_t)local, (uint32_t)threads};
	return 0;
}

/* Asks as for the form that calls have told, by default the type's, then as for the other one. What the driver answers
 * is what the handle is: it may have come from a call that was not seen, or be of another kernel by now. */
static int find_form(CUfunction f, CUdevice device, struct kc_resources *resources, enum kc__form *form)
{
	*form = kc__handle_form(f);
	if (*form == KC__FORM_UNKNOWN)
		*form = KC__FORM_FUNCTION;
	if (ask_resources(f, *form, device, resources)) {
		*form = other(*form);
		if (ask_resources(f, *form, device, resources))
			return -ENOENT;
	}
	kc__handle_form_set(f, *form);
	return 0;
}

static const char *ask_name(CUfunction f, enum kc__form form)
{
	const char *name = NULL;
	CUresult(CUDAAPI * get)(const char **, void *) = kc__driver_symbol(queries[form].get_name);

	if (get && get(&name, f) == CUDA_SUCCESS && name)
		return name;
	return kc__handle_name(f);
}

/* For a handle from a call that was not seen, the driver is asked for the module or library. */
static struct kc__code *ask_code(CUfunction f, enum kc__form form)
{
	CUresult(CUDAAPI * get)(void **, void *) = kc__driver_symbol(queries[form].get_container);
	struct kc__code *code = kc__handle_code(f);
	void *container = NULL;

	if (!code && get && get(&container, f) == CUDA_SUCCESS)
		code = kc__handle_code(container);
	return code;
}

/*
 * *count: of the parameters that the driver told. true: there are no more. cuda.h promises CUDA_ERROR_INVALID_VALUE
 * for an index past the last parameter, but no other error for what is no handle of this form: at the first parameter
 * that answer may mean either.
 */
static bool list_parameters(CUfunction f, enum kc__form form, struct kc__parameter *at, uint32_t *count)
{
	static void *_Atomic known[sizeof(queries) / sizeof(*queries)]; /* as changes of graphs ask for every node */
	CUresult(CUDAAPI * get)(void *, size_t, size_t *, size_t *) = atomic_load(&known[form]);
	CUresult result = CUDA_SUCCESS;
	size_t offset, bytes;

	if (!get)
		atomic_store(&known[form], get = kc__driver_symbol(queries[form].get_parameter));
	*count = 0;
	while (get && *count < KC__PARAMETERS_MAX && (result = get(f, *count, &offset, &bytes)) == CUDA_SUCCESS)
		at[(*count)++] = (struct kc__parameter){(uint16_t)offset, (uint16_t)bytes};
	return get && (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE);
}

bool kc__ask_parameters(CUfunction f, bool as_kernel, struct kc__parameter *at, uint32_t *count)
{
	enum kc__form form = kc__handle_form(f);

	if (form == KC__FORM_UNKNOWN)
		form = as_kernel ? KC__FORM_KERNEL : KC__FORM_FUNCTION;
	for (int i = 0; i < 2; i++, form = other(form))
		if (list_parameters(f, form, at, count) && *count) {
			kc__handle_form_set(f, form);
			return true;
		}
	*count = 0;
	return false;
}

static int ask(CUfunction f, struct kc__device *device, struct answers *a)
{
	enum kc__form form;

	memset(a, 0, sizeof(*a));
	if (find_form(f, device->handle, &a->resources, &form))
		return -ENOENT;
	ask_attribute(f, form, device->handle, CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a->binary_version);
	ask_attribute(f, form, device->handle, CU_FUNC_ATTRIBUTE_PTX_VERSION, &a->ptx_version);
	a->name = ask_name(f, form);
	if (!a->name)
		a->name = "(unnamed)";
	a->code = ask_code(f, form);
	a->parameters_known = list_parameters(f, form, a->parameters, &a->parameter_count);
	return 0;
}

/* Of a name in the journal. */
#define NAME_BYTES 4094u
#define NAME_END_BYTES 18u /* a tilde, the hash in hexadecimal, NUL */

/* Returns its bytes with the NUL. The end of a longer name is its hash, so that those which differ stay apart. */
static size_t copy_name(const char *name, char out[NAME_BYTES])
{
	size_t n = strlen(name) + 1;

	if (n > NAME_BYTES)
		snprintf(out + NAME_BYTES - NAME_END_BYTES, NAME_END_BYTES, "~%016llx",
			 (unsigned long long)hash_text(name));
	memcpy(out, name, n > NAME_BYTES ? NAME_BYTES - NAME_END_BYTES : n);
	return n > NAME_BYTES ? NAME_BYTES : n;
}

static void put_kernel(const struct kc__kernel *kernel, const struct answers *a)
{
	size_t n;
	char buffer[sizeof(struct kc_kernel_entry) + NAME_BYTES + 1];
	struct kc_kernel_entry entry = {
	    .id = kernel->id,
	    .device = kernel->device->ordinal,
	    .code_hash = key_of(a->code),
	    .resources = a->resources,
	    .binary_version = (uint32_t)a->binary_version,
	    .ptx_version = (uint32_t)a->ptx_version,
	};

	memcpy(buffer, &entry, sizeof(entry));
	n = copy_name(kernel->name, buffer + sizeof(entry));
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

/* tables_lock held. makes: one that is new is made. */
static struct kc__kernel *kernel_of(const struct answers *a, struct kc__device *device, bool makes)
{
	uint64_t resources =
	    ((uint64_t)a->resources.registers << 32 | a->resources.static_shared_bytes) * 31 + a->resources.local_bytes;
	uint64_t key[4] = {hash_text(a->name), resources, device->ordinal, key_of(a->code)};
	struct kc__kernel *kernel = kc__find(&kc__shim.kernels, key, 4);
	struct kc_code_identity identity;

	if (kernel || !makes || !(kernel = kc__fresh(&kc__shim.kernels, sizeof(*kernel), key, 4)))
		return kernel;
	kernel->name = kc__keep_text(a->name);
	if (!kernel->name)
		return NULL;
	kernel->id = ++kc__shim.kernel_count;
	kernel->device = device;
	kernel->resources = a->resources;
	kernel->code = a->code;
	kernel->parameters = kept_parameters(a);
	kernel->every = kc__selection_every(kernel->name);
	identity = kc__identity_of(kernel);
	kc_past_make_kernel(kc__recalled(), &identity, device->uuid, &device->engine, &kernel->engine);
	put_kernel(kernel, a);
	kc__insert(&kc__shim.kernels, kernel, 4);
	return kernel;
}

/* A handle that is new, or may stand for another kernel by now. */
struct newcomer {
	const uint64_t *key;
	uint32_t generation;
	struct kc__device *device;
	const struct answers *answers; /* NULL: the driver gives none */
	struct kc__function *fn;       /* NULL: there is no room for it */
};

/* A load that was seen and found no room looks the same as one that was not. */
static void count_unseen(void)
{
	if (!kc__tables_have_kept_loads())
		return;
	atomic_fetch_add_explicit(&kc__shim.header->counters[KC_COUNT_LOADS_UNSEEN], 1, memory_order_relaxed);
}

void kc__function_gone(CUfunction f)
{
	for (int i = 0; i < kc__shim.device_count; i++) {
		uint64_t key[2] = {(uint64_t)(uintptr_t)f, kc__shim.devices[i].ordinal};
		struct kc__function *fn = kc__find(&kc__shim.functions, key, 2);

		if (!fn)
			continue;
		kc__remove(&kc__shim.functions, fn, 2);
		kc__let_go(&kc__shim.functions);
		kc__shim.functions_gone++;
		fn->next = kc__shim.free_functions;
		kc__shim.free_functions = fn;
	}
}

/* tables_lock held. NULL: there is no room. Who still looks at one that is used again takes it for outdated. */
static struct kc__function *fresh_function(const uint64_t *key, uint32_t generation)
{
	struct kc__function *fn = kc__shim.free_functions;

	if (!fn)
		return kc__fresh(&kc__shim.functions, sizeof(*fn), key, 2);
	kc__shim.free_functions = fn->next;
	atomic_store_explicit(&fn->generation, generation - 1, memory_order_release);
	kc__set_key(fn->key, key, 2);
	return fn;
}

/* tables_lock held. Where a program unloads kernels and room is scarce, one gets some when it is launched a second
 * time: those that are compiled, launched once and unloaded would fill it for good. */
static void keep(void *newcomer)
{
	struct newcomer *n = newcomer;
	const struct answers *a = n->answers;
	bool made;

	n->fn = kc__find(&kc__shim.functions, n->key, 2);
	made = !n->fn && (n->fn = fresh_function(n->key, n->generation));
	if (n->fn) {
		bool scarce = made && kc__entries_are_scarce();
		struct kc__kernel *kernel = a ? kernel_of(a, n->device, !scarce) : NULL;
		bool waits = scarce && a && !kernel;

		atomic_store_explicit(&n->fn->unpredictable, a ? KC_TABLE_FULL : KC_NO_ATTRIBUTES,
				      memory_order_relaxed);
		atomic_store_explicit(&n->fn->kernel, kernel, memory_order_release);
		atomic_store_explicit(&n->fn->generation, n->generation - waits, memory_order_release);
	}
	if (made) {
		kc__insert(&kc__shim.functions, n->fn, 2);
		if (a && !a->code)
			count_unseen();
	}
}

static __attribute__((noinline)) struct kc__function *make(CUfunction f, struct kc__device *device, const uint64_t *key,
							   uint32_t generation)
{
	struct newcomer newcomer = {.key = key, .generation = generation, .device = device};
	struct answers *answers = kc__room_take();

	if (!answers)
		return NULL;
	if (ask(f, device, answers) == 0) /* before the lock: a driver call */
		newcomer.answers = answers;
	pthread_mutex_lock(&kc__shim.tables_lock);
	kc__deep(keep, &newcomer);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	kc__room_give(answers);
	return newcomer.fn;
}

/* The device is known once the stream has been found. In empty caches that takes two misses, one after the other, for
 * which those of the function need not wait where the processor may take the thread's last device to be this one, too.
 */
static inline uint32_t ordinal_of(const struct kc__device *device)
{
	struct kc__thread *t = &kc__thread;
	uint32_t last = t->ordinal, ordinal = last;

	__asm__("" : "+r"(ordinal)); /* else the compiler sees that it is the device's in any case */
	if (__builtin_expect(device->ordinal != last, 0))
		t->ordinal = ordinal = device->ordinal;
	return ordinal;
}

__attribute__((hot)) struct kc__function *kc__function_of(CUfunction f, struct kc__device *device)
{
	uint64_t key[2] = {(uint64_t)(uintptr_t)f, ordinal_of(device)};
	uint32_t generation = atomic_load_explicit(&kc__shim.module_generation, memory_order_acquire);
	struct kc__function *fn = kc__find(&kc__shim.functions, key, 2);

	if (fn && atomic_load_explicit(&fn->generation, memory_order_acquire) == generation)
		return fn;
	return make(f, device, key, generation);
}
