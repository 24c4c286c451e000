/*
 * The 100 synthetic kernels of Quintanilla Cruz, "Analyzing and Estimating the
 * Performance of Concurrent Kernels Execution in GPUs" (2017), Table 6.2, as
 * the 50 pairs of Table 6.3. First every kernel runs by itself a
 * few times, then every pair as often: launched back to back in two streams. It
 * knows nothing of kerncast.
 *
 * A block waits for a number of clock cycles, works on registers only and needs
 * no more of the device than its place. The first kernel's blocks wait LONGER
 * times as long as the second's, so that it is still there when the second has
 * ended: the table's slowdowns are those of a kernel that never gets more room.
 */
#include "program.h"

#include <stdio.h>

#define PAIRS 50
#define LONGER 64 /* more waves than any of the 50 second kernels takes beside its first */
#define K40_SMS 15
#define K40_SHARED_BYTES (48 * 1024) /* of an SM */
#define SHARED_UNIT_BYTES 256

struct kernel {
	int blocks, threads, shared_bytes;
};

/* Table 6.2: kernels S1 to S100. */
static struct kernel kernels[2 * PAIRS] = {
    {110, 256, 1024}, {450, 256, 0},     {100, 256, 4096}, {60, 256, 0},       {42, 512, 256},   {120, 128, 0},
    {90, 256, 896},   {467, 512, 256},   {35, 256, 2048},  {130, 512, 1024},   {35, 256, 0},     {230, 256, 0},
    {29, 512, 768},   {237, 512, 384},   {47, 512, 1536},  {305, 256, 512},    {109, 256, 1664}, {292, 256, 512},
    {65, 256, 1792},  {409, 128, 512},   {26, 256, 6400},  {207, 256, 9984},   {165, 128, 4096}, {235, 128, 0},
    {150, 256, 1024}, {393, 512, 8704},  {26, 512, 3072},  {245, 512, 0},      {21, 768, 11776}, {485, 128, 2560},
    {40, 256, 1024},  {400, 768, 4096},  {20, 1024, 8704}, {72, 512, 1792},    {71, 256, 256},   {216, 128, 4096},
    {24, 512, 7168},  {478, 128, 4096},  {45, 256, 9728},  {191, 1024, 5120},  {75, 256, 4096},  {156, 256, 9728},
    {37, 256, 10752}, {232, 128, 6912},  {55, 512, 3840},  {441, 128, 768},    {51, 256, 0},     {305, 256, 3328},
    {69, 128, 8448},  {165, 256, 6400},  {18, 128, 4864},  {398, 256, 512},    {36, 512, 1024},  {362, 1024, 2048},
    {70, 128, 8704},  {510, 1024, 4864}, {19, 256, 7168},  {222, 512, 256},    {66, 128, 5120},  {412, 256, 11008},
    {72, 128, 4608},  {194, 1024, 6144}, {94, 256, 256},   {65, 512, 1024},    {101, 128, 4352}, {248, 512, 512},
    {38, 256, 4608},  {219, 512, 8960},  {61, 256, 1024},  {383, 128, 768},    {41, 512, 1792},  {201, 512, 256},
    {45, 256, 11008}, {368, 128, 3328},  {63, 128, 1280},  {155, 1024, 10752}, {84, 256, 4864},  {488, 256, 2560},
    {102, 256, 2048}, {278, 128, 512},   {28, 128, 256},   {128, 128, 4864},   {83, 512, 8704},  {387, 256, 0},
    {24, 512, 6656},  {189, 512, 2048},  {27, 512, 1024},  {175, 512, 5120},   {15, 1024, 2048}, {340, 1024, 7936},
    {88, 256, 0},     {161, 512, 2048},  {64, 256, 256},   {101, 512, 4864},   {32, 512, 4096},  {127, 1024, 0},
    {28, 1024, 7168}, {186, 128, 1792},  {33, 512, 256},   {109, 256, 5888},
};

struct options {
	int repeat, pair; /* pair 0: all */
	int scale;
	int block_us; /* of a block of the second kernel */
};

struct run {
	const struct kernel *pair; /* two */
	long long cycles[2];       /* of a block */
	streams in;                /* two */
};

__global__ void spin(long long cycles)
{
	long long begin = clock64();

	while (clock64() - begin < cycles)
		;
}

static int attribute(cudaDeviceAttr which)
{
	int device, value;

	CHECK(cudaGetDevice(&device));
	CHECK(cudaDeviceGetAttribute(&value, which, device));
	return value;
}

/* As many blocks an SM and the same share of its shared memory as on the K40. */
static void scale_to_device(void)
{
	double sms = attribute(cudaDevAttrMultiProcessorCount) / (double)K40_SMS;
	double shared = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / (double)K40_SHARED_BYTES;

	for (struct kernel &k : kernels) {
		k.blocks = (int)(k.blocks * sms + 0.5);
		k.shared_bytes = (int)(k.shared_bytes * shared) / SHARED_UNIT_BYTES * SHARED_UNIT_BYTES;
	}
}

static void launch_of_pair(const struct run *run, int which)
{
	const struct kernel *k = &run->pair[which];

	launch(spin, dim3(k->blocks), dim3(k->threads), k->shared_bytes, run->in.of[which], run->cycles[which]);
}

static void run_alone(const struct run *run)
{
	for (int which = 0; which < 2; which++) {
		launch_of_pair(run, which);
		CHECK(cudaDeviceSynchronize());
	}
}

static void run_together(const struct run *run)
{
	launch_of_pair(run, 0);
	launch_of_pair(run, 1);
	CHECK(cudaDeviceSynchronize());
}

static void describe(const struct run *run)
{
	const struct kernel *k = run->pair;
	int first = (int)(k - kernels) + 1;

	printf("S%d-S%d: %d x %d threads, %d bytes; %d x %d threads, %d bytes\n", first, first + 1, k[0].blocks,
	       k[0].threads, k[0].shared_bytes, k[1].blocks, k[1].threads, k[1].shared_bytes);
}

static void for_each_pair(const struct options *options, struct run *run, void (*what)(const struct run *))
{
	for (int i = 0; i < PAIRS; i++) {
		if (options->pair && options->pair != i + 1)
			continue;
		run->pair = &kernels[2 * i];
		what(run);
	}
}

static void parse(struct options *options, int argc, char **argv)
{
	const struct option_of table[] = {
	    {"--repeat", OPTION_COUNT, &options->repeat, "rounds alone, and rounds together"},
	    {"--pair", OPTION_COUNT, &options->pair, "only this one, 1 to 50"},
	    {"--scale", OPTION_FLAG, &options->scale, "to this device, as it was to the paper's"},
	    {"--block-us", OPTION_COUNT, &options->block_us, "how long a block of the second kernel waits"},
	    {NULL, OPTION_FLAG, NULL, NULL},
	};

	options_parse("pairs", table, argc, argv);
	if (options->pair <= PAIRS)
		return;
	fprintf(stderr, "pairs: --pair: 1 to %d\n", PAIRS);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options options = {.repeat = 5, .pair = 0, .scale = 0, .block_us = 20};
	struct run run = {NULL, {0, 0}, streams(2)};

	parse(&options, argc, argv);
	if (options.scale)
		scale_to_device();
	CHECK(
	    cudaFuncSetAttribute(spin, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
	CHECK(cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)));
	run.cycles[1] = (long long)options.block_us * attribute(cudaDevAttrClockRate) / 1000;
	run.cycles[0] = LONGER * run.cycles[1];
	for (int i = 0; i < options.repeat; i++)
		for_each_pair(&options, &run, run_alone);
	for (int i = 0; i < options.repeat; i++)
		for_each_pair(&options, &run, run_together);
	for_each_pair(&options, &run, describe);
	return 0;
}
