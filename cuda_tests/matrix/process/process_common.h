/*
 * What the programs about processes share. Children report counts to their parent
 * through anonymous shared memory, so that one line at the end has the sum.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "cuda_tests/matrix/runtime.h"

#include <sys/types.h>

/* A number that children share with their parent; 0 at first. */
long *process_shared_count(void);

/* fork(), after flushing what has been printed. */
pid_t process_fork(void);

/* Waits for the child; fails unless it exited with status 0. */
void process_join(pid_t child);

#endif
