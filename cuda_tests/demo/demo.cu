/*
 * A small image pipeline, an ordinary CUDA program: again and again pictures are
 * uploaded, blurred, turned, combined and summed up on four streams that wait for
 * each other through events. It knows nothing of kerncast.
 *
 *   upload    picture to the device, brightness (saxpy, of a size that changes now and then)
 *   filter    stencil, again and again
 *   product   transpose, then a matrix product
 *   gather    waits for both, adds them and reduces the sum to one number per block
 *
 * The checksum at the end depends only on the device's arithmetic, the number of
 * threads and the number of rounds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 1024 /* of the picture, pixels */
#define PIXELS (SIDE * SIDE)
#define MATRIX 256 /* side of the matrices multiplied, a corner of the picture */
#define TILE 16
#define REDUCE_BLOCKS 64
#define REDUCE_THREADS 256
#define STENCIL_PASSES 3
#define MAX_THREADS 64

#define CHECK(call) check((call), #call)

static void check(cudaError_t error, const char *call)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "demo: %s: %s\n", call, cudaGetErrorString(error));
	exit(1);
}

__global__ void saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

__global__ void vector_add(int n, const float *x, const float *y, float *sum)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] = x[i] + y[i];
}

__global__ void stencil(int side, const float *in, float *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x == 0 || y == 0 || x >= side - 1 || y >= side - 1)
		return;
	int i = y * side + x;
	out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - side] + in[i + side]);
}

__global__ void transpose(int side, const float *in, float *out)
{
	__shared__ float tile[TILE][TILE + 1];
	int x = blockIdx.x * TILE + threadIdx.x;
	int y = blockIdx.y * TILE + threadIdx.y;

	tile[threadIdx.y][threadIdx.x] = in[y * side + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
	out[y * side + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void matmul(int side, const float *a, const float *b, float *c)
{
	__shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
	int column = blockIdx.x * TILE + threadIdx.x;
	int row = blockIdx.y * TILE + threadIdx.y;
	float sum = 0;

	for (int t = 0; t < side; t += TILE) {
		tile_a[threadIdx.y][threadIdx.x] = a[row * side + t + threadIdx.x];
		tile_b[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * side + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
		__syncthreads();
	}
	c[row * side + column] = sum / side;
}

__global__ void reduce(int n, const float *in, float *partial)
{
	__shared__ float sums[REDUCE_THREADS];
	float sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		partial[blockIdx.x] = sums[0];
}

enum { UPLOAD, FILTER, PRODUCT, GATHER, STREAMS };

struct pipeline { /* one per thread */
	pthread_t thread;
	int index, rounds;
	cudaStream_t stream[STREAMS];
	cudaEvent_t done[STREAMS];
	float *picture, *turned, *blurred[2], *product, *total, *partial;
	float *host_picture, *host_partial; /* pinned */
	uint64_t checksum;
	long launches;
};

static void pipeline_init(struct pipeline *p)
{
	int least, greatest;

	CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	for (int i = 0; i < STREAMS; i++) {
		CHECK(
		    cudaStreamCreateWithPriority(&p->stream[i], cudaStreamNonBlocking, i == GATHER ? greatest : least));
		CHECK(cudaEventCreateWithFlags(&p->done[i], cudaEventDisableTiming));
	}
	float **buffers[] = {&p->picture, &p->turned, &p->blurred[0], &p->blurred[1], &p->product, &p->total};
	for (float **buffer : buffers) {
		CHECK(cudaMalloc(buffer, PIXELS * sizeof(float)));
		CHECK(cudaMemset(*buffer, 0, PIXELS * sizeof(float)));
	}
	CHECK(cudaMalloc(&p->partial, REDUCE_BLOCKS * sizeof(float)));
	CHECK(cudaMemset(p->partial, 0, REDUCE_BLOCKS * sizeof(float)));
	CHECK(cudaMallocHost(&p->host_picture, PIXELS * sizeof(float)));
	CHECK(cudaMallocHost(&p->host_partial, REDUCE_BLOCKS * sizeof(float)));
	for (int i = 0; i < PIXELS; i++)
		p->host_picture[i] = (float)((i * 7 + p->index * 13) % 251) / 251;
	CHECK(cudaDeviceSynchronize());
}

static void pipeline_free(struct pipeline *p)
{
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamDestroy(p->stream[i]));
		CHECK(cudaEventDestroy(p->done[i]));
	}
	float *buffers[] = {p->picture, p->turned, p->blurred[0], p->blurred[1], p->product, p->total, p->partial};
	for (float *buffer : buffers)
		CHECK(cudaFree(buffer));
	CHECK(cudaFreeHost(p->host_picture));
	CHECK(cudaFreeHost(p->host_partial));
}

static void finish(struct pipeline *p, int stream)
{
	CHECK(cudaEventRecord(p->done[stream], p->stream[stream]));
}

static void wait_for(struct pipeline *p, int stream, int other)
{
	CHECK(cudaStreamWaitEvent(p->stream[stream], p->done[other], 0));
}

static void launched(struct pipeline *p)
{
	CHECK(cudaGetLastError());
	p->launches++;
}

static void upload(struct pipeline *p, int round)
{
	int n = PIXELS / (1 + round / 50 % 5); /* brighten all of it, half of it, a third, … */

	CHECK(cudaMemcpyAsync(p->picture, p->host_picture, PIXELS * sizeof(float), cudaMemcpyHostToDevice,
			      p->stream[UPLOAD]));
	saxpy<<<(n + 255) / 256, 256, 0, p->stream[UPLOAD]>>>(n, 0.5f, p->picture, p->picture);
	launched(p);
	finish(p, UPLOAD);
}

static void filter(struct pipeline *p)
{
	dim3 block(32, 8), grid(SIDE / 32, SIDE / 8);
	const float *in = p->picture;

	wait_for(p, FILTER, UPLOAD);
	for (int pass = 0; pass < STENCIL_PASSES; pass++) {
		stencil<<<grid, block, 0, p->stream[FILTER]>>>(SIDE, in, p->blurred[pass % 2]);
		launched(p);
		in = p->blurred[pass % 2];
	}
	finish(p, FILTER);
}

static void product(struct pipeline *p)
{
	dim3 block(TILE, TILE);

	wait_for(p, PRODUCT, UPLOAD);
	transpose<<<dim3(SIDE / TILE, SIDE / TILE), block, 0, p->stream[PRODUCT]>>>(SIDE, p->picture, p->turned);
	launched(p);
	matmul<<<dim3(MATRIX / TILE, MATRIX / TILE), block, 0, p->stream[PRODUCT]>>>(MATRIX, p->picture, p->turned,
										     p->product);
	launched(p);
	finish(p, PRODUCT);
}

static void gather(struct pipeline *p)
{
	wait_for(p, GATHER, FILTER);
	wait_for(p, GATHER, PRODUCT);
	vector_add<<<PIXELS / 512, 512, 0, p->stream[GATHER]>>>(PIXELS, p->blurred[(STENCIL_PASSES - 1) % 2],
								p->product, p->total);
	launched(p);
	reduce<<<REDUCE_BLOCKS, REDUCE_THREADS, 0, p->stream[GATHER]>>>(PIXELS, p->total, p->partial);
	launched(p);
	CHECK(cudaMemcpyAsync(p->host_partial, p->partial, REDUCE_BLOCKS * sizeof(float), cudaMemcpyDeviceToHost,
			      p->stream[GATHER]));
	CHECK(cudaStreamSynchronize(p->stream[GATHER]));
}

/* FNV-1a over the bits of the partial sums. */
static void add_to_checksum(struct pipeline *p)
{
	unsigned char bytes[REDUCE_BLOCKS * sizeof(float)];

	memcpy(bytes, p->host_partial, sizeof(bytes));
	for (unsigned char byte : bytes)
		p->checksum = (p->checksum ^ byte) * 0x100000001b3;
}

static void *pipeline_run(void *arg)
{
	struct pipeline *p = (struct pipeline *)arg;

	pipeline_init(p);
	p->checksum = 0xcbf29ce484222325;
	for (int round = 0; round < p->rounds; round++) {
		upload(p, round);
		filter(p);
		product(p);
		gather(p);
		add_to_checksum(p);
	}
	pipeline_free(p);
	return NULL;
}

static int number(const char *text, int max)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text && !*end && value >= 1 && value <= max ? (int)value : 0;
}

int main(int argc, char **argv)
{
	int threads = 1, rounds = 250;

	for (int i = 1; i < argc; i += 2) {
		int value = i + 1 < argc ? number(argv[i + 1], 1000000) : 0;

		if (value && !strcmp(argv[i], "--threads") && value <= MAX_THREADS) {
			threads = value;
		} else if (value && !strcmp(argv[i], "--rounds")) {
			rounds = value;
		} else {
			fprintf(stderr, "usage: %s [--threads 1..%d] [--rounds N]\n", argv[0], MAX_THREADS);
			return 2;
		}
	}

	static struct pipeline pipelines[MAX_THREADS];
	uint64_t checksum = 0;
	long launches = 0;

	for (int i = 0; i < threads; i++) {
		pipelines[i].index = i;
		pipelines[i].rounds = rounds;
		if (pthread_create(&pipelines[i].thread, NULL, pipeline_run, &pipelines[i])) {
			fprintf(stderr, "demo: no thread\n");
			return 1;
		}
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(pipelines[i].thread, NULL);
		checksum = checksum * 31 + pipelines[i].checksum;
		launches += pipelines[i].launches;
	}
	printf("%d thread%s, %ld kernel launches, checksum %016llx\n", threads, threads == 1 ? "" : "s", launches,
	       (unsigned long long)checksum);
	return 0;
}
