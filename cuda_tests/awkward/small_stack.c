/*
 * How much stack calls of CUDA take: each runs on a painted stack of its own, of which it is then seen how much was
 * written to. The difference between two runs of this program is what a library takes.
 *
 *	small_stack table [runtime]	prints a line for each call: name, bytes; runtime: of a static one
 *	small_stack tight THREADS	cuInit and launches in threads whose stacks have 16 KiB
 */
#include "awkward.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define STACK_BYTES (256u << 10)
#define TIGHT_BYTES (16u << 10)
#define PAINT 0xA5
#define SHAPES 20 /* launches with a new shape: at some of them the kernel's code has been read */
#define PAUSE_NS 5000000
#define SPIN_MAX 400

/* Loops within loops, conditions on the thread and accesses of several strides, so that there is much to count. */
static const char loops_ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry loops(.param .u64 a, .param .u32 n, .param .u32 m)\n{\n"
    ".reg .pred %p<5>;\n.reg .b32 %r<16>;\n.reg .b64 %d<8>;\n.reg .f32 %f<4>;\n"
    "ld.param.u64 %d1, [a];\nld.param.u32 %r1, [n];\nld.param.u32 %r2, [m];\n"
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\n"
    "mov.u32 %r12, %ctaid.y;\nmov.u32 %r13, %tid.y;\n"
    "mad.lo.s32 %r6, %r3, %r4, %r5;\nmad.lo.s32 %r6, %r12, %r13, %r6;\n"
    "setp.ge.u32 %p1, %r6, %r1;\n@%p1 bra DONE;\n"
    "mov.f32 %f1, 0f00000000;\nmov.u32 %r7, 0;\n"
    "OUTER:\nmov.u32 %r8, %r7;\n"
    "INNER:\nmad.lo.s32 %r9, %r8, %r2, %r6;\nmul.wide.u32 %d2, %r9, 4;\nadd.s64 %d3, %d1, %d2;\n"
    "ld.global.f32 %f2, [%d3];\nadd.f32 %f1, %f1, %f2;\n"
    "and.b32 %r10, %r8, 3;\nsetp.ne.u32 %p2, %r10, 0;\n@%p2 bra SKIP;\n"
    "mul.lo.s32 %r11, %r5, %r8;\nmul.wide.u32 %d4, %r11, 4;\nadd.s64 %d5, %d1, %d4;\n"
    "ld.global.f32 %f3, [%d5];\nadd.f32 %f1, %f1, %f3;\n"
    "SKIP:\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p3, %r8, %r2;\n@%p3 bra INNER;\n"
    "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p4, %r7, %r2;\n@%p4 bra OUTER;\n"
    "mul.wide.u32 %d6, %r6, 4;\nadd.s64 %d7, %d1, %d6;\nst.global.f32 [%d7], %f1;\n"
    "DONE:\nret;\n}\n";

static struct {
	CUcontext context;
	CUmodule module;
	CUfunction function;
	cudaLibrary_t loops;
	cudaKernel_t kernel;
	CUdeviceptr memory;
	CUstream stream;
	CUevent event;
	CUgraph graph;
	CUgraphExec exec;
	unsigned blocks, m;
	char host[4096];
} app;

/* --- calls */

static void init(void)
{
	CHECK(cuInit(0));
}

static void context(void)
{
	CUdevice device;

	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&app.context, device));
	CHECK(cuCtxSetCurrent(app.context));
}

static void module_load(void)
{
	CHECK(cuModuleLoadData(&app.module, loops_ptx));
}

static void module_function(void)
{
	CHECK(cuModuleGetFunction(&app.function, app.module, "loops"));
}

static void memory(void)
{
	CHECK(cuMemAlloc(&app.memory, 4096));
}

static void launch(void)
{
	unsigned n = 1u << 20, m = app.m;
	void *parameters[] = {&app.memory, &n, &m};

	CHECK(cuLaunchKernel(app.function, app.blocks, 3, 1, 96, 2, 1, 0, app.stream, parameters, NULL));
}

static void launch_ex(void)
{
	unsigned n = 1u << 20, m = app.m;
	void *parameters[] = {&app.memory, &n, &m};
	CUlaunchConfig config = {.gridDimX = app.blocks,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 64,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = app.stream};

	CHECK(cuLaunchKernelEx(&config, app.function, parameters, NULL));
}

static void launch_cooperative(void)
{
	unsigned n = 1u << 20, m = app.m;
	void *parameters[] = {&app.memory, &n, &m};

	CHECK(cuLaunchCooperativeKernel(app.function, 7, 1, 1, 64, 1, 1, 0, app.stream, parameters));
}

static void stream_create(void)
{
	CHECK(cuStreamCreate(&app.stream, CU_STREAM_NON_BLOCKING));
}

static void stream_synchronize(void)
{
	CHECK(cuStreamSynchronize(app.stream));
}

static void stream_destroy(void)
{
	CHECK(cuStreamDestroy(app.stream));
	app.stream = NULL;
}

static void copy(void)
{
	CHECK(cuMemcpyHtoDAsync(app.memory, app.host, sizeof(app.host), app.stream));
}

static void set(void)
{
	CHECK(cuMemsetD8Async(app.memory, 0, 4096, app.stream));
}

static void event_create(void)
{
	CHECK(cuEventCreate(&app.event, 0));
}

static void event_record(void)
{
	CHECK(cuEventRecord(app.event, app.stream));
}

static void event_wait(void)
{
	CHECK(cuStreamWaitEvent(app.stream, app.event, 0));
}

static void event_synchronize(void)
{
	CHECK(cuEventSynchronize(app.event));
}

static void event_destroy(void)
{
	CHECK(cuEventDestroy(app.event));
}

static void capture(void)
{
	CHECK(cuStreamBeginCapture(app.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (int i = 0; i < 5; i++)
		launch();
	CHECK(cuStreamEndCapture(app.stream, &app.graph));
}

static void graph_instantiate(void)
{
	CHECK(cuGraphInstantiateWithFlags(&app.exec, app.graph, 0));
}

static void graph_launch(void)
{
	CHECK(cuGraphLaunch(app.exec, app.stream));
}

static void graph_update(void)
{
	CUgraphExecUpdateResultInfo info;

	CHECK(cuGraphExecUpdate(app.exec, app.graph, &info));
}

static void graph_destroy(void)
{
	CHECK(cuGraphExecDestroy(app.exec));
	CHECK(cuGraphDestroy(app.graph));
}

static void module_unload(void)
{
	CHECK(cuModuleUnload(app.module));
}

static void context_synchronize(void)
{
	CHECK(cuCtxSynchronize());
}

/* Of the runtime */

static void check_runtime(cudaError_t error, const char *what)
{
	if (!error)
		return;
	printf("%s: %d\n", what, error);
	exit(3);
}
#define RUNTIME(call) check_runtime(call, #call)

static void runtime_init(void)
{
	RUNTIME(cudaFree(NULL));
}

static void library_load(void)
{
	RUNTIME(cudaLibraryLoadData(&app.loops, loops_ptx, NULL, NULL, 0, NULL, NULL, 0));
}

static void library_kernel(void)
{
	RUNTIME(cudaLibraryGetKernel(&app.kernel, app.loops, "loops"));
}

static void runtime_memory(void)
{
	RUNTIME(cudaMalloc((void **)&app.memory, 4096));
}

static void runtime_launch(void)
{
	unsigned n = 1u << 20, m = app.m;
	void *parameters[] = {&app.memory, &n, &m};

	RUNTIME(cudaLaunchKernel((void *)app.kernel, (dim3){app.blocks, 3, 1}, (dim3){96, 2, 1}, parameters, 0,
				 app.stream));
}

static void runtime_stream_create(void)
{
	RUNTIME(cudaStreamCreate(&app.stream));
}

static void runtime_stream_destroy(void)
{
	RUNTIME(cudaStreamDestroy(app.stream));
	app.stream = NULL;
}

static void runtime_copy(void)
{
	RUNTIME(cudaMemcpyAsync((void *)app.memory, app.host, sizeof(app.host), cudaMemcpyHostToDevice, app.stream));
}

static void runtime_copy_waiting(void)
{
	RUNTIME(cudaMemcpy((void *)app.memory, app.host, sizeof(app.host), cudaMemcpyHostToDevice));
}

static void runtime_synchronize(void)
{
	RUNTIME(cudaStreamSynchronize(app.stream));
}

static void library_unload(void)
{
	RUNTIME(cudaLibraryUnload(app.loops));
}

/* --- on a painted stack */

static ucontext_t here, there;
static void (*the_call)(void);

static void run_call(void)
{
	the_call();
}

/* Returns how many bytes of its stack the call used: from the top down to the lowest byte that it wrote. */
static size_t used_by(void (*call)(void))
{
	static unsigned char *stack;
	size_t free_bytes = 0;

	if (!stack)
		stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(stack, PAINT, STACK_BYTES);
	the_call = call;
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, run_call, 0);
	swapcontext(&here, &there);
	while (free_bytes < STACK_BYTES && stack[free_bytes] == PAINT)
		free_bytes++;
	return STACK_BYTES - free_bytes;
}

static void row(const char *name, void (*call)(void))
{
	printf("%s %zu\n", name, used_by(call));
}

/* The most that one of several launches takes, each with a shape and an argument never seen. */
static void row_of_shapes(const char *name, void (*launch_one)(void))
{
	size_t most = 0;

	for (int i = 0; i < SHAPES; i++) {
		size_t used;

		app.blocks++;
		app.m++;
		used = used_by(launch_one);
		most = used > most ? used : most;
		nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
	}
	printf("%s %zu\n", name, most);
}

static void row_of_many(const char *name, void (*call)(void))
{
	size_t most = 0;

	for (int i = 0; i < SPIN_MAX; i++) {
		size_t used = used_by(call);

		most = used > most ? used : most;
	}
	printf("%s %zu\n", name, most);
}

static void table_of_driver(void)
{
	row("cuInit", init);
	row("context", context);
	row("cuModuleLoadData", module_load);
	row("cuModuleGetFunction", module_function);
	row("cuMemAlloc", memory);
	row("cuStreamCreate", stream_create);
	app.blocks = 32;
	app.m = 10;
	row("first-launch", launch);
	row("known-launch", launch);
	row_of_many("known-launches", launch);
	row("cuStreamSynchronize", stream_synchronize);
	row_of_shapes("new-shapes", launch);
	row("cuLaunchKernelEx", launch_ex);
	row("cuLaunchKernelEx-known", launch_ex);
	row("cuLaunchCooperativeKernel", launch_cooperative);
	row("cuMemcpyHtoDAsync", copy);
	row("cuMemcpyHtoDAsync-known", copy);
	row("cuMemsetD8Async", set);
	row("cuEventCreate", event_create);
	row("cuEventRecord", event_record);
	row("cuStreamWaitEvent", event_wait);
	row("cuEventSynchronize", event_synchronize);
	row("cuEventDestroy", event_destroy);
	row("capture", capture);
	row("cuGraphInstantiate", graph_instantiate);
	row("cuGraphLaunch", graph_launch);
	row_of_many("cuGraphLaunch-known", graph_launch);
	row("cuGraphExecUpdate", graph_update);
	row("cuGraphExecDestroy", graph_destroy);
	row("cuCtxSynchronize", context_synchronize);
	row("cuStreamDestroy", stream_destroy);
	row("cuModuleUnload", module_unload);
}

static void table_of_runtime(void)
{
	row("cudaFree", runtime_init);
	row("cudaLibraryLoadData", library_load);
	row("cudaLibraryGetKernel", library_kernel);
	row("cudaMalloc", runtime_memory);
	row("cudaStreamCreate", runtime_stream_create);
	app.blocks = 32;
	app.m = 10;
	row("runtime-first-launch", runtime_launch);
	row("runtime-known-launch", runtime_launch);
	row_of_many("runtime-known-launches", runtime_launch);
	row("cudaStreamSynchronize", runtime_synchronize);
	row_of_shapes("runtime-new-shapes", runtime_launch);
	row("cudaMemcpyAsync", runtime_copy);
	row("cudaMemcpy", runtime_copy_waiting);
	row("cudaStreamDestroy", runtime_stream_destroy);
	row("cudaLibraryUnload", library_unload);
}

/* --- all of it on small stacks */

static void *use_cuda(void *first)
{
	CUstream stream = NULL;

	if (first) {
		init();
		context();
		module_load();
		module_function();
		memory();
		app.m = 10;
	}
	CHECK(cuCtxSetCurrent(app.context));
	for (int i = 0; i < SHAPES; i++) {
		app.blocks = 32 + (unsigned)i;
		launch();
		nanosleep(&(struct timespec){0, PAUSE_NS / 5}, NULL);
	}
	CHECK(cuStreamSynchronize(stream));
	return NULL;
}

static void run_tight(void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, TIGHT_BYTES) || pthread_create(&thread, &attributes, run, arg)) {
		printf("no thread\n");
		exit(3);
	}
	pthread_attr_destroy(&attributes);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;

	if (argc > 2 && !strcmp(argv[1], "tight")) {
		for (int i = 0; i < threads; i++)
			run_tight(use_cuda, i ? NULL : &app);
		printf("done\n");
	} else if (argc > 2 && !strcmp(argv[1], "table")) {
		table_of_runtime();
	} else {
		table_of_driver();
	}
	return 0;
}
