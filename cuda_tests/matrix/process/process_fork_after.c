/*
 * Children of a process that uses CUDA, which do not use it themselves: one
 * ends with exit(), one with _exit(), one outlives its parent. One that tries
 * is refused, as CUDA does not survive fork().
 */
#include "process_common.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LAUNCHES 300
#define ORPHAN_MS 300

static void try_cuda(void)
{
	void *memory;

	printf("child: CUDA %s\n", cudaMalloc(&memory, 4) ? "is refused" : "works");
}

int main(void)
{
	long kernels = runtime_add(LAUNCHES);
	pid_t child;

	child = process_fork();
	if (child == 0)
		exit(0);
	process_join(child);
	kernels += runtime_add(LAUNCHES);

	child = process_fork();
	if (child == 0)
		_exit(0);
	process_join(child);
	kernels += runtime_add(LAUNCHES);

	child = process_fork();
	if (child == 0) {
		try_cuda();
		exit(0);
	}
	process_join(child);
	if (process_fork() == 0) {
		poll(NULL, 0, ORPHAN_MS);
		exit(0);
	}
	kernels += runtime_add(LAUNCHES);
	program_print(kernels);
	return 0;
}
