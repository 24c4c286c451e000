/* Launches of a CUDA runtime, inside which the driver's stand. */
#include "facts_runtime.h"

#include <dlfcn.h>

bool facts_runtime_open(struct facts_runtime *r, const char *path)
{
	void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!handle)
		return false;
	*(void **)&r->load = dlsym(handle, "cudaLibraryLoadData");
	*(void **)&r->get_kernel = dlsym(handle, "cudaLibraryGetKernel");
	*(void **)&r->error_name = dlsym(handle, "cudaGetErrorName");
	*(void **)&r->launch = dlsym(handle, "cudaLaunchKernel");
	return r->load && r->get_kernel && r->launch && r->error_name;
}

cudaError_t facts_runtime_kernel(const struct facts_runtime *r, cudaKernel_t *kernel, const char *name)
{
	cudaLibrary_t library;
	cudaError_t error = r->load(&library, facts_ptx, NULL, NULL, 0, NULL, NULL, 0);

	return error ? error : r->get_kernel(kernel, library, name);
}

cudaError_t facts_runtime_launch(const struct facts_runtime *r, cudaKernel_t kernel, cudaStream_t stream, unsigned grid,
				 unsigned block, uint64_t ns)
{
	void *arguments[] = {&ns};

	return r->launch((const void *)kernel, (dim3){grid, 1, 1}, (dim3){block, 1, 1}, arguments, 0, stream);
}

static const char *whose(uint32_t id, bool both)
{
	bool driver = facts_call_of(false, id), runtime = facts_call_of(true, id);

	if (driver)
		return runtime ? "driver and runtime" : "driver";
	return runtime ? "runtime" : both ? "neither" : "not the driver";
}

static void launch_once(const struct facts_runtime *r, const struct facts_options *options)
{
	cudaKernel_t kernel;
	cudaError_t error = facts_runtime_kernel(r, &kernel, "facts_first");
	const char *owner;

	if (!error)
		error = facts_runtime_launch(r, kernel, NULL, 7, 32, 1000);
	if (error) { /* a runtime newer than the driver, for one */
		facts_value("runtime_launch_id", "not asked: the runtime answers %s", r->error_name(error));
		return;
	}
	if (facts_collect() != 1)
		facts_give_up("one record for one launch of the runtime",
			      facts_cupti.record_count ? "several" : "none");
	owner = whose(facts_cupti.records[0].correlation, options->both_domains);
	facts_say("whose correlation id the record of a runtime launch has", -1, "%s (record %u)", owner,
		  facts_cupti.records[0].correlation);
	for (int i = 0; i < facts_cupti.call_count; i++)
		facts_say("a launch callback", -1, "%s, id %u, %s", facts_cupti.calls[i].runtime ? "runtime" : "driver",
			  facts_cupti.calls[i].correlation, facts_cupti.calls[i].function);
	facts_value("runtime_launch_id", "%s", owner);
}

void facts_runtime(const struct facts_options *options)
{
	struct facts_runtime runtime;

	if (!facts_runtime_open(&runtime, options->cudart)) {
		facts_value("runtime_launch_id", "not asked: no shared CUDA runtime with cudaLibraryLoadData");
		return;
	}
	facts_driver_start();
	facts_attach(options);
	facts_context();
	launch_once(&runtime, options);
}
