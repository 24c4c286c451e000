/* matmul.cu */
#include "oracle.h"

static const int64_t sizes[SIZES] = {48, 33, 70};
static const uint32_t naive_blocks[BLOCK_SHAPES][2] = {{16, 16}, {32, 8}};

static void set_plane(struct shape *shape, int64_t n, uint32_t x, uint32_t y)
{
	*shape = (struct shape){.n = n, .arguments = "0x10000000,0x20000000,0x30000000,%ld"};
	shape->grid[0] = (uint32_t)blocks_for(n, x);
	shape->grid[1] = (uint32_t)blocks_for(n, y);
	shape->grid[2] = 1;
	shape->block[0] = x;
	shape->block[1] = y;
	shape->block[2] = 1;
}

static void naive_shape(struct shape *shape, unsigned size, unsigned block)
{
	set_plane(shape, sizes[size], naive_blocks[block][0], naive_blocks[block][1]);
}

/* Each of the n * n threads within the matrix reads a row and a column. */
static void naive_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n;

	expected->fma = n * n * n;
	expected->ld_global = 2 * n * n * n;
	expected->st_global = n * n;
}

static void naive_thread(struct walk *walk, int64_t row, int64_t col)
{
	int64_t n = walk->shape->n;

	if (row >= n || col >= n)
		return;
	for (int64_t k = 0; k < n; k++) {
		load(k, A + 4 * (row * n + k), 4);
		load(k, B + 4 * (k * n + col), 4);
	}
	store(0, C + 4 * (row * n + col), 4);
}

static void naive_uncoalesced(struct walk *walk)
{
	naive_thread(walk, global_x(walk), global_y(walk));
}

static void naive_coalesced(struct walk *walk)
{
	naive_thread(walk, global_y(walk), global_x(walk));
}

/* The two block shapes of the tiled ones are two kernels. */
static void shape_16(struct shape *shape, unsigned size, unsigned block)
{
	(void)block;
	set_plane(shape, sizes[size], 16, 16);
}

static void shape_32(struct shape *shape, unsigned size, unsigned block)
{
	(void)block;
	set_plane(shape, sizes[size], 32, 32);
}

/*
 * Every thread, within the matrix or not, goes through ceil(n / T) tiles, each with two
 * stores and 2 T loads of shared memory, T multiply-adds and two barriers. The T loads of a
 * row lie next to each other, and ptxas makes one of each four: its machine code for sm_86
 * has 20 loads for T = 16 and 40 for T = 32. Each element of the matrix is read once by
 * each block of its row (A) or column (B).
 */
static void tiled_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n, edge = shape->block[0], tiles = (double)blocks_for(shape->n, shape->block[0]),
	       threads = threads_of(shape);

	expected->fma = threads * tiles * edge;
	expected->ld_global = 2 * n * n * tiles;
	expected->st_global = n * n;
	expected->ld_shared = threads * tiles * (edge + edge / 4);
	expected->st_shared = threads * tiles * 2;
	expected->barriers = threads * tiles * 2;
}

/* as and bs are arrays of T * T floats; a key is a tile, or an element of one. */
static void tiled_uncoalesced(struct walk *walk)
{
	int64_t n = walk->shape->n, edge = walk->shape->block[0], tx = walk->tid[0], ty = walk->tid[1];
	int64_t row = global_x(walk), col = global_y(walk);

	for (int64_t tile = 0; tile < blocks_for(n, edge); tile++) {
		if (row < n && tile * edge + ty < n)
			load(tile, A + 4 * (row * n + tile * edge + ty), 4);
		if (col < n && tile * edge + tx < n)
			load(tile, B + 4 * ((tile * edge + tx) * n + col), 4);
		shared_store(tile, 4 * (tx * edge + ty), 4);
		shared_store(tile, 4 * (tx * edge + ty), 4);
		for (int64_t k = 0; k < edge; k++) {
			if (k % 4 == 0)
				shared_load(tile * edge + k, 4 * (tx * edge + k), 16);
			shared_load(tile * edge + k, 4 * (k * edge + ty), 4);
		}
	}
	if (row < n && col < n)
		store(0, C + 4 * (row * n + col), 4);
}

static void tiled_coalesced(struct walk *walk)
{
	int64_t n = walk->shape->n, edge = walk->shape->block[0], tx = walk->tid[0], ty = walk->tid[1];
	int64_t row = global_y(walk), col = global_x(walk);

	for (int64_t tile = 0; tile < blocks_for(n, edge); tile++) {
		if (row < n && tile * edge + tx < n)
			load(tile, A + 4 * (row * n + tile * edge + tx), 4);
		if (col < n && tile * edge + ty < n)
			load(tile, B + 4 * ((tile * edge + ty) * n + col), 4);
		shared_store(tile, 4 * (ty * edge + tx), 4);
		shared_store(tile, 4 * (ty * edge + tx), 4);
		for (int64_t k = 0; k < edge; k++) {
			if (k % 4 == 0)
				shared_load(tile * edge + k, 4 * (ty * edge + k), 16);
			shared_load(tile * edge + k, 4 * (k * edge + tx), 4);
		}
	}
	if (row < n && col < n)
		store(0, C + 4 * (row * n + col), 4);
}

const struct subject matmul_subjects[] = {
    {"matmul_naive_uncoalesced", naive_shape, naive_counts, naive_uncoalesced, NULL},
    {"matmul_naive_coalesced", naive_shape, naive_counts, naive_coalesced, NULL},
    {"matmul_tiled_uncoalesced_16", shape_16, tiled_counts, tiled_uncoalesced, NULL},
    {"matmul_tiled_uncoalesced_32", shape_32, tiled_counts, tiled_uncoalesced, NULL},
    {"matmul_tiled_coalesced_16", shape_16, tiled_counts, tiled_coalesced, NULL},
    {"matmul_tiled_coalesced_32", shape_32, tiled_counts, tiled_coalesced, NULL},
    {0},
};
