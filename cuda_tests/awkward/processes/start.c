/*
 * Unusual starts. early: launches before cuInit. thread N: the Nth thread that is made cannot
 * be, nor a later one; afterwards the program subscribes to CUPTI itself.
 * plugin FILE: a library calls cuInit while it is being opened. Prints the results of the calls.
 */
#include "cuda_tests/awkward/awkward.h"

#include <cupti.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAUNCHES 100

static int refuse_from; /* 0: all threads may start */
static int listener;    /* of the filter of system calls */
static sem_t listens;

static bool makes_thread(const struct seccomp_data *call)
{
	uint64_t flags = call->nr == SYS_clone3 ? ((const struct clone_args *)call->args[0])->flags : call->args[0];

	return flags & CLONE_THREAD;
}

/* Answers for the kernel, as where a limit of processes is reached. RLIMIT_NPROC does not bind root. */
static void *answer(void *unused)
{
	int threads = 0;

	CHECK(sem_wait(&listens));
	for (;;) {
		struct seccomp_notif call = {0};
		struct seccomp_notif_resp answer = {0};

		CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call));
		answer.id = call.id;
		if (makes_thread(&call.data) && ++threads >= refuse_from)
			answer.error = -EAGAIN;
		else
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer));
	}
	return unused;
}

/* Holds for this thread and those that it and they make; the one that answers was made before. */
static void refuse_threads(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	pthread_t thread;

	CHECK(sem_init(&listens, 0, 0));
	CHECK(pthread_create(&thread, NULL, answer, NULL));
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	CHECK(listener < 0);
	CHECK(sem_post(&listens));
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)user, (void)domain, (void)id, (void)data;
}

static void launch(struct awkward *a)
{
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(a, NULL, 32));
	CHECK(cuStreamSynchronize(NULL));
}

static void subscribe(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	__typeof__(&cuptiSubscribe) subscribe =
	    cupti ? (__typeof__(&cuptiSubscribe))dlsym(cupti, "cuptiSubscribe") : NULL;
	CUpti_SubscriberHandle subscriber;

	printf("cuptiSubscribe: %d\n", subscribe ? (int)subscribe(&subscriber, on_call, NULL) : -1);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct awkward a = {0};

	refuse_from = !strcmp(mode, "thread") ? atoi(argv[2]) : 0;
	if (!strcmp(mode, "early")) {
		printf("before cuInit: %d\n", awkward_launch(&a, NULL, 32));
		printf("graph before cuInit: %d\n", cuGraphLaunch(NULL, NULL));
	}
	if (!strcmp(mode, "plugin") && !dlopen(argv[2], RTLD_NOW)) {
		printf("%s\n", dlerror());
		return 4;
	}
	if (refuse_from)
		refuse_threads();
	awkward_start(&a);
	launch(&a);
	if (refuse_from)
		subscribe();
	launch(&a);
	return 0;
}
