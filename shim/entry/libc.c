/*
 * The C library's own functions for calls of ours, SQLite's included. An application may have functions of these names
 * for itself, which its symbol table makes everybody's: a close() that knows its own descriptors only, a
 * pthread_create() with stacks for its own threads. The linker makes our calls of X calls of __wrap_X (--wrap).
 */
#include "shim/shim.h"
#include "real.h"
#include "lookup.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>

#define FUNCTIONS(X)                                                                                                   \
	X(int, close, (int fd), (fd))                                                                                  \
	X(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))                                                    \
	X(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))                                         \
	X(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))                                     \
	X(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))                          \
	X(ssize_t, pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))                                   \
	X(ssize_t, pwrite64, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))                        \
	X(int, ftruncate, (int fd, off_t bytes), (fd, bytes))                                                          \
	X(int, ftruncate64, (int fd, off_t bytes), (fd, bytes))                                                        \
	X(int, unlink, (const char *path), (path))                                                                     \
	X(int, pthread_join, (pthread_t thread, void **result), (thread, result))                                      \
	X(int, pthread_detach, (pthread_t thread), (thread))                                                           \
	X(int, pthread_create, (pthread_t * thread, const pthread_attr_t *how, void *(*fn)(void *), void *arg),        \
	  (thread, how, fn, arg))

#define DEFINE(type, name, parameters, arguments)                                                                      \
	extern type __real_##name parameters __attribute__((weak));                                                    \
	type __wrap_##name parameters;                                                                                 \
	static type(*name##_of_libc) parameters = __real_##name;                                                       \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		return name##_of_libc arguments;                                                                       \
	}
FUNCTIONS(DEFINE)

/* Their functions of these names must see every thread and every write. */
static bool has_sanitizer(void)
{
	return kc__real_dlsym(RTLD_DEFAULT, "__asan_init") || kc__real_dlsym(RTLD_DEFAULT, "__tsan_init") ||
	       kc__real_dlsym(RTLD_DEFAULT, "__msan_init") || kc__real_dlsym(RTLD_DEFAULT, "__hwasan_init");
}

void kc__libc_find(void)
{
	void *libc = has_sanitizer() ? NULL : dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *found;

	if (!libc)
		return;
#define FIND(type, name, parameters, arguments)                                                                        \
	if ((found = kc__real_dlsym(libc, #name)))                                                                     \
		name##_of_libc = (type(*) parameters)found;
	FUNCTIONS(FIND)
	dlclose(libc);
}
