/* shared.cu: kernels with shared memory. */
#include "oracle.h"

static const int64_t sizes[SIZES] = {4096, 1000, 4111};
static const uint32_t line_blocks[BLOCK_SHAPES] = {128, 64};

static void set_line(struct shape *shape, int64_t n, uint32_t blocks, uint32_t threads, const char *arguments)
{
	*shape = (struct shape){.n = n, .arguments = arguments, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
	shape->dynamic_shared_bytes = 4 * threads;
}

static void transpose_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t edges[SIZES] = {96, 50, 131};
	static const uint32_t rows[BLOCK_SHAPES] = {8, 4};
	uint32_t tiles = (uint32_t)blocks_for(edges[size], 32);

	*shape = (struct shape){
	    .n = edges[size],
	    .arguments = "0x10000000,0x20000000,%ld",
	    .grid = {tiles, tiles, 1},
	    .block = {32, rows[block], 1},
	};
}

/* Each element of the matrix is read and written once, through the tile. */
static void transpose_counts(const struct shape *shape, struct expected *expected)
{
	double elements = (double)shape->n * (double)shape->n;

	expected->ld_global = expected->st_global = expected->ld_shared = expected->st_shared = elements;
	expected->barriers = threads_of(shape);
}

static void transpose(struct walk *walk, int64_t pitch)
{
	int64_t n = walk->shape->n, tx = walk->tid[0], ty = walk->tid[1], step = walk->shape->block[1];
	int64_t x = (int64_t)walk->ctaid[0] * 32 + tx, y = (int64_t)walk->ctaid[1] * 32 + ty;

	for (int64_t j = 0; j < 32; j += step) {
		if (x >= n || y + j >= n)
			continue;
		load(j, A + 4 * ((y + j) * n + x), 4);
		shared_store(j, 4 * ((ty + j) * pitch + tx), 4);
	}
	x = (int64_t)walk->ctaid[1] * 32 + tx;
	y = (int64_t)walk->ctaid[0] * 32 + ty;
	for (int64_t j = 0; j < 32; j += step) {
		if (x >= n || y + j >= n)
			continue;
		shared_load(j, 4 * (tx * pitch + ty + j), 4);
		store(j, B + 4 * ((y + j) * n + x), 4);
	}
}

static void transpose_tiled(struct walk *walk)
{
	transpose(walk, 32);
}

static void transpose_padded(struct walk *walk)
{
	transpose(walk, 33);
}

#define RADIUS 3

static void stencil_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const uint32_t threads[BLOCK_SHAPES] = {128, 80};

	set_line(shape, sizes[size], (uint32_t)blocks_for(sizes[size], threads[block]), threads[block],
		 "0x10000000,0x20000000,%ld,0.5f");
	shape->dynamic_shared_bytes += 4 * 2 * RADIUS;
}

/* A block loads its part and a halo of RADIUS on both sides; threads past the end load the last element. */
static void stencil_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n, fetched = threads_of(shape) + blocks_of(shape) * 2 * RADIUS;

	expected->ld_global = expected->st_shared = fetched;
	expected->barriers = threads_of(shape);
	expected->fma = expected->ld_shared = (2 * RADIUS + 1) * n;
	expected->st_global = n;
}

static int64_t clamped(int64_t i, int64_t n)
{
	return i < 0 ? 0 : i > n - 1 ? n - 1 : i;
}

static void stencil(struct walk *walk)
{
	int64_t n = walk->shape->n, i = global_x(walk), t = walk->tid[0], threads = walk->shape->block[0];

	load(0, A + 4 * clamped(i, n), 4);
	shared_store(0, 4 * (t + RADIUS), 4);
	if (t < RADIUS) {
		load(0, A + 4 * (i - RADIUS < 0 ? 0 : i - RADIUS), 4);
		shared_store(0, 4 * t, 4);
		load(0, A + 4 * clamped(i + threads, n), 4);
		shared_store(0, 4 * (t + RADIUS + threads), 4);
	}
	if (i >= n)
		return;
	for (int64_t k = 0; k <= 2 * RADIUS; k++)
		shared_load(k, 4 * (t + k), 4);
	store(0, B + 4 * i, 4);
}

/* Halving from `threads` / 2: 1 + 2 + ... + threads / 2 = threads - 1 additions per block, each with two loads and
 * a store; then the first element is read once more. */
static void add_tree(const struct shape *shape, struct expected *expected)
{
	double blocks = blocks_of(shape), additions = shape->block[0] - 1;

	expected->add += blocks * additions;
	expected->ld_shared += blocks * (2 * additions + 1);
	expected->st_shared += blocks * additions;
	expected->barriers += threads_of(shape) * log2_of(shape->block[0]);
	expected->st_global += blocks;
}

static void dot_shape(struct shape *shape, unsigned size, unsigned block)
{
	set_line(shape, sizes[size], 5, line_blocks[block], "0x10000000,0x20000000,0x30000000,%ld");
}

static void dot_counts(const struct shape *shape, struct expected *expected)
{
	expected->fma = (double)shape->n;
	expected->ld_global = 2 * (double)shape->n;
	expected->st_shared = expected->barriers = threads_of(shape);
	add_tree(shape, expected);
}

static void dot_product(struct walk *walk)
{
	int64_t all = (int64_t)threads_of(walk->shape), t = walk->tid[0];

	for (int64_t i = global_x(walk), k = 0; i < walk->shape->n; i += all, k++) {
		load(k, A + 4 * i, 4);
		load(k, B + 4 * i, 4);
	}
	shared_store(0, 4 * t, 4);
	for (int64_t s = walk->shape->block[0] / 2; s > 0; s /= 2) {
		if (t >= s)
			continue;
		shared_load(s, 4 * t, 4);
		shared_load(s, 4 * (t + s), 4);
		shared_store(s, 4 * t, 4);
	}
	if (t)
		return;
	shared_load(0, 0, 4);
	store(0, C + 4 * walk->ctaid[0], 4);
}

static void cover_shape(struct shape *shape, unsigned size, unsigned block)
{
	set_line(shape, sizes[size], (uint32_t)blocks_for(sizes[size], line_blocks[block]), line_blocks[block],
		 "0x10000000,0x20000000,%ld");
}

static void reduction_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = (double)shape->n;
	expected->st_shared = expected->barriers = threads_of(shape);
	add_tree(shape, expected);
}

static void reduction(struct walk *walk)
{
	int64_t t = walk->tid[0], threads = walk->shape->block[0];

	if (global_x(walk) < walk->shape->n)
		load(0, A + 4 * global_x(walk), 4);
	shared_store(0, 4 * t, 4);
	for (int64_t s = 1; s < threads; s *= 2) {
		if (2 * s * t >= threads)
			continue;
		shared_load(s, 4 * 2 * s * t, 4);
		shared_load(s, 4 * (2 * s * t + s), 4);
		shared_store(s, 4 * 2 * s * t, 4);
	}
	if (t)
		return;
	shared_load(0, 0, 4);
	store(0, B + 4 * walk->ctaid[0], 4);
}

/*
 * log2(threads) steps: every thread reads and writes its element, all but the
 * first `offset` read and add another; the offsets 1, 2, 4, ... add up to
 * threads - 1. At the end those within the vector read theirs.
 */
static void hillis_steele_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n, blocks = blocks_of(shape), threads = shape->block[0],
	       steps = log2_of(shape->block[0]);

	expected->ld_global = expected->st_global = n;
	expected->add = blocks * (threads * steps - (threads - 1));
	expected->ld_shared = blocks * threads * steps + expected->add + n;
	expected->st_shared = blocks * threads * (1 + steps);
	expected->barriers = blocks * threads * (1 + 2 * steps);
}

static void hillis_steele(struct walk *walk)
{
	int64_t t = walk->tid[0], i = global_x(walk), n = walk->shape->n;

	if (i < n)
		load(0, A + 4 * i, 4);
	shared_store(0, 4 * t, 4);
	for (int64_t offset = 1; offset < walk->shape->block[0]; offset *= 2) {
		shared_load(offset, 4 * t, 4);
		if (t >= offset)
			shared_load(offset, 4 * (t - offset), 4);
		shared_store(offset, 4 * t, 4);
	}
	if (i >= n)
		return;
	shared_load(0, 4 * t, 4);
	store(0, B + 4 * i, 4);
}

/* The size is the number of blocks. Each has two elements per thread. */
static void blelloch_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const uint32_t blocks[SIZES] = {1, 7, 32}, threads[BLOCK_SHAPES] = {128, 32};

	set_line(shape, 0, blocks[size], threads[block], "0x10000000,0x20000000");
	shape->dynamic_shared_bytes *= 2;
}

/*
 * Both sweeps have log2(2 threads) steps, in which threads, threads / 2, ..., 1 of
 * the threads work: 2 threads - 1 in all. Up: two loads, a store. Down: the
 * source reads `low` once and `high` twice, and writes both. A store of 0
 * between them, two loads of the result.
 */
static void blelloch_counts(const struct shape *shape, struct expected *expected)
{
	double blocks = blocks_of(shape), threads = shape->block[0], steps = log2_of(2 * shape->block[0]),
	       working = 2 * threads - 1;

	expected->ld_global = expected->st_global = blocks * 2 * threads;
	expected->add = blocks * 2 * working;
	expected->ld_shared = blocks * (2 * working + 3 * working + 2 * threads);
	expected->st_shared = blocks * (2 * threads + working + 1 + 2 * working);
	expected->barriers = blocks * threads * (2 * steps + 1);
}

static void blelloch(struct walk *walk)
{
	int64_t t = walk->tid[0], threads = walk->shape->block[0], all = 2 * threads;
	int64_t base = (int64_t)walk->ctaid[0] * all, offset = 1;

	load(0, A + 4 * (base + t), 4);
	load(0, A + 4 * (base + t + threads), 4);
	shared_store(0, 4 * t, 4);
	shared_store(0, 4 * (t + threads), 4);
	for (int64_t d = all / 2; d > 0; d /= 2, offset *= 2) {
		int64_t low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1;

		if (t >= d)
			continue;
		shared_load(d, 4 * high, 4);
		shared_load(d, 4 * low, 4);
		shared_store(d, 4 * high, 4);
	}
	if (t == 0)
		shared_store(0, 4 * (all - 1), 4);
	for (int64_t d = 1; d < all; d *= 2) {
		int64_t low, high;

		offset /= 2;
		low = offset * (2 * t + 1) - 1;
		high = offset * (2 * t + 2) - 1;
		if (t >= d)
			continue;
		shared_load(d, 4 * low, 4);
		shared_load(d, 4 * high, 4);
		shared_store(d, 4 * low, 4);
		shared_load(d, 4 * high, 4);
		shared_store(d, 4 * high, 4);
	}
	shared_load(0, 4 * t, 4);
	shared_load(0, 4 * (t + threads), 4);
	store(0, B + 4 * (base + t), 4);
	store(0, B + 4 * (base + t + threads), 4);
}

/* n: elements per thread */
static void subarray_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t each[SIZES] = {32, 50, 7};

	set_line(shape, each[size], 32, line_blocks[block], "0x10000000,0x20000000,%ld");
	shape->dynamic_shared_bytes = 0;
}

/* Each element: sum, prefix, sum - low, best, low; at the end a difference and five results. */
static void subarray_counts(const struct shape *shape, struct expected *expected)
{
	double threads = threads_of(shape), elements = threads * (double)shape->n;

	expected->ld_global = expected->st_shared = expected->ld_shared = elements;
	expected->add = 2 * elements + threads; /* minima and maxima of 32 bits are the integer unit's */
	expected->st_global = 5 * threads;
	expected->barriers = threads * 2 * (double)blocks_for(shape->n, 32);
}

static void subarray(struct walk *walk)
{
	int64_t each = walk->shape->n, t = walk->tid[0], lane = t % 32, first = t - lane,
		all = (int64_t)threads_of(walk->shape);
	int64_t own = (int64_t)walk->ctaid[0] * walk->shape->block[0] * each;

	for (int64_t done = 0; done < each; done += 32) {
		int64_t width = each - done < 32 ? each - done : 32;

		for (int64_t row = first; lane < width && row < first + 32; row++) {
			load(done * 128 + row, A + 4 * (own + row * each + done + lane), 4);
			shared_store(done * 128 + row, 4 * (row * 33 + lane), 4);
		}
		for (int64_t k = 0; k < width; k++)
			shared_load(done + k, 4 * (t * 33 + k), 4);
	}
	for (int64_t result = 0; result < 5; result++)
		store(result, B + 4 * (result * all + global_x(walk)), 4);
}

/* n: the stride */
static void stride_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t strides[SIZES] = {1, 8, 33};

	set_line(shape, strides[size], 3, line_blocks[block], "0x10000000,%ld");
	shape->dynamic_shared_bytes = 0;
}

static void stride_counts(const struct shape *shape, struct expected *expected)
{
	expected->st_shared = expected->ld_shared = expected->st_global = expected->barriers = threads_of(shape);
}

static void stride(struct walk *walk)
{
	int64_t at = walk->tid[0] * walk->shape->n % 4096;

	shared_store(0, 4 * at, 4);
	shared_load(0, 4 * (at % 2 ? at - 1 : at + 1), 4);
	store(0, A + 4 * global_x(walk), 4);
}

const struct subject shared_subjects[] = {
    {"transpose_tiled", transpose_shape, transpose_counts, transpose_tiled, NULL},
    {"transpose_padded", transpose_shape, transpose_counts, transpose_padded, NULL},
    {"stencil_1d", stencil_shape, stencil_counts, stencil, NULL},
    {"dot_product", dot_shape, dot_counts, dot_product, NULL},
    {"reduction", cover_shape, reduction_counts, reduction, NULL},
    {"scan_hillis_steele", cover_shape, hillis_steele_counts, hillis_steele, NULL},
    {"scan_blelloch", blelloch_shape, blelloch_counts, blelloch, NULL},
    {"max_subarray", subarray_shape, subarray_counts, subarray, NULL},
    {"shared_stride", stride_shape, stride_counts, stride, NULL},
    {0},
};
