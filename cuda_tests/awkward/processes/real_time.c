/*
 * real_time fifo|rr|idle: has that scheduling policy when it calls cuInit, launches for a while, and prints the policy
 * of each thread that has kerncast in its name. Status 77: it may not have it.
 */
#include "cuda_tests/awkward/awkward.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

static int policy_of(const char *name)
{
	return strcmp(name, "fifo") == 0 ? SCHED_FIFO : strcmp(name, "rr") == 0 ? SCHED_RR : SCHED_IDLE;
}

static bool is_ours(const char *thread)
{
	char path[300], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread);
	file = fopen(path, "r");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = 0;
	if (file)
		fclose(file);
	return strncmp(name, "kerncast", strlen("kerncast")) == 0;
}

static void print_threads(void)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;

	while (threads && (entry = readdir(threads)))
		if (is_ours(entry->d_name))
			printf("%d\n", sched_getscheduler(atoi(entry->d_name)));
}

int main(int count, char **arguments)
{
	int policy = policy_of(count > 1 ? arguments[1] : "");
	struct sched_param parameters = {.sched_priority = policy == SCHED_IDLE ? 0 : 1};
	struct awkward a;

	if (sched_setscheduler(0, policy, &parameters))
		return 77;
	awkward_start(&a);
	for (int i = 0; i < 2000; i++)
		CHECK(awkward_launch(&a, NULL, 32));
	CHECK(cuCtxSynchronize());
	print_threads();
	return 0;
}
