#include "gpu_state.h"
#include "ending.h"
#include "shim/shim.h"
#include "threads.h"

#include "store/journal/journal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STATES_MAX 65536u          /* of a process */
#define CLOCK_SHARE 64u            /* a clock has changed if by more than 1/64 */
#define PROCESSES_MAX 64u          /* further ones are not counted */
#define ANSWER_WAIT_NS 100000000ll /* for one that is under way, at the end and before a fork() */

enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 }; /* nvml.h, which is in no package of the toolkit's */

struct nvml_process { /* nvmlProcessInfo_t of _v2 and _v3 */
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};

static struct {
	int (*init)(void);
	int (*by_uuid)(const char *uuid, void **device);
	int (*clock)(void *device, unsigned type, unsigned *mhz);
	int (*power)(void *device, unsigned *mw);
	int (*slowed)(void *device, unsigned long long *reasons);
	int (*processes)(void *device, unsigned *count, struct nvml_process *processes);
} nvml;

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* CLOCK_MONOTONIC */
	bool running, ends, asking;
	unsigned forks; /* under way: nothing is asked */
	/* Of the thread. */
	void *devices[KC__DEVICES_MAX];
	struct kc_gpu_state_entry last[KC__DEVICES_MAX];
	uint32_t count;
} gpu_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a thread with descriptors of ours: the application may close all of its own meanwhile, and what is mapped would be
 * another file. */
static void *load_library(void *library)
{
	kc__thread.depth = 1;
	*(void **)library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
	return NULL;
}

/* Newer versions of the library have the newer names as well; a part that it lacks is not told. */
static bool open_library(void)
{
	void *library = NULL;
	pthread_t loads;

	if (kc__make_files_thread(&loads, load_library, &library))
		return false;
	pthread_join(loads, NULL);
	if (!library)
		return false;
	nvml.init = (__typeof__(nvml.init))dlsym(library, "nvmlInit_v2");
	nvml.by_uuid = (__typeof__(nvml.by_uuid))dlsym(library, "nvmlDeviceGetHandleByUUID");
	nvml.clock = (__typeof__(nvml.clock))dlsym(library, "nvmlDeviceGetClockInfo");
	nvml.power = (__typeof__(nvml.power))dlsym(library, "nvmlDeviceGetPowerUsage");
	nvml.slowed = (__typeof__(nvml.slowed))dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
	if (!nvml.slowed)
		nvml.slowed = (__typeof__(nvml.slowed))dlsym(library, "nvmlDeviceGetCurrentClocksEventReasons");
	nvml.processes = (__typeof__(nvml.processes))dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (!nvml.processes)
		nvml.processes = (__typeof__(nvml.processes))dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v2");
	return nvml.init && nvml.by_uuid && nvml.clock && nvml.init() == NVML_SUCCESS;
}

/* "GPU-00112233-4455-6677-8899-aabbccddeeff" of the hexadecimal digits. */
static void *find_device(const struct kc__device *device)
{
	const char *hex = device->uuid;
	void *found = NULL;
	char uuid[64];

	snprintf(uuid, sizeof(uuid), "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return nvml.by_uuid(uuid, &found) == NVML_SUCCESS ? found : NULL;
}

/* In a container, the library tells other pids than the process has, so it is taken to be one of them. */
static uint32_t others_on(void *device)
{
	struct nvml_process processes[PROCESSES_MAX];
	unsigned count = PROCESSES_MAX;

	if (!nvml.processes || nvml.processes(device, &count, processes) != NVML_SUCCESS || !count)
		return 0;
	return count - 1;
}

static bool ask(uint32_t ordinal, struct kc_gpu_state_entry *state)
{
	void *device = gpu_state.devices[ordinal];
	unsigned long long slowed = 0;
	unsigned sm_mhz = 0, memory_mhz = 0, mw = 0;

	if (nvml.clock(device, NVML_CLOCK_SM, &sm_mhz) != NVML_SUCCESS)
		return false;
	nvml.clock(device, NVML_CLOCK_MEM, &memory_mhz);
	if (nvml.power)
		nvml.power(device, &mw);
	if (nvml.slowed)
		nvml.slowed(device, &slowed);
	*state = (struct kc_gpu_state_entry){
	    .time_ns = kc__now_ns(),
	    .slowed = slowed,
	    .device = ordinal,
	    .sm_mhz = sm_mhz,
	    .memory_mhz = memory_mhz,
	    .power_mw = mw,
	    .others = others_on(device),
	};
	return true;
}

static bool has_clock_changed(uint32_t before, uint32_t now)
{
	uint32_t by = now > before ? now - before : before - now;

	return by > before / CLOCK_SHARE;
}

static bool has_changed(const struct kc_gpu_state_entry *before, const struct kc_gpu_state_entry *now)
{
	return !before->time_ns || before->slowed != now->slowed || before->others != now->others ||
	       has_clock_changed(before->sm_mhz, now->sm_mhz) || has_clock_changed(before->memory_mhz, now->memory_mhz);
}

/* A GPU that nothing was launched on is left alone. */
static bool is_used(const struct kc__device *device)
{
	return __atomic_load_n(&device->seen_ns, __ATOMIC_RELAXED) != 0;
}

static void look_at(uint32_t ordinal)
{
	struct kc_gpu_state_entry now;

	if (!gpu_state.devices[ordinal])
		gpu_state.devices[ordinal] = find_device(&kc__shim.devices[ordinal]);
	if (!gpu_state.devices[ordinal] || !ask(ordinal, &now) || !has_changed(&gpu_state.last[ordinal], &now))
		return;
	gpu_state.last[ordinal] = now;
	pthread_mutex_lock(&gpu_state.lock);
	if (!gpu_state.ends && gpu_state.count++ < STATES_MAX) /* the journal may be closed at the end */
		kc_journal_put(kc__shim.journal, KC_KIND_GPU_STATE, &now, sizeof(now));
	pthread_mutex_unlock(&gpu_state.lock);
}

/* The lock is held before a question and after it, not meanwhile. */
static void question_begins(void)
{
	while (gpu_state.forks)
		pthread_cond_wait(&gpu_state.changed, &gpu_state.lock);
	gpu_state.asking = true;
	pthread_mutex_unlock(&gpu_state.lock);
}

static void question_ends(void)
{
	pthread_mutex_lock(&gpu_state.lock);
	gpu_state.asking = false;
	pthread_cond_broadcast(&gpu_state.changed);
}

static void look(void)
{
	for (int i = 0; i < kc__shim.device_count && !gpu_state.ends; i++) {
		if (!kc__recording() || !is_used(&kc__shim.devices[i]))
			continue;
		question_begins();
		look_at((uint32_t)i);
		question_ends();
	}
}

static void sleep_for(int64_t ns)
{
	int64_t until_ns = kc__now_ns() + ns;
	struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};

	while (!gpu_state.ends && kc__now_ns() < until_ns)
		pthread_cond_timedwait(&gpu_state.changed, &gpu_state.lock, &until);
}

static void *run(void *unused)
{
	bool is_open = false;

	(void)unused;
	kc__thread.depth = 1; /* driver calls from here are ours */
	kc__ending_not_for();
	pthread_mutex_lock(&gpu_state.lock);
	for (;;) {
		sleep_for(kc__shim.options.gpu_state_ns);
		if (gpu_state.ends || gpu_state.count >= STATES_MAX)
			break;
		if (!is_open) {
			question_begins();
			is_open = open_library();
			question_ends();
			if (!is_open)
				break;
		}
		look();
	}
	pthread_mutex_unlock(&gpu_state.lock);
	return NULL;
}

void kc__gpu_state_begin(void)
{
	pthread_condattr_t clock;

	if (kc__shim.options.gpu_state_ns <= 0 || kc__shim.options.measure == KC_MEASURE_NOTHING)
		return;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&gpu_state.changed, &clock);
	pthread_condattr_destroy(&clock);
	gpu_state.ends = gpu_state.asking = false;
	gpu_state.running = kc__make_thread(&gpu_state.thread, run, NULL) == 0;
	if (gpu_state.running)
		pthread_detach(gpu_state.thread); /* it may be in the library for long */
}

/* With the lock held. */
static void wait_for_answer(int64_t most_ns)
{
	int64_t until_ns = kc__now_ns() + (most_ns < ANSWER_WAIT_NS ? most_ns : ANSWER_WAIT_NS);
	struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};

	while (gpu_state.asking && kc__now_ns() < until_ns)
		pthread_cond_timedwait(&gpu_state.changed, &gpu_state.lock, &until);
}

void kc__gpu_state_fork_begins(void)
{
	pthread_mutex_lock(&gpu_state.lock);
	gpu_state.forks++;
	wait_for_answer(ANSWER_WAIT_NS);
	pthread_mutex_unlock(&gpu_state.lock);
}

void kc__gpu_state_fork_ends(void)
{
	pthread_mutex_lock(&gpu_state.lock);
	gpu_state.forks--;
	pthread_cond_broadcast(&gpu_state.changed);
	pthread_mutex_unlock(&gpu_state.lock);
}

void kc__gpu_state_end(int64_t *left_ns)
{
	int64_t began_ns = kc__now_ns(), took_ns;

	if (!gpu_state.running)
		return;
	pthread_mutex_lock(&gpu_state.lock);
	gpu_state.ends = true;
	pthread_cond_broadcast(&gpu_state.changed);
	wait_for_answer(*left_ns / 2);
	gpu_state.running = false;
	pthread_mutex_unlock(&gpu_state.lock);
	took_ns = kc__now_ns() - began_ns;
	*left_ns -= took_ns < *left_ns ? took_ns : *left_ns;
}

void kc__gpu_state_forget(void)
{
	pthread_mutex_init(&gpu_state.lock, NULL);
	gpu_state.running = gpu_state.ends = gpu_state.asking = false;
	gpu_state.forks = 0;
	memset(gpu_state.devices, 0, sizeof(gpu_state.devices));
	memset(gpu_state.last, 0, sizeof(gpu_state.last));
	gpu_state.count = 0;
}
