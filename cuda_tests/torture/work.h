/*
 * Programs that launch kernels and count, in a file that outlives them, each call before and after they make it.
 *
 *   work_driver   through the driver API, linked
 *   work_runtime  through a shared CUDA runtime
 *
 * usage: work_… [-ce] [-d CALL:ERROR]... [-k KERNEL] COUNTS plain|graph THREADS CALLS [PROCESSES]
 *
 * Each of THREADS makes CALLS calls (0: until it is killed) on a stream of its own; with PROCESSES, each of as many
 * children does. COUNTS is a file of struct work_counts, which whoever starts the program made, of zeros. -d: a system
 * call fails once the program has been loaded; -k: the kernel's name; -c: a thread closes all
 * descriptors again and again, and has files of its own, which must stay what they are; -e: main() ends by
 * pthread_exit(). What it prints depends on the arguments alone.
 *
 * A plain call launches one kernel, the ith (from 0) of a thread with i % WORK_GRIDS + 1 blocks: in the order of their
 * launches, a missing row and a row that is there twice are both seen. A graph call launches WORK_NODES kernels.
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>

#define WORK_THREADS 64u
#define WORK_GRIDS 251u
#define WORK_NODES 3u
#define WORK_BETWEEN_FILES 8u  /* calls of a thread after which it closes its files, and opens others */
#define WORK_BETWEEN_WAITS 32u /* calls of a thread after which it waits for its stream */

struct work_thread {
	uint32_t pid, tid;
	uint64_t begun, made; /* calls: begun is counted before a call, made after it */
	uint64_t kernels;     /* of a call */
};

struct work_counts {
	_Atomic uint32_t threads;
	uint32_t reserved;
	struct work_thread thread[WORK_THREADS];
};

/* An API. All but the first are called by the thread that launches; a call that fails ends the program. */
void work_start(const char *kernel);
void work_enter(void);
void *work_stream(void); /* with its graph */
void work_launch(void *stream, uint64_t i);
void work_launch_graph(void *stream);
void work_wait(void *stream);

/* Prints the call and its error, and ends the program with status 3. */
_Noreturn void work_fail(const char *call, int error);
#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		int result_ = (int)(call);                                                                             \
		if (result_)                                                                                           \
			work_fail(#call, result_);                                                                     \
	} while (0)

/* A kernel of this name, in PTX. Never returns null. */
char *work_ptx(const char *kernel);

#endif
