/*
 * A preloaded library of a third party that stands between a program and the driver, as those that share a GPU among
 * programs: its dlsym answers with functions of its own, and so does its cuGetProcAddress. At the end it says how many
 * calls they have had.
 *
 *	VERSIONED   its dlsym has glibc's versions, as nvshare's; otherwise it has none, as HAMi-core's
 *	ANYWHERE    it takes for the real dlsym the first with glibc's versions in the process, not behind itself
 *	GLOBAL      what the whole process has under a name comes before its own, as HAMi-core does at times
 *	LINKED      its functions call the driver by linked names, not by what the real dlsym finds there
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int launches, allocations;

static void *real(void *handle, const char *name)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
	static void *(*found)(void *, const char *);

	for (size_t i = 0; !found && i < sizeof(versions) / sizeof(*versions); i++)
#ifdef ANYWHERE
		found = (void *(*)(void *, const char *))dlvsym(RTLD_DEFAULT, "dlsym", versions[i]);
#else
		found = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
#endif
	return found(handle, name);
}

#ifdef LINKED
#define DRIVER(function) function
#else
#define DRIVER(function) ((__typeof__(&function))real(dlopen("libcuda.so.1", RTLD_NOW), NAME(function)))
#define NAME(function) TEXT(function)
#define TEXT(name) #name
#endif

static CUresult launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			      unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
	return DRIVER(cuLaunchKernel)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

static CUresult allocate(CUdeviceptr *at, size_t bytes)
{
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	return DRIVER(cuMemAlloc)(at, bytes);
}

static void *own(const char *name)
{
	return !strcmp(name, "cuLaunchKernel")                                 ? (void *)launch_kernel
	       : !strcmp(name, "cuMemAlloc_v2") || !strcmp(name, "cuMemAlloc") ? (void *)allocate
									       : NULL;
}

static CUresult get_proc_address(const char *name, void **address, int version, cuuint64_t flags,
				 CUdriverProcAddressQueryResult *status)
{
	CUresult result = DRIVER(cuGetProcAddress_v2)(name, address, version, flags, status);

	if (result == CUDA_SUCCESS && own(name) && !(flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
		*address = own(name);
	return result;
}

EXPORT void *other_dlsym(void *handle, const char *name);
void *other_dlsym(void *handle, const char *name)
{
#ifdef GLOBAL
	if (own(name) && real(RTLD_DEFAULT, name))
		return real(RTLD_DEFAULT, name);
#endif
	if (!strcmp(name, "cuGetProcAddress_v2"))
		return (void *)get_proc_address;
	return own(name) ? own(name) : real(handle, name);
}

#ifdef VERSIONED
EXPORT void *other_dlsym_old(void *handle, const char *name);
void *other_dlsym_old(void *handle, const char *name)
{
	return other_dlsym(handle, name);
}
__asm__(".symver other_dlsym, dlsym@@GLIBC_2.34\n.symver other_dlsym_old, dlsym@GLIBC_2.2.5");
#else
EXPORT void *dlsym(void *handle, const char *name)
{
	return other_dlsym(handle, name);
}
#endif

__attribute__((destructor)) static void say(void)
{
	if (launches || allocations)
		printf("interposer: %d launches, %d allocations\n", launches, allocations);
}
