#include "program.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thread {
	pthread_t id;
	long (*work)(int launches);
	int launches;
	long kernels;
};

static int computes = -1; /* not known yet */

void program_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

bool program_computes(const char *device_name)
{
	bool yes = strncmp(device_name, "Simulated ", 10) != 0;

	__atomic_store_n(&computes, yes, __ATOMIC_RELAXED);
	return yes;
}

void program_print(long kernels)
{
	printf("kernels %ld\n", kernels);
	if (computes >= 0)
		printf("results %s\n", computes ? "right" : "not computed");
	fflush(stdout);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	t->kernels = t->work(t->launches);
	return NULL;
}

static int number(const char *text, int most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < 1 || value > most)
		program_fail("%s is not a number from 1 to %d", text, most);
	return (int)value;
}

int program_run(int argc, char **argv, int launches, long (*work)(int launches))
{
	static struct thread threads[PROGRAM_THREADS_MAX];
	int count = 1;
	long kernels = 0;

	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && strcmp(argv[i], "--threads") == 0)
			count = number(argv[i + 1], PROGRAM_THREADS_MAX);
		else if (i + 1 < argc && strcmp(argv[i], "--launches") == 0)
			launches = number(argv[i + 1], 1000000);
		else
			program_fail("usage: %s [--threads N] [--launches N]", argv[0]);
	}
	for (int i = 0; i < count; i++) {
		threads[i].work = work;
		threads[i].launches = launches;
		if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]))
			program_fail("no thread");
	}
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i].id, NULL);
		kernels += threads[i].kernels;
	}
	program_print(kernels);
	return 0;
}
