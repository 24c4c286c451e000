#include "piped.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAP_MS 5
#define LOOK_MS 20 /* whether the program has ended, and another holds its pipe */
#define ROUNDS_MAX 1000

enum { READ, WRITE }; /* ends of a pipe */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int start(const struct kc_piped *piped, int in, int out, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t usual;
	int rc;

	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = -posix_spawnp(child, piped->argv[0], &actions, &attributes, piped->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return rc;
}

/* Writes what fits. The number of bytes left; 0 where nobody reads them. */
static size_t give(int to, const char *from, size_t left)
{
	ssize_t n = write(to, from, left);

	if (n >= 0)
		return left - (size_t)n;
	return errno == EAGAIN || errno == EINTR ? left : 0;
}

/* 1: there may be more; 0: that was all; -EFBIG, or another -errno. */
static int take(int from, struct kc_piped *piped)
{
	char beyond;
	size_t room = piped->out_room - piped->out_bytes;
	ssize_t n = read(from, room ? piped->out + piped->out_bytes : &beyond, room ? room : 1);

	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	if (n > 0 && !room)
		return -EFBIG;
	piped->out_bytes += (size_t)n;
	return n > 0;
}

static bool has_ended(pid_t child)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

/* Closes `to` once all is written, which tells the program that there is no more. What a child of the program says
 * after its end is not waited for. */
static int converse(struct kc_piped *piped, pid_t child, int *to, int from, int64_t until_ms)
{
	size_t left = piped->in_bytes;
	int more = 1;

	while (more > 0) {
		struct pollfd wait[] = {{.fd = from, .events = POLLIN}, {.fd = *to, .events = POLLOUT}};
		bool ended = has_ended(child);
		int ready = poll(wait, 2, ended ? 0 : LOOK_MS);

		if (now_ms() >= until_ms)
			return -ETIME;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ended && !(ready > 0 && wait[0].revents))
			return 0;
		if (ready <= 0)
			continue;
		if (wait[1].revents)
			left = give(*to, piped->in + piped->in_bytes - left, left);
		if (*to >= 0 && !left) {
			close(*to);
			*to = -1; /* which poll() passes over */
		}
		if (wait[0].revents)
			more = take(from, piped);
	}
	return more;
}

/* A program that has closed its output may still take its time to end. */
static int collect(pid_t child, int rc, int64_t until_ms, int *status)
{
	const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
	pid_t ended = 0;

	while (rc == 0 && ended == 0) {
		ended = waitpid(child, status, WNOHANG);
		if (ended < 0)
			return -errno;
		if (ended == 0 && now_ms() >= until_ms)
			rc = -ETIME;
		else if (ended == 0)
			nanosleep(&nap, NULL);
	}
	if (ended == child)
		return 0;
	kill(child, SIGKILL);
	while (waitpid(child, status, 0) < 0 && errno == EINTR)
		;
	return rc;
}

/* What the program has started and left behind, in process groups and sessions of their own, too: it has become ours.
 */
static void end_those_left(void)
{
	long pid = 1;

	for (int round = 0; pid > 0 && round < ROUNDS_MAX; round++) {
		FILE *children = fopen("/proc/thread-self/children", "re");

		if (!children || fscanf(children, "%ld", &pid) != 1)
			pid = 0;
		if (children)
			fclose(children);
		if (pid > 0 && kill((pid_t)pid, SIGKILL) == 0)
			waitpid((pid_t)pid, NULL, 0);
	}
}

int kc_piped_run(struct kc_piped *piped)
{
	int64_t until_ms = now_ms() + piped->limit_ms;
	int in[2], out[2], rc;
	pid_t child;

	piped->out_bytes = 0;
	piped->status = 0;
	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		rc = -errno;
		close(in[READ]);
		close(in[WRITE]);
		return rc;
	}
	fcntl(in[WRITE], F_SETFL, O_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = start(piped, in[READ], out[WRITE], &child);
	close(in[READ]);
	close(out[WRITE]);
	if (rc == 0) {
		rc = converse(piped, child, &in[WRITE], out[READ], until_ms);
		rc = collect(child, rc, until_ms, &piped->status);
		end_those_left();
	}
	if (in[WRITE] >= 0)
		close(in[WRITE]);
	close(out[READ]);
	piped->out[piped->out_bytes] = '\0';
	return rc;
}
