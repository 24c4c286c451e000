/*
 * lives HOW N M: launches N times, prints "ready" and waits for a line, launches M times, and ends without a word to
 * anybody:
 *
 * kill     by SIGKILL
 * close    by SIGKILL; before, it has closed every descriptor but the first three
 * refuse   by SIGKILL; no thread of it may register robust futexes
 * fork     by SIGKILL, while a child made by fork() lives on for a minute
 * clone    the same with clone(), which runs no handlers
 * exec     by becoming another program, which lives on for a minute
 *
 * fork, clone and exec print the pid of who lives on, in a line of its own.
 */
#include "cuda_tests/awkward/awkward.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void launch(struct awkward *a, long n)
{
	for (long i = 0; i < n; i++)
		CHECK(awkward_launch(a, NULL, 32));
	CHECK(cuCtxSynchronize());
}

static void refuse_robust_futexes(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_robust_list, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(4);
}

/* The child holds neither the test's pipes nor the parent's end of them. */
static void make_child(pid_t child)
{
	if (child == 0) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		sleep(60);
		_exit(0);
	}
	printf("%d\n", child);
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[1] : "";
	struct awkward a;
	char line[16];

	if (argc < 4)
		return 2;
	if (!strcmp(how, "refuse"))
		refuse_robust_futexes();
	awkward_start(&a);
	if (!strcmp(how, "close"))
		syscall(SYS_close_range, 3, ~0U, 0);
	launch(&a, atol(argv[2]));
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 4;
	launch(&a, atol(argv[3]));
	if (!strcmp(how, "fork"))
		make_child(fork());
	if (!strcmp(how, "clone"))
		make_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	if (!strcmp(how, "exec")) {
		printf("%d\n", getpid());
		fflush(stdout);
		unsetenv("LD_PRELOAD");
		execl("/bin/sh", "sh", "-c", "exec sleep 60 <&- >&- 2>&-", NULL);
	}
	fflush(stdout);
	return raise(SIGKILL);
}
