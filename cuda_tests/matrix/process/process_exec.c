/* A process that has used CUDA becomes another program, which uses CUDA again. */
#include "cuda_tests/matrix/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCHES 300

int main(int argc, char **argv)
{
	char before[32];

	if (argc == 3 && strcmp(argv[1], "second") == 0) {
		program_print(atol(argv[2]) + runtime_add(LAUNCHES));
		return 0;
	}
	snprintf(before, sizeof(before), "%ld", runtime_add(LAUNCHES));
	execl("/proc/self/exe", argv[0], "second", before, (char *)NULL);
	program_fail("no exec");
}
