/* Two children use CUDA, at once, before their parent does. */
#include "process_common.h"

#include <stdlib.h>
#include <unistd.h>

#define LAUNCHES 300

int main(void)
{
	long *kernels = process_shared_count();
	pid_t child[2];

	for (int i = 0; i < 2; i++) {
		child[i] = process_fork();
		if (child[i] == 0) {
			__atomic_add_fetch(kernels, runtime_add(LAUNCHES), __ATOMIC_RELAXED);
			exit(0);
		}
	}
	for (int i = 0; i < 2; i++)
		process_join(child[i]);
	*kernels += runtime_add(LAUNCHES);
	program_print(*kernels);
	return 0;
}
