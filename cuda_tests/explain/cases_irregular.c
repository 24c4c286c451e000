/*
 * irregular.cu: counts that depend on values in memory must be marked, and all
 * others must be right.
 */
#include "oracle.h"

#include <math.h>

#define ASSUMED_TRIPS 16 /* predictor/code/cost.h documents it */

static const int64_t sizes[SIZES] = {4096, 1000, 4111};
static const uint32_t line_blocks[BLOCK_SHAPES] = {128, 80};

static void set_line(struct shape *shape, int64_t n, uint32_t blocks, uint32_t threads, const char *arguments)
{
	*shape = (struct shape){.n = n, .arguments = arguments, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}};
}

static void cover_line(struct shape *shape, int64_t n, unsigned block, const char *arguments)
{
	set_line(shape, n, (uint32_t)blocks_for(n, line_blocks[block]), line_blocks[block], arguments);
}

static void gather_shape(struct shape *shape, unsigned size, unsigned block)
{
	cover_line(shape, sizes[size], block, "0x10000000,0x20000000,0x30000000,%ld");
}

static void gather_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = 2 * (double)shape->n;
	expected->st_global = (double)shape->n;
}

static void gather(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, B + 4 * i, 4);
	load(0, somewhere(walk), 4);
	store(0, C + 4 * i, 4);
}

static void histogram_shape(struct shape *shape, unsigned size, unsigned block)
{
	set_line(shape, sizes[size], 6, line_blocks[block], "0x10000000,0x20000000,%ld");
}

/* A block clears 256 bins, adds its elements, then adds its bins to those of the result. */
static void histogram_counts(const struct shape *shape, struct expected *expected)
{
	double n = (double)shape->n, bins = 256 * blocks_of(shape);

	expected->ld_global = n;
	expected->st_shared = expected->ld_shared = bins;
	expected->atomics = n + bins;
	expected->barriers = 2 * threads_of(shape);
}

static void histogram(struct walk *walk)
{
	int64_t threads = walk->shape->block[0], all = (int64_t)threads_of(walk->shape);

	for (int64_t i = walk->tid[0]; i < 256; i += threads)
		shared_store(i / threads, 4 * i, 4);
	for (int64_t i = global_x(walk); i < walk->shape->n; i += all) {
		load(i / all, A + i, 1);
		shared_atomic(i / all, somewhere(walk), 4);
	}
	for (int64_t i = walk->tid[0]; i < 256; i += threads) {
		shared_load(i / threads, 4 * i, 4);
		atomic(i / threads, B + 4 * i, 4);
	}
}

/* extra: steps */
static void ranking_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t steps[SIZES] = {12, 10, 13}; /* log2(n), rounded up */

	cover_line(shape, sizes[size], block, "0x10000000,0x20000000,0x30000000,0x40000000,%ld,%ld");
	shape->extra[0] = steps[size];
}

static void ranking_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = (double)shape->n * (2 + 2 * (double)shape->extra[0]);
	expected->st_global = 2 * (double)shape->n;
}

static void ranking(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 4 * i, 4);
	load(0, B + 4 * i, 4);
	for (int64_t k = 0; k < walk->shape->extra[0]; k++) {
		load(k, somewhere(walk), 4);
		load(k, somewhere(walk), 4);
	}
	store(0, C + 4 * i, 4);
	store(0, D + 4 * i, 4);
}

static void walk_shape(struct shape *shape, unsigned size, unsigned block)
{
	cover_line(shape, sizes[size], block, "0x10000000,0x20000000,%ld");
}

static void walk_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = ASSUMED_TRIPS * (double)shape->n;
	expected->st_global = (double)shape->n;
	expected->requests = expected->sectors = expected->bytes_loaded = NAN;
}

static void list_walk(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	for (int64_t k = 0; k < ASSUMED_TRIPS; k++)
		load(k, somewhere(walk), 4);
	store(0, B + 4 * i, 4);
}

static void exit_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t rounds[SIZES] = {40, 7, 129};

	set_line(shape, rounds[size], 6, line_blocks[block], "0x10000000,0x20000000,%ld,1.0f");
}

static void exit_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = expected->bytes_loaded = expected->requests = expected->sectors = NAN;
	expected->add = NAN; /* comparisons, one per value loaded */
	expected->st_global = threads_of(shape);
}

static void early_exit(struct walk *walk)
{
	store(0, B + 4 * global_x(walk), 4);
}

static void rows_shape(struct shape *shape, unsigned size, unsigned block)
{
	cover_line(shape, sizes[size], block, "0x10000000,0x20000000,0x30000000,0x40000000,0x50000000,%ld");
}

static void rows_counts(const struct shape *shape, struct expected *expected)
{
	exit_counts(shape, expected);
	expected->fma = NAN;
	expected->st_global = (double)shape->n;
}

static void sparse_rows(struct walk *walk)
{
	if (global_x(walk) < walk->shape->n)
		store(0, E + 4 * global_x(walk), 4);
}

const struct subject irregular_subjects[] = {
    {"gather", gather_shape, gather_counts, gather, "loaded"},
    {"histogram", histogram_shape, histogram_counts, histogram, "loaded"},
    {"list_ranking", ranking_shape, ranking_counts, ranking, "loaded"},
    {"list_walk", walk_shape, walk_counts, list_walk, "trip count"},
    {"early_exit", exit_shape, exit_counts, early_exit, "loaded"},
    {"sparse_rows", rows_shape, rows_counts, sparse_rows, "trip count"},
    {0},
};
