/*
 * Launches on four streams per thread, and between launches the calls that change when
 * the work of a stream can begin. Threads take turns with the devices that there are.
 *
 *   usage: stream_calls WHAT [THREADS]
 *
 *   priorities   nothing but launches, on streams of different priorities
 *   lanes        a stream is destroyed, with work in it, and another one made
 *   copies       copies that the host waits for, and copies beside kernels
 *   frees        memory given back: by the host, which waits, and in a stream
 *   hosts        host functions
 *   events       streams wait for events of others, the host for some
 *   defaults     the default stream, the legacy one and the thread's own
 *   failures     launches, copies and waits that fail
 *   waits        the host waits for a stream or the device, also where nothing is in it
 *   all          each of these in turn
 */
#include "awkward.h"

#include <pthread.h>
#include <string.h>

enum { STREAMS = 4, ROUNDS = 160, THREADS_MAX = 16, DEVICES_MAX = 4, COPY_BYTES = 1 << 16 };

struct worker {
	struct awkward *a;
	pthread_t thread;
	unsigned seed;
	void (*act)(struct worker *w, int round);
	CUstream streams[STREAMS];
	CUevent events[STREAMS];
	CUdeviceptr memory;
	char *host;
};

static unsigned any(struct worker *w, unsigned below)
{
	w->seed = w->seed * 1664525u + 1013904223u;
	return (w->seed >> 16) % below;
}

static CUstream make_stream(struct worker *w)
{
	CUstream stream;

	CHECK(cuStreamCreateWithPriority(&stream, any(w, 2) ? CU_STREAM_NON_BLOCKING : 0, -(int)any(w, 3)));
	return stream;
}

static void nothing(struct worker *w, int round)
{
	(void)w;
	(void)round;
}

static void lanes(struct worker *w, int round)
{
	CUstream *stream = &w->streams[any(w, STREAMS)];

	CHECK(cuStreamDestroy(*stream));
	*stream = make_stream(w);
	if (round % 8 == 0) { /* one that is never used, and one that is at once */
		CUstream idle = make_stream(w), used = make_stream(w);

		CHECK(awkward_launch(w->a, used, 2));
		CHECK(cuStreamDestroy(used));
		CHECK(cuStreamDestroy(idle));
	}
}

static void copies(struct worker *w, int round)
{
	CUstream stream = w->streams[any(w, STREAMS)];

	CHECK(cuMemcpyHtoDAsync(w->memory, w->host, COPY_BYTES >> any(w, 4), stream));
	CHECK(cuMemsetD8Async(w->memory, 0, COPY_BYTES, w->streams[any(w, STREAMS)]));
	CHECK(cuMemcpyDtoHAsync(w->host, w->memory, COPY_BYTES, w->streams[any(w, STREAMS)]));
	if (round % 4 == 0)
		CHECK(cuMemcpyDtoH(w->host, w->memory, 4096));
	if (round % 4 == 2)
		CHECK(cuMemcpyHtoD(w->memory, w->host, 4096));
}

static void frees(struct worker *w, int round)
{
	CUstream stream = w->streams[any(w, STREAMS)];
	CUdeviceptr memory;

	CHECK(cuMemAllocAsync(&memory, 4096, stream));
	CHECK(awkward_launch(w->a, stream, 1));
	CHECK(cuMemFreeAsync(memory, stream));
	if (round % 4 == 0) {
		CHECK(cuMemAlloc(&memory, 4096));
		CHECK(awkward_launch(w->a, stream, 1));
		CHECK(cuMemFree(memory));
	}
}

static void CUDA_CB nothing_on_host(void *unused)
{
	(void)unused;
}

static void hosts(struct worker *w, int round)
{
	(void)round;
	CHECK(cuLaunchHostFunc(w->streams[any(w, STREAMS)], nothing_on_host, NULL));
}

static void events(struct worker *w, int round)
{
	unsigned from = any(w, STREAMS), to = any(w, STREAMS);

	CHECK(cuEventRecord(w->events[from], w->streams[from]));
	CHECK(cuStreamWaitEvent(w->streams[to], w->events[from], 0));
	CHECK(awkward_launch(w->a, w->streams[to], 3));
	if (round % 8 == 0)
		CHECK(cuEventSynchronize(w->events[from]));
}

static void defaults(struct worker *w, int round)
{
	CHECK(awkward_launch(w->a, round % 2 ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD, 2));
	if (round % 8 == 0)
		CHECK(cuStreamSynchronize(round % 16 ? CU_STREAM_LEGACY : CU_STREAM_PER_THREAD));
}

static void must_fail(CUresult result, const char *what)
{
	if (result)
		return;
	printf("%s did not fail\n", what);
	exit(3);
}

/* More blocks at once than any device has room for: each of them fits, so the launch has been predicted. */
static CUresult launch_together(struct worker *w, CUstream stream)
{
	int n = 5;
	void *parameters[] = {&w->a->memory, &n};

	return cuLaunchCooperativeKernel(w->a->kernel, 1 << 20, 1, 1, 128, 1, 1, 0, stream, parameters);
}

static void failures(struct worker *w, int round)
{
	CUstream stream = w->streams[any(w, STREAMS)];

	(void)round;
	for (int i = 0; i < 4; i++)
		must_fail(launch_together(w, stream), "a cooperative launch of more blocks than fit");
	must_fail(awkward_launch(w->a, stream, 0), "a launch of no block");
	must_fail(cuMemcpyHtoDAsync(0, w->host, COPY_BYTES, stream), "a copy to nowhere");
	must_fail(cuStreamWaitEvent(stream, NULL, 0), "a wait for no event");
}

static void waits(struct worker *w, int round)
{
	CUstream stream = w->streams[any(w, STREAMS)];

	for (unsigned i = any(w, 4); i; i--)
		CHECK(cuStreamSynchronize(stream));
	if (round % 16 == 0)
		for (unsigned i = any(w, 4); i; i--)
			CHECK(cuCtxSynchronize());
}

static const struct {
	const char *name;
	void (*act)(struct worker *w, int round);
} acts[] = {
    {"priorities", nothing}, {"lanes", lanes},       {"copies", copies},     {"frees", frees}, {"hosts", hosts},
    {"events", events},      {"defaults", defaults}, {"failures", failures}, {"waits", waits},
};
enum { ACTS = sizeof(acts) / sizeof(acts[0]) };

static void all(struct worker *w, int round)
{
	acts[round % ACTS].act(w, round);
}

static void work_round(struct worker *w, int round)
{
	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(awkward_launch(w->a, w->streams[any(w, STREAMS)], 1u << any(w, 11)));
	w->act(w, round);
	if (round % 8 == 7)
		CHECK(cuStreamSynchronize(w->streams[any(w, STREAMS)]));
}

static void load(struct awkward *a, int ordinal)
{
	CUdevice device;
	CUmodule module;

	CHECK(cuDeviceGet(&device, ordinal));
	CHECK(cuDevicePrimaryCtxRetain(&a->context, device));
	CHECK(cuCtxSetCurrent(a->context));
	CHECK(cuModuleLoadData(&module, awkward_ptx));
	CHECK(cuModuleGetFunction(&a->kernel, module, "awkward"));
	CHECK(cuMemAlloc(&a->memory, 4096));
}

static void *work(void *arg)
{
	struct worker *w = arg;

	CHECK(cuCtxSetCurrent(w->a->context));
	CHECK(cuMemAlloc(&w->memory, COPY_BYTES));
	w->host = calloc(1, COPY_BYTES);
	for (int i = 0; i < STREAMS; i++) {
		w->streams[i] = make_stream(w);
		CHECK(cuEventCreate(&w->events[i], CU_EVENT_DISABLE_TIMING));
	}
	for (int round = 0; round < ROUNDS; round++)
		work_round(w, round);
	for (int i = 0; i < STREAMS; i++)
		CHECK(cuStreamSynchronize(w->streams[i]));
	free(w->host);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	const char *what = argc > 1 ? argv[1] : "all";
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	void (*act)(struct worker * w, int round) = all;
	struct awkward on[DEVICES_MAX];
	int devices;

	for (int i = 0; i < ACTS; i++)
		if (!strcmp(what, acts[i].name))
			act = acts[i].act;
	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&devices));
	for (int i = 0; i < devices && i < DEVICES_MAX; i++)
		load(&on[i], i);
	for (int i = 0; i < threads && i < THREADS_MAX; i++) {
		workers[i] = (struct worker){.a = &on[i % devices % DEVICES_MAX], .seed = (unsigned)i + 1, .act = act};
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads && i < THREADS_MAX; i++)
		pthread_join(workers[i].thread, NULL);
	CHECK(cuCtxSynchronize());
	return 0;
}
