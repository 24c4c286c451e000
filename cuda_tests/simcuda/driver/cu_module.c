/* cuModule* and cuLibrary*: loaded code. A CUmodule and a CUlibrary are the same struct. */
#include "cuda_tests/simcuda/gpu/engine.h"
#include "cuda_tests/simcuda/gpu/gpu_image.h"

#include <cupti_activity.h>
#include <generated_cuda_meta.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_module(CUmodule module)
{
	return module && module->magic == SIM_MODULE;
}

static void notify(CUpti_CallbackIdResource cbid, CUmodule module)
{
	struct simcuda_resource resource = {.cbid = cbid,
					    .context = module->context ? module->context : sim_context(),
					    .module_id = module->id,
					    .image = module->image,
					    .image_bytes = module->image_bytes};

	sim_notify(&resource);
}

static void module_free(CUmodule module)
{
	uint32_t i;

	for (i = 0; i < module->code.globals; i++)
		if (module->code.global[i].address)
			sim_deallocate((void *)(uintptr_t)module->code.global[i].address);
	for (i = 0; i < module->code.kernels; i++)
		module->code.kernel[i].magic = module->code.kernel[i].function.magic = 0;
	sim_code_free(&module->code);
	free(module->image);
	module->magic = 0;
	free(module);
}

static CUresult load(CUmodule *out, const void *image, CUcontext context, const struct sim_preset *preset)
{
	CUmodule module = calloc(1, sizeof(*module));
	CUresult result;
	uint32_t i;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sim_image_load(&module->code, image, preset);
	if (result) {
		free(module);
		return result;
	}
	module->magic = SIM_MODULE;
	module->context = context;
	module->id = atomic_fetch_add(&sim.next_module_id, 1) + 1;
	module->image_bytes = sim_image_bytes(image);
	module->image = malloc(module->image_bytes);
	if (module->image)
		memcpy(module->image, sim_image_data(image), module->image_bytes);
	else
		module->image_bytes = 0;
	for (i = 0; i < module->code.kernels; i++)
		sim_kernel_of_code(&module->code.kernel[i], module);
	*out = module;
	notify(CUPTI_CBID_RESOURCE_MODULE_LOADED, module);
	return CUDA_SUCCESS;
}

static CUresult module_load(CUmodule *out, const void *image)
{
	CUcontext context = sim_context();

	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	return load(out, image, context, context->device->preset);
}
SIM_API_WITH(cuModuleLoadData, (CUmodule * module, const void *image), TOLD(module, image), module_load(module, image))
SIM_API_WITH(cuModuleLoadDataEx,
	     (CUmodule * module, const void *image, unsigned int n, CUjit_option *options, void **values),
	     TOLD(module, image, n, options, values), module_load(module, image))
SIM_API_WITH(cuModuleLoadFatBinary, (CUmodule * module, const void *fatbin), TOLD(module, fatbin),
	     module_load(module, fatbin))

/* Reads the whole file and appends a NUL, which PTX text needs. */
static CUresult read_file(const char *path, void **data)
{
	FILE *file = path ? fopen(path, "rbe") : NULL;
	CUresult result = CUDA_ERROR_INVALID_IMAGE;
	long bytes;

	if (!file)
		return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	rewind(file);
	*data = bytes > 0 ? calloc(1, bytes + 64)
			  : NULL; /* so many bytes can be read as headers even if the file is truncated */
	if (*data && fread(*data, 1, bytes, file) == (size_t)bytes)
		result = CUDA_SUCCESS;
	else
		free(*data);
	fclose(file);
	return result;
}

static CUresult module_load_file(CUmodule *out, const char *path)
{
	void *data;
	CUresult result = read_file(path, &data);

	if (result)
		return result;
	result = module_load(out, data);
	free(data);
	return result;
}
SIM_API_WITH(cuModuleLoad, (CUmodule * module, const char *path), TOLD(module, path), module_load_file(module, path))

static CUresult unload(CUmodule module)
{
	int i;

	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	notify(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, module);
	if (module->context && module->context->magic == SIM_CONTEXT)
		sim_context_wait(module->context);
	for (i = 0; i < sim.devices; i++)
		if (!module->context && sim.device[i].primary)
			sim_context_wait(sim.device[i].primary);
	module_free(module);
	return CUDA_SUCCESS;
}
SIM_API_WITH(cuModuleUnload, (CUmodule module), TOLD(module), unload(module))

/* The handle of the kernel: a CUkernel of a library, a CUfunction of a module. */
static void *handle_of(struct sim_kernel *kernel, int of_library)
{
	return of_library ? (void *)kernel : &kernel->function;
}

static CUresult kernel_named(void **out, CUmodule module, const char *name, int of_library)
{
	struct sim_kernel *kernel;

	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	kernel = sim_code_kernel(&module->code, name);
	*out = kernel ? handle_of(kernel, of_library) : NULL;
	return kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
SIM_API_WITH(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
	     TOLD(function, module, name), kernel_named((void **)function, module, name, 0))
SIM_API_WITH(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name), TOLD(kernel, library, name),
	     kernel_named((void **)kernel, (CUmodule)library, name, 1))
SIM_PRIVATE(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
	    kernel_named((void **)kernel, (CUmodule)library, name, 1))

static CUresult kernel_count(unsigned *n, CUmodule module)
{
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	*n = module->code.kernels;
	return CUDA_SUCCESS;
}
SIM_API(cuModuleGetFunctionCount, (unsigned int *n, CUmodule module), kernel_count(n, module))
SIM_API(cuLibraryGetKernelCount, (unsigned int *n, CUlibrary library), kernel_count(n, (CUmodule)library))

static CUresult enumerate(void **out, unsigned n, CUmodule module, int of_library)
{
	unsigned i;

	if (!out || !n)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	for (i = 0; i < n && i < module->code.kernels; i++)
		out[i] = handle_of(&module->code.kernel[i], of_library);
	return CUDA_SUCCESS;
}
SIM_API(cuModuleEnumerateFunctions, (CUfunction * functions, unsigned int n, CUmodule module),
	enumerate((void **)functions, n, module, 0))
SIM_API_WITH(cuLibraryEnumerateKernels, (CUkernel * kernels, unsigned int n, CUlibrary library),
	     TOLD(kernels, n, library), enumerate((void **)kernels, n, (CUmodule)library, 1))

static CUresult place_global(struct sim_global *global)
{
	uint32_t kind = global->managed ? CUPTI_ACTIVITY_MEMORY_KIND_MANAGED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	CUresult result = sim_allocate(&global->address, global->bytes, kind, 0);
	void *memory = (void *)(uintptr_t)global->address;

	if (result)
		return result;
	if (global->initial)
		memcpy(memory, global->initial, global->bytes);
	else
		memset(memory, 0, global->bytes);
	return CUDA_SUCCESS;
}

static CUresult global_named(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name, int managed)
{
	CUresult result = CUDA_ERROR_NOT_FOUND;
	uint32_t i;

	if (!name || (!address && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module(module))
		return CUDA_ERROR_INVALID_HANDLE;
	for (i = 0; i < module->code.globals; i++) {
		struct sim_global *global = &module->code.global[i];

		if (strcmp(global->name, name) || (managed && !global->managed))
			continue;
		pthread_mutex_lock(&sim.objects);
		result = global->address ? CUDA_SUCCESS : place_global(global);
		pthread_mutex_unlock(&sim.objects);
		if (!result && address)
			*address = global->address;
		if (!result && bytes)
			*bytes = global->bytes;
		break;
	}
	return result;
}
SIM_API(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *name),
	global_named(address, bytes, module, name, 0))
SIM_API(cuLibraryGetGlobal, (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name),
	global_named(address, bytes, (CUmodule)library, name, 0))
SIM_API(cuLibraryGetManaged, (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name),
	global_named(address, bytes, (CUmodule)library, name, 1))

static CUresult loading_mode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}
SIM_API(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), loading_mode(mode))

/* --- libraries belong to no context; their code is chosen for the current device, or for the first one */

static CUresult library_load(CUlibrary *out, const void *image)
{
	CUcontext context = sim_context();

	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	return load((CUmodule *)out, image, NULL, context ? context->device->preset : sim.device[0].preset);
}
SIM_API_WITH(cuLibraryLoadData,
	     (CUlibrary * library, const void *image, CUjit_option *jit, void **jit_values, unsigned int jits,
	      CUlibraryOption *options, void **values, unsigned int n),
	     TOLD(library, image, jit, jit_values, jits, options, values, n), library_load(library, image))
SIM_PRIVATE(cuLibraryLoadData,
	    (CUlibrary * library, const void *image, CUjit_option *jit, void **jit_values, unsigned int jits,
	     CUlibraryOption *options, void **values, unsigned int n),
	    ((void)jit, (void)jit_values, (void)jits, (void)options, (void)values, (void)n,
	     library_load(library, image)))

static CUresult library_load_file(CUlibrary *out, const char *path)
{
	void *data;
	CUresult result = read_file(path, &data);

	if (result)
		return result;
	result = library_load(out, data);
	free(data);
	return result;
}
SIM_API_WITH(cuLibraryLoadFromFile,
	     (CUlibrary * library, const char *path, CUjit_option *jit, void **jit_values, unsigned int jits,
	      CUlibraryOption *options, void **values, unsigned int n),
	     TOLD(library, path, jit, jit_values, jits, options, values, n), library_load_file(library, path))
SIM_API_WITH(cuLibraryUnload, (CUlibrary library), TOLD(library), unload((CUmodule)library))
SIM_PRIVATE(cuLibraryUnload, (CUlibrary library), unload((CUmodule)library))

static CUresult library_module(CUmodule *module, CUlibrary library)
{
	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_module((CUmodule)library))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = (CUmodule)library;
	return CUDA_SUCCESS;
}
SIM_API(cuLibraryGetModule, (CUmodule * module, CUlibrary library), library_module(module, library))
