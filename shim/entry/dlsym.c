/*
 * The C side of dlsym_entry.S. Runs before constructors, inside any thread and
 * in programs that never touch CUDA: no allocation, no state but the pointer.
 */
#include "shim/shim.h"

#include <dlfcn.h>

void *(*kc__real_dlsym)(void *, const char *);

__attribute__((visibility("hidden"))) int kc__dlsym_wants(const char *name);
__attribute__((visibility("hidden"))) void *kc__dlsym_ours(void *handle, const char *name);

void *(*kc__dlsym_find_real(void))(void *, const char *)
{
	/* Versions of the symbol: glibc 2.34 and later, before it, aarch64. */
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	void *found = NULL;

	for (size_t i = 0; !found && i < sizeof(versions) / sizeof(*versions); i++)
		found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	kc__real_dlsym = (void *(*)(void *, const char *))found;
	return kc__real_dlsym;
}

/* RTLD_NEXT counts from the caller: compiled into a jump, this call would count as the application's. */
void *kc__dlsym_behind_us(const char *name)
{
	void *address = kc__real_dlsym(RTLD_NEXT, name);

	__asm__ volatile("" ::: "memory");
	return address;
}

int kc__dlsym_wants(const char *name)
{
	return kc__hook_by_symbol(name) >= 0 || kc__profiler_function(name) >= 0 || kc__compiler_function(name) >= 0;
}

void *kc__found_without_us(const char *name, const void *caller)
{
	void *address;

	if (!kc__real_dlsym)
		kc__dlsym_find_real();
	address = kc__dlsym_behind_us(name);
	return address ? address : kc__callers_symbol(caller, name);
}

void *kc__dlsym_ours(void *handle, const char *name)
{
	void *address = (kc__real_dlsym ? kc__real_dlsym : kc__dlsym_find_real())(handle, name);
	int function = kc__profiler_function(name), compiler = kc__compiler_function(name);

	if (function >= 0)
		return kc__profiler_route(function, address, __builtin_return_address(0));
	if (compiler >= 0)
		return kc__compiler_route(compiler, name, address, __builtin_return_address(0));
	if (!address)
		return kc__real_dlsym(handle, name);
	/* A global look-up finds our own export even where no driver is loaded, or one that only its own users can
	 * see (RTLD_LOCAL): answer as the loader would without us, with its error. */
	if (kc__is_ours(address)) {
		if (!kc__found_without_us(name, __builtin_return_address(0)))
			return kc__dlsym_behind_us(name);
		dlerror();
	}
	if (atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__DISABLED)
		return address;
	return kc__route_symbol(name, handle, address);
}
