/* simple.cu: all counts depend only on indices and parameters. */
#include "oracle.h"

static const uint32_t line_blocks[BLOCK_SHAPES] = {128, 80};
static const uint32_t plane_blocks[BLOCK_SHAPES][2] = {{32, 4}, {8, 24}};

static void set_line(struct shape *shape, int64_t n, uint32_t blocks, uint32_t threads, const char *arguments)
{
	*shape = (struct shape){.n = n, .arguments = arguments, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
}

/* One thread per element. */
static void cover_line(struct shape *shape, int64_t n, unsigned block, const char *arguments)
{
	set_line(shape, n, (uint32_t)blocks_for(n, line_blocks[block]), line_blocks[block], arguments);
}

static const int64_t line_sizes[SIZES] = {4096, 1000, 4111};

static void vector_shape(struct shape *shape, unsigned size, unsigned block)
{
	cover_line(shape, line_sizes[size], block, "0x10000000,0x20000000,0x30000000,%ld");
}

static void vector_add_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n;

	expected->add = n;
	expected->ld_global = 2 * n;
	expected->st_global = n;
}

static void vector_add(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 4 * i, 4);
	load(0, B + 4 * i, 4);
	store(0, C + 4 * i, 4);
}

static void plane_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {96, 50, 131};
	const uint32_t *threads = plane_blocks[block];

	*shape = (struct shape){
	    .n = sizes[size],
	    .arguments = "0x10000000,0x20000000,0x30000000,%ld",
	    .grid = {(uint32_t)blocks_for(sizes[size], threads[0]), (uint32_t)blocks_for(sizes[size], threads[1]), 1},
	    .block = {threads[0], threads[1], 1},
	};
}

static void matrix_sum_counts(const struct shape *shape, struct expected *expected)
{
	double elements = (double)shape->n * (double)shape->n;

	expected->add = elements;
	expected->ld_global = 2 * elements;
	expected->st_global = elements;
}

static void matrix_sum(struct walk *walk)
{
	int64_t n = walk->shape->n, x = global_x(walk), y = global_y(walk);

	if (x >= n || y >= n)
		return;
	load(0, A + 4 * (y * n + x), 4);
	load(0, B + 4 * (y * n + x), 4);
	store(0, C + 4 * (y * n + x), 4);
}

/* The same counts as matrix_sum; only the addresses differ. */
static void matrix_sum_uncoalesced(struct walk *walk)
{
	int64_t n = walk->shape->n, row = global_x(walk), col = global_y(walk);

	if (row >= n || col >= n)
		return;
	load(0, A + 4 * (row * n + col), 4);
	load(0, B + 4 * (row * n + col), 4);
	store(0, C + 4 * (row * n + col), 4);
}

static void transpose_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {96, 50, 131};
	static const uint32_t rows[BLOCK_SHAPES] = {8, 4};
	uint32_t tiles = (uint32_t)blocks_for(sizes[size], 32);

	*shape = (struct shape){
	    .n = sizes[size],
	    .arguments = "0x10000000,0x20000000,%ld",
	    .grid = {tiles, tiles, 1},
	    .block = {32, rows[block], 1},
	};
}

static void transpose_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = expected->st_global = (double)shape->n * (double)shape->n;
}

static void transpose_naive(struct walk *walk)
{
	int64_t n = walk->shape->n, x = (int64_t)walk->ctaid[0] * 32 + walk->tid[0],
		y = (int64_t)walk->ctaid[1] * 32 + walk->tid[1];

	for (int64_t j = 0; j < 32; j += walk->shape->block[1]) {
		if (x >= n || y + j >= n)
			continue;
		load(j, A + 4 * ((y + j) * n + x), 4);
		store(j, B + 4 * (x * n + y + j), 4);
	}
}

static void stencil_shape(struct shape *shape, unsigned size, unsigned block)
{
	plane_shape(shape, size, block);
	shape->arguments = "0x10000000,0x20000000,%ld,0.5f,0.125f";
}

/* The (n - 2)^2 inner points: centre * at + side * (sum of four): three additions, a multiplication, a multiply-add. */
static void stencil_counts(const struct shape *shape, struct expected *expected)
{
	double inner = (double)(shape->n - 2) * (double)(shape->n - 2);

	expected->add = 3 * inner;
	expected->mul = inner;
	expected->fma = inner;
	expected->ld_global = 5 * inner;
	expected->st_global = inner;
}

static void stencil(struct walk *walk)
{
	int64_t n = walk->shape->n, x = global_x(walk), y = global_y(walk), at = y * n + x;

	if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
		return;
	load(0, A + 4 * at, 4);
	load(0, A + 4 * (at - 1), 4);
	load(0, A + 4 * (at + 1), 4);
	load(0, A + 4 * (at - n), 4);
	load(0, A + 4 * (at + n), 4);
	store(0, B + 4 * at, 4);
}

/* Fewer threads than elements; some lanes have one iteration less. */
static void saxpy_shape(struct shape *shape, unsigned size, unsigned block)
{
	set_line(shape, line_sizes[size], 5, line_blocks[block], "%ld,2.5f,0x10000000,0x20000000");
}

static void saxpy_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n;

	expected->fma = n;
	expected->ld_global = 2 * n;
	expected->st_global = n;
}

static void saxpy(struct walk *walk)
{
	int64_t all = (int64_t)threads_of(walk->shape);

	for (int64_t i = global_x(walk), k = 0; i < walk->shape->n; i += all, k++) {
		load(k, A + 4 * i, 4);
		load(k, B + 4 * i, 4);
		store(k, B + 4 * i, 4);
	}
}

static void nest_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {8, 13, 22};

	set_line(shape, sizes[size], 3, line_blocks[block], "0x10000000,0x20000000,%ld,0.5f");
}

/* The innermost body: sum over p < n, q < p of (p - q) = sum over p of p (p + 1) / 2 = (n - 1) n (n + 1) / 6. */
static void nest_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n, bodies = (n - 1) * n * (n + 1) / 6;

	expected->fma = expected->ld_global = threads_of(shape) * bodies;
	expected->st_global = threads_of(shape);
}

static void nest(struct walk *walk)
{
	int64_t n = walk->shape->n, i = global_x(walk), all = (int64_t)threads_of(walk->shape);

	for (int64_t p = 0; p < n; p++) {
		for (int64_t q = 0; q < p; q++) {
			for (int64_t r = q; r < p; r++)
				load((p * n + q) * n + r, A + 4 * ((p + q + r) * all + i), 4);
		}
	}
	store(0, B + 4 * i, 4);
}

static void triangular_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {128, 50, 203};

	cover_line(shape, sizes[size], block, "0x10000000,0x20000000,0x30000000,%ld");
}

/* Row i has i + 1 elements. */
static void triangular_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n, elements = n * (n + 1) / 2;

	expected->fma = elements;
	expected->ld_global = 2 * elements;
	expected->st_global = n;
}

static void triangular(struct walk *walk)
{
	int64_t n = walk->shape->n, row = global_x(walk);

	if (row >= n)
		return;
	for (int64_t j = 0; j <= row; j++) {
		load(j, A + 4 * (row * n + j), 4);
		load(j, B + 4 * j, 4);
	}
	store(0, C + 4 * row, 4);
}

static void copy_shape(struct shape *shape, unsigned size, unsigned block)
{
	cover_line(shape, line_sizes[size], block, "0x10000000,0x20000000,%ld");
}

/* A vector is one load of 16 bytes. */
static void copy_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = expected->st_global = (double)shape->n;
}

static void copy_float4(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 16 * i, 16);
	store(0, B + 16 * i, 16);
}

static void daxpy_shape(struct shape *shape, unsigned size, unsigned block)
{
	cover_line(shape, line_sizes[size], block, "%ld,2.5,0x10000000,0x20000000");
}

static void daxpy(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 8 * i, 8);
	load(0, B + 8 * i, 8);
	store(0, B + 8 * i, 8);
}

/* offset: no multiple of a sector's eight floats, and one. */
static void misaligned_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t offsets[SIZES] = {1, 8, 13};

	cover_line(shape, line_sizes[size], block, "0x10000000,0x20000000,%ld,%ld");
	shape->extra[0] = offsets[size];
}

static void copy_misaligned(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 4 * (i + walk->shape->extra[0]), 4);
	store(0, B + 4 * i, 4);
}

/* extra: step and stride */
static void strided_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {64, 7, 101}, steps[SIZES] = {1, 3, 10}, strides[SIZES] = {2, 5, 128};

	set_line(shape, sizes[size], 4, line_blocks[block], "0x10000000,0x20000000,%ld,%ld,%ld");
	shape->extra[0] = steps[size];
	shape->extra[1] = strides[size];
}

static void strided_counts(const struct shape *shape, struct expected *expected)
{
	double rounds = (double)blocks_for(shape->n, shape->extra[0]);

	expected->add = expected->ld_global = threads_of(shape) * rounds;
	expected->st_global = threads_of(shape);
}

static void strided(struct walk *walk)
{
	int64_t i = global_x(walk);

	for (int64_t k = 0; k < walk->shape->n; k += walk->shape->extra[0])
		load(k, A + 4 * (k + i * walk->shape->extra[1]), 4);
	store(0, B + 4 * i, 4);
}

/* Threads of this block within the vector. */
static double within(const struct shape *shape, uint32_t block)
{
	int64_t left = shape->n - (int64_t)block * shape->block[0];

	return left <= 0 ? 0 : left < shape->block[0] ? (double)left : shape->block[0];
}

/*
 * By block index modulo 5: one load; two and a multiplication; two and an
 * addition; seven and seven additions; nothing.
 */
static void choose_counts(const struct shape *shape, struct expected *expected)
{
	static const double loads[5] = {1, 2, 2, 7, 0}, adds[5] = {0, 0, 1, 7, 0}, muls[5] = {0, 1, 0, 0, 0};

	expected->st_global = (double)shape->n;
	for (uint32_t block = 0; block < shape->grid[0]; block++) {
		expected->ld_global += within(shape, block) * loads[block % 5];
		expected->add += within(shape, block) * adds[block % 5];
		expected->mul += within(shape, block) * muls[block % 5];
	}
}

static void choose(struct walk *walk)
{
	int64_t n = walk->shape->n, i = global_x(walk);
	uint32_t which = walk->ctaid[0] % 5;

	if (i >= n)
		return;
	if (which <= 2)
		load(0, A + 4 * i, 4);
	if (which == 1)
		load(0, B + 4 * i, 4);
	if (which == 2)
		load(0, B + 4 * 2 * i, 4);
	for (int64_t k = 0; which == 3 && k < 7; k++)
		load(k, B + 4 * (k * n + i), 4);
	store(0, C + 4 * i, 4);
}

static void row_to_column_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t widths[SIZES] = {64, 37, 100}, heights[SIZES] = {32, 21, 7};

	cover_line(shape, widths[size] * heights[size], block, "0x10000000,0x20000000,%ld,%ld");
	shape->n = widths[size];
	shape->extra[0] = heights[size];
}

static void row_to_column_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = expected->st_global = (double)shape->n * (double)shape->extra[0];
}

static void row_to_column(struct walk *walk)
{
	int64_t width = walk->shape->n, height = walk->shape->extra[0], i = global_x(walk);

	if (i >= width * height)
		return;
	load(0, A + 4 * i, 4);
	store(0, B + 4 * (i % width * height + i / width), 4);
}

/* exp(x) = 2^(x * log2(e)): CUDA C++ programming guide, "Intrinsic functions". */
static void exponential_counts(const struct shape *shape, struct expected *expected)
{
	copy_counts(shape, expected);
	expected->mul = expected->special = (double)shape->n;
}

static void copy(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 4 * i, 4);
	store(0, B + 4 * i, 4);
}

/* The bytes of a struct of first, last and a factor. */
static void window_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const char *const arguments[SIZES] = {
	    "0x10000000,32000000e80300000000003f",
	    "0x10000000,07000000080000000000003f",
	    "0x10000000,00000000430500000000003f",
	};
	static const int64_t firsts[SIZES] = {50, 7, 0}, lasts[SIZES] = {1000, 8, 1347};

	cover_line(shape, 1100, block, arguments[size]);
	shape->n = lasts[size];
	shape->extra[0] = firsts[size];
}

/* Threads from first to last - 1, if there are any. */
static void window_counts(const struct shape *shape, struct expected *expected)
{
	double threads = threads_of(shape), last = (double)shape->n < threads ? (double)shape->n : threads;

	expected->mul = expected->ld_global = expected->st_global = last - (double)shape->extra[0];
}

static void window(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i < walk->shape->extra[0] || i >= walk->shape->n)
		return;
	load(0, A + 4 * i, 4);
	store(0, A + 4 * i, 4);
}

const struct subject simple_subjects[] = {
    {"vector_add", vector_shape, vector_add_counts, vector_add, NULL},
    {"matrix_sum", plane_shape, matrix_sum_counts, matrix_sum, NULL},
    {"matrix_sum_uncoalesced", plane_shape, matrix_sum_counts, matrix_sum_uncoalesced, NULL},
    {"transpose_naive", transpose_shape, transpose_counts, transpose_naive, NULL},
    {"stencil_2d", stencil_shape, stencil_counts, stencil, NULL},
    {"saxpy_grid_stride", saxpy_shape, saxpy_counts, saxpy, NULL},
    {"nest", nest_shape, nest_counts, nest, NULL},
    {"triangular", triangular_shape, triangular_counts, triangular, NULL},
    {"copy_float4", copy_shape, copy_counts, copy_float4, NULL},
    {"daxpy", daxpy_shape, saxpy_counts, daxpy, NULL},
    {"copy_misaligned", misaligned_shape, copy_counts, copy_misaligned, NULL},
    {"strided", strided_shape, strided_counts, strided, NULL},
    {"choose", vector_shape, choose_counts, choose, NULL},
    {"row_to_column", row_to_column_shape, row_to_column_counts, row_to_column, NULL},
    {"exponential", copy_shape, exponential_counts, copy, NULL},
    {"scale_window", window_shape, window_counts, window, NULL},
    {0},
};
