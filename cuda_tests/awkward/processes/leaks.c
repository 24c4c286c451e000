/*
 * Built with AddressSanitizer: launches on four streams, from one thread or several, and leaks memory if it is told to.
 *
 * leaks LAUNCHES [leak]
 */
#include "cuda_tests/awkward/awkward.h"

#include <string.h>

#define STREAMS 4
#define LEAKED_BYTES 4711

static void *volatile kept;

static void leak(void)
{
	kept = malloc(LEAKED_BYTES);
	kept = NULL;
}

int main(int count, char **arguments)
{
	long launches = count > 1 ? atol(arguments[1]) : 0;
	CUstream streams[STREAMS];
	struct awkward a;

	awkward_start(&a);
	for (int i = 0; i < STREAMS; i++)
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	for (long i = 0; i < launches; i++) {
		CHECK(awkward_launch(&a, streams[i % STREAMS], 32 + (unsigned)(i % 5)));
		if (i % 64 == 63)
			CHECK(cuStreamSynchronize(streams[i % STREAMS]));
	}
	if (count > 2 && strcmp(arguments[2], "leak") == 0)
		leak();
	printf("launched %ld\n", launches);
	return 0;
}
