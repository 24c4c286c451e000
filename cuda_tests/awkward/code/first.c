/*
 * A program that loads a module, and launches each of its kernels once. Arguments: the module's file, the number of its
 * kernels, which are called k0, k1, …, the milliseconds between the load and the first launch, and words:
 *   captured      the launches are captured, and the graph is launched
 *   nodes         they are nodes of a graph that is made call by call
 *   pipe          before the first launch a FIFO takes the file's place
 *   again         after as many milliseconds each of them is launched once more
 *   devices       the module is loaded on a second device, too, and all are launched on both, without a wait
 *                 before that, but as long a one behind it
 *   beside FILE...  a module with as many kernels is loaded from each of these, and all are launched at the same time,
 *                 by a thread for each module
 */
#include "cuda_tests/awkward/awkward.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULES_MAX 8

static struct awkward a;
static CUfunction *kernels;
static int count;

static void launch_all(CUstream stream)
{
	int n = 5;
	void *parameters[] = {&a.memory, &n};

	for (int i = 0; i < count; i++)
		CHECK(cuLaunchKernel(kernels[i], 4, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

static void launch_graph(CUgraph graph)
{
	CUgraphExec exec;

	CHECK(cuGraphInstantiate(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, NULL));
}

static void capture_all(void)
{
	CUstream stream;
	CUgraph graph;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_all(stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	launch_graph(graph);
}

static void add_all(void)
{
	int n = 5;
	void *parameters[] = {&a.memory, &n};
	CUgraphNode node;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < count; i++) {
		CUDA_KERNEL_NODE_PARAMS params = awkward_node(&a, 4, parameters);

		params.func = kernels[i];
		CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
	}
	launch_graph(graph);
}

static void find_kernels(const char *path)
{
	CUmodule module;
	char name[16];

	CHECK(cuModuleLoad(&module, path));
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "k%d", i);
		CHECK(cuModuleGetFunction(&kernels[i], module, name));
	}
}

/* Both have loaded it before either launches anything: the kernels are wanted together. */
static void launch_on_both(const char *path, int wait_ms)
{
	CUcontext first, second;
	CUdevice device;

	CHECK(cuCtxGetCurrent(&first));
	CHECK(cuDeviceGet(&device, 1));
	CHECK(cuDevicePrimaryCtxRetain(&second, device));
	CHECK(cuCtxSetCurrent(second));
	kernels += count;
	find_kernels(path);
	launch_all(NULL);
	CHECK(cuCtxSetCurrent(first));
	kernels -= count;
	launch_all(NULL);
	usleep((useconds_t)wait_ms * 1000);
}

static struct {
	pthread_barrier_t all;
	CUcontext context;
} beside;

/* from: the first of its kernels. */
static void *launch_with_others(void *from)
{
	CUfunction *of_module = from;
	int n = 5;
	void *parameters[] = {&a.memory, &n};

	CHECK(cuCtxSetCurrent(beside.context));
	pthread_barrier_wait(&beside.all);
	for (int i = 0; i < count; i++)
		CHECK(cuLaunchKernel(of_module[i], 4, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
	return NULL;
}

static void launch_beside(char *const paths[], int modules)
{
	CUfunction *first = kernels;
	pthread_t threads[MODULES_MAX];

	CHECK(cuCtxGetCurrent(&beside.context));
	for (int i = 0; i < modules; i++) {
		kernels += count;
		find_kernels(paths[i]);
	}
	pthread_barrier_init(&beside.all, NULL, (unsigned)modules + 1);
	for (int i = 0; i < modules; i++) {
		if (pthread_create(&threads[i], NULL, launch_with_others, first + (i + 1) * count))
			exit(5);
	}
	launch_with_others(first);
	for (int i = 0; i < modules; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 4 ? argv[4] : "";

	if (argc < 4 || argc > 5 + MODULES_MAX)
		return 2;
	count = atoi(argv[2]);
	kernels = calloc((MODULES_MAX + 1) * (size_t)count, sizeof(*kernels));
	awkward_start(&a);
	find_kernels(argv[1]);
	if (!strcmp(how, "devices")) {
		launch_on_both(argv[1], atoi(argv[3]));
		CHECK(cuCtxSynchronize());
		return 0;
	}
	usleep((useconds_t)atoi(argv[3]) * 1000);
	if (!strcmp(how, "pipe") && (unlink(argv[1]) || mkfifo(argv[1], 0600)))
		return 4;
	if (!strcmp(how, "captured"))
		capture_all();
	else if (!strcmp(how, "nodes"))
		add_all();
	else if (!strcmp(how, "beside"))
		launch_beside(argv + 5, argc - 5);
	else
		launch_all(NULL);
	if (!strcmp(how, "again")) {
		usleep((useconds_t)atoi(argv[3]) * 1000);
		launch_all(NULL);
	}
	CHECK(cuCtxSynchronize());
	return 0;
}
