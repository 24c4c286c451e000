#include "process_common.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

long *process_shared_count(void)
{
	long *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (count == MAP_FAILED)
		program_fail("no shared memory");
	return count;
}

pid_t process_fork(void)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		program_fail("no process");
	return child;
}

void process_join(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		program_fail("lost a child");
	if (status)
		program_fail("a child ended with wait status %d", status);
}
