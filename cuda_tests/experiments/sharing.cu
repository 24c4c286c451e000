/*
 * How kernels that share SMs slow each other down: kernels that each ask one part of
 * an SM or of the memory for as much as it gives, alone and every two of them
 * together, in two streams. It knows nothing of kerncast.
 *
 * Each kernel has as many blocks as are resident at once, few on each SM, so that
 * there is room for the other's beside them, and repeats its step until it takes
 * about as long as asked for. Both are launched behind a gate, a kernel that runs
 * until they are in their queues, so that they start together.
 *
 *   kernel   what runs, in how many blocks, and on how much memory
 *   side     stream, memory and marks of the first or the second kernel
 *   span     when a kernel ran, and on which SMs
 *   meeting  what is measured of two kernels each time
 */
#include "program.h"
#include "sharing.cuh"

#include <limits.h>
#include <set>
#include <stdio.h>
#include <string.h>

#define GATE_NS 200000
#define FIRST_STEPS 16 /* before it is known how long a step takes */
#define KIB 1024u
#define SHARED_CAPACITY_BYTES (64 * KIB) /* of an SM, the same for all kernels: others do not run beside each other */
#define BUFFER_OF_L2 8                   /* a buffer that is copied, over the L2 cache */
#define BUFFER_LEAST_BYTES (64u << 20)
#define PART_OF_L2 4 /* of the cache, what is read from it */
#define WARP 32
#define LOADED_BYTES (WARP * STEP_LOADS * (int)sizeof(uint4)) /* by a warp in a step */
#define ADDED (WARP * STEP_LOADS)
#define CHAINED (WARP * STEP_CHAINS)

enum slice { /* of a block, where it is no number of bytes */
	     SLICE_OF_BUFFER = 1,
	     SLICE_OF_L2,
};

struct kernel {
	const char *name;
	void (*run)(int steps, unsigned slice_bytes, const uint4 *in, uint4 *out, struct mark *marks);
	int threads, blocks_per_sm;
	unsigned slice; /* bytes, or enum slice */
	const char *unit;
	int work; /* of a warp in a step, in this unit */
	int steps;
};

static struct kernel kernels[] = {
    {"copy", share<copy>, THREADS, 2, SLICE_OF_BUFFER, "byte", 2 * LOADED_BYTES, 0},
    {"l2", share<read_again<from_l2>>, THREADS, 2, SLICE_OF_L2, "byte", LOADED_BYTES, 0},
    {"l1_16", share<read_again<from_l1>>, THREADS, 1, 16 * KIB, "byte", LOADED_BYTES, 0},
    {"l1_48", share<read_again<from_l1>>, THREADS, 1, 48 * KIB, "byte", LOADED_BYTES, 0},
    {"l1_96", share<read_again<from_l1>>, THREADS, 1, 96 * KIB, "byte", LOADED_BYTES, 0},
    {"l1_160", share<read_again<from_l1>>, THREADS, 1, 160 * KIB, "byte", LOADED_BYTES, 0},
    {"shared", share<shared_memory>, THREADS, 1, STEP_BYTES, "byte", LOADED_BYTES, 0},
    {"atomics", share<atomics>, THREADS, 2, 4 * KIB, "add", ADDED, 0},
    {"fma_1", share<chains<fma_fp32, 1>>, THREADS / 2, 1, KIB, "fma", CHAINED, 0},
    {"fma_2", share<chains<fma_fp32, 2>>, THREADS / 2, 1, KIB, "fma", CHAINED, 0},
    {"fma_4", share<chains<fma_fp32, 4>>, THREADS / 2, 1, KIB, "fma", CHAINED, 0},
    {"fma_8", share<chains<fma_fp32, 8>>, THREADS / 2, 1, KIB, "fma", CHAINED, 0},
    {"integer", share<chains<shift, 4>>, THREADS, 1, KIB, "shift", CHAINED, 0},
    {"special", share<chains<root, 4>>, THREADS, 1, KIB, "rsqrt", CHAINED, 0},
    {"fp64", share<chains<fma_fp64, 4>>, THREADS, 1, KIB, "fma", CHAINED, 0},
    {"tensor", share<tensor>, THREADS, 1, KIB, "mma", STEP_MATRICES, 0},
};

struct device {
	struct cudaDeviceProp properties;
	size_t buffer_bytes;
};

struct side {
	cudaStream_t stream;
	cudaEvent_t begin, end;
	uint4 *in, *out;
	device_array<struct mark> marks;

	side(const struct device *device, cudaStream_t stream);
	side(const side &) = delete;
	~side();
};

struct bench {
	struct device device;
	streams in; /* three: of the sides, and the gate's */
	side sides[2];
	cudaEvent_t opened;

	explicit bench(const struct device *device);
	~bench();
};

struct span {
	long long begin_ns, end_ns; /* since 1970 or another moment: too many for a double */
	std::set<unsigned> sms;     /* empty: the kernel has left no marks, and events tell the times */

	double time_ns() const
	{
		return (double)(end_ns - begin_ns);
	}
};

struct meeting {
	double alone_ns[2], together_ns[2], apart_ns, overlap_ns, shared_sms;
};

side::side(const struct device *device, cudaStream_t stream)
    : stream(stream),
      marks((size_t)device->properties.multiProcessorCount * device->properties.maxBlocksPerMultiProcessor)
{
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaMalloc(&in, device->buffer_bytes));
	CHECK(cudaMalloc(&out, device->buffer_bytes));
}

side::~side()
{
	cudaFree(in);
	cudaFree(out);
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
}

bench::bench(const struct device *device) : device(*device), in(3), sides{{device, in.of[0]}, {device, in.of[1]}}
{
	CHECK(cudaEventCreate(&opened));
}

bench::~bench()
{
	cudaEventDestroy(opened);
}

static struct device current_device(void)
{
	struct device device;
	int number;

	CHECK(cudaGetDevice(&number));
	CHECK(cudaGetDeviceProperties(&device.properties, number));
	device.buffer_bytes = std::max(BUFFER_LEAST_BYTES, BUFFER_OF_L2 * (unsigned)device.properties.l2CacheSize);
	return device;
}

static int blocks_of(const struct bench *bench, const struct kernel *kernel)
{
	return kernel->blocks_per_sm * bench->device.properties.multiProcessorCount;
}

static unsigned slice_bytes(const struct bench *bench, const struct kernel *kernel)
{
	size_t all;

	if (kernel->slice == SLICE_OF_BUFFER)
		all = bench->device.buffer_bytes;
	else if (kernel->slice == SLICE_OF_L2)
		all = (size_t)bench->device.properties.l2CacheSize / PART_OF_L2;
	else
		return kernel->slice;
	return std::max((unsigned)(all / blocks_of(bench, kernel)) / STEP_BYTES, 1u) * STEP_BYTES;
}

static void start(struct bench *bench, const struct kernel *kernel, struct side *side)
{
	CHECK(cudaStreamWaitEvent(side->stream, bench->opened, 0));
	CHECK(cudaEventRecord(side->begin, side->stream));
	launch(kernel->run, dim3(blocks_of(bench, kernel)), dim3(kernel->threads), 0, side->stream, kernel->steps,
	       slice_bytes(bench, kernel), side->in, side->out, side->marks.at);
	CHECK(cudaEventRecord(side->end, side->stream));
}

static long long since_opened_ns(const struct bench *bench, cudaEvent_t event)
{
	float ms;

	CHECK(cudaEventElapsedTime(&ms, bench->opened, event));
	return llround(1e6 * (double)ms);
}

/* The kernel has ended. */
static struct span span_of(const struct bench *bench, const struct kernel *kernel, const struct side *side)
{
	std::vector<struct mark> marks = side->marks.read();
	struct span span = {LLONG_MAX, 0, {}};

	for (int i = 0; i < blocks_of(bench, kernel) && marks[i].end_ns; i++) {
		span.begin_ns = std::min(span.begin_ns, (long long)marks[i].begin_ns);
		span.end_ns = std::max(span.end_ns, (long long)marks[i].end_ns);
		span.sms.insert(marks[i].sm);
	}
	if (span.sms.empty())
		span = {since_opened_ns(bench, side->begin), since_opened_ns(bench, side->end), {}};
	return span;
}

/* One kernel, or two in the order in which they are launched. */
static std::vector<struct span> run(struct bench *bench, const std::vector<const struct kernel *> &list)
{
	std::vector<struct span> spans;

	launch(gate, dim3(1), dim3(1), 0, bench->in.of[2], GATE_NS);
	CHECK(cudaEventRecord(bench->opened, bench->in.of[2]));
	for (size_t i = 0; i < list.size(); i++)
		start(bench, list[i], &bench->sides[i]);
	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < list.size(); i++)
		spans.push_back(span_of(bench, list[i], &bench->sides[i]));
	return spans;
}

static double alone_ns(struct bench *bench, const struct kernel *kernel)
{
	return run(bench, {kernel})[0].time_ns();
}

/* As many steps as take so long. */
static void choose_steps(struct bench *bench, struct kernel *kernel, double wanted_ns)
{
	double took_ns;

	kernel->steps = FIRST_STEPS;
	alone_ns(bench, kernel); /* the first loads code and fills caches */
	while ((took_ns = alone_ns(bench, kernel)) < wanted_ns / 4 && kernel->steps < INT_MAX / 8)
		kernel->steps *= 4;
	kernel->steps = std::max((int)fmin(kernel->steps * (wanted_ns / took_ns), INT_MAX), 1);
}

/* Of the SMs that had blocks of either, those that had blocks of both. */
static double shared_of(const std::set<unsigned> &a, const std::set<unsigned> &b)
{
	size_t both = 0;

	for (unsigned sm : a)
		both += b.count(sm);
	return a.empty() ? NAN : (double)both / (double)(a.size() + b.size() - both);
}

static struct meeting meet(struct bench *bench, const struct kernel *a, const struct kernel *b)
{
	double alone[] = {alone_ns(bench, a), alone_ns(bench, b)};
	std::vector<struct span> spans = run(bench, {a, b});
	long long overlap_ns =
	    std::min(spans[0].end_ns, spans[1].end_ns) - std::max(spans[0].begin_ns, spans[1].begin_ns);

	return {{alone[0], alone[1]},
		{spans[0].time_ns(), spans[1].time_ns()},
		(double)(spans[1].begin_ns - spans[0].begin_ns),
		(double)std::max(overlap_ns, 0LL),
		shared_of(spans[0].sms, spans[1].sms)};
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

static double median_of(const std::vector<struct meeting> &meetings, double (*what)(const struct meeting *))
{
	std::vector<double> values;

	for (const struct meeting &meeting : meetings)
		values.push_back(what(&meeting));
	return median(values);
}

static struct meeting medians(const std::vector<struct meeting> &of)
{
	return {{median_of(of, [](const struct meeting *m) { return m->alone_ns[0]; }),
		 median_of(of, [](const struct meeting *m) { return m->alone_ns[1]; })},
		{median_of(of, [](const struct meeting *m) { return m->together_ns[0]; }),
		 median_of(of, [](const struct meeting *m) { return m->together_ns[1]; })},
		median_of(of, [](const struct meeting *m) { return m->apart_ns; }),
		median_of(of, [](const struct meeting *m) { return m->overlap_ns; }),
		median_of(of, [](const struct meeting *m) { return m->shared_sms; })};
}

/* How much slower than alone the kernel was while the other ran: without the other it does as much in a time as it
 * does alone. NAN: they did not overlap, or for less than such times vary. */
static double slowdown_in_overlap(const struct meeting *of, int which)
{
	double without_ns = of->together_ns[which] - of->overlap_ns;
	double done_ns = of->alone_ns[which] - without_ns; /* in the overlap: as long as it takes alone */

	return of->overlap_ns > 0 && done_ns > 0 ? of->overlap_ns / done_ns : NAN;
}

/* Nothing for a number that is not known. */
static void print_cell(const char *format, double value)
{
	putchar(',');
	if (!isnan(value))
		printf(format, value);
}

static void print_pair(const struct kernel *a, const struct kernel *b, const struct meeting *of)
{
	printf("%s,%s,%.0f,%.0f,%.0f,%.0f,%.0f", a->name, b->name, of->alone_ns[0], of->alone_ns[1], of->together_ns[0],
	       of->together_ns[1], of->apart_ns);
	print_cell("%.4f", of->overlap_ns / fmin(of->together_ns[0], of->together_ns[1]));
	print_cell("%.4f", of->shared_sms);
	for (int which = 0; which < 2; which++)
		print_cell("%.4f", of->together_ns[which] / of->alone_ns[which]);
	for (int which = 0; which < 2; which++)
		print_cell("%.4f", slowdown_in_overlap(of, which));
	printf(",%d,%d,%d,%d,%s\n", a->steps, b->steps, a->blocks_per_sm, b->blocks_per_sm,
	       isnan(of->shared_sms) ? "events" : "globaltimer");
	fflush(stdout);
}

static void print_kernel(struct bench *bench, const struct kernel *kernel)
{
	const struct cudaDeviceProp *device = &bench->device.properties;
	double warps = blocks_of(bench, kernel) * (double)kernel->threads / WARP, took_ns = alone_ns(bench, kernel);
	struct cudaFuncAttributes attributes;
	int most;

	CHECK(cudaFuncGetAttributes(&attributes, kernel->run));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel->run, kernel->threads, 0));
	printf("%s,%d,%d,%d,%d,%d,%zu,%zu,%u,%d,%s,%.0f,%.0f,%.3f,%d,%s\n", kernel->name, kernel->blocks_per_sm, most,
	       blocks_of(bench, kernel), kernel->threads, attributes.numRegs, attributes.sharedSizeBytes,
	       attributes.localSizeBytes, slice_bytes(bench, kernel), kernel->steps, kernel->unit,
	       warps * kernel->work * kernel->steps, took_ns, warps * kernel->work * kernel->steps / took_ns,
	       attributes.binaryVersion, device->name);
}

/* Kernels of another division of an SM's memory into L1 cache and shared memory wait until the SM is idle. */
static void divide_sm(const struct bench *bench, const void *function)
{
	unsigned all = (unsigned)bench->device.properties.sharedMemPerMultiprocessor;
	int percent = (int)std::min(100 * SHARED_CAPACITY_BYTES / all, 100u);

	CHECK(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

static void measure_pair(struct bench *bench, const struct kernel *a, const struct kernel *b, int repeat)
{
	std::vector<struct meeting> meetings;
	struct meeting middle;

	for (int i = 0; i < repeat; i++)
		meetings.push_back(meet(bench, a, b));
	middle = medians(meetings);
	print_pair(a, b, &middle);
}

int main(int argc, char **argv)
{
	int repeat = 3, alone_us = 1500;
	const struct option_of table[] = {
	    {"--repeat", OPTION_COUNT, &repeat, "times that each pair is measured; medians are printed"},
	    {"--us", OPTION_COUNT, &alone_us, "how long each kernel takes alone, about"},
	    {NULL, OPTION_FLAG, NULL, NULL},
	};

	options_parse("sharing", table, argc, argv);
	struct device device = current_device();
	struct bench bench(&device);

	divide_sm(&bench, (const void *)gate);
	printf("kernel,blocks_per_sm,most_blocks_per_sm,blocks,threads,registers,shared_bytes,local_bytes,slice_bytes,"
	       "steps,unit,work,alone_ns,work_per_ns,binary_version,device\n");
	for (struct kernel &kernel : kernels) {
		divide_sm(&bench, (const void *)kernel.run);
		choose_steps(&bench, &kernel, 1e3 * alone_us);
		print_kernel(&bench, &kernel);
	}
	printf("\na,b,alone_a_ns,alone_b_ns,together_a_ns,together_b_ns,b_starts_after_a_ns,overlap_share,"
	       "shared_sms_share,slowdown_a,slowdown_b,slowdown_in_overlap_a,slowdown_in_overlap_b,steps_a,steps_b,"
	       "blocks_per_sm_a,blocks_per_sm_b,clock\n");
	for (const struct kernel &a : kernels)
		for (const struct kernel &b : kernels)
			measure_pair(&bench, &a, &b, repeat);
	return 0;
}
