#include <stdlib.h>

#include "cudart.h"

enum { BUCKETS = 1024 };

static struct {
	pthread_mutex_t lock; /* guards both lists; never held across a driver call */
	struct cudart_binary *binaries;
	struct cudart_symbol *buckets[BUCKETS];
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child's exit() unregisters: the lists must be whole when it is made. Not a
 * read-write lock: one counts those who wait for it in the parent, and knows its
 * writer by a number that the child does not have. */
static void before_fork(void)
{
	pthread_mutex_lock(&registry.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&registry.lock);
}

__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static struct cudart_symbol **bucket(const void *host)
{
	return &registry.buckets[((uintptr_t)host >> 4) % BUCKETS];
}

static struct cudart_symbol *find(const void *host)
{
	struct cudart_symbol *symbol;

	pthread_mutex_lock(&registry.lock);
	for (symbol = *bucket(host); symbol && symbol->host != host; symbol = symbol->next)
		;
	pthread_mutex_unlock(&registry.lock);
	return symbol;
}

static struct cudart_symbol *add(const void *host, const char *name, struct cudart_binary *binary)
{
	struct cudart_symbol *symbol = calloc(1, sizeof(*symbol));

	if (!symbol)
		return NULL;
	symbol->host = host;
	symbol->name = name;
	symbol->binary = binary;
	pthread_mutex_lock(&registry.lock);
	symbol->next = *bucket(host);
	*bucket(host) = symbol;
	pthread_mutex_unlock(&registry.lock);
	return symbol;
}

void **__cudaRegisterFatBinary(void *image)
{
	struct cudart_binary *binary = calloc(1, sizeof(*binary));

	if (!binary)
		return NULL;
	binary->image = image;
	pthread_mutex_init(&binary->lock, NULL);
	pthread_mutex_lock(&registry.lock);
	binary->next = registry.binaries;
	registry.binaries = binary;
	pthread_mutex_unlock(&registry.lock);
	return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle; /* lazy: it is loaded at its first use */
}

static void drop_symbols(const struct cudart_binary *binary)
{
	for (int i = 0; i < BUCKETS; i++) {
		struct cudart_symbol **link = &registry.buckets[i];

		while (*link) {
			struct cudart_symbol *symbol = *link;

			if (symbol->binary == binary) {
				*link = symbol->next;
				free(symbol);
			} else {
				link = &symbol->next;
			}
		}
	}
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct cudart_binary *binary = (struct cudart_binary *)handle;
	struct cudart_binary **link;

	pthread_mutex_lock(&registry.lock);
	for (link = &registry.binaries; *link && *link != binary; link = &(*link)->next)
		;
	if (*link) {
		*link = binary->next;
		drop_symbols(binary);
	} else {
		binary = NULL;
	}
	pthread_mutex_unlock(&registry.lock);
	if (!binary)
		return;
	if (binary->library)
		cudart__driver()->cuLibraryUnload(binary->library);
	pthread_mutex_destroy(&binary->lock);
	free(binary);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
			    uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size)
{
	(void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
	add(host, name, (struct cudart_binary *)handle);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
		       int constant, int global)
{
	struct cudart_symbol *symbol = add(host, name, (struct cudart_binary *)handle);

	(void)device, (void)external, (void)bytes, (void)constant, (void)global;
	if (symbol)
		symbol->variable = true;
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
			      int constant, int global)
{
	struct cudart_symbol *symbol = add(host, name, (struct cudart_binary *)handle);

	(void)device, (void)external, (void)bytes, (void)constant, (void)global;
	if (symbol) {
		symbol->variable = true;
		symbol->managed = host;
	}
}

/* The fatbin stays mapped as long as it is registered, so the driver need not copy it. */
static CUresult load(struct cudart_binary *binary, CUlibrary *library)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *value = (void *)1;
	CUresult result;

	pthread_mutex_lock(&binary->lock);
	if (!binary->tried)
		binary->result = cudart__driver()->cuLibraryLoadData(&binary->library, binary->image, NULL, NULL, 0,
								     &option, &value, 1);
	binary->tried = true;
	*library = binary->library;
	result = binary->result;
	pthread_mutex_unlock(&binary->lock);
	return result;
}

CUresult cudart__kernel(const void *host, CUkernel *kernel)
{
	struct cudart_symbol *symbol = find(host);
	CUlibrary library;
	CUresult result;

	if (!symbol || symbol->variable)
		return (CUresult)cudaErrorInvalidDeviceFunction;
	*kernel = __atomic_load_n(&symbol->kernel, __ATOMIC_ACQUIRE);
	if (*kernel)
		return CUDA_SUCCESS;
	result = load(symbol->binary, &library);
	if (!result)
		result = cudart__driver()->cuLibraryGetKernel(kernel, library, symbol->name);
	if (!result)
		__atomic_store_n(&symbol->kernel, *kernel, __ATOMIC_RELEASE);
	return result == CUDA_ERROR_NOT_FOUND ? (CUresult)cudaErrorInvalidDeviceFunction : result;
}

/* A kernel handle may be given wherever a host function may: it becomes its own host address. */
CUresult cudart__adopt_kernel(CUkernel kernel)
{
	struct cudart_symbol *symbol = find(kernel);

	if (!symbol)
		symbol = add(kernel, NULL, NULL);
	if (!symbol)
		return CUDA_ERROR_OUT_OF_MEMORY;
	__atomic_store_n(&symbol->kernel, kernel, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

CUresult cudart__launch_handle(CUkernel kernel, CUfunction *function)
{
	*function = (CUfunction)kernel;
	return kernel && cudart__driver()->launches_functions ? cudart__driver()->cuKernelGetFunction(function, kernel)
							      : CUDA_SUCCESS;
}

CUresult cudart__variable(const void *host, CUdeviceptr *address, size_t *bytes)
{
	struct cudart_symbol *symbol = find(host);
	CUlibrary library;
	CUresult result;

	if (!symbol || !symbol->variable)
		return (CUresult)cudaErrorInvalidSymbol;
	result = load(symbol->binary, &library);
	if (result)
		return result;
	if (symbol->managed)
		return cudart__driver()->cuLibraryGetManaged(address, bytes, library, symbol->name);
	return cudart__driver()->cuLibraryGetGlobal(address, bytes, library, symbol->name);
}

static struct cudart_symbol *next_managed(const struct cudart_binary *binary)
{
	struct cudart_symbol *found = NULL;

	pthread_mutex_lock(&registry.lock);
	for (int i = 0; i < BUCKETS && !found; i++)
		for (struct cudart_symbol *symbol = registry.buckets[i]; symbol && !found; symbol = symbol->next)
			if (symbol->binary == binary && symbol->managed && !*symbol->managed)
				found = symbol;
	pthread_mutex_unlock(&registry.lock);
	return found;
}

/* Gives each __managed__ variable of the binary its address. nvcc's code calls
 * it before the first access; 0: done. */
char __cudaInitModule(void **handle)
{
	struct cudart_symbol *symbol;
	struct simcuda_call call = {
	    .domain = SIMCUDA_RUNTIME, .cbid = CUPTI_RUNTIME_TRACE_CBID_INVALID, .function = "__cudaInitModule"};
	CUresult result = cudart__enter(&call, CUDART_CONTEXT);

	while (!result && (symbol = next_managed((struct cudart_binary *)handle))) {
		CUdeviceptr address = 0;
		size_t bytes;

		result = cudart__variable(symbol->host, &address, &bytes);
		if (!result)
			*symbol->managed = (void *)address;
		if (!address)
			break;
	}
	return cudart__leave(&call, result) == cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	return cudaGetKernel(kernel, host);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	CUDART_BEGIN(cudaGetKernel, CUDART_DRIVER);
	CUDART_END(kernel ? cudart__kernel(host, (CUkernel *)kernel) : CUDA_ERROR_INVALID_VALUE);
}
