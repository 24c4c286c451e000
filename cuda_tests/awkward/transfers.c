/*
 * Makes N transfers as fast as possible, and nothing else. usage: transfers N [empty]
 * empty: before each, a copy and a memset of nothing.
 */
#include "awkward.h"

int main(int argc, char **argv)
{
	static const char bytes[64];
	int n = argc > 1 ? atoi(argv[1]) : 1;
	struct awkward a;

	awkward_start(&a);
	for (int i = 0; i < n; i++) {
		if (argc > 2) {
			CHECK(cuMemcpyHtoDAsync(a.memory, bytes, 0, NULL));
			CHECK(cuMemsetD8Async(a.memory, 0, 0, NULL));
		}
		if (i % 2)
			CHECK(cuMemsetD8Async(a.memory, 0, sizeof(bytes), NULL));
		else
			CHECK(cuMemcpyHtoDAsync(a.memory, bytes, sizeof(bytes), NULL));
	}
	CHECK(cuCtxSynchronize());
	printf("%d transfers\n", n);
	return 0;
}
