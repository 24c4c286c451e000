/*
 * The first thread ends by pthread_exit(), and the process with the thread that ends last:
 *
 * first_thread launches N  which launches N times
 * first_thread goes_on     which makes no call of CUDA any more, a second later
 * first_thread handlers N  which launches N times; an exit handler launches, too, and needs a megabyte of stack
 */
#include "cuda_tests/awkward/awkward.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct awkward a;
static long launches;

static void launch(long n)
{
	CHECK(cuCtxSetCurrent(a.context));
	for (long i = 0; i < n; i++)
		CHECK(awkward_launch(&a, NULL, 32));
	CHECK(cuCtxSynchronize());
}

static void at_exit(void)
{
	char large[1 << 20]; /* as a thread of the application has */

	memset(large, 1, sizeof(large));
	for (int i = 0; i < large[launches % 100] * 10; i++)
		CHECK(awkward_launch(&a, NULL, 32)); /* in the context of the thread that ended last */
	printf("the end\n");
}

static void *last(void *how)
{
	launch(launches);
	if (strcmp(how, "goes_on") == 0) {
		sleep(1);
		printf("went on\n");
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread;

	if (count < 2)
		return 2;
	launches = count > 2 ? atol(arguments[2]) : 100;
	awkward_start(&a);
	if (strcmp(arguments[1], "handlers") == 0)
		atexit(at_exit);
	pthread_create(&thread, NULL, last, arguments[1]);
	pthread_exit(NULL);
}
