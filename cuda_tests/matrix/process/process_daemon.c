/*
 * A daemon that uses CUDA: its folder is /, its standard streams are closed. It
 * writes its output to a file that it opened before.
 */
#include "cuda_tests/matrix/runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int out = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;

	if (out < 0)
		program_fail("usage: %s FILE", argv[0]);
	if (daemon(0, 0))
		program_fail("no daemon");
	dup2(out, STDOUT_FILENO);
	close(out);
	program_print(runtime_add(1000));
	return 0;
}
