#include "grid.cuh"

#include "program.h"

#define SIZE 1024
#define BLOCK 256
#define TOLERANCE 1e-3 /* of 32-bit floats, after some steps */

#define HOTSPOT_STEPS 4 /* even: the result is where it began */
#define HOTSPOT_LAYERS 8
#define HOTSPOT_RANGE 300 /* degrees */

static std::vector<float> random_floats(size_t count, int limit, float least)
{
	std::vector<int> numbers = random_ints(count, limit);
	std::vector<float> floats(count);

	for (size_t i = 0; i < count; i++)
		floats[i] = least + (float)numbers[i];
	return floats;
}

struct heating : subject {
	const int n, layers;
	const dim3 block;
	const std::vector<float> host, host_power;
	device_array<float> heat, power, steps[2];

	heating(const struct setting *setting, int layers)
	    : n(setting->size), layers(layers), block(square_block(setting->block)),
	      host(random_floats((size_t)layers * n * n, HOTSPOT_RANGE, HOTSPOT_AMBIENT)),
	      host_power(random_floats((size_t)layers * n * n, 10, 0)), heat(host),
	      power(host_power), steps{device_array<float>(host.size()), device_array<float>(host.size())}
	{
	}
	virtual void step(const float *from, float *to, cudaStream_t stream) = 0;
	void run(cudaStream_t stream)
	{
		for (int i = 0; i < HOTSPOT_STEPS; i++)
			step(i ? steps[(i - 1) % 2].at : heat.at, steps[i % 2].at, stream);
	}
	const char *wrong()
	{
		std::vector<float> wanted(host.size());

		reference_hotspot(n, layers, HOTSPOT_STEPS, host.data(), host_power.data(), wanted.data());
		return compare(steps[(HOTSPOT_STEPS - 1) % 2].read(), wanted, TOLERANCE);
	}
};

struct flat_heating : heating {
	explicit flat_heating(const struct setting *setting) : heating(setting, 1)
	{
	}
	void step(const float *from, float *to, cudaStream_t stream)
	{
		launch(hotspot_kernel, blocks_over(n, n, block), block, 0, stream, n, from, power.at, to);
	}
};

struct deep_heating : heating {
	explicit deep_heating(const struct setting *setting) : heating(setting, HOTSPOT_LAYERS)
	{
	}
	void step(const float *from, float *to, cudaStream_t stream)
	{
		launch(hotspot_3d_kernel, blocks_over(n, n, block), block, 0, stream, n, layers, from, power.at, to);
	}
};

const struct algorithm hotspot = {"hotspot", {SIZE, BLOCK}, make_subject<flat_heating>};
const struct algorithm hotspot_3d = {"hotspot_3d", {512, BLOCK}, make_subject<deep_heating>};

#define SRAD_STEPS 2
#define SRAD_BLOCKS 64 /* that find the moments */
#define SRAD_RANGE 100

struct diffusing : subject {
	const int n, block;
	const std::vector<float> host;
	device_array<float> in, steps[SRAD_STEPS], coefficients, scale;
	device_array<struct moments> of_blocks;

	explicit diffusing(const struct setting *setting)
	    : n(setting->size), block(setting->block), host(random_floats((size_t)n * n, SRAD_RANGE, 50)),
	      in(host), steps{device_array<float>(host.size()), device_array<float>(host.size())},
	      coefficients(host.size()), scale(1), of_blocks(SRAD_BLOCKS)
	{
	}
	void step(const float *from, float *to, cudaStream_t stream)
	{
		dim3 square = square_block(block), blocks = blocks_over(n, n, square);

		launch(srad_moments_kernel, dim3(SRAD_BLOCKS), dim3(block), 0, stream, n * n, from, of_blocks.at);
		launch(srad_scale_kernel, dim3(1), dim3(block), 0, stream, SRAD_BLOCKS, n * n, of_blocks.at, scale.at);
		launch(srad_conduct_kernel, blocks, square, 0, stream, n, from, scale.at, coefficients.at);
		launch(srad_flow_kernel, blocks, square, 0, stream, n, from, coefficients.at, to);
	}
	void run(cudaStream_t stream)
	{
		for (int i = 0; i < SRAD_STEPS; i++)
			step(i ? steps[i - 1].at : in.at, steps[i].at, stream);
	}
	const char *wrong()
	{
		std::vector<float> wanted(host.size());

		reference_srad(n, SRAD_STEPS, host.data(), wanted.data());
		return compare(steps[SRAD_STEPS - 1].read(), wanted, TOLERANCE);
	}
};

const struct algorithm srad = {"srad", {SIZE, BLOCK}, make_subject<diffusing>};

#define PATH_HEIGHT (1 + 8 * PATH_ROWS) /* rows of the grid: the first, and eight launches */
#define PATH_COSTS 10

struct path_finding : subject {
	const int n, block;
	const std::vector<int> host;
	device_array<int> cost, best[2];

	explicit path_finding(const struct setting *setting)
	    : n(setting->size), block(setting->block), host(random_ints((size_t)PATH_HEIGHT * n, PATH_COSTS)),
	      cost(host), best{device_array<int>(n), device_array<int>(n)}
	{
	}
	void run(cudaStream_t stream)
	{
		dim3 blocks(parts(n, block - 2 * PATH_ROWS));
		const int *above = cost.at;
		int turn = 0;

		for (int row = 1; row < PATH_HEIGHT; row += PATH_ROWS) {
			turn = !turn;
			launch(pathfinder_kernel, blocks, dim3(block), 0, stream, n, PATH_ROWS,
			       cost.at + (size_t)row * n, above, best[turn].at);
			above = best[turn].at;
		}
	}
	const char *wrong()
	{
		std::vector<int> wanted(n);

		reference_pathfinder(PATH_HEIGHT, n, host.data(), wanted.data());
		return compare(best[(PATH_HEIGHT / PATH_ROWS) % 2].read(), wanted);
	}
};

const struct algorithm pathfinder = {"pathfinder", {1 << 17, BLOCK}, make_subject<path_finding>};

#define NW_GAP 2

/* Similarities from -4 to 4. */
struct aligning : subject {
	const int n, block;
	const std::vector<int> host;
	device_array<int> similarity, scores;

	explicit aligning(const struct setting *setting)
	    : n(setting->size), block(setting->block), host(centred((size_t)n * n)), similarity(host),
	      scores((size_t)(n + 1) * (n + 1))
	{
	}
	static std::vector<int> centred(size_t count)
	{
		std::vector<int> x = random_ints(count, 9);

		for (int &value : x)
			value -= 4;
		return x;
	}
	void run(cudaStream_t stream)
	{
		int rows = (int)parts(n, block), columns = (int)parts(n, NW_WIDTH);

		launch(nw_begin_kernel, dim3(parts(n + 1, block)), dim3(block), 0, stream, n, NW_GAP, scores.at);
		for (int diagonal = 0; diagonal < rows + columns - 1; diagonal++) {
			int first = diagonal < columns ? 0 : diagonal - columns + 1;
			int last = diagonal < rows ? diagonal : rows - 1;

			launch(nw_diagonal_kernel, dim3(last - first + 1), dim3(block), 0, stream, n, NW_GAP, diagonal,
			       first, similarity.at, scores.at);
		}
	}
	const char *wrong()
	{
		std::vector<int> wanted((size_t)(n + 1) * (n + 1));

		reference_nw(n, host.data(), NW_GAP, wanted.data());
		return compare(scores.read(), wanted);
	}
};

const struct algorithm nw = {"nw", {SIZE, BLOCK}, make_subject<aligning>};
