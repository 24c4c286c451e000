/*
 * Opens libraries that are programs of the matrix, and runs the main() of each:
 *
 *	open HOW LIBRARY [ARG...] [-- HOW LIBRARY [ARG...]]...
 *
 * HOW: plain; deepbind, where look-ups find the library's own dependencies before
 * anything that is preloaded; apart, in a namespace of its own, with a C library and
 * a driver of its own.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *open_library(const char *how, const char *path)
{
	if (strcmp(how, "plain") == 0)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (strcmp(how, "lazy") == 0)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (strcmp(how, "deepbind") == 0)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (strcmp(how, "deepbind_lazy") == 0)
		return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
	if (strcmp(how, "apart") == 0)
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
	fprintf(stderr, "%s: how?\n", how);
	exit(2);
}

static int run(int argc, char **argv)
{
	void *library;
	int (*program)(int, char **);

	if (argc < 2) {
		fputs("usage: open HOW LIBRARY [ARG...] [-- ...]\n", stderr);
		exit(2);
	}
	library = open_library(argv[0], argv[1]);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&program = dlsym(library, "main");
	return program ? program(argc - 1, argv + 1) : 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int from = 1, to; from < argc; from = to + 1) {
		for (to = from; to < argc && strcmp(argv[to], "--"); to++)
			;
		argv[to] = NULL;
		status |= run(to - from, argv + from);
	}
	return status;
}
