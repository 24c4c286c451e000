/*
 * A program whose code takes longer to read than it runs. Arguments: a file, how many of its kernels k0, k1, … are
 * launched, and words:
 *   path          the driver reads the file; otherwise it is a shared library that has the module as `code`
 *   copied        the library's module is copied, and the library closed, before it is loaded
 *   killed MS     so many milliseconds after the last launch the program is killed
 *   waits MS      so many milliseconds after the last launch it ends
 */
#include "cuda_tests/awkward/awkward.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BYTES = 8 << 20 };

static struct awkward a;

static const void *code_in(const char *path, int copied)
{
	static char copy[COPY_BYTES];
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *code = library ? dlsym(library, "code") : NULL;

	if (!code) {
		printf("%s\n", dlerror());
		exit(4);
	}
	if (!copied)
		return code;
	memcpy(copy, code, *(const size_t *)dlsym(library, "code_bytes"));
	dlclose(library);
	return copy;
}

static void launch(CUmodule module, int kernels)
{
	int n = 5;
	void *parameters[] = {&a.memory, &n};

	for (int i = 0; i < kernels; i++) {
		CUfunction kernel;
		char name[16];

		snprintf(name, sizeof(name), "k%d", i);
		CHECK(cuModuleGetFunction(&kernel, module, name));
		CHECK(cuLaunchKernel(kernel, 4, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
	}
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	int by_path = 0, copied = 0, killed = 0;
	useconds_t wait_us = 0;
	CUmodule module;

	if (argc < 3)
		return 2;
	for (char **word = argv + 3; *word; word++) {
		by_path |= !strcmp(*word, "path");
		copied |= !strcmp(*word, "copied");
		killed |= !strcmp(*word, "killed");
		if (!strcmp(*word, "killed") || !strcmp(*word, "waits"))
			wait_us = 1000 * (useconds_t)atoi(*++word);
	}
	awkward_start(&a);
	if (by_path)
		CHECK(cuModuleLoad(&module, argv[1]));
	else
		CHECK(cuModuleLoadData(&module, code_in(argv[1], copied)));
	launch(module, atoi(argv[2]));
	usleep(wait_us);
	if (killed)
		raise(SIGKILL);
	return 0;
}
