/*
 * peak FILE COMMAND...: runs the command and writes its peak resident memory, in
 * KiB, to FILE. Exits with its status, or 128 + N if signal N killed it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;
	FILE *out;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 2;
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%ld\n", usage.ru_maxrss) < 0 || fclose(out))
		return 2;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
