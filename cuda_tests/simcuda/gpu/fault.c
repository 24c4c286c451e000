/* SIMCUDA_FAULT and SIMCUDA_LOG. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVERY_TENTH 10

static struct {
	struct simcuda_faults faults;
	atomic_uint memory_requests, launches;
} fault;

static const struct {
	const char *name;
	size_t offset;
	uint32_t default_n;
} known[] = {
    {"cupti-busy", offsetof(struct simcuda_faults, cupti_busy), 1},
    {"cupti-drop", offsetof(struct simcuda_faults, cupti_drop), EVERY_TENTH},
    {"cupti-zero-time", offsetof(struct simcuda_faults, cupti_zero_time), EVERY_TENTH},
    {"cupti-other-clock", offsetof(struct simcuda_faults, cupti_other_clock), EVERY_TENTH},
    {"cupti-device-buffers", offsetof(struct simcuda_faults, cupti_device_buffers), 100000},
    {"cupti-graph-ids", offsetof(struct simcuda_faults, cupti_graph_ids), 1},
    {"cupti-hang-disable", offsetof(struct simcuda_faults, cupti_hang_disable), 1},
    {"cupti-crash-flush", offsetof(struct simcuda_faults, cupti_crash_flush), 1},
    {"cupti-null-buffer", offsetof(struct simcuda_faults, cupti_null_buffer), 1},
    {"cupti-incomplete-kind", offsetof(struct simcuda_faults, cupti_incomplete_kind), 1},
    {"cupti-finalize-graphs", offsetof(struct simcuda_faults, cupti_finalize_graphs), 1},
    {"cupti-cost", offsetof(struct simcuda_faults, cupti_cost_ns), 1000},
    {"cupti-stuck-kinds", offsetof(struct simcuda_faults, cupti_stuck_kinds), 1},
    {"cupti-unsafe-flush", offsetof(struct simcuda_faults, cupti_unsafe_flush), 1},
    {"cupti-slow-kernels", offsetof(struct simcuda_faults, cupti_slow_kernels_ns), 10000},
    {"cupti-graph-nodes", offsetof(struct simcuda_faults, cupti_graph_nodes), 1},
    {"cupti-graph-short", offsetof(struct simcuda_faults, cupti_graph_short), 1},
    {"cupti-whole-calls", offsetof(struct simcuda_faults, cupti_whole_calls), 1},
    {"oom", offsetof(struct simcuda_faults, oom), 1},
    {"launch-fail", offsetof(struct simcuda_faults, launch_fail), EVERY_TENTH},
    {"hidden-addresses", offsetof(struct simcuda_faults, hidden_addresses), 1},
    {"no-device", offsetof(struct simcuda_faults, no_device), 1},
    {"query-errno", offsetof(struct simcuda_faults, query_errno), 1},
    {"slow-launch", offsetof(struct simcuda_faults, slow_launch_ns), 1000},
    {"loose-handles", offsetof(struct simcuda_faults, loose_handles), 1},
    {"serial-dependents", offsetof(struct simcuda_faults, serial_dependents), 1},
};

static void set_fault(const char *text, size_t length)
{
	size_t i, name = strcspn(text, "=,");

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t *value = (uint32_t *)((char *)&fault.faults + known[i].offset);

		if (strlen(known[i].name) != name || strncmp(known[i].name, text, name))
			continue;
		*value = name < length ? strtoul(text + name + 1, NULL, 10) : known[i].default_n;
		return;
	}
	if (length)
		fprintf(stderr, "simcuda: SIMCUDA_FAULT: unknown fault \"%.*s\"\n", (int)length, text);
}

void sim_faults_init(void)
{
	const char *text = getenv("SIMCUDA_FAULT");

	memset(&fault, 0, sizeof(fault));
	while (text) {
		size_t length = strcspn(text, ",");

		set_fault(text, length);
		text = text[length] ? text + length + 1 : NULL;
	}
}

static void read_faults_early(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, sim_faults_init);
}

const struct simcuda_faults *simcuda_faults(void)
{
	read_faults_early();
	return &fault.faults;
}

int sim_fault_oom(void)
{
	return fault.faults.oom && atomic_fetch_add(&fault.memory_requests, 1) + 1 == fault.faults.oom;
}

int sim_fault_launch(void)
{
	return fault.faults.launch_fail && (atomic_fetch_add(&fault.launches, 1) + 1) % fault.faults.launch_fail == 0;
}

void sim_fault_cost(uint64_t launches)
{
	uint64_t each_ns = fault.faults.slow_launch_ns + (sim_has_collected() ? fault.faults.cupti_cost_ns : 0);
	uint64_t end_ns = each_ns ? sim_clock_ns() + each_ns * launches : 0;

	while (end_ns && sim_clock_ns() < end_ns)
		continue;
}

static struct simcuda_log *map_log(const char *path)
{
	struct simcuda_log *log = MAP_FAILED;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && ftruncate(fd, sizeof(*log)) == 0)
		log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED)
		fprintf(stderr, "simcuda: SIMCUDA_LOG: %s: %m\n", path);
	if (fd >= 0)
		close(fd);
	return log == MAP_FAILED ? NULL : log;
}

void sim_log_init(void)
{
	static struct simcuda_log nowhere;
	const char *path = getenv("SIMCUDA_LOG");

	sim.log = path && *path ? map_log(path) : NULL;
	if (!sim.log)
		sim.log = &nowhere;
	else
		sim.log_shared = 1;
	memcpy(sim.log->magic, SIMCUDA_LOG_MAGIC, sizeof(sim.log->magic));
	sim_count(&sim.log->processes);
}

void simcuda_count_buffer(int cleared)
{
	sim_count(&sim.log->cupti_buffers);
	if (cleared)
		sim_count(&sim.log->cupti_cleared);
}
