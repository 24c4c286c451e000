/*
 * A program of a CUDA runtime that it opens by name, so that any version of it will do:
 *
 *	runtime LIBRARY     for example libcudart.so.12
 *
 * Prints what each call returns, here and in a forked child. Where that is killed, the
 * status is what a shell would say. There are no headers of older runtimes here; the
 * functions below have had these parameters in all of them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct three { /* dim3 */
	unsigned x, y, z;
};

static void *library;

static void *find(const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		printf("%s: not found\n", name);
		exit(2);
	}
	return address;
}

static void print(const char *name, int result)
{
	const char *(*name_of)(int) = (const char *(*)(int))find("cudaGetErrorName");

	printf("%s: %d, %s\n", name, result, name_of(result));
}

static void ask(void)
{
	int (*count)(int *) = (int (*)(int *))find("cudaGetDeviceCount");
	int (*driver_version)(int *) = (int (*)(int *))find("cudaDriverGetVersion");
	int (*runtime_version)(int *) = (int (*)(int *))find("cudaRuntimeGetVersion");
	int (*entry_point)(const char *, void **, unsigned long long) =
	    (int (*)(const char *, void **, unsigned long long))find("cudaGetDriverEntryPoint");
	int devices = -1, driver = -1, runtime = -1;
	void *entry = NULL;

	print("cudaGetDeviceCount", count(&devices));
	print("cudaDriverGetVersion", driver_version(&driver));
	print("cudaRuntimeGetVersion", runtime_version(&runtime));
	printf("%d devices, driver %d, runtime %d\n", devices, driver, runtime);
	print("cudaGetDriverEntryPoint", entry_point("cuLaunchKernel", &entry, 0));
	printf("an entry point: %s\n", entry ? "yes" : "no");
}

static void use(void)
{
	int (*set_device)(int) = (int (*)(int))find("cudaSetDevice");
	int (*allocate)(void **, size_t) = (int (*)(void **, size_t))find("cudaMalloc");
	int (*create)(void **) = (int (*)(void **))find("cudaStreamCreate");
	int (*launch)(const void *, struct three, struct three, void **, size_t, void *) =
	    (int (*)(const void *, struct three, struct three, void **, size_t, void *))find("cudaLaunchKernel");
	int (*synchronize)(void) = (int (*)(void))find("cudaDeviceSynchronize");
	int (*last_error)(void) = (int (*)(void))find("cudaGetLastError");
	struct three one = {1, 1, 1};
	void *memory = NULL, *stream = NULL;

	print("cudaSetDevice", set_device(0));
	print("cudaMalloc", allocate(&memory, 4));
	print("cudaStreamCreate", create(&stream));
	print("cudaLaunchKernel", launch((const void *)use, one, one, NULL, 0, NULL));
	print("cudaDeviceSynchronize", synchronize());
	print("cudaGetLastError", last_error());
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t child;

	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		printf("%s\n", argc > 1 ? dlerror() : "usage: runtime LIBRARY");
		return 2;
	}
	ask();
	use();
	fflush(stdout);
	child = fork();
	if (!child) {
		ask();
		use();
		exit(7);
	}
	waitpid(child, &status, 0);
	printf("child: status %d\n", status);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 0;
}
