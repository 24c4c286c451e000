/*
 * A child of a process that has launched: made by fork(), by _Fork() or by clone() itself, which run no handlers of
 * fork() (_Fork: of glibc 2.34 and later).
 *
 * children fork|_Fork|clone [launch]  the child launches, where `launch` is given, and ends with exit(7)
 *
 * children HOW init                   parent and child call cuInit, and nothing else
 * children clone-first                the child of a process that does not use CUDA does
 * children nvml                       50 children, made by fork() one after the other while CUDA is used, use NVML
 *
 * The parent launches again and kills itself: only something that the child wrote could say that it ended normally.
 */
#include "cuda_tests/awkward/awkward.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAUNCHES 100

extern pid_t _Fork(void) __attribute__((weak));

static pid_t make_child(const char *how)
{
	if (strcmp(how, "fork") == 0)
		return fork();
	if (strcmp(how, "_Fork") == 0 && _Fork)
		return _Fork();
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Returns how many launches succeed. */
static int launch(struct awkward *a)
{
	int good = 0;

	for (int i = 0; i < LAUNCHES; i++)
		good += awkward_launch(a, NULL, 32) == CUDA_SUCCESS;
	return good;
}

static int initialise_twice(const char *how)
{
	pid_t child;
	int result = cuInit(0), status;

	child = make_child(how);
	if (child == 0)
		exit(cuInit(0) != CUDA_SUCCESS);
	if (waitpid(child, &status, 0) != child)
		return 4;
	printf("cuInit: %d, the child's %s\n", result, status ? "failed" : "succeeded");
	return 0;
}

static int use_in_child(void)
{
	pid_t child = make_child("clone");
	struct awkward a;
	int status;

	if (child == 0) {
		awkward_start(&a);
		printf("child launched %d\n", launch(&a));
		CHECK(cuStreamSynchronize(NULL));
		exit(0);
	}
	return waitpid(child, &status, 0) != child || status;
}

static int use_nvml_in_children(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int (*nvml_init)(void) = library ? (int (*)(void))dlsym(library, "nvmlInit_v2") : NULL;
	int answered = 0, status;
	struct awkward a;

	if (!nvml_init)
		return 4;
	awkward_start(&a);
	for (int i = 0; i < 50 && answered == i; i++) {
		pid_t child;

		launch(&a);
		usleep(7000);
		child = make_child("fork");
		if (child == 0) {
			alarm(10);
			_exit(nvml_init());
		}
		answered += waitpid(child, &status, 0) == child && status == 0;
	}
	CHECK(cuStreamSynchronize(NULL));
	printf("%d children were answered\n", answered);
	return 0;
}

int main(int count, char **arguments)
{
	struct awkward a;
	pid_t child;
	int status;

	if (count > 2 && strcmp(arguments[2], "init") == 0)
		return initialise_twice(arguments[1]);
	if (count > 1 && strcmp(arguments[1], "clone-first") == 0)
		return use_in_child();
	if (count > 1 && strcmp(arguments[1], "nvml") == 0)
		return use_nvml_in_children();
	awkward_start(&a);
	printf("parent launched %d\n", launch(&a));
	CHECK(cuStreamSynchronize(NULL));
	fflush(stdout);
	child = make_child(count > 1 ? arguments[1] : "");
	if (child == 0) {
		if (count > 2)
			printf("child launched %d\n", launch(&a));
		exit(7);
	}
	if (waitpid(child, &status, 0) != child)
		return 4;
	printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	printf("parent launched %d\n", launch(&a));
	CHECK(cuStreamSynchronize(NULL));
	fflush(stdout);
	kill(getpid(), SIGKILL);
	return 5;
}
