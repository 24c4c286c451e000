/*
 * Launches N times, prints "ready" and waits for a line, then launches M times, so
 * that a test can act in the middle of the run. With a third argument it kills
 * itself at the end, by SIGKILL.
 */
#include "cuda_tests/awkward/awkward.h"

#include <signal.h>

static void launch(struct awkward *a, long n)
{
	for (long i = 0; i < n; i++)
		CHECK(awkward_launch(a, NULL, 32));
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	struct awkward a;
	char line[16];

	if (argc < 3)
		return 2;
	awkward_start(&a);
	launch(&a, atol(argv[1]));
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 4;
	launch(&a, atol(argv[2]));
	puts("done");
	fflush(stdout);
	return argc > 3 ? raise(SIGKILL) : 0;
}
