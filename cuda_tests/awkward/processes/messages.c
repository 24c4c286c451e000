/*
 * Programs whose standard error is unusual, and which write nothing to it.
 *
 * messages gone|full|socket-gone|socket-full REST...  runs itself with REST, standard error being a pipe or socket
 *                           without a reader, or one that is full and never read
 * messages launch           launches
 * messages pending          launches with SIGPIPE blocked and pending
 * messages closed           closes standard error, launches, and says what number the next file gets
 * messages data FILE        closes standard error, whose number FILE gets, and writes to FILE before and after
 * launching messages around           writes to standard error before and after launching
 */
#include "cuda_tests/awkward/awkward.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNUSUAL_ERRNO 77

static void require(int good, const char *what)
{
	if (good)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(3);
}

static void fill(int fd)
{
	char bytes[512] = {0};

	require(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
	for (size_t n = sizeof(bytes); n; n /= 2)
		while (write(fd, bytes, n) > 0)
			;
	require(errno == EAGAIN, "write");
	require(fcntl(fd, F_SETFL, 0) == 0, "fcntl");
}

/* Makes standard error one end of a pipe or socket, as kind says. The other end stays open if it is to be full. */
static void replace_standard_error(const char *kind)
{
	int ends[2]; /* to read from, to write to */

	if (strncmp(kind, "socket-", 7) == 0)
		require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	else
		require(pipe(ends) == 0, "pipe");
	if (strstr(kind, "full"))
		fill(ends[1]);
	else
		close(ends[0]);
	require(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO, "dup2");
	close(ends[1]);
}

static int sigpipe_pending(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGPIPE);
}

static void launch(void)
{
	struct awkward a;

	errno = UNUSUAL_ERRNO;
	CHECK(cuInit(0));
	printf("errno %s\n", errno == UNUSUAL_ERRNO ? "kept" : "changed");
	awkward_load(&a);
	for (int i = 0; i < 100; i++)
		CHECK(awkward_launch(&a, NULL, 32));
	CHECK(cuStreamSynchronize(NULL));
	printf("SIGPIPE pending: %d\n", sigpipe_pending());
}

static void put(int fd, const char *text)
{
	require(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write");
}

static void launch_with_data(const char *file)
{
	int fd;

	close(STDERR_FILENO);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	require(fd == STDERR_FILENO, file);
	put(fd, "first\n");
	launch();
	put(fd, "second\n");
}

/* That of a file which is opened now. While another thread opens one, that one has the lowest number for a moment. */
static int next_number(void)
{
	int fd = -1;

	for (int looks = 0; looks < 50 && fd != STDERR_FILENO; looks++) {
		if (fd >= 0) {
			close(fd);
			usleep(10000);
		}
		fd = open("/dev/null", O_WRONLY);
	}
	return fd;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "";
	sigset_t pipes;

	if (strcmp(mode, "launch") == 0) {
		launch();
	} else if (strcmp(mode, "pending") == 0) {
		sigemptyset(&pipes);
		sigaddset(&pipes, SIGPIPE);
		sigprocmask(SIG_BLOCK, &pipes, NULL);
		raise(SIGPIPE);
		launch();
	} else if (strcmp(mode, "around") == 0) {
		put(STDERR_FILENO, "first\n");
		launch();
		put(STDERR_FILENO, "second\n");
	} else if (strcmp(mode, "closed") == 0) {
		close(STDERR_FILENO);
		launch();
		printf("next number: %d\n", next_number());
	} else if (strcmp(mode, "data") == 0 && count > 2) {
		launch_with_data(arguments[2]);
	} else if (count > 2) {
		replace_standard_error(mode);
		arguments[1] = arguments[0];
		execv("/proc/self/exe", arguments + 1);
		require(0, "execv");
	}
	return 0;
}
