/*
 * A preloaded library with string functions of its own, which look for the real ones when they are first called: as a
 * checker's, and as a sanitizer's runtime does at its start.
 */
#include <dlfcn.h>
#include <stddef.h>

#define INTERPOSE(type, name, parameters, arguments)                                                                   \
	__attribute__((visibility("default"))) type name parameters;                                                   \
	type name parameters                                                                                           \
	{                                                                                                              \
		static type(*real) parameters;                                                                         \
                                                                                                                       \
		if (!real)                                                                                             \
			real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                            \
		return real arguments;                                                                                 \
	}

INTERPOSE(int, strcmp, (const char *a, const char *b), (a, b))
INTERPOSE(int, strncmp, (const char *a, const char *b, size_t n), (a, b, n))
INTERPOSE(char *, strchr, (const char *s, int c), (s, c))
INTERPOSE(char *, strrchr, (const char *s, int c), (s, c))
INTERPOSE(size_t, strlen, (const char *s), (s))
INTERPOSE(void *, memset, (void *at, int value, size_t n), (at, value, n))
INTERPOSE(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n))

/* Before any constructor of the libraries behind it. */
__attribute__((constructor)) static void begin(void)
{
	volatile char a[] = "a";

	(void)strcmp((const char *)a, "b");
}
