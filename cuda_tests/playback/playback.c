/*
 * Plays the launches of a recording on the simulated device, step after step, as a training would make them.
 *
 *	playback LAUNCHES TRUTH SECONDS NOISE [AT FACTOR [KERNEL]]
 *
 * LAUNCHES    what was recorded, of scripts/adaptive-on-traces: a line with the numbers of kernels, streams and
 *             launches and a step's ns; a line with the name of each kernel; a line for each launch, in the order of
 *             the calls: ns of the call and of the start, duration, stream, kernel, grid, block, dynamic shared memory
 * TRUTH       gets a line for each launch: its duration in ns
 * SECONDS     at least so many seconds of recorded time are played; the last step is played to its end
 * NOISE       standard deviation of the logarithm of a duration, drawn anew for each launch, the same in every run
 * AT, FACTOR  from the first step that begins after AT seconds on, durations are multiplied by FACTOR
 * KERNEL      only those of the kernel with this number, from 0
 *
 * The device is that with the number LOCAL_RANK, as trainings have it; 0 without one.
 * Each kernel starts when it did and takes as long as it did: the simulated device is told so (simcuda_play). A step
 * ends with a synchronisation. On a GPU the kernels do
 * next to nothing.
 */
#include "cuda_tests/awkward/awkward.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <time.h>

#define NAME_BYTES 512
#define STATIC_SHARED_MAX 49152u /* bytes that a launch may ask for without more ado */
#ifndef SPIN_NS
#define SPIN_NS 60000 /* a sleep may take so much longer */
#endif

struct launch {
	int64_t call_ns, start_ns, duration_ns;
	unsigned stream, kernel, grid[3], block[3], dynamic_bytes;
};

static struct {
	unsigned kernels, streams, launches;
	int64_t step_ns;
	struct launch *launch;
	CUfunction *kernel;
	CUstream *stream;
	void (*play)(uint64_t wait_ns, uint64_t duration_ns);
	double noise, factor;
	int64_t changes_ns;
	int changed; /* kernel; -1: all */
	FILE *truth;
} p = {.factor = 1, .changes_ns = INT64_MAX, .changed = -1};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void wait_until(int64_t ns)
{
	int64_t left_ns;

	while ((left_ns = ns - now_ns()) > SPIN_NS) {
		struct timespec t = {(left_ns - SPIN_NS) / 1000000000, (left_ns - SPIN_NS) % 1000000000};

		nanosleep(&t, NULL);
	}
	while (now_ns() < ns)
		;
}

/* splitmix64, twice, then Box-Muller */
static double normal(void)
{
	static uint64_t state;
	double u[2];

	for (int i = 0; i < 2; i++) {
		uint64_t x = state += 0x9e3779b97f4a7c15ull;

		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
		x = (x ^ x >> 27) * 0x94d049bb133111ebull;
		u[i] = ((double)((x ^ x >> 31) >> 11) + 0.5) / 9007199254740992.0;
	}
	return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

static void wrong(const char *what)
{
	printf("playback: %s\n", what);
	exit(2);
}

/* How long the kernel runs depends on a number in memory, so that its code tells nothing of its time. */
static CUfunction load_kernel(const char *name)
{
	static const char form[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .global .u32 rounds;\n"
				   ".visible .entry %s()\n{\n.reg .b32 %%r<4>;\n.reg .pred %%p<2>;\n"
				   "ld.global.u32 %%r1, [rounds];\nagain:\nsub.u32 %%r1, %%r1, 1;\n"
				   "setp.gt.s32 %%p1, %%r1, 0;\n@%%p1 bra again;\nret;\n}\n";
	char text[NAME_BYTES + sizeof(form)];
	CUfunction kernel;
	CUmodule module;

	snprintf(text, sizeof(text), form, name);
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuModuleGetFunction(&kernel, module, name));
	return kernel;
}

static void *array(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes);

	if (!memory)
		wrong("out of memory");
	return memory;
}

static void read_launches(const char *path)
{
	FILE *file = fopen(path, "r");
	char name[NAME_BYTES];

	if (!file || fscanf(file, "%u %u %u %ld", &p.kernels, &p.streams, &p.launches, &p.step_ns) != 4)
		wrong("LAUNCHES cannot be read");
	p.kernel = array(p.kernels, sizeof(*p.kernel));
	p.stream = array(p.streams, sizeof(*p.stream));
	p.launch = array(p.launches, sizeof(*p.launch));
	for (unsigned i = 0; i < p.kernels; i++) {
		if (fscanf(file, "%511s", name) != 1)
			wrong("a kernel is missing");
		p.kernel[i] = load_kernel(name);
	}
	for (unsigned i = 0; i < p.launches; i++) {
		struct launch *l = &p.launch[i];

		if (fscanf(file, "%ld %ld %ld %u %u %u %u %u %u %u %u %u", &l->call_ns, &l->start_ns, &l->duration_ns,
			   &l->stream, &l->kernel, &l->grid[0], &l->grid[1], &l->grid[2], &l->block[0], &l->block[1],
			   &l->block[2], &l->dynamic_bytes) != 12 ||
		    l->stream >= p.streams || l->kernel >= p.kernels || l->duration_ns < 1)
			wrong("a launch is missing");
		if (l->dynamic_bytes > STATIC_SHARED_MAX)
			CHECK(cuFuncSetAttribute(p.kernel[l->kernel], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
						 (int)l->dynamic_bytes));
	}
	fclose(file);
}

static void play_one(const struct launch *l, int64_t begun_ns, int changed)
{
	int64_t wait_ns, duration_ns;
	double factor = changed && (p.changed < 0 || (unsigned)p.changed == l->kernel) ? p.factor : 1;

	duration_ns = llround((double)l->duration_ns * factor * exp(p.noise * normal()));
	if (duration_ns < 1)
		duration_ns = 1;
	wait_until(begun_ns + l->call_ns);
	wait_ns = begun_ns + l->start_ns - now_ns();
	if (p.play)
		p.play(wait_ns > 0 ? (uint64_t)wait_ns : 0, (uint64_t)duration_ns);
	CHECK(cuLaunchKernel(p.kernel[l->kernel], l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
			     l->block[2], l->dynamic_bytes, p.stream[l->stream], NULL, NULL));
	fprintf(p.truth, "%ld\n", duration_ns);
}

static void play(int64_t least_ns)
{
	int64_t begun_ns = now_ns();

	for (int64_t played_ns = 0; played_ns < least_ns; played_ns += p.step_ns) {
		for (unsigned i = 0; i < p.launches; i++)
			play_one(&p.launch[i], begun_ns, played_ns > p.changes_ns);
		CHECK(cuCtxSynchronize());
		begun_ns += p.step_ns;
		if (begun_ns < now_ns())
			begun_ns = now_ns();
	}
}

static int local_rank(void)
{
	const char *rank = getenv("LOCAL_RANK");

	return rank ? atoi(rank) : 0;
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;

	if (argc != 5 && argc != 7 && argc != 8)
		wrong("usage: playback LAUNCHES TRUTH SECONDS NOISE [AT FACTOR [KERNEL]]");
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, local_rank()));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	*(void **)&p.play = dlsym(RTLD_DEFAULT, "simcuda_play");
	p.truth = fopen(argv[2], "w");
	if (!p.truth)
		wrong("TRUTH cannot be written");
	p.noise = atof(argv[4]);
	if (argc > 6) {
		p.changes_ns = (int64_t)(atof(argv[5]) * 1e9);
		p.factor = atof(argv[6]);
	}
	if (argc > 7)
		p.changed = atoi(argv[7]);
	read_launches(argv[1]);
	for (unsigned i = 0; i < p.streams; i++)
		CHECK(cuStreamCreate(&p.stream[i], CU_STREAM_NON_BLOCKING));
	play((int64_t)(atof(argv[3]) * 1e9));
	return fclose(p.truth) != 0;
}
