/*
 * Four kernels, round after round, some of which take longer than they should for
 * causes that are asked for. Says of each launch, in the order of the calls, how
 * many times longer each cause made it.
 *
 *   usage: slow ROUNDS [CAUSE=KERNEL:AMOUNT]...
 *
 *   size=K:F      from the middle of the run on, kernel K (0 to 3) has F (whole) times the blocks
 *   first=K:F     its first launch takes F times the time
 *   slower=K:F    every launch takes F times the time
 *   drift=K:F     the time grows from once to F times over the run
 *   overlap=K:S   in the share S of the rounds, spread evenly, another kernel runs at the same time
 *
 * Without overlap the other kernel runs alone, in every round. A line per launch:
 *   KERNEL size first slower drift overlap      the factors; overlap: 0 or 1
 */
#include "../sizes/check.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define KERNELS 4
#define OTHER KERNELS
#define BLOCKS 108
#define THREADS 512

enum cause { SIZE, FIRST, SLOWER, DRIFT, OVERLAP, CAUSES };
static const char *const names[CAUSES] = {"size", "first", "slower", "drift", "overlap"};
static const int work[KERNELS + 1] = {40000, 60000, 80000, 110000, 60000};

struct injected {
	int kernel; /* -1: none */
	double amount;
};

/* weight: what a loop costs the simulated device, which nothing in the code tells. */
template <int kernel> __global__ void kernel_of_round(int loops, float weight, float *out)
{
	float sum = 0;

	for (int i = 0; i < loops; i++)
		sum += (float)(kernel + 1) / (float)(i + 1);
	if (threadIdx.x == 0)
		out[blockIdx.x] = sum * weight;
}

struct program {
	struct injected causes[CAUSES];
	int rounds;
	float *out;
	cudaStream_t streams[2];
};

static int is_on(const struct program *p, enum cause cause, int kernel)
{
	return p->causes[cause].kernel == kernel;
}

/* Whether the share of the rounds, spread evenly, has this one. */
static int has_company(const struct program *p, int round)
{
	double share = p->causes[OVERLAP].amount;

	return p->causes[OVERLAP].kernel >= 0 && floor((round + 1) * share) > floor(round * share);
}

static void factors_of(const struct program *p, int kernel, int round, double factors[CAUSES])
{
	for (int cause = 0; cause < CAUSES; cause++)
		factors[cause] = 1;
	if (is_on(p, SIZE, kernel) && round >= p->rounds / 2)
		factors[SIZE] = p->causes[SIZE].amount;
	if (is_on(p, FIRST, kernel) && round == 0)
		factors[FIRST] = p->causes[FIRST].amount;
	if (is_on(p, SLOWER, kernel))
		factors[SLOWER] = p->causes[SLOWER].amount;
	if (is_on(p, DRIFT, kernel))
		factors[DRIFT] = 1 + (p->causes[DRIFT].amount - 1) * round / (p->rounds - 1);
}

static void launch(const struct program *p, int kernel, int round, int overlapped)
{
	cudaStream_t stream = p->streams[kernel == OTHER];
	double factors[CAUSES];
	float weight;
	int blocks;

	factors_of(p, kernel, round, factors);
	blocks = BLOCKS * (int)factors[SIZE];
	weight = (float)(factors[FIRST] * factors[SLOWER] * factors[DRIFT]);
	switch (kernel) {
	case 0:
		kernel_of_round<0><<<blocks, THREADS, 0, stream>>>(work[kernel], weight, p->out);
		break;
	case 1:
		kernel_of_round<1><<<blocks, THREADS, 0, stream>>>(work[kernel], weight, p->out);
		break;
	case 2:
		kernel_of_round<2><<<blocks, THREADS, 0, stream>>>(work[kernel], weight, p->out);
		break;
	case 3:
		kernel_of_round<3><<<blocks, THREADS, 0, stream>>>(work[kernel], weight, p->out);
		break;
	default:
		kernel_of_round<OTHER><<<blocks, THREADS, 0, stream>>>(work[kernel], weight, p->out);
	}
	CHECK(cudaGetLastError());
	printf("%d %g %g %g %g %d\n", kernel, factors[SIZE], factors[FIRST], factors[SLOWER], factors[DRIFT],
	       overlapped);
}

static void run_round(const struct program *p, int round)
{
	int company = has_company(p, round);

	for (int kernel = 0; kernel < KERNELS; kernel++) {
		int overlapped = company && is_on(p, OVERLAP, kernel);

		launch(p, kernel, round, overlapped);
		if (overlapped)
			launch(p, OTHER, round, 1);
		CHECK(cudaDeviceSynchronize());
	}
	if (!company) {
		launch(p, OTHER, round, 0);
		CHECK(cudaDeviceSynchronize());
	}
}

static int parse(struct program *p, const char *arg)
{
	for (int cause = 0; cause < CAUSES; cause++) {
		size_t n = strlen(names[cause]);
		struct injected *injected = p->causes + cause;

		if (!strncmp(arg, names[cause], n) && arg[n] == '=')
			return sscanf(arg + n + 1, "%d:%lf", &injected->kernel, &injected->amount) == 2 &&
			       injected->kernel >= 0 && injected->kernel < KERNELS;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct program p = {};

	p.rounds = argc > 1 ? atoi(argv[1]) : 0;
	for (int cause = 0; cause < CAUSES; cause++)
		p.causes[cause].kernel = -1;
	for (int i = 2; i < argc; i++)
		if (!parse(&p, argv[i]))
			p.rounds = 0;
	if (p.rounds < 2) {
		fprintf(stderr, "usage: slow ROUNDS [CAUSE=KERNEL:AMOUNT]...\n");
		return 2;
	}
	CHECK(cudaMalloc(&p.out, sizeof(*p.out) * 16 * BLOCKS));
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamCreateWithFlags(p.streams + i, cudaStreamNonBlocking));
	for (int round = 0; round < p.rounds; round++)
		run_round(&p, round);
	CHECK(cudaFree(p.out));
	return 0;
}
