#include "linear.cuh"

#include "program.h"
#include "reference/reference.h"

#define SIZE 1024
#define BLOCK 256
#define WHOLE_REFERENCE 1024  /* side up to which it is computed whole */
#define SUM_TOLERANCE 1e-9    /* whole numbers */
#define LU_TOLERANCE 1e-4     /* of an element: 32-bit floats, the diagonal dominant */
#define LU_SUM_TOLERANCE 1e-5 /* of a product of rows */
#define DOMINANCE 8 /* times the root of a row's length: what its other elements add up to is a few times that root */

struct matrix_product : subject {
	const int n;
	const dim3 block;
	const std::vector<float> host_a, host_b;
	device_array<float> a, b, c;

	explicit matrix_product(const struct setting *setting)
	    : n(setting->size), block(square_block(setting->block)), host_a(small_floats((size_t)n * n)),
	      host_b(host_a.rbegin(), host_a.rend()), a(host_a), b(host_b), c((size_t)n * n)
	{
	}
	size_t shared_bytes() const
	{
		return block.x * (block.x + block.y) * sizeof(float);
	}
	const char *wrong()
	{
		std::vector<float> got = c.read(), wanted((size_t)n * n);

		if (n > WHOLE_REFERENCE)
			return reference_product_error(n, host_a.data(), host_b.data(), got.data()) <= SUM_TOLERANCE
				   ? NULL
				   : "WRONG: Freivalds' check";
		reference_matmul(n, host_a.data(), host_b.data(), wanted.data());
		return compare(got, wanted);
	}
};

struct product_uncoalesced : matrix_product {
	using matrix_product::matrix_product;
	void run(cudaStream_t stream)
	{
		launch(matmul_uncoalesced_kernel, blocks_over(n, n, block), block, 0, stream, n, a.at, b.at, c.at);
	}
};

struct product_coalesced : matrix_product {
	using matrix_product::matrix_product;
	void run(cudaStream_t stream)
	{
		launch(matmul_coalesced_kernel, blocks_over(n, n, block), block, 0, stream, n, a.at, b.at, c.at);
	}
};

struct product_tiled_uncoalesced : matrix_product {
	using matrix_product::matrix_product;
	void run(cudaStream_t stream)
	{
		launch(matmul_tiled_uncoalesced_kernel, blocks_over(n, n, block), block, shared_bytes(), stream, n,
		       a.at, b.at, c.at);
	}
};

struct product_tiled_coalesced : matrix_product {
	using matrix_product::matrix_product;
	void run(cudaStream_t stream)
	{
		launch(matmul_tiled_coalesced_kernel, blocks_over(n, n, block), block, shared_bytes(), stream, n, a.at,
		       b.at, c.at);
	}
};

const struct algorithm matmul_uncoalesced = {"matmul_uncoalesced", {SIZE, BLOCK}, make_subject<product_uncoalesced>};
const struct algorithm matmul_coalesced = {"matmul_coalesced", {SIZE, BLOCK}, make_subject<product_coalesced>};
const struct algorithm matmul_tiled_uncoalesced = {
    "matmul_tiled_uncoalesced", {SIZE, BLOCK}, make_subject<product_tiled_uncoalesced>};
const struct algorithm matmul_tiled_coalesced = {
    "matmul_tiled_coalesced", {SIZE, BLOCK}, make_subject<product_tiled_coalesced>};

struct transposition : subject {
	const int n;
	const dim3 block;
	const std::vector<float> host;
	device_array<float> in, out;

	explicit transposition(const struct setting *setting)
	    : n(setting->size), block(square_block(setting->block)), host(small_floats((size_t)n * n)), in(host),
	      out((size_t)n * n)
	{
	}
	void run(cudaStream_t stream)
	{
		dim3 tile(block.x, block.x);

		launch(transpose_kernel, blocks_over(n, n, tile), block, block.x * (block.x + 1) * sizeof(float),
		       stream, n, in.at, out.at);
	}
	const char *wrong()
	{
		std::vector<float> wanted((size_t)n * n);

		reference_transpose(n, host.data(), wanted.data());
		return compare(out.read(), wanted);
	}
};

const struct algorithm transpose = {"transpose", {4096, BLOCK}, make_subject<transposition>};

/* The diagonal outweighs what random signs leave of its row: no pivoting is needed. */
static std::vector<float> dominant(int n)
{
	std::vector<float> a = small_floats((size_t)n * n);

	for (int i = 0; i < n; i++)
		a[(size_t)i * n + i] = DOMINANCE * sqrtf((float)n);
	return a;
}

/* The size is rounded up to whole tiles. */
struct decomposition : subject {
	const int n, block;
	const std::vector<float> host;
	device_array<float> in, a;

	explicit decomposition(const struct setting *setting)
	    : n((int)parts(setting->size, LUD_TILE) * LUD_TILE), block(setting->block), host(dominant(n)), in(host),
	      a((size_t)n * n)
	{
	}
	void run(cudaStream_t stream)
	{
		a.copy_from(in, stream);
		for (int at = 0; at < n; at += LUD_TILE) {
			int rest = n - at - LUD_TILE;
			unsigned tiles = parts(rest, LUD_TILE);

			launch(lud_diagonal_kernel, dim3(1), dim3(block), 0, stream, n, a.at, at);
			if (!rest)
				break;
			launch(lud_perimeter_kernel, dim3(parts(2 * rest, block)), dim3(block), 0, stream, n, a.at, at);
			launch(lud_internal_kernel, dim3(tiles, tiles), dim3(block), 0, stream, n, a.at, at);
		}
	}
	const char *wrong()
	{
		std::vector<float> got = a.read(), wanted = host;

		if (n > WHOLE_REFERENCE)
			return reference_lu_error(n, got.data(), host.data()) <= LU_SUM_TOLERANCE
				   ? NULL
				   : "WRONG: Freivalds' check";
		reference_lu(n, wanted.data());
		return compare(got, wanted, LU_TOLERANCE);
	}
};

const struct algorithm lud = {"lud", {SIZE, BLOCK}, make_subject<decomposition>};
