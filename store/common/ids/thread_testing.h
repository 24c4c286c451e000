/* What tests that wait for another thread need to know of it, so that none depends on how busy the machine is. */
#ifndef KC_STORE_COMMON_IDS_THREAD_TESTING_H
#define KC_STORE_COMMON_IDS_THREAD_TESTING_H

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* 'R' runs or would, 'S' sleeps, 'Z' has ended …: proc_pid_stat(5). 0: there is none. */
static inline char kc_thread_state(pid_t process, pid_t thread)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)process, (int)thread);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state;
}

#endif
