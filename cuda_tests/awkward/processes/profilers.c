/*
 * A program whose plugins have a profiler, and the results that CUPTI gives it.
 *
 *	profilers before|after|child PLUGIN...   before its first cuInit, after a launch, in a child forked then
 *	profilers past LIBRARY PLUGIN...         after a launch, where LIBRARY called cuInit past whatever is preloaded
 *	profilers profile|profile-early PLUGIN BEGIN   after a launch, before its first cuInit: PLUGIN's function BEGIN
 *	                                         begins to measure, and three launches later it says what it got
 *	profilers found LIBRARY...               in functions found with dlsym() in each library
 *	profilers global                         which names dlsym() finds without any library
 */
#include "cuda_tests/awkward/awkward.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIBRARIES_MAX = 4 };

static void *open_library(const char *path, int flags)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);

	if (!library) {
		printf("%s\n", dlerror());
		exit(3);
	}
	return library;
}

static int call(void *plugin, const char *name)
{
	int (*function)(void) = (int (*)(void))dlsym(plugin, name);

	return function ? function() : -2;
}

static void ask(int count, char **paths)
{
	for (int i = 0; i < count; i++) {
		void *plugin = open_library(paths[i], 0);

		printf("subscribe %d, ", call(plugin, "plugin_subscribe"));
		printf("found globally %d, ", call(plugin, "plugin_subscribe_globally"));
		printf("register %d\n", call(plugin, "plugin_register"));
		if (count == 1)
			printf("register by a jump %d\n", call(plugin, "plugin_register_by_jump"));
	}
	fflush(stdout);
}

static void ask_in_child(int count, char **paths)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		ask(count, paths);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child: %d\n", status);
}

static void launch(struct awkward *a)
{
	for (int i = 0; i < 3; i++)
		CHECK(awkward_launch(a, NULL, 1));
	CHECK(cuCtxSynchronize());
}

/* Looks all functions up before it calls the first. */
static void ask_found(int count, char **paths)
{
	CUptiResult (*found[LIBRARIES_MAX])(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);

	for (int i = 0; i < count && i < LIBRARIES_MAX; i++)
		found[i] = (__typeof__(found[i]))dlsym(open_library(paths[i], 0), "cuptiActivityRegisterCallbacks");
	for (int i = 0; i < count && i < LIBRARIES_MAX; i++)
		printf("register %d\n", found[i](NULL, NULL));
}

/* begin: the function that does; early: before the driver is initialised */
static void profile(struct awkward *a, const char *path, const char *begin, bool early)
{
	void *plugin = open_library(path, 0);

	if (!early) {
		awkward_start(a);
		launch(a);
	}
	printf("begin %d, ", call(plugin, begin));
	if (early)
		awkward_start(a);
	launch(a);
	printf("kernels %d, ", call(plugin, "plugin_kernels"));
	printf("in its time %d\n", call(plugin, "plugin_kernels_in_time"));
	fflush(stdout);
}

static void ask_global(void)
{
	/* The stand-in driver lacks the second. */
	static const char *const names[] = {"cuLaunchKernel", "cuMemcpyAtoA_v2", "cuptiSubscribe",
					    "cuptiActivityRegisterCallbacks"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("%s: %s\n", names[i], dlsym(RTLD_DEFAULT, names[i]) ? "found" : "not found");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "global";
	struct awkward a;

	if (!strcmp(mode, "global")) {
		ask_global();
	} else if (!strcmp(mode, "found")) {
		ask_found(argc - 2, argv + 2);
	} else if (!strcmp(mode, "before")) {
		ask(argc - 2, argv + 2);
		awkward_start(&a);
		launch(&a);
	} else if (!strcmp(mode, "past")) {
		CHECK(call(open_library(argv[2], RTLD_DEEPBIND), "plugin_init"));
		awkward_load(&a);
		launch(&a);
		ask(argc - 3, argv + 3);
		launch(&a);
	} else if (!strcmp(mode, "profile") || !strcmp(mode, "profile-early")) {
		profile(&a, argv[2], argv[3], mode[7]);
		launch(&a);
	} else {
		awkward_start(&a);
		launch(&a);
		if (!strcmp(mode, "child"))
			ask_in_child(argc - 2, argv + 2);
		else
			ask(argc - 2, argv + 2);
		launch(&a);
	}
	return 0;
}
