/* Kernels on sequences, lists and graphs. */
#ifndef SEQUENCE_CUH
#define SEQUENCE_CUH

#include "device.cuh"

#include <stdint.h>

/* --- maximum subarray: what has to be known of a part, to join it with the next one */
struct span {
	long long all, prefix, suffix, best; /* sums: of all of it, the best at its ends, the best anywhere */
};

static inline __device__ struct span join_spans(struct span left, struct span right)
{
	struct span both;

	both.all = left.all + right.all;
	both.prefix = max(left.prefix, left.all + right.prefix);
	both.suffix = max(right.suffix, right.all + left.suffix);
	both.best = max(max(left.best, right.best), left.suffix + right.prefix);
	return both;
}

static inline __device__ struct span span_of(long long x)
{
	struct span one = {x, x, x, x};

	return one;
}

/* A part without elements: joined to another, it leaves it as it is. */
#define SPAN_NEVER (-(1ll << 60))
static inline __device__ struct span no_span()
{
	struct span none = {0, SPAN_NEVER, SPAN_NEVER, SPAN_NEVER};

	return none;
}

/* Every thread has n / threads consecutive elements and reads them through shared memory, SUBARRAY_STAGE at a time, so
 * that neighbours read neighbours. Dynamic shared memory: (SUBARRAY_STAGE + 1) ints a thread, afterwards a span. */
#define SUBARRAY_STAGE 8
#define SUBARRAY_THREADS_MAX 1024
__global__ void subarray_kernel(int n, const int *x, struct span *spans)
{
	struct span *joined = dynamic_shared<struct span>();
	const int pitch = SUBARRAY_STAGE + 1, threads = blockDim.x;
	int *stage = dynamic_shared<int>();
	int each = (int)(((long long)n + gridDim.x * threads - 1) / (gridDim.x * threads));
	long long first = (long long)blockIdx.x * threads * each;
	struct span mine = no_span();

	for (int from = 0; from < each; from += SUBARRAY_STAGE) {
		int width = min(SUBARRAY_STAGE, each - from);

		for (int i = threadIdx.x; i < threads * SUBARRAY_STAGE; i += threads) {
			int owner = i / SUBARRAY_STAGE, k = i % SUBARRAY_STAGE;
			long long at = first + (long long)owner * each + from + k;

			if (k < width && at < n)
				stage[owner * pitch + k] = x[at];
		}
		__syncthreads();
		for (int k = 0; k < width; k++)
			if (first + (long long)threadIdx.x * each + from + k < n)
				mine = join_spans(mine, span_of(stage[threadIdx.x * pitch + k]));
		__syncthreads();
	}
	joined[threadIdx.x] = mine;
	join_block(joined, join_spans);
	if (threadIdx.x == 0)
		spans[blockIdx.x] = joined[0];
}

/* One block: the parts' spans to one. */
__global__ void subarray_join_kernel(int n, const struct span *spans, long long *best)
{
	__shared__ struct span joined[SUBARRAY_THREADS_MAX];
	int each = (n + blockDim.x - 1) / blockDim.x;
	struct span mine = no_span();

	for (int i = threadIdx.x * each; i < min(n, (int)(threadIdx.x + 1) * each); i++)
		mine = join_spans(mine, spans[i]);
	joined[threadIdx.x] = mine;
	join_block(joined, join_spans);
	if (threadIdx.x == 0)
		*best = joined[0].best;
}

/*
 * --- list ranking by sublists. Every stride-th node, and the head, begins a
 * sublist that one thread follows to its end; the sublists are a shorter list,
 * whose nodes weigh as much as they are long, and are ranked in the same way.
 */
struct list_level {
	int n, head, stride;
	int *next, *weight;  /* weight NULL: all 1 */
	int *owner, *offset; /* of a node: its sublist, and the weight before it in there */
	int *rank;
};

static inline __device__ int sublists(struct list_level list)
{
	return (list.n + list.stride - 1) / list.stride + (list.head % list.stride != 0);
}

/* The sublist that begins at this node; -1: none. */
static inline __device__ int sublist_at(struct list_level list, int node)
{
	if (node % list.stride == 0)
		return node / list.stride;
	return node == list.head ? sublists(list) - 1 : -1;
}

__global__ void list_walk_kernel(struct list_level list, struct list_level shorter)
{
	int mine = global_index(), offset = 0, node;

	if (mine >= sublists(list))
		return;
	node = mine * list.stride < list.n ? mine * list.stride : list.head;
	do {
		list.owner[node] = mine;
		list.offset[node] = offset;
		offset += list.weight ? list.weight[node] : 1;
		node = list.next[node];
	} while (node >= 0 && sublist_at(list, node) < 0);
	shorter.next[mine] = node < 0 ? -1 : sublist_at(list, node);
	shorter.weight[mine] = offset;
}

/* The shortest list, by one thread. */
__global__ void list_last_kernel(struct list_level list)
{
	int rank = 0;

	for (int node = list.head; node >= 0; node = list.next[node]) {
		list.rank[node] = rank;
		rank += list.weight ? list.weight[node] : 1;
	}
}

__global__ void list_add_kernel(struct list_level list, struct list_level shorter)
{
	int node = global_index();

	if (node < list.n)
		list.rank[node] = shorter.rank[list.owner[node]] + list.offset[node];
}

/* --- breadth-first search: a node a thread, a level a launch */
__global__ void bfs_begin_kernel(int nodes, int source, int *levels)
{
	int node = global_index();

	if (node < nodes)
		levels[node] = node == source ? 0 : -1;
}

__global__ void bfs_level_kernel(int nodes, const int *first, const int *edges, int level, int *levels)
{
	int node = global_index();

	if (node >= nodes || levels[node] != level)
		return;
	for (int e = first[node]; e < first[node + 1]; e++)
		if (levels[edges[e]] < 0)
			levels[edges[e]] = level + 1;
}

#endif
