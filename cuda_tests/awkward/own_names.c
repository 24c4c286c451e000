/*
 * A program with functions of the C library's names, which its symbol table makes everybody's. They serve it and the
 * stand-ins, and end it by abort() where a library of kerncast calls them. Prints how many threads it has made.
 */
#include "awkward.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define OWN(type, name, parameters, arguments)                                                                         \
	__attribute__((visibility("default"))) type name parameters                                                    \
	{                                                                                                              \
		refuse_kerncast(__builtin_return_address(0));                                                          \
		return ((type(*) parameters)dlsym(RTLD_NEXT, #name))arguments;                                         \
	}

static int created;

static void refuse_kerncast(const void *caller)
{
	Dl_info info;

	if (dladdr(caller, &info) && strstr(info.dli_fname, "libkerncast"))
		abort();
}

static int count(void)
{
	return ++created;
}

OWN(int, close, (int fd), (fd))
OWN(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
OWN(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
OWN(ssize_t, pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
OWN(ssize_t, pwrite64, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
OWN(int, ftruncate64, (int fd, off_t bytes), (fd, bytes))
OWN(int, unlink, (const char *path), (path))
OWN(int, pthread_create, (pthread_t * thread, const pthread_attr_t *how, void *(*fn)(void *), void *arg),
    (count() ? thread : NULL, how, fn, arg))

static void *nothing(void *unused)
{
	return unused;
}

int main(void)
{
	struct awkward a;
	pthread_t thread;

	awkward_start(&a);
	for (int i = 0; i < 1000; i++)
		CHECK(awkward_launch(&a, NULL, 32));
	CHECK(cuCtxSynchronize());
	created = 0;
	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	printf("%d\n", created);
	return 0;
}
