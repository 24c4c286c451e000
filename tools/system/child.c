#include "child.h"
#include "tools/command.h"

#include "store/common/options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL_NOT_FOUND 127 /* POSIX, "Exit status for commands" */
#define SHELL_NOT_EXECUTABLE 126
#define SHELL_SIGNAL_BASE 128

/* The parent receives these with sigwaitinfo(), so none can be lost between fork and wait. */
static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

struct before { /* signal state that the program must inherit unchanged */
	sigset_t mask;
	struct sigaction on_child;
};

static void take_signals(struct before *before, sigset_t *taken)
{
	struct sigaction on_child = {.sa_handler =
					 SIG_DFL}; /* while SIGCHLD is ignored there is no status to wait for */

	sigemptyset(taken);
	sigaddset(taken, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(taken, forwarded[i]);
	sigprocmask(SIG_BLOCK, taken, &before->mask);
	sigaction(SIGCHLD, &on_child, &before->on_child);
}

/* Signals that arrived while the program was ending were meant for it. */
static void drop_pending(const sigset_t *taken)
{
	struct timespec now = {0};

	while (sigtimedwait(taken, NULL, &now) > 0)
		;
}

static void give_back(const struct before *before)
{
	sigaction(SIGCHLD, &before->on_child, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

static void become(char *const *argv, const char *preload, const struct before *before, int failure)
{
	int error;

	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	give_back(before);
	execvp(argv[0], argv);
	error = errno;
	while (write(failure, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(error == ENOENT ? SHELL_NOT_FOUND : SHELL_NOT_EXECUTABLE);
}

/* Why the program could not be executed; 0: it was. */
static int exec_error(int from)
{
	int error = 0;
	ssize_t n;

	do
		n = read(from, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? error : 0;
}

/* 1: the program has ended. If it is stopped from the terminal, we stop as well, so that the shell sees the job
 * stopped, and continue it when we are continued. After a SIGSTOP, its sender will continue the program. */
static int collect(pid_t child, struct kc_child_end *end)
{
	int status;

	while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
		if (WIFSTOPPED(status)) {
			if (WSTOPSIG(status) != SIGSTOP) {
				raise(SIGSTOP);
				kill(child, SIGCONT);
			}
			continue;
		}
		end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		end->status = end->signal ? SHELL_SIGNAL_BASE + end->signal : WEXITSTATUS(status);
		return 1;
	}
	return 0;
}

static void watch(pid_t child, const sigset_t *taken, struct kc_child_end *end)
{
	siginfo_t info;

	while (!collect(child, end)) {
		int signal = sigwaitinfo(taken, &info);

		/* Signals from the terminal go to the whole foreground group, so the program already has them. */
		if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
			kill(child, signal);
	}
}

int kc_child_run(char *const *argv, const char *preload, struct kc_child_end *end)
{
	struct before before;
	sigset_t taken;
	int failure[2], rc = 0, error;
	pid_t child;

	*end = (struct kc_child_end){0};
	if (pipe2(failure, O_CLOEXEC) < 0)
		return -errno;
	take_signals(&before, &taken);
	child = fork();
	if (child == 0)
		become(argv, preload, &before, failure[1]);
	if (child < 0)
		rc = -errno;
	close(failure[1]);
	if (rc == 0) {
		error = exec_error(failure[0]);
		end->started = error == 0;
		if (error)
			kc_error("cannot run %s: %s", argv[0], strerror(error));
		watch(child, &taken, end);
	}
	close(failure[0]);
	drop_pending(&taken);
	give_back(&before);
	return rc;
}

void kc_child_settle(const char *database)
{
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const char *name = kc_option_info(i)->env;

		if (strcmp(name, "KERNCAST_CUPTI") != 0)
			unsetenv(name);
	}
	setenv("KERNCAST_DB", database, 1);
	setenv("KERNCAST_QUIET", "1", 1);
}
