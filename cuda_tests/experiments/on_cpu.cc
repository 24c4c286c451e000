#include "on_cpu.h"

#include <ucontext.h>
#include <vector>

#define STACK_BYTES (64 * 1024)

dim3 threadIdx, blockIdx, blockDim, gridDim;
alignas(16) char on_cpu_shared[ON_CPU_SHARED_BYTES];

struct fiber {
	ucontext_t context;
	std::vector<char> stack;
	dim3 index;
	int ended;
};

/* Kept from launch to launch: stacks are large. */
static std::vector<fiber> fibers;
static ucontext_t scheduler;
static fiber *running;
static const std::function<void()> *body;

static void begin()
{
	(*body)();
	running->ended = 1;
}

static void prepare(fiber *fiber, dim3 index)
{
	fiber->stack.resize(STACK_BYTES);
	fiber->index = index;
	fiber->ended = 0;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack.data();
	fiber->context.uc_stack.ss_size = fiber->stack.size();
	fiber->context.uc_link = &scheduler;
	makecontext(&fiber->context, begin, 0);
}

void __syncthreads()
{
	swapcontext(&running->context, &scheduler);
}

/* Until it ends, or waits for the others. Returns 1 where it waits. */
static int proceed(fiber *fiber)
{
	if (fiber->ended)
		return 0;
	running = fiber;
	threadIdx = fiber->index;
	swapcontext(&scheduler, &fiber->context);
	return !fiber->ended;
}

/* Forwards and backwards by turns: what only works in one order shows. */
static int proceed_all(size_t threads)
{
	static int backwards;
	int waiting = 0;

	for (size_t i = 0; i < threads; i++)
		waiting |= proceed(&fibers[backwards ? threads - 1 - i : i]);
	backwards = !backwards;
	return waiting;
}

static void run_block(dim3 block)
{
	size_t threads = (size_t)block.x * block.y * block.z;

	if (fibers.size() < threads)
		fibers.resize(threads);
	for (size_t i = 0; i < threads; i++)
		prepare(&fibers[i], dim3(i % block.x, i / block.x % block.y, i / block.x / block.y));
	while (proceed_all(threads))
		;
}

void on_cpu_launch(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()> &thread)
{
	if (shared_bytes > ON_CPU_SHARED_BYTES)
		abort();
	body = &thread;
	blockDim = block;
	gridDim = grid;
	for (unsigned z = 0; z < grid.z; z++)
		for (unsigned y = 0; y < grid.y; y++)
			for (unsigned x = 0; x < grid.x; x++) {
				blockIdx = dim3(x, y, z);
				run_block(block);
			}
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int)
{
	strcpy(properties->name, "CPU");
	return cudaSuccess;
}
