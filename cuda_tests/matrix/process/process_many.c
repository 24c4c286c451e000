/* 64 processes begin to use CUDA at the same moment. */
#include "process_common.h"

#include <stdlib.h>
#include <unistd.h>

#define PROCESSES 64
#define LAUNCHES 20

static void wait_for_start(int gate)
{
	char byte;

	if (read(gate, &byte, 1) != 0) /* the other end is closed: now */
		program_fail("no start");
}

int main(void)
{
	long *kernels = process_shared_count();
	pid_t children[PROCESSES];
	int gate[2];

	if (pipe(gate))
		program_fail("no pipe");
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = process_fork();
		if (children[i] == 0) {
			close(gate[1]);
			wait_for_start(gate[0]);
			__atomic_add_fetch(kernels, runtime_add(LAUNCHES), __ATOMIC_RELAXED);
			exit(0);
		}
	}
	close(gate[1]);
	for (int i = 0; i < PROCESSES; i++)
		process_join(children[i]);
	program_print(*kernels);
	return 0;
}
