/*
 * What the programs about processes share. Counts travel from child to parent
 * through anonymous shared memory, so that one line at the end has them all.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "cuda_tests/matrix/runtime.h"

#include <sys/types.h>

/* A number that children share with their parent; 0 at first. */
long *process_shared_count(void);

/* fork(), with what was printed so far written out first. */
pid_t process_fork(void);

/* Waits for it; fails unless it exited with status 0. */
void process_join(pid_t child);

#endif
