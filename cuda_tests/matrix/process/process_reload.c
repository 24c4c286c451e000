/*
 * A library with kernels is loaded, used and unloaded, twice; then another one whose
 * kernel has the same name; then everything again. The addresses of an unloaded
 * library are made inaccessible: calling or reading them is a crash. Or it is loaded
 * at the same ones, while its runtime, if that is shared, is not. Meanwhile the
 * driver gives handles of kernels out again, for other kernels.
 */
#include "cuda_tests/matrix/plugin.h"
#include "cuda_tests/matrix/program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 3
#define LAUNCHES 50 /* each time a library is loaded */
#define PAGE_BYTES 4096

/* The start of the object that the symbol is in. */
static void *start_of(void *library, const char *symbol)
{
	void *address = dlsym(library, symbol);
	Dl_info about;

	return address && dladdr(address, &about) ? about.dli_fbase : NULL;
}

/* Occupies the address, unless something is there, so that the next load goes elsewhere. */
static void occupy(void *start)
{
	if (start)
		mmap(start, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* elsewhere: the library's next load goes elsewhere; otherwise only its runtime's. */
static long run(const char *folder, int which, int launches, int elsewhere)
{
	plugin_run_function *plugin;
	char path[4096];
	void *library, *plugin_start, *runtime_start;
	long kernels;

	snprintf(path, sizeof(path), "%s/plugin_%d.so", folder, which);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		program_fail("%s", dlerror());
	plugin = (plugin_run_function *)dlsym(library, "plugin_run");
	if (!plugin)
		program_fail("%s", dlerror());
	plugin_start = start_of(library, "plugin_run");
	runtime_start = start_of(library, "cudaMalloc"); /* of a shared runtime, which is unloaded, too */
	kernels = plugin(launches);
	if (dlclose(library))
		program_fail("%s", dlerror());
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (library)
		program_fail("%s was not unloaded", path);
	if (elsewhere)
		occupy(plugin_start);
	occupy(runtime_start);
	return kernels;
}

int main(int argc, char **argv)
{
	int launches = argc == 3 && strcmp(argv[1], "--launches") == 0 ? atoi(argv[2]) : LAUNCHES;
	char *slash = argc == 1 || argc == 3 ? strrchr(argv[0], '/') : NULL;
	long kernels = 0;

	if (!slash || launches < 1)
		program_fail("usage: FOLDER/%s [--launches N], with plugin_1.so and plugin_2.so beside it", argv[0]);
	*slash = '\0';
	for (int i = 0; i < ROUNDS; i++) {
		kernels += run(argv[0], 1, launches, i % 2);
		kernels += run(argv[0], 1, launches, 1);
		kernels += run(argv[0], 2, launches, 1);
	}
	program_print(kernels);
	return 0;
}
