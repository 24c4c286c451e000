#include "sequence.cuh"

#include "histogram.cuh"
#include "program.h"
#include "reference/reference.h"

#include <memory>

#define BLOCK 256

/* 4,096 threads whatever the block: the BSP program. */
#define SUBARRAY_THREADS 4096
#define SUBARRAY_RANGE 201 /* elements from -100 to 100 */

struct subarray_search : subject {
	const int n, block, blocks;
	std::vector<int> host;
	device_array<int> x;
	device_array<struct span> spans;
	device_array<long long> best;

	explicit subarray_search(const struct setting *setting)
	    : n(setting->size), block(setting->block), blocks((int)parts(SUBARRAY_THREADS, block)), host(centred(n)),
	      x(host), spans(blocks), best(1)
	{
	}
	static std::vector<int> centred(int n)
	{
		std::vector<int> x = random_ints(n, SUBARRAY_RANGE);

		for (int &value : x)
			value -= SUBARRAY_RANGE / 2;
		return x;
	}
	void run(cudaStream_t stream)
	{
		size_t stage_bytes = (size_t)block * (SUBARRAY_STAGE + 1) * sizeof(int);

		launch(subarray_kernel, dim3(blocks), dim3(block), stage_bytes, stream, n, x.at, spans.at);
		launch(subarray_join_kernel, dim3(1), dim3(block), 0, stream, blocks, spans.at, best.at);
	}
	const char *wrong()
	{
		return compare(best.read(), {(long long)reference_maximum_subarray(n, host.data())});
	}
};

const struct algorithm subarray = {"subarray", {1 << 24, 128}, make_subject<subarray_search>};

struct counting : subject {
	const int n, block;
	const std::vector<int> host;
	device_array<int> x, counts;

	explicit counting(const struct setting *setting)
	    : n(setting->size), block(setting->block), host(random_ints(n, HISTOGRAM_BINS)), x(host),
	      counts(HISTOGRAM_BINS)
	{
	}
	void run(cudaStream_t stream)
	{
		unsigned blocks = parts(n, block);

		counts.clear(stream);
		launch(histogram_kernel, dim3(blocks < HISTOGRAM_BLOCKS ? blocks : HISTOGRAM_BLOCKS), dim3(block), 0,
		       stream, n, x.at, counts.at);
	}
	const char *wrong()
	{
		std::vector<int> wanted(HISTOGRAM_BINS);

		reference_histogram(n, host.data(), HISTOGRAM_BINS, wanted.data());
		return compare(counts.read(), wanted);
	}
};

const struct algorithm histogram = {"histogram", {1 << 24, BLOCK}, make_subject<counting>};

/* A list in random order: Fisher and Yates' shuffle of its nodes, linked. Returns the head. */
static int random_list(std::vector<int> *next)
{
	size_t n = next->size();
	std::vector<int> order(n);

	for (size_t i = 0; i < n; i++) {
		size_t j = reference_scramble((uint32_t)i) % (i + 1);

		order[i] = order[j];
		order[j] = (int)i;
	}
	for (size_t i = 0; i < n; i++)
		(*next)[order[i]] = i + 1 < n ? order[i + 1] : -1;
	return order[0];
}

#define LIST_SHORT 256 /* nodes that one thread ranks */

struct ranking : subject {
	const int n, block;
	std::vector<int> host;
	std::vector<std::unique_ptr<device_array<int>>> arrays;
	std::vector<struct list_level> levels;

	explicit ranking(const struct setting *setting) : n(setting->size), block(setting->block), host(n)
	{
		int head = random_list(&host);

		arrays.emplace_back(new device_array<int>(host));
		add_level(n, head, arrays.back()->at, NULL);
		while (levels.back().n > LIST_SHORT) {
			struct list_level longer = levels.back();
			int count = (int)parts(longer.n, longer.stride) + (longer.head % longer.stride != 0);
			int begins = longer.head % longer.stride ? count - 1 : longer.head / longer.stride;

			add_level(count, begins, array(count), array(count));
		}
	}
	int *array(int count)
	{
		arrays.emplace_back(new device_array<int>(count));
		return arrays.back()->at;
	}
	/* A sublist begins every log2 n nodes. */
	void add_level(int count, int head, int *next, int *weight)
	{
		int stride = count > 3 ? (int)log2((double)count) : 2;

		levels.push_back({count, head, stride, next, weight, array(count), array(count), array(count)});
	}
	void run(cudaStream_t stream)
	{
		size_t last = levels.size() - 1;

		for (size_t i = 0; i < last; i++)
			launch(list_walk_kernel, dim3(parts(levels[i + 1].n, block)), dim3(block), 0, stream, levels[i],
			       levels[i + 1]);
		launch(list_last_kernel, dim3(1), dim3(1), 0, stream, levels[last]);
		for (size_t i = last; i-- > 0;)
			launch(list_add_kernel, dim3(parts(levels[i].n, block)), dim3(block), 0, stream, levels[i],
			       levels[i + 1]);
	}
	const char *wrong()
	{
		std::vector<int> got(n), wanted(n);

		CHECK(cudaMemcpy(got.data(), levels[0].rank, n * sizeof(int), cudaMemcpyDeviceToHost));
		reference_list_ranks(host.data(), levels[0].head, wanted.data());
		return compare(got, wanted);
	}
};

const struct algorithm list_ranking = {"list_ranking", {1 << 20, 512}, make_subject<ranking>};

#define BFS_DEGREE 4

/* Depth is the reference's: a launch a level, and none that waits for the host. */
struct search : subject {
	const int n, block;
	std::vector<int> host_first, host_edges, wanted;
	const int depth;
	device_array<int> first, edges, levels;

	explicit search(const struct setting *setting)
	    : n(setting->size), block(setting->block), host_first(n + 1),
	      host_edges(random_ints((size_t)n * BFS_DEGREE, n)), wanted(n), depth(find_depth()), first(host_first),
	      edges(host_edges), levels(n)
	{
	}
	int find_depth()
	{
		for (int i = 0; i <= n; i++)
			host_first[i] = i * BFS_DEGREE;
		return reference_bfs(n, host_first.data(), host_edges.data(), 0, wanted.data());
	}
	void run(cudaStream_t stream)
	{
		dim3 blocks(parts(n, block));

		launch(bfs_begin_kernel, blocks, dim3(block), 0, stream, n, 0, levels.at);
		for (int level = 0; level < depth; level++)
			launch(bfs_level_kernel, blocks, dim3(block), 0, stream, n, first.at, edges.at, level,
			       levels.at);
	}
	const char *wrong()
	{
		return compare(levels.read(), wanted);
	}
};

const struct algorithm bfs = {"bfs", {1 << 20, BLOCK}, make_subject<search>};
