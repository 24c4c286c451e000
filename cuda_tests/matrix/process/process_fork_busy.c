/* Children are forked, and end with exit(), while four threads launch: any lock may be held at the fork. */
#include "process_common.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 30
#define LAUNCHES 50
#define CHILDREN_MAX 200

static int busy = THREADS;
static long kernels;

static void *launch_kernels(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		__atomic_add_fetch(&kernels, runtime_add(LAUNCHES), __ATOMIC_RELAXED);
	__atomic_sub_fetch(&busy, 1, __ATOMIC_RELEASE);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	pid_t child;

	kernels = runtime_add(LAUNCHES);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, launch_kernels, NULL))
			program_fail("no thread");
	for (int i = 0; i < CHILDREN_MAX && __atomic_load_n(&busy, __ATOMIC_ACQUIRE); i++) {
		child = process_fork();
		if (child == 0)
			exit(0);
		process_join(child);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	program_print(kernels);
	return 0;
}
