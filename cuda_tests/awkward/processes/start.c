/*
 * Unusual starts. early: launches before cuInit. thread N: the preloaded library cannot
 * start its Nth thread or a later one; afterwards the program subscribes to CUPTI itself.
 * plugin FILE: a library calls cuInit while it is being opened. Prints the results of the calls.
 */
#include "cuda_tests/awkward/awkward.h"

#include <cupti.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define LAUNCHES 100

static int refuse_from, threads; /* 0: all may start */

/* Found by every library of this process in place of the C library's. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
							  void *(*run)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	Dl_info info;

	if (refuse_from && dladdr((void *)run, &info) && strstr(info.dli_fname, "libkerncast") &&
	    ++threads >= refuse_from)
		return EAGAIN;
	next =
	    (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
	return next(thread, attributes, run, arg);
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

static void launch(struct awkward *a)
{
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(a, NULL, 32));
	CHECK(cuStreamSynchronize(NULL));
}

static void subscribe(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	__typeof__(&cuptiSubscribe) subscribe =
	    cupti ? (__typeof__(&cuptiSubscribe))dlsym(cupti, "cuptiSubscribe") : NULL;
	CUpti_SubscriberHandle subscriber;

	printf("cuptiSubscribe: %d\n", subscribe ? (int)subscribe(&subscriber, on_call, NULL) : -1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct awkward a = {0};

	refuse_from = !strcmp(mode, "thread") ? atoi(argv[2]) : 0;
	if (!strcmp(mode, "early")) {
		printf("before cuInit: %d\n", awkward_launch(&a, NULL, 32));
		printf("graph before cuInit: %d\n", cuGraphLaunch(NULL, NULL));
	}
	if (!strcmp(mode, "plugin") && !dlopen(argv[2], RTLD_NOW)) {
		printf("%s\n", dlerror());
		return 4;
	}
	awkward_start(&a);
	launch(&a);
	if (refuse_from)
		subscribe();
	launch(&a);
	return 0;
}
