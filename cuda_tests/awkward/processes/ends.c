/*
 * ends HOW: launches 100 times, waits for them, and ends without exit handlers, with status 5:
 *
 * _exit, _Exit, quick_exit           by that function; quick_exit launches 100 times more in a handler of its own
 * signal                             by _exit() in the handler of a SIGTERM
 * execv, execve, execvp, execvpe, execl, execlp, execle, fexecve    by becoming a shell, which ends with the status
 * that its arguments and its environment say
 *
 * or by SIGKILL:
 *
 * killed
 * vain      after each exec function has failed
 * vfork     after children that have its memory have ended by _exit() and by exec
 */
#include "cuda_tests/awkward/awkward.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAUNCHES 100
#define STATUS 5
#define SHELL "/bin/sh"
/* 1 of the arguments and 4 of the environment. */
#define SCRIPT "exit $(($# - 12 + MARK))"
#define WORDS "sh", "-c", SCRIPT, "sh", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", (char *)NULL

static struct awkward awkward;

static void launch(void)
{
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(&awkward, NULL, 32));
	CHECK(cuStreamSynchronize(NULL));
}

static void on_signal(int number)
{
	(void)number;
	_exit(STATUS);
}

/* file: as of execvp(), path: as of execv(). Returns where that failed. */
static void become(const char *how, const char *file, const char *path)
{
	static char *const words[] = {WORDS};
	char *const environment[] = {"MARK=4", NULL};
	char *const other[] = {"MARK=4", "PATH=/nonexistent", NULL};

	setenv("MARK", "4", 1);
	if (!strcmp(how, "execv"))
		execv(path, words);
	if (!strcmp(how, "execvp"))
		execvp(file, words);
	if (!strcmp(how, "execl"))
		execl(path, WORDS);
	if (!strcmp(how, "execlp"))
		execlp(file, WORDS);
	setenv("MARK", "100", 1); /* those that follow are given theirs */
	if (!strcmp(how, "execve"))
		execve(path, words, environment);
	if (!strcmp(how, "execvpe"))
		execvpe(file, words, other);
	if (!strcmp(how, "execle"))
		execle(path, WORDS, environment);
	if (!strcmp(how, "fexecve"))
		fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environment);
}

static void become_in_vain(void)
{
	static const char *const all[] = {"execv", "execve", "execvp", "execvpe",
					  "execl", "execlp", "execle", "fexecve"};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		errno = 0;
		become(all[i], "kerncast-nonexistent", "/nonexistent");
		printf("%s: %s\n", all[i], strerror(errno));
	}
	fflush(stdout);
}

static int status_of_child(const char *script)
{
	pid_t child = vfork();
	int status;

	if (child == 0) {
		if (script)
			execl(SHELL, "sh", "-c", script, (char *)NULL);
		_exit(4);
	}
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

static void make_children(void)
{
	printf("the children's statuses: %d", status_of_child(NULL));
	printf(" and %d\n", status_of_child("exit 3"));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	signal(SIGTERM, on_signal);
	awkward_start(&awkward);
	launch();
	if (!strcmp(how, "_exit"))
		_exit(STATUS);
	if (!strcmp(how, "_Exit"))
		_Exit(STATUS);
	if (!strcmp(how, "quick_exit")) {
		if (at_quick_exit(launch))
			return 4;
		quick_exit(STATUS);
	}
	if (!strcmp(how, "signal"))
		raise(SIGTERM);
	if (!strcmp(how, "vain"))
		become_in_vain();
	if (!strcmp(how, "vfork"))
		make_children();
	become(how, "sh", SHELL);
	return raise(SIGKILL);
}
