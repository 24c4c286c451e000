#include "doctor.h"
#include "inspect.h"
#include "tools/system/library.h"

#include "store/common/cupti_library.h"
#include "store/common/options.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIME_LIMIT_MS 20000 /* cuInit of a machine with many GPUs and no persistence daemon takes seconds */
#define PRELOAD_BYTES 8192u
#define CUDA_VERSION_UNIT 1000 /* cuDriverGetVersion: 1000 * major + 10 * minor */

/* What the process of a probe finds, in memory shared with us: if the process crashes, it still tells how far it
 * came. */
struct findings {
	char library[PATH_MAX];
	char error[256];
	char doing[32];
	int loaded;
	int simulated;
	int result; /* the result of cuInit or cuptiGetVersion */
	int version;
	int driver_version;        /* given; 0: not known */
	enum kc_cupti_place place; /* of CUPTI */
	int device_count;
	char devices[KC_PROBE_DEVICES][96];
};

enum ended { ENDED_WELL, ENDED_BADLY, ENDED_SIGNAL, ENDED_TIMEOUT, ENDED_NOT_STARTED };

struct outcome {
	enum ended ended;
	int number;     /* exit status or signal */
	char said[256]; /* the beginning of its standard error */
};

static void be_quiet(int to_parent)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(to_parent, STDERR_FILENO);
}

/* Reads the output of the process until it ends, which closes the pipe. 0: it did not end in time. */
static int listen_to(int from, struct outcome *out)
{
	struct pollfd wait = {.fd = from, .events = POLLIN};
	struct timespec start, now;
	size_t used = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		char buffer[256];
		ssize_t n;
		long left;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left = TIME_LIMIT_MS - (now.tv_sec - start.tv_sec) * 1000 - (now.tv_nsec - start.tv_nsec) / 1000000;
		if (left <= 0 || (poll(&wait, 1, (int)left) <= 0 && errno != EINTR))
			return 0;
		n = read(from, buffer, sizeof(buffer));
		if (n <= 0)
			break;
		if (used + (size_t)n >= sizeof(out->said))
			n = (ssize_t)(sizeof(out->said) - 1 - used);
		memcpy(out->said + used, buffer, (size_t)n);
		used += (size_t)n;
	}
	out->said[strcspn(out->said, "\n")] = '\0';
	return 1;
}

static void collect(pid_t child, int in_time, struct outcome *out)
{
	int status;

	if (!in_time) {
		kill(child, SIGKILL);
		out->ended = ENDED_TIMEOUT; /* not waited for: a process stuck in the kernel may never die */
		waitpid(child, &status, WNOHANG);
		return;
	}
	if (waitpid(child, &status, 0) < 0)
		return;
	out->ended = WIFSIGNALED(status) ? ENDED_SIGNAL : WEXITSTATUS(status) ? ENDED_BADLY : ENDED_WELL;
	out->number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static struct outcome in_process(int (*fn)(void *arg), void *arg)
{
	struct outcome out = {.ended = ENDED_NOT_STARTED};
	int link[2];
	pid_t child;

	fflush(stdout);
	if (pipe2(link, O_CLOEXEC) < 0)
		return out;
	child = fork();
	if (child == 0) {
		be_quiet(link[1]);
		_exit(fn(arg));
	}
	close(link[1]);
	if (child > 0)
		collect(child, listen_to(link[0], &out), &out);
	close(link[0]);
	return out;
}

static struct findings *share_findings(void)
{
	void *at = mmap(NULL, sizeof(struct findings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static void doing(struct findings *f, const char *what)
{
	snprintf(f->doing, sizeof(f->doing), "%s", what);
}

static void note_path(struct findings *f, void *library)
{
	struct link_map *map;

	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) {
		char *real = realpath(map->l_name, NULL);

		snprintf(f->library, sizeof(f->library), "%s", real ? real : map->l_name);
		free(real);
	}
}

/* Preloading */

static int is_ours(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)arg;
	return base && strcmp(base, "/libkerncast.so") == 0;
}

int kc_is_preloaded(void)
{
	return dl_iterate_phdr(is_ours, NULL);
}

static int probe_preload(void *arg)
{
	const char *library = arg;
	char self[PATH_MAX], value[PRELOAD_BYTES];

	if (kc_library_self(self, sizeof(self)) < 0 ||
	    kc_preload_value(getenv("LD_PRELOAD"), library, "", value, sizeof(value)) < 0)
		return 1;
	setenv("LD_PRELOAD", value, 1);
	unsetenv("LD_AUDIT"); /* complaints of the loader about it do not concern us */
	setenv("KERNCAST_DISABLE", "1", 1);
	execl(self, "kerncast", "doctor", "--preloaded", (char *)NULL);
	return 1;
}

void kc_check_preload(struct kc_diagnosis *d)
{
	char library[PATH_MAX], why[2 * PATH_MAX];
	struct outcome outcome;
	int rc = kc_library_find(library, sizeof(library));

	if (rc < 0) {
		kc_library_refusal(rc, library, why, sizeof(why));
		kc_check_add(d, KC_LEVEL_PROBLEM, "libkerncast.so", "build or install kerncast again", "%s", why);
		return;
	}
	kc_check_add(d, KC_LEVEL_OK, "libkerncast.so", "", "%s", library);
	if (strpbrk(library, " :")) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "LD_PRELOAD",
			     "install kerncast in a folder without blanks and colons",
			     "its entries cannot contain a blank or a colon, as the library's path does");
		return;
	}
	outcome = in_process(probe_preload, library);
	if (outcome.ended == ENDED_WELL && !outcome.said[0])
		kc_check_add(d, KC_LEVEL_OK, "LD_PRELOAD", "", "works");
	else if (outcome.ended == ENDED_SIGNAL)
		kc_check_add(d, KC_LEVEL_PROBLEM, "LD_PRELOAD", "build kerncast on this machine",
			     "a program with the library preloaded dies of signal %d (%s)", outcome.number,
			     strsignal(outcome.number));
	else
		kc_check_add(d, KC_LEVEL_PROBLEM, "LD_PRELOAD",
			     "build kerncast on this machine, or on one whose C library is not newer",
			     "the loader rejects the library%s%s", outcome.said[0] ? ": " : "", outcome.said);
}

/* The driver */

static int probe_driver(void *arg)
{
	struct findings *f = arg;
	void *cuda;
	int (*init)(unsigned), (*version)(int *), (*count)(int *), (*device)(int *, int), (*name)(char *, int, int);

	unsetenv("CUDA_INJECTION64_PATH"); /* no library is to be injected into this process */
	doing(f, "dlopen of libcuda.so.1");
	cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cuda) {
		snprintf(f->error, sizeof(f->error), "%s", dlerror());
		return 0;
	}
	f->loaded = 1;
	note_path(f, cuda);
	f->simulated = dlsym(cuda, "simcuda_version") != NULL;
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&version = dlsym(cuda, "cuDriverGetVersion");
	*(void **)&count = dlsym(cuda, "cuDeviceGetCount");
	*(void **)&device = dlsym(cuda, "cuDeviceGet");
	*(void **)&name = dlsym(cuda, "cuDeviceGetName");
	if (!init || !version || !count || !device || !name) {
		snprintf(f->error, sizeof(f->error), "this library is not a CUDA driver");
		return 0;
	}
	doing(f, "cuDriverGetVersion");
	version(&f->version);
	doing(f, "cuInit");
	f->result = init(0);
	if (f->result)
		return 0;
	doing(f, "asking for devices");
	count(&f->device_count);
	for (int i = 0; i < f->device_count && i < (int)KC_PROBE_DEVICES; i++) {
		int handle;

		if (device(&handle, i) == 0)
			name(f->devices[i], sizeof(f->devices[i]), handle);
		f->simulated |= strncmp(f->devices[i], "Simulated", strlen("Simulated")) == 0;
	}
	return 0;
}

/* 1: the probe finished. */
static int came_through(struct kc_diagnosis *d, const char *name, const struct findings *f, const struct outcome *o)
{
	if (o->ended == ENDED_WELL)
		return 1;
	if (o->ended == ENDED_TIMEOUT)
		kc_check_add(d, KC_LEVEL_PROBLEM, name, "nvidia-smi and dmesg may tell what the driver is waiting for",
			     "%s did not return within %d s", f->doing, TIME_LIMIT_MS / 1000);
	else if (o->ended == ENDED_SIGNAL)
		kc_check_add(d, KC_LEVEL_PROBLEM, name, "reinstall it", "%s crashed (%s)%s%s", f->doing,
			     strsignal(o->number), *f->library ? " in " : "", f->library);
	else
		kc_check_add(d, KC_LEVEL_PROBLEM, name, "", "the check could not be made (%s)", f->doing);
	return 0;
}

static const char *init_cure(int result)
{
	switch (result) { /* cuda.h, CUresult */
	case 100:
		return "check that a GPU is present (lspci), given to this container (--gpus all) and not hidden by "
		       "CUDA_VISIBLE_DEVICES";
	case 802:
	case 803:
		return "driver and kernel module do not match: reboot after a driver update";
	case 999:
		return "load the kernel module (nvidia-smi, modprobe nvidia_uvm) and look at dmesg";
	default:
		return "nvidia-smi and dmesg may tell more";
	}
}

static void judge_driver(struct kc_diagnosis *d, const struct findings *f)
{
	if (!f->loaded) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "libcuda",
			     "install NVIDIA's driver, or give the container its GPU (--gpus all)", "no driver: %s",
			     f->error);
		return;
	}
	if (*f->error) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "libcuda", "remove its folder from LD_LIBRARY_PATH", "%s: %s",
			     f->library, f->error);
		return;
	}
	d->driver_version = f->version;
	d->simulated = f->simulated;
	kc_check_add(d, KC_LEVEL_OK, "libcuda", "", "%s%s", f->library, f->simulated ? " (SIMULATED: a stand-in)" : "");
	kc_check_add(d, f->version >= 11080 ? KC_LEVEL_OK : KC_LEVEL_WARNING, "driver",
		     f->version >= 11080 ? "" : "update the driver: kerncast supports CUDA 11.8 and later",
		     "CUDA %d.%d", f->version / CUDA_VERSION_UNIT, f->version % CUDA_VERSION_UNIT / 10);
	if (f->result) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "devices", init_cure(f->result), "cuInit returned error %d%s",
			     f->result, f->result == 100 ? ": no GPU" : "");
		return;
	}
	d->device_count = f->device_count;
	for (int i = 0; i < f->device_count && i < (int)KC_PROBE_DEVICES; i++) {
		memcpy(d->devices[i], f->devices[i], sizeof(d->devices[i]));
		kc_check_add(d, KC_LEVEL_OK, "device", "", "%d: %s", i, f->devices[i]);
	}
}

void kc_check_driver(struct kc_diagnosis *d)
{
	struct findings *f = share_findings();
	struct outcome outcome;

	if (!f)
		return;
	outcome = in_process(probe_driver, f);
	if (came_through(d, "libcuda", f, &outcome))
		judge_driver(d, f);
	munmap(f, sizeof(*f));
}

/* CUPTI */

static int probe_cupti(void *arg)
{
	struct findings *f = arg;
	int (*get_version)(uint32_t *);
	static struct kc_options options;
	char why[256];
	uint32_t version = 0;
	void *cupti;

	doing(f, "dlopen of libcupti");
	kc_options_read(&options, why, sizeof(why));
	cupti = kc_cupti_open(options.cupti, f->driver_version, NULL, &f->place);
	if (!cupti) {
		snprintf(f->error, sizeof(f->error), "%s", getenv("KERNCAST_CUPTI") ? dlerror() : "no libcupti.so");
		return 0;
	}
	f->loaded = 1;
	note_path(f, cupti);
	doing(f, "cuptiGetVersion");
	*(void **)&get_version = dlsym(cupti, "cuptiGetVersion");
	f->result = get_version ? get_version(&version) : -1;
	f->version = (int)version;
	return 0;
}

/* The CUDA version to which a version of CUPTI belongs, as cuDriverGetVersion counts; 0: unknown.
 * Source: cupti_version.h, the table above CUPTI_API_VERSION. */
static int toolkit_of(int cupti)
{
	static const struct {
		int cupti, cuda;
	} table[] = {{28, 12090}, {27, 12090}, {26, 12080}, {24, 12060}, {23, 12050},
		     {22, 12040}, {21, 12030}, {20, 12020}, {19, 12000}, {18, 11080},
		     {17, 11070}, {16, 11050}, {15, 11020}, {14, 11010}, {13, 11000}};

	if (cupti >= 130000) /* xxyyzz since 13.0 */
		return cupti / 10000 * CUDA_VERSION_UNIT + cupti / 100 % 100 * 10;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (cupti >= table[i].cupti)
			return table[i].cuda;
	}
	return 0;
}

static void judge_cupti(struct kc_diagnosis *d, const struct findings *f)
{
	int cuda = toolkit_of(f->version);

	if (!f->loaded) {
		kc_check_add(
		    d, KC_LEVEL_PROBLEM, "CUPTI",
		    "install the toolkit's CUPTI (pip install nvidia-cuda-cupti) and set KERNCAST_CUPTI to libcupti.so",
		    "not found, so nothing can be measured: %s", f->error);
	} else if (f->result) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "CUPTI", "set KERNCAST_CUPTI to another libcupti.so",
			     "%s does not report its version", f->library);
	} else if (d->driver_version && cuda / CUDA_VERSION_UNIT > d->driver_version / CUDA_VERSION_UNIT) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "CUPTI",
			     "set KERNCAST_CUPTI to a libcupti.so of the driver's CUDA version, or update the driver",
			     "%s is from CUDA %d.%d, newer than the driver, and will not start", f->library,
			     cuda / CUDA_VERSION_UNIT, cuda % CUDA_VERSION_UNIT / 10);
	} else if (d->driver_version && cuda > d->driver_version) {
		/* NVIDIA promises minor version compatibility of toolkits, and does not name CUPTI there. */
		kc_check_add(d, KC_LEVEL_WARNING, "CUPTI",
			     "if nothing is measured, set KERNCAST_CUPTI to a libcupti.so of the driver's CUDA version",
			     "%s is from CUDA %d.%d, newer than the driver (CUDA %d.%d), and may not start", f->library,
			     cuda / CUDA_VERSION_UNIT, cuda % CUDA_VERSION_UNIT / 10,
			     d->driver_version / CUDA_VERSION_UNIT, d->driver_version % CUDA_VERSION_UNIT / 10);
	} else {
		kc_check_add(d, KC_LEVEL_OK, "CUPTI", "", "%s (%s), version %d (CUDA %d.%d)", f->library,
			     kc_cupti_place_text(f->place), f->version, cuda / CUDA_VERSION_UNIT,
			     cuda % CUDA_VERSION_UNIT / 10);
	}
}

void kc_check_cupti(struct kc_diagnosis *d)
{
	struct findings *f = share_findings();
	struct outcome outcome;

	if (!f)
		return;
	f->driver_version = d->driver_version;
	outcome = in_process(probe_cupti, f);
	if (came_through(d, "CUPTI", f, &outcome))
		judge_cupti(d, f);
	munmap(f, sizeof(*f));
}
