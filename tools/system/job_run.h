/*
 * One run of several commands: `mpiexec -n 4 kerncast run APP`, and srun and torchrun likewise, start the command once
 * for each rank. Those of a launcher on one host that record into one database share a run by a file in /dev/shm (or
 * /var/tmp), "kerncast-UID-HASH.PID-START-N.job" with the launcher's pid and start. It holds the run's token and the
 * ranks that have joined; each command holds a lock on it (flock) while it runs. The one that leaves last speaks for
 * all. A rank that comes again, as in a loop of a script, belongs to the next run: N. The file is deleted once all
 * ranks of the host have left or, where that is not known or one never comes, by a later command when the launcher has
 * ended.
 */
#ifndef KC_JOB_RUN_H
#define KC_JOB_RUN_H

#include "store/common/job/job.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct kc_job_run {
	int file; /* -1: a run of its own */
	char path[PATH_MAX];
};

/* token: of a run of its own; becomes that of the run which is joined. It stays what it is where the process has no
 * rank, where it is alone, or where there can be no such file. */
void kc_job_run_join(struct kc_job_run *run, const struct kc_job *job, const char *database, char *token, size_t size);

/* true: no other command of the run is at work. */
bool kc_job_run_leave(struct kc_job_run *run);

#endif
