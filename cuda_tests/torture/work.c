#include "work.h"
#include "deny.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10) /* sixteen threads fit under a small limit on memory */
#define FILES 8

static struct {
	struct work_counts *counts;
	int graph;
	unsigned threads, processes;
	bool closes, leaves; /* -c, -e */
	uint64_t calls;
	const char *kernel;
} work = {.processes = 0, .kernel = "torture"};

void work_fail(const char *call, int error)
{
	printf("%s: %d\n", call, error);
	exit(3);
}

char *work_ptx(const char *kernel)
{
	char *text;

	if (asprintf(&text,
		     ".version 8.0\n.target sm_75\n.address_size 64\n"
		     ".visible .entry %s(.param .u64 p0, .param .u32 p1)\n{\n"
		     ".reg .b32 %%r<4>;\nld.param.u32 %%r1, [p1];\nret;\n}\n",
		     kernel) < 0)
		work_fail("asprintf", errno);
	return text;
}

/* One thread of a process has files, in the place of whatever was open before. It looks whether they still hold what it
 * wrote, then closes all descriptors, those that it does not know as well, and opens others. */
static void change_files(uint64_t round)
{
	static int files[FILES];
	static uint64_t written;
	uint64_t held;

	for (int i = 0; written && i < FILES; i++)
		if (pread(files[i], &held, sizeof(held), 0) != sizeof(held) || held != written + (uint64_t)i)
			work_fail("a file is not what it was", i);
	CHECK(close_range(3, UINT_MAX, 0));
	written = round + 1;
	for (int i = 0; i < FILES; i++) {
		held = written + (uint64_t)i;
		files[i] = memfd_create("work", MFD_CLOEXEC);
		if (files[i] < 0 || pwrite(files[i], &held, sizeof(held), 0) != sizeof(held))
			work_fail("a file", errno);
	}
}

static void *launch_all(void *unused)
{
	static atomic_flag has_files = ATOMIC_FLAG_INIT;
	bool closes = work.closes && !atomic_flag_test_and_set(&has_files);
	struct work_thread *own = &work.counts->thread[atomic_fetch_add(&work.counts->threads, 1)];
	void *stream;

	(void)unused;
	own->pid = (uint32_t)getpid();
	own->tid = (uint32_t)syscall(SYS_gettid);
	own->kernels = work.graph ? WORK_NODES : 1;
	work_enter();
	stream = work_stream();
	for (uint64_t i = 0; work.calls == 0 || i < work.calls; i++) {
		if (closes && i % WORK_BETWEEN_FILES == 0)
			change_files(i);
		__atomic_store_n(&own->begun, i + 1, __ATOMIC_RELEASE);
		if (work.graph)
			work_launch_graph(stream);
		else
			work_launch(stream, i);
		__atomic_store_n(&own->made, i + 1, __ATOMIC_RELEASE);
		if (i % WORK_BETWEEN_WAITS == WORK_BETWEEN_WAITS - 1)
			work_wait(stream);
	}
	work_wait(stream);
	return NULL;
}

static void *leave(void *unused)
{
	pthread_exit(unused);
}

/* The C library opens libgcc_s.so.1 at the first pthread_exit(), and aborts where another thread closes that file. */
static void load_for_leaving(void)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, leave, NULL);

	if (error)
		work_fail("pthread_create", error);
	pthread_join(thread, NULL);
}

static void run_process(void)
{
	pthread_t threads[WORK_THREADS];
	pthread_attr_t small;
	int error;

	work_start(work.kernel);
	if (work.threads == 1 && !work.leaves) { /* needs no more than the process has */
		launch_all(NULL);
		return;
	}
	if (work.leaves)
		load_for_leaving();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (unsigned i = 0; i < work.threads; i++) {
		error = pthread_create(&threads[i], &small, launch_all, NULL);
		if (error)
			work_fail("pthread_create", error);
	}
	if (work.leaves)
		pthread_exit(NULL);
	for (unsigned i = 0; i < work.threads; i++)
		pthread_join(threads[i], NULL);
}

static void run_children(void)
{
	int status, failed = 0;

	for (unsigned i = 0; i < work.processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			work_fail("fork", errno);
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_process();
			exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status;
	if (failed)
		work_fail("a child", failed);
}

static struct work_counts *open_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *map =
	    fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct work_counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		work_fail("the file of counts", errno);
	close(fd);
	return map;
}

static int usage(void)
{
	fputs("usage: [-ce] [-d CALL:ERROR]... [-k KERNEL] COUNTS plain|graph THREADS CALLS [PROCESSES]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *denied[WORK_THREADS];
	unsigned denials = 0;
	int option;

	while ((option = getopt(argc, argv, "ced:k:")) >= 0) {
		if (option == 'k')
			work.kernel = optarg;
		else if (option == 'c')
			work.closes = true;
		else if (option == 'e')
			work.leaves = true;
		else if (option == 'd' && denials < WORK_THREADS)
			denied[denials++] = optarg;
		else
			return usage();
	}
	argv += optind;
	argc -= optind;
	if (argc < 4 || argc > 5)
		return usage();
	work.counts = open_counts(argv[0]);
	work.graph = !strcmp(argv[1], "graph");
	work.threads = (unsigned)strtoul(argv[2], NULL, 10);
	work.calls = strtoull(argv[3], NULL, 10);
	work.processes = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	if (work.threads == 0 || work.threads * (work.processes ? work.processes : 1) > WORK_THREADS)
		return usage();
	for (unsigned i = 0; i < denials; i++) {
		if (deny(denied[i]) < 0)
			return 2;
	}
	if (work.processes)
		run_children();
	else
		run_process();
	printf("%u threads, %llu calls each\n", work.threads, (unsigned long long)work.calls);
	return 0;
}
