/*
 * Runs a command whose system calls are answered as in a sandbox that does not have them.
 *
 *	sandbox gvisor|poor COMMAND...
 *
 * gvisor: as gVisor may answer. poor: in addition, without more of what a library can do without.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Of the call in the accumulator. */
#define REFUSE(call, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), ANSWER(error)
/* Where its third argument is, or has, this. */
#define REFUSE_THIRD(call, test, value, error)                                                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), FIELD(args[2]),                                         \
	    BPF_JUMP(BPF_JMP | (test) | BPF_K, value, 0, 1), ANSWER(error), ALLOW

static struct sock_filter gvisor[] = {
    FIELD(nr),
    REFUSE(rseq, ENOSYS),
    REFUSE(process_vm_readv, EPERM),
    REFUSE(userfaultfd, ENOSYS),
    REFUSE(perf_event_open, ENOSYS),
    REFUSE(pwritev2, EOPNOTSUPP),
    REFUSE(preadv2, EOPNOTSUPP),
    REFUSE(copy_file_range, ENOSYS),
    REFUSE(io_uring_setup, ENOSYS),
    REFUSE(renameat2, EINVAL),
    REFUSE_THIRD(madvise, BPF_JEQ, MADV_WIPEONFORK, EINVAL),
    REFUSE_THIRD(openat, BPF_JSET, O_TMPFILE & ~O_DIRECTORY, EOPNOTSUPP),
    ALLOW,
};
static struct sock_filter poor[] = {
    FIELD(nr),
    REFUSE(set_robust_list, ENOSYS),
    REFUSE(fallocate, EOPNOTSUPP),
    REFUSE(memfd_create, ENOSYS),
    REFUSE(flock, ENOSYS),
    REFUSE(getrandom, ENOSYS),
    REFUSE(membarrier, ENOSYS),
    REFUSE(statx, ENOSYS),
    REFUSE(linkat, EPERM),
    REFUSE(inotify_init1, ENOSYS),
    REFUSE(timerfd_create, ENOSYS),
    REFUSE(pidfd_open, ENOSYS),
    REFUSE(clone3, ENOSYS),
    ALLOW,
};

static int enter(struct sock_filter *filter, size_t bytes)
{
	struct sock_fprog program = {(unsigned short)(bytes / sizeof(*filter)), filter};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || enter(gvisor, sizeof(gvisor)) ||
	    (!strcmp(argv[1], "poor") && enter(poor, sizeof(poor)))) {
		perror("sandbox");
		return 9;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 9;
}
