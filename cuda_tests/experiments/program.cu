#include "program.h"

#include "reference/reference.h"

#include <algorithm>
#include <errno.h>
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 1024
#define WARP 32

void check_call(cudaError_t error, const char *call)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, cudaGetErrorString(error));
	exit(1);
}

/* The name, or with a * at its end what it begins with. */
int asked_for(const struct common *common, const struct algorithm *algorithm)
{
	size_t length = common->only ? strlen(common->only) : 0;

	if (!common->only)
		return 1;
	if (length && common->only[length - 1] == '*')
		return !strncmp(common->only, algorithm->name, length - 1);
	return !strcmp(common->only, algorithm->name);
}

static void refuse(const struct common *common, const char *what)
{
	fprintf(stderr, "%s: %s\n", common->program, what);
	exit(2);
}

static void validate(const struct common *common, const struct algorithm *const *algorithms, int count)
{
	int named = 0;

	for (int i = 0; i < count; i++)
		named |= asked_for(common, algorithms[i]);
	if (!named)
		refuse(common, "--only: no such algorithm; --list names them");
	for (int i = 0; i < common->blocks.count; i++)
		if (common->blocks.values[i] % WARP || common->blocks.values[i] > THREADS_MAX)
			refuse(common, "--block: multiples of 32 up to 1024");
}

void common_parse(struct common *common, const struct algorithm *const *algorithms, int count,
		  const struct option_of *more, int argc, char **argv)
{
	std::vector<struct option_of> options = {
	    {"--size", OPTION_LIST, &common->sizes, "side of matrices and images, length of sequences"},
	    {"--block", OPTION_LIST, &common->blocks, "threads a block, multiples of 32"},
	    {"--streams", OPTION_COUNT, &common->streams, "streams in use"},
	    {"--repeat", OPTION_COUNT, &common->repeat, "rounds"},
	    {"--only", OPTION_TEXT, &common->only, "this algorithm only; NAME*: all that begin so"},
	    {"--no-check", OPTION_FLAG, &common->no_check, "do not compare with the CPU's result"},
	    {"--time", OPTION_FLAG, &common->time, "print the median time of a round"},
	    {"--list", OPTION_FLAG, &common->list, "name the algorithms and their settings"},
	};

	for (; more && more->name; more++)
		options.push_back(*more);
	options.push_back({NULL, OPTION_FLAG, NULL, NULL});
	options_parse(common->program, options.data(), argc, argv);
	validate(common, algorithms, count);
	if (!common->list)
		return;
	for (int i = 0; i < count; i++)
		printf("%s size %d block %d\n", algorithms[i]->name, algorithms[i]->setting.size,
		       algorithms[i]->setting.block);
	exit(0);
}

streams::streams(int count) : of(count)
{
	for (cudaStream_t &stream : of)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
}

streams::~streams()
{
	for (cudaStream_t stream : of)
		cudaStreamDestroy(stream);
}

/* A device of the stand-in says so in its name; kernels do not run there. */
static int computes(void)
{
	struct cudaDeviceProp properties;
	int device;

	CHECK(cudaGetDevice(&device));
	CHECK(cudaGetDeviceProperties(&properties, device));
	return strncmp(properties.name, "Simulated", strlen("Simulated"));
}

static int checks(const struct common *common)
{
	return !common->no_check && computes();
}

const char *checked(const struct common *common, struct subject *subject)
{
	return checks(common) ? subject->wrong() : NULL;
}

const char *verdict(const struct common *common, const char *wrong)
{
	return wrong ? wrong : checks(common) ? "right" : "not checked";
}

stopwatch::stopwatch()
{
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
}

stopwatch::~stopwatch()
{
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
}

void stopwatch::start(cudaStream_t stream)
{
	CHECK(cudaEventRecord(begin, stream));
}

void stopwatch::stop(cudaStream_t stream)
{
	float ms;

	CHECK(cudaEventRecord(end, stream));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	times_ms.push_back(ms);
}

float stopwatch::median_us() const
{
	std::vector<float> sorted = times_ms;

	std::sort(sorted.begin(), sorted.end());
	return 1000 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

static void print_result(const struct common *common, const struct algorithm *algorithm, const struct setting *setting,
			 const stopwatch *watch, const char *wrong)
{
	printf("%s size %d block %d: %s", algorithm->name, setting->size, setting->block, verdict(common, wrong));
	if (common->time)
		printf(", %.2f us", watch->median_us());
	printf("\n");
	fflush(stdout);
}

/* One copy of the algorithm a stream; the device idle between rounds. */
static int measure(const struct common *common, const struct algorithm *algorithm, const struct setting *setting)
{
	std::vector<std::unique_ptr<struct subject>> subjects;
	const char *wrong = NULL;
	streams streams(common->streams);
	stopwatch watch;

	for (int i = 0; i < common->streams; i++)
		subjects.emplace_back(algorithm->make(setting));
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < common->repeat; round++) {
		watch.start(streams.of[0]);
		for (int i = 0; i < common->streams; i++)
			subjects[i]->run(streams.of[i]);
		watch.stop(streams.of[0]);
		CHECK(cudaDeviceSynchronize());
	}
	for (int i = 0; i < common->streams && !wrong; i++)
		wrong = checked(common, subjects[i].get());
	print_result(common, algorithm, setting, &watch, wrong);
	return wrong != NULL;
}

static struct list or_else(const struct list *asked, int value)
{
	struct list list = *asked;

	if (!list.count)
		list.values[list.count++] = value;
	return list;
}

std::vector<struct setting> settings_of(const struct common *common, const struct algorithm *algorithm)
{
	struct list sizes = or_else(&common->sizes, algorithm->setting.size);
	struct list blocks = or_else(&common->blocks, algorithm->setting.block);
	std::vector<struct setting> settings;

	for (int s = 0; s < sizes.count; s++)
		for (int b = 0; b < blocks.count; b++)
			settings.push_back({(int)sizes.values[s], (int)blocks.values[b]});
	return settings;
}

int measure_each(const struct common *common, const struct algorithm *const *algorithms, int count)
{
	int status = 0;

	for (int i = 0; i < count; i++) {
		if (!asked_for(common, algorithms[i]))
			continue;
		for (const struct setting &setting : settings_of(common, algorithms[i]))
			status |= measure(common, algorithms[i], &setting);
	}
	return status;
}

dim3 square_block(int threads)
{
	int height = (int)sqrt((double)threads);

	while (threads % height)
		height--;
	return dim3(threads / height, height);
}

dim3 blocks_over(int width, int height, dim3 block)
{
	return dim3(parts(width, block.x), parts(height, block.y));
}

std::vector<int> random_ints(size_t count, int limit)
{
	std::vector<int> numbers(count);

	for (size_t i = 0; i < count; i++)
		numbers[i] = (int)(reference_scramble((uint32_t)i + 1) % (uint32_t)limit);
	return numbers;
}

std::vector<float> small_floats(size_t count)
{
	std::vector<float> numbers(count);

	for (size_t i = 0; i < count; i++)
		numbers[i] = (float)(reference_scramble((uint32_t)i + 1) % 5) - 2;
	return numbers;
}

const char *differs(long at, double got, double wanted)
{
	static char text[128];

	snprintf(text, sizeof(text), "WRONG: entry %ld is %g, not %g", at, got, wanted);
	return text;
}
