#include "points.cuh"

#include "program.h"

#define BLOCK 256

#define KNN_NEIGHBOURS 10
#define KNN_RANGE 10000
#define KNN_FROM 5000.5f
#define KNN_TOLERANCE 1e-6 /* a rounding or two of 32-bit floats */

struct neighbours : subject {
	const int n, block;
	const std::vector<float> host_x, host_y;
	device_array<float> x, y, distances;

	explicit neighbours(const struct setting *setting)
	    : n(setting->size), block(setting->block), host_x(scattered(n)), host_y(host_x.rbegin(), host_x.rend()),
	      x(host_x), y(host_y), distances(n)
	{
	}
	static std::vector<float> scattered(int n)
	{
		std::vector<int> numbers = random_ints(n, KNN_RANGE);

		return std::vector<float>(numbers.begin(), numbers.end());
	}
	void run(cudaStream_t stream)
	{
		launch(knn_distance_kernel, dim3(parts(n, block)), dim3(block), 0, stream, n, x.at, y.at, KNN_FROM,
		       KNN_FROM, distances.at);
	}
	/* The host picks the nearest from the distances: of as many distances as the reference's nearest have. */
	const char *wrong()
	{
		std::vector<float> got = distances.read(), wanted(n), got_nearest, wanted_nearest;
		int k = n < KNN_NEIGHBOURS ? n : KNN_NEIGHBOURS;
		std::vector<long> nearest(k);
		const char *different;

		reference_distances(n, host_x.data(), host_y.data(), KNN_FROM, KNN_FROM, wanted.data());
		different = compare(got, wanted, KNN_TOLERANCE);
		if (different)
			return different;
		reference_nearest(n, got.data(), k, nearest.data());
		for (long i : nearest)
			got_nearest.push_back(wanted[i]);
		reference_nearest(n, wanted.data(), k, nearest.data());
		for (long i : nearest)
			wanted_nearest.push_back(wanted[i]);
		return compare(got_nearest, wanted_nearest, KNN_TOLERANCE);
	}
};

const struct algorithm knn = {"knn", {1 << 20, BLOCK}, make_subject<neighbours>};

#define PARTICLE_FRAMES 4

struct filtering : subject {
	const int n, block, blocks;
	device_array<struct reference_particle> start, particles, drawn;
	device_array<unsigned> weights, reached;
	device_array<struct weighed> of_blocks, total;

	explicit filtering(const struct setting *setting)
	    : n(setting->size), block(setting->block), blocks((int)parts(n, block)), start(n), particles(n), drawn(n),
	      weights(n), reached(n), of_blocks(blocks), total(1)
	{
	}
	void run(cudaStream_t stream)
	{
		dim3 grid(blocks), threads(block);

		particles.copy_from(start, stream);
		for (int frame = 1; frame <= PARTICLE_FRAMES; frame++) {
			launch(particle_move_kernel, grid, threads, 0, stream, n, frame, particles.at, weights.at);
			launch(particle_sum_kernel, grid, threads, 0, stream, n, particles.at, weights.at, reached.at,
			       of_blocks.at);
			launch(particle_total_kernel, dim3(1), threads, 0, stream, blocks, of_blocks.at, total.at);
			launch(particle_draw_kernel, grid, threads, 0, stream, n, block, particles.at, reached.at,
			       of_blocks.at, total.at, drawn.at);
			particles.copy_from(drawn, stream);
		}
	}
	const char *wrong()
	{
		std::vector<struct reference_particle> wanted(n), got = particles.read();
		std::vector<int> wanted_numbers, got_numbers;
		struct reference_particle mean = reference_filter(n, PARTICLE_FRAMES, wanted.data());
		struct weighed sums = total.read()[0];

		for (int i = 0; i < n; i++) {
			wanted_numbers.insert(wanted_numbers.end(), {wanted[i].x, wanted[i].y});
			got_numbers.insert(got_numbers.end(), {got[i].x, got[i].y});
		}
		wanted_numbers.insert(wanted_numbers.end(), {mean.x, mean.y});
		if (sums.weight)
			got_numbers.insert(got_numbers.end(),
					   {(int)(sums.x / sums.weight), (int)(sums.y / sums.weight)});
		else
			got_numbers.insert(got_numbers.end(), {0, 0});
		return compare(got_numbers, wanted_numbers);
	}
};

const struct algorithm particle_filter = {"particle_filter", {1 << 18, BLOCK}, make_subject<filtering>};
