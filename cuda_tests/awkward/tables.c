/*
 * tables WHAT N: launches N times, each time
 *
 * kernels    another kernel, in a module of its own, which is kept
 * unloaded   the same, and unloads the module
 * one-off    the same; then 50 kernels are launched 20 times each
 * reloads    the kernel of one module, which is loaded before and unloaded afterwards
 * shapes     with another launch shape
 * threads    on the per-thread default stream of another thread, which ends
 * streams    on another stream, which is kept
 * destroyed  the same, and destroys the stream
 * graphs     another executable graph, and destroys it
 */
#include "awkward.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_EVERY = 1000, PAUSE_US = 30000 };

static struct awkward a;

static CUmodule launch_module(long i)
{
	char ptx[512], name[32];
	CUmodule module;

	snprintf(name, sizeof(name), "kernel%ld", i);
	snprintf(ptx, sizeof(ptx),
		 ".version 8.0\n.target sm_75\n.address_size 64\n"
		 ".visible .entry %s(.param .u64 p0, .param .u32 p1)\n{\n"
		 ".reg .b32 %%r<4>;\nld.param.u32 %%r1, [p1];\nret;\n}\n",
		 name);
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&a.kernel, module, name));
	CHECK(awkward_launch(&a, NULL, 1));
	return module;
}

static void launch_kernel(long i)
{
	launch_module(i);
}

static void launch_unloaded(long i)
{
	CUmodule module = launch_module(i);

	CHECK(cuCtxSynchronize());
	CHECK(cuModuleUnload(module));
}

enum { AGAIN_KERNELS = 50, AGAIN_LAUNCHES = 20 };

static void launch_again(long first)
{
	for (long i = 0; i < AGAIN_KERNELS; i++) {
		launch_module(first + i);
		for (int launch = 1; launch < AGAIN_LAUNCHES; launch++)
			CHECK(awkward_launch(&a, NULL, 1));
		CHECK(cuCtxSynchronize());
	}
}

static void launch_reloaded(long i)
{
	(void)i;
	launch_unloaded(0);
}

static void launch_shape(long i)
{
	CHECK(awkward_launch(&a, NULL, (unsigned)i + 1));
}

static void *launch_on_own_stream(void *unused)
{
	(void)unused;
	CHECK(cuCtxSetCurrent(a.context));
	CHECK(awkward_launch(&a, CU_STREAM_PER_THREAD, 1));
	return NULL;
}

static void launch_thread(long i)
{
	pthread_t thread;

	(void)i;
	if (pthread_create(&thread, NULL, launch_on_own_stream, NULL))
		exit(4);
	pthread_join(thread, NULL);
}

static void launch_stream(long i)
{
	CUstream stream;

	(void)i;
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(awkward_launch(&a, stream, 1));
}

static void launch_destroyed(long i)
{
	CUstream stream;

	(void)i;
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(awkward_launch(&a, stream, 1));
	CHECK(cuStreamDestroy(stream));
}

static void launch_graph(long i)
{
	CUDA_KERNEL_NODE_PARAMS params = awkward_node(&a, 1, (void *[]){&a.memory, &(int){5}});
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	(void)i;
	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuGraphDestroy(graph));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*launch)(long i);
	} modes[] = {{"kernels", launch_kernel},   {"unloaded", launch_unloaded},   {"one-off", launch_unloaded},
		     {"reloads", launch_reloaded}, {"shapes", launch_shape},        {"threads", launch_thread},
		     {"streams", launch_stream},   {"destroyed", launch_destroyed}, {"graphs", launch_graph}};
	long n = argc == 3 ? atol(argv[2]) : 0;

	awkward_start(&a);
	for (size_t m = 0; n > 0 && m < sizeof(modes) / sizeof(modes[0]); m++)
		for (long i = 0; strcmp(argv[1], modes[m].name) == 0 && i < n; i++) {
			modes[m].launch(i);
			/* What has ended is given back by a thread of kerncast's, which others may keep from the
			 * processor. */
			if (i % PAUSE_EVERY == 0)
				usleep(PAUSE_US);
		}
	if (n > 0 && strcmp(argv[1], "one-off") == 0)
		launch_again(n);
	CHECK(cuCtxSynchronize());
	return 0;
}
