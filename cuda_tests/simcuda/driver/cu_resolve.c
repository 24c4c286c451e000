/* cuGetProcAddress and related calls. resolve_table.h is made by driver_table.awk. */
#include "cuda_tests/simcuda/sim.h"

#include <string.h>

/* A second address of each function, which only jumps to it. The driver answers with
 * it under SIMCUDA_FAULT=hidden-addresses. */
#if defined(__x86_64__)
#define JUMP(function) "jmp " function "@PLT"
#elif defined(__aarch64__)
#define JUMP(function) "b " function
#endif
#define ENTRY(base, version, per_thread, function)
#define SYMBOL(function)                                                                                               \
	__asm__(".text\n.type hidden_" #function ", @function\nhidden_" #function                                      \
		": " JUMP(#function) "\n.size hidden_" #function ", . - hidden_" #function "\n");                      \
	extern void hidden_##function(void) __attribute__((visibility("hidden")));
#include "resolve_table.h"
#undef ENTRY
#undef SYMBOL

struct entry {
	const char *name;
	int version;
	int per_thread;
	void *address, *hidden;
};

#define SYMBOL(function)
#define ENTRY(base, version, per_thread, function)                                                                     \
	{base, version, per_thread, (void *)function, (void *)hidden_##function},
static const struct entry entries[] = {
#include "resolve_table.h"
};
#undef ENTRY
#undef SYMBOL

/* The newest ABI not above the version; with per_thread the twin if there is one. */
static const struct entry *find(const char *name, int version, int per_thread, int *known)
{
	const struct entry *best = NULL, *entry;

	*known = 0;
	for (entry = entries; entry < entries + sizeof(entries) / sizeof(entries[0]); entry++) {
		if (strcmp(entry->name, name))
			continue;
		*known = 1;
		if (entry->version > version || entry->per_thread > per_thread)
			continue;
		if (!best || entry->per_thread > best->per_thread ||
		    (entry->per_thread == best->per_thread && entry->version > best->version))
			best = entry;
	}
	return best;
}

static CUresult resolve(const char *name, void **address, int version, cuuint64_t flags,
			CUdriverProcAddressQueryResult *status)
{
	int known, per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	const struct entry *entry;

	if (!name || !address)
		return CUDA_ERROR_INVALID_VALUE;
	if (version > sim_driver_version())
		version = sim_driver_version();
	entry = find(name, version, per_thread, &known);
	*address = !entry ? NULL : simcuda_faults()->hidden_addresses ? entry->hidden : entry->address;
	if (status)
		*status = entry   ? CU_GET_PROC_ADDRESS_SUCCESS
			  : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **address, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status)
{
	return resolve(name, address, version, flags, status);
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **address, int version, cuuint64_t flags)
{
	CUresult result = resolve(name, address, version, flags, NULL);

	return result || *address ? result : CUDA_ERROR_NOT_FOUND;
}

/* Export tables are private to NVIDIA's libraries: this driver has none. */
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}
