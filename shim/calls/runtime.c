/*
 * The runtime level, for programs whose CUDA runtime is a shared library. It
 * knows where a launch was called from and by which host function; the launch
 * itself is recorded when it reaches the driver's hooks. Where a runtime call
 * turns out to launch without reaching them (it found the driver in a way that we
 * do not see), launches are recorded here instead: never in both places.
 */
#include "launch.h"
#include "shim/entry/c_library.h"
#include "shim/entry/lookup.h"
#include "shim/tables/memory.h"
#include "shim/tables/streams.h"
#include "calls.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum runtime_function {
	LAUNCH,
	LAUNCH_PTSZ,
	LAUNCH_HANDLE,
	LAUNCH_HANDLE_PTSZ,
	LAUNCH_EX,
	LAUNCH_EX_PTSZ,
	LAUNCH_COOPERATIVE,
	LAUNCH_COOPERATIVE_PTSZ,
	STREAM_CREATE,
	STREAM_CREATE_WITH_FLAGS,
	STREAM_CREATE_WITH_PRIORITY,
	FUNCTIONS,
};

static const char *const names[] = {
    [LAUNCH] = "cudaLaunchKernel",
    [LAUNCH_PTSZ] = "cudaLaunchKernel_ptsz",
    [LAUNCH_HANDLE] = "__cudaLaunchKernel",
    [LAUNCH_HANDLE_PTSZ] = "__cudaLaunchKernel_ptsz",
    [LAUNCH_EX] = "cudaLaunchKernelExC",
    [LAUNCH_EX_PTSZ] = "cudaLaunchKernelExC_ptsz",
    [LAUNCH_COOPERATIVE] = "cudaLaunchCooperativeKernel",
    [LAUNCH_COOPERATIVE_PTSZ] = "cudaLaunchCooperativeKernel_ptsz",
    [STREAM_CREATE] = "cudaStreamCreate",
    [STREAM_CREATE_WITH_FLAGS] = "cudaStreamCreateWithFlags",
    [STREAM_CREATE_WITH_PRIORITY] = "cudaStreamCreateWithPriority",
};

/* A runtime launch has not reached the driver's hooks. */
static _Atomic int driver_missed;

/* Call sites are never removed: the bound keeps a program that generates code at
 * run time from filling memory. Launches from further sites have none. */
enum { SITES = 4096 };
#define FUNCTION_BITS 4
_Static_assert(FUNCTIONS <= 1 << FUNCTION_BITS, "a function has its own key");
static struct call_site {
	_Atomic uintptr_t key; /* return address and function; 0: free */
	void *_Atomic real;
	_Atomic uint32_t found; /* closings + 1 when `real` was found; 0: it was not */
	_Atomic uint32_t id;    /* dictionary; 0: not written yet */
} sites[SITES];
static _Atomic uint32_t site_ids;

/*
 * Begins and ends of dlclose(). What was found before may have been unloaded: a
 * library may then be loaded at its old addresses, and its runtime at others.
 */
static _Atomic uint32_t closings;

static int real_dlclose(void *library)
{
	/* Versions of the symbol: glibc 2.34 and later, before it. */
	static const char *const versions[] = KC__GLIBC_VERSIONS;
	static int (*_Atomic found)(void *);
	int (*real)(void *) = atomic_load_explicit(&found, memory_order_relaxed);

	for (size_t i = 0; !real && i < sizeof(versions) / sizeof(*versions); i++)
		real = (int (*)(void *))dlvsym(RTLD_NEXT, "dlclose", versions[i]);
	atomic_store_explicit(&found, real, memory_order_relaxed);
	return real ? real(library) : -1;
}

KC_EXPORT int dlclose(void *library)
{
	int result;

	atomic_fetch_add_explicit(&closings, 1, memory_order_acq_rel);
	result = real_dlclose(library);
	atomic_fetch_add_explicit(&closings, 1, memory_order_acq_rel);
	return result;
}

void kc__runtime_forget(void)
{
	atomic_store(&driver_missed, 0);
	atomic_store(&site_ids, 0);
	for (int i = 0; i < SITES; i++)
		atomic_store(&sites[i].id, 0);
}

/*
 * The function of the runtime that this caller is linked with: a process can hold
 * several, in scopes of their own. As without us, the loader's order comes first.
 */
static void *find_real(enum runtime_function function, const void *caller)
{
	void *address = kc__real_dlsym(RTLD_NEXT, names[function]), *module;

	if (!address)
		address = kc__callers_symbol(caller, names[function]);
	for (int version = 13; !address && version >= 11; version--) {
		char soname[32];

		snprintf(soname, sizeof(soname), "libcudart.so.%d%s", version, version == 11 ? ".0" : "");
		module = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
		if (!module)
			continue;
		address = kc__real_dlsym(module, names[function]);
		real_dlclose(module);
	}
	if (!address)
		dlerror();
	return address;
}

static struct call_site *site_of(enum runtime_function function, const void *caller)
{
	uintptr_t key = (uintptr_t)caller << FUNCTION_BITS | (uintptr_t)function;
	uint32_t at = (uint32_t)((key * 0x9E3779B97F4A7C15u) >> 40) % SITES;

	for (int probes = 0; probes < SITES / 2; probes++, at = (at + 1) % SITES) {
		uintptr_t there = atomic_load_explicit(&sites[at].key, memory_order_acquire);

		if (!there && atomic_compare_exchange_strong(&sites[at].key, &there, key))
			there = key;
		if (there == key)
			return &sites[at];
	}
	return NULL;
}

static void *real_function(struct call_site *site, enum runtime_function function, const void *caller)
{
	uint32_t now = atomic_load_explicit(&closings, memory_order_acquire);
	void *address;

	if (site && atomic_load_explicit(&site->found, memory_order_acquire) == now + 1)
		return atomic_load_explicit(&site->real, memory_order_relaxed);
	if (!kc__real_dlsym)
		kc__dlsym_find_real();
	address = find_real(function, caller);
	if (site && address && atomic_load_explicit(&closings, memory_order_acquire) == now) {
		atomic_store_explicit(&site->real, address, memory_order_relaxed);
		atomic_store_explicit(&site->found, now + 1, memory_order_release);
	}
	return address;
}

static size_t append(char *out, size_t used, size_t size, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (n > size - used - 1)
		n = size - used - 1;
	if (n)
		memcpy(out + used, text, n);
	out[used + n] = 0;
	return used + n + 1;
}

enum { SITE_TEXT_BYTES = 3 * 1024 };

_Static_assert(sizeof(struct kc_call_site_entry) + SITE_TEXT_BYTES <= KC__ROOM_BYTES, "too large for a stack");

/* bytes: room for the entry and its text. */
static uint32_t put_site(char *bytes, const void *caller, const void *host_function)
{
	struct kc_call_site_entry entry = {.id = atomic_fetch_add(&site_ids, 1) + 1,
					   .address = (uint64_t)(uintptr_t)caller,
					   .host_function = (uint64_t)(uintptr_t)host_function};
	Dl_info info = {0}, host = {0};
	size_t used = sizeof(entry);

	if (dladdr(caller, &info))
		entry.offset = (uint64_t)((uintptr_t)caller - (uintptr_t)info.dli_fbase);
	if (host_function)
		dladdr(host_function, &host);
	memcpy(bytes, &entry, sizeof(entry));
	used = append(bytes, used, sizeof(entry) + SITE_TEXT_BYTES / 3, info.dli_fname);
	used = append(bytes, used, sizeof(entry) + SITE_TEXT_BYTES / 3 * 2, info.dli_sname);
	used = append(bytes, used, sizeof(entry) + SITE_TEXT_BYTES, host.dli_sname);
	kc_journal_put(kc__shim.journal, KC_KIND_CALL_SITE, bytes, used);
	return entry.id;
}

/* The dictionary entry of a call site, written when it is first recorded. */
static uint32_t site_id(struct call_site *site, const void *caller, const void *host_function)
{
	uint32_t id = site ? atomic_load_explicit(&site->id, memory_order_acquire) : 0;
	char *bytes;

	if (id || !site || !kc__recording() || !(bytes = kc__room_take()))
		return id;
	id = put_site(bytes, caller, host_function);
	atomic_store_explicit(&site->id, id, memory_order_release);
	kc__room_give(bytes);
	return id;
}

/* One call of the runtime */

struct runtime_call {
	struct kc__call driver;
	uint32_t outer_site;
	bool outermost, recorded_here;
};

static CUfunction function_of(const void *host_function, void *module_function)
{
	cudaError_t(CUDARTAPI * get)(cudaFunction_t *, const void *) =
	    (cudaError_t(CUDARTAPI *)(cudaFunction_t *, const void *))module_function;
	cudaFunction_t function = NULL;

	return get && get(&function, host_function) == cudaSuccess ? (CUfunction)function : NULL;
}

/* cudaGetFuncBySymbol of the library that this launch function is in. */
static void *symbol_resolver(void *real)
{
	Dl_info info;
	void *module = dladdr(real, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *address = module ? kc__real_dlsym(module, "cudaGetFuncBySymbol") : NULL;

	if (module)
		real_dlclose(module);
	return address;
}

static void begin(struct runtime_call *call, struct call_site *site, const void *caller, const void *host_function)
{
	struct kc__thread *t = &kc__thread;
	int saved_errno = errno;

	call->recorded_here = false;
	call->outermost = !t->depth && !t->in_runtime;
	call->outer_site = t->call_site;
	if (call->outermost) {
		t->call_site = site_id(site, caller, host_function);
		t->in_runtime = true;
		t->reached_driver = false;
	}
	errno = saved_errno;
}

static void end(struct runtime_call *call, cudaError_t result)
{
	struct kc__thread *t = &kc__thread;

	if (!call->outermost)
		return;
	if (call->recorded_here)
		kc__launch_end(&call->driver, (CUresult)result);
	else if (result == cudaSuccess && !t->reached_driver && kc__ended())
		kc__count_after_end(1);
	else if (result == cudaSuccess && !t->reached_driver && atomic_load(&kc__shim.stage) != KC__DISABLED) {
		int saved_errno = errno;

		atomic_store(&driver_missed, 1);
		kc__start(true);
		if (kc__paused()) {
			kc__passed_over(1, 1);
		} else if (kc__recording()) {
			kc__count(KC_COUNT_CALLS);
			kc__count(KC_COUNT_DROPPED);
		}
		errno = saved_errno;
	}
	t->call_site = call->outer_site;
	t->in_runtime = false;
}

/* The runtime is known to bypass the driver's hooks: the launch is recorded here. */
static void record_here(struct runtime_call *call, const void *host_function, void *real, dim3 grid, dim3 block,
			void **args, size_t shared, cudaStream_t stream, bool per_thread)
{
	struct kc_shape dims = {.grid = {grid.x, grid.y, grid.z},
				.block = {block.x, block.y, block.z},
				.dynamic_shared_bytes = (uint32_t)shared};
	CUfunction function;

	if (!call->outermost || !atomic_load_explicit(&driver_missed, memory_order_relaxed))
		return;
	function = function_of(host_function, symbol_resolver(real));
	call->recorded_here =
	    function && kc__launch_begin(&call->driver, KC_API_RUNTIME, function, &dims,
					 &(struct kc__given){.params = args}, (CUstream)stream, per_thread);
}

#define CALLER __builtin_return_address(0)

#define RUNTIME_LAUNCH(symbol, id, host_function, twin)                                                                \
	KC_EXPORT cudaError_t CUDARTAPI symbol(const void *f, dim3 grid, dim3 block, void **args, size_t shared,       \
					       cudaStream_t stream);                                                   \
	cudaError_t CUDARTAPI symbol(const void *f, dim3 grid, dim3 block, void **args, size_t shared,                 \
				     cudaStream_t stream)                                                              \
	{                                                                                                              \
		const void *caller = CALLER;                                                                           \
		struct call_site *site = site_of(id, caller);                                                          \
		__typeof__(&symbol) real = (__typeof__(&symbol))real_function(site, id, caller);                       \
		struct runtime_call call;                                                                              \
		cudaError_t result;                                                                                    \
                                                                                                                       \
		if (!real)                                                                                             \
			return cudaErrorInsufficientDriver;                                                            \
		begin(&call, site, caller, host_function);                                                             \
		if (host_function)                                                                                     \
			record_here(&call, host_function, (void *)real, grid, block, args, shared, stream, twin);      \
		result = real(f, grid, block, args, shared, stream);                                                   \
		end(&call, result);                                                                                    \
		return result;                                                                                         \
	}

RUNTIME_LAUNCH(cudaLaunchKernel, LAUNCH, f, false)
RUNTIME_LAUNCH(cudaLaunchKernel_ptsz, LAUNCH_PTSZ, f, true)
RUNTIME_LAUNCH(cudaLaunchCooperativeKernel, LAUNCH_COOPERATIVE, f, false)
RUNTIME_LAUNCH(cudaLaunchCooperativeKernel_ptsz, LAUNCH_COOPERATIVE_PTSZ, f, true)
/* These take a kernel handle; the host function is the stub that calls us. */
RUNTIME_LAUNCH(__cudaLaunchKernel, LAUNCH_HANDLE, NULL, false)
RUNTIME_LAUNCH(__cudaLaunchKernel_ptsz, LAUNCH_HANDLE_PTSZ, NULL, true)

#define RUNTIME_LAUNCH_EX(symbol, id, twin)                                                                            \
	KC_EXPORT cudaError_t CUDARTAPI symbol(const cudaLaunchConfig_t *config, const void *f, void **args);          \
	cudaError_t CUDARTAPI symbol(const cudaLaunchConfig_t *config, const void *f, void **args)                     \
	{                                                                                                              \
		const void *caller = CALLER;                                                                           \
		struct call_site *site = site_of(id, caller);                                                          \
		__typeof__(&symbol) real = (__typeof__(&symbol))real_function(site, id, caller);                       \
		struct runtime_call call;                                                                              \
		cudaError_t result;                                                                                    \
                                                                                                                       \
		if (!real)                                                                                             \
			return cudaErrorInsufficientDriver;                                                            \
		begin(&call, site, caller, f);                                                                         \
		if (config)                                                                                            \
			record_here(&call, f, (void *)real, config->gridDim, config->blockDim, args,                   \
				    config->dynamicSmemBytes, config->stream, twin);                                   \
		result = real(config, f, args);                                                                        \
		end(&call, result);                                                                                    \
		return result;                                                                                         \
	}

RUNTIME_LAUNCH_EX(cudaLaunchKernelExC, LAUNCH_EX, false)
RUNTIME_LAUNCH_EX(cudaLaunchKernelExC_ptsz, LAUNCH_EX_PTSZ, true)

/* A stream that the runtime makes without the driver's hooks is known from its creation on, too. */
#define RUNTIME_STREAM(symbol, id, parameters, arguments)                                                              \
	KC_EXPORT cudaError_t CUDARTAPI symbol parameters;                                                             \
	cudaError_t CUDARTAPI symbol parameters                                                                        \
	{                                                                                                              \
		const void *caller = CALLER;                                                                           \
		__typeof__(&symbol) real = (__typeof__(&symbol))real_function(site_of(id, caller), id, caller);        \
		cudaError_t result = real ? real arguments : cudaErrorInsufficientDriver;                              \
                                                                                                                       \
		if (result == cudaSuccess && atomic_load_explicit(&driver_missed, memory_order_relaxed) &&             \
		    kc__begun() && !kc__thread.depth)                                                                  \
			kc__stream_created((CUstream)*stream);                                                         \
		return result;                                                                                         \
	}

RUNTIME_STREAM(cudaStreamCreate, STREAM_CREATE, (cudaStream_t * stream), (stream))
RUNTIME_STREAM(cudaStreamCreateWithFlags, STREAM_CREATE_WITH_FLAGS, (cudaStream_t * stream, unsigned flags),
	       (stream, flags))
RUNTIME_STREAM(cudaStreamCreateWithPriority, STREAM_CREATE_WITH_PRIORITY,
	       (cudaStream_t * stream, unsigned flags, int priority), (stream, flags, priority))
