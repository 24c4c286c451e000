#include "deny.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CALL(name)                                                                                                     \
	{                                                                                                              \
#name, SYS_##name                                                                                      \
	}
/* Without brk(): it fails by telling the break that there is, and the C library takes any other answer for a new one.
 */
static const struct {
	const char *name;
	uint32_t number;
} calls[] = {
    CALL(access),
    CALL(chdir),
    CALL(chmod),
    CALL(clock_nanosleep),
    CALL(clone),
    CALL(clone3),
    CALL(close),
    CALL(close_range),
    CALL(fallocate),
    CALL(fchmod),
    CALL(fcntl),
    CALL(fdatasync),
    CALL(flock),
    CALL(fstat),
    CALL(fsync),
    CALL(ftruncate),
    CALL(getcwd),
    CALL(getdents64),
    CALL(geteuid),
    CALL(getpid),
    CALL(getrandom),
    CALL(gettid),
    CALL(kill),
    CALL(lseek),
    CALL(madvise),
    CALL(memfd_create),
    CALL(mmap),
    CALL(mprotect),
    CALL(mremap),
    CALL(msync),
    CALL(munmap),
    CALL(newfstatat),
    CALL(open),
    CALL(openat),
    CALL(poll),
    CALL(prctl),
    CALL(pread64),
    CALL(prlimit64),
    CALL(pwrite64),
    CALL(pwritev2),
    CALL(read),
    CALL(readlink),
    CALL(rename),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigtimedwait),
    CALL(sched_getaffinity),
    CALL(sched_yield),
    CALL(set_robust_list),
    CALL(statx),
    CALL(sysinfo),
    CALL(uname),
    CALL(unlink),
    CALL(unshare),
    CALL(utimensat),
};
#define CALLS (sizeof(calls) / sizeof(*calls))

void deny_list(FILE *to)
{
	for (size_t i = 0; i < CALLS; i++)
		fprintf(to, "%s\n", calls[i].name);
}

static int install(uint32_t number, uint32_t error)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		fprintf(stderr, "seccomp: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

int deny(const char *what)
{
	const char *colon = strchr(what, ':');
	uint32_t error = colon && !strcmp(colon, ":EPERM") ? EPERM : colon && !strcmp(colon, ":ENOSYS") ? ENOSYS : 0;

	for (size_t i = 0; i < CALLS && error; i++) {
		if (!strncmp(calls[i].name, what, (size_t)(colon - what)) && !calls[i].name[colon - what])
			return install(calls[i].number, error);
	}
	fprintf(stderr, "%s: not a system call and EPERM or ENOSYS\n", what);
	return -1;
}
