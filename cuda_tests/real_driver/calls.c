/*
 * Calls functions of the driver with nothing but zeros, before and after cuInit, and
 * prints what each returns and what it leaves in errno. Without a GPU they refuse.
 *
 *	calls dlsym NAME...      functions found in libcuda, opened RTLD_LOCAL
 *	calls global NAME...     by a look-up in the whole process, which finds them only in calls_linked,
 *	                         the same program linked to libcuda
 *	calls proc NAME...       by cuGetProcAddress, as the driver's own version has them
 *	calls fork NAME...       as with dlsym, also in children forked before and after cuInit
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As many parameters as the longest list of the driver's. On x86-64 a caller may pass more than a function takes. */
typedef CUresult (*any_function)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
				 void *);
typedef CUresult (*resolver)(const char *name, void **address, int version, cuuint64_t flags);

static const char *mode;
static void *driver;

static any_function by_resolver(const char *name)
{
	resolver ask = (resolver)dlsym(driver, "cuGetProcAddress");
	CUresult (*get_version)(int *) = (CUresult(*)(int *))dlsym(driver, "cuDriverGetVersion");
	void *address = NULL;
	int version = 0;

	if (!ask || !get_version || get_version(&version) || ask(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT))
		return NULL;
	return (any_function)address;
}

static any_function find(const char *name)
{
	if (!strcmp(mode, "global"))
		return (any_function)dlsym(RTLD_DEFAULT, name);
	return strcmp(mode, "proc") ? (any_function)dlsym(driver, name) : by_resolver(name);
}

static void call_all(const char *when, char **names)
{
	for (; *names; names++) {
		any_function function = find(*names);
		int result;

		if (!function) {
			printf("%s: %s: not found\n", when, *names);
			continue;
		}
		errno = EXDEV;
		result = (int)function(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		printf("%s: %s: %d, errno %d\n", when, *names, result, errno);
	}
	fflush(stdout);
}

static void initialise(const char *who)
{
	any_function init = (any_function)dlsym(driver, "cuInit");

	printf("%s: cuInit: %d\n", who,
	       (int)init(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	fflush(stdout);
}

static void in_child(const char *who, char **names)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		initialise(who);
		call_all(who, names);
		exit(7);
	}
	waitpid(child, &status, 0);
	printf("%s: status %d\n", who, status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	mode = argv[1];
	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver) {
		printf("%s\n", dlerror());
		return 2;
	}
	if (!strcmp(mode, "fork"))
		in_child("child before", argv + 2);
	call_all("before", argv + 2);
	initialise("parent");
	call_all("after", argv + 2);
	if (!strcmp(mode, "fork"))
		in_child("child after", argv + 2);
	return 0;
}
