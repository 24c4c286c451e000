/*
 * Opens libraries as a framework is imported, launches three kernels, opens the library after "then", and prints which
 * copies of CUPTI it has by then.
 *
 *	opens LIBRARY... [then LIBRARY]
 */
#include "cuda_tests/awkward/awkward.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static void open_library(const char *path)
{
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
		printf("%s\n", dlerror());
		exit(3);
	}
}

static int print_cupti(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (strstr(info->dlpi_name, "libcupti"))
		printf("%s\n", info->dlpi_name);
	return 0;
}

int main(int argc, char **argv)
{
	struct awkward a;
	int i = 1;

	for (; i < argc && strcmp(argv[i], "then") != 0; i++)
		open_library(argv[i]);
	awkward_start(&a);
	for (int n = 0; n < 3; n++)
		CHECK(awkward_launch(&a, NULL, 1));
	CHECK(cuCtxSynchronize());
	if (i + 1 < argc)
		open_library(argv[i + 1]);
	dl_iterate_phdr(print_cupti, NULL);
	return 0;
}
