/* own_memory.cu: addresses and trip counts that go through memory of a thread's own. */
#include "oracle.h"

static const uint32_t line_blocks[BLOCK_SHAPES] = {128, 80};

/* struct tensor: rank 3, dims 64, 6, 5 and 0, strides 31, 2000, 3 and 0. */
#define TENSOR                                                                                                         \
	"03000000"                                                                                                     \
	"40000000"                                                                                                     \
	"06000000"                                                                                                     \
	"05000000"                                                                                                     \
	"00000000"                                                                                                     \
	"1f000000"                                                                                                     \
	"d0070000"                                                                                                     \
	"03000000"                                                                                                     \
	"00000000"

static void gather_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {4096, 1000, 4111};

	*shape = (struct shape){
	    .n = sizes[size],
	    .arguments = "0x10000000,0x20000000," TENSOR ",%ld",
	    .grid = {(uint32_t)blocks_for(sizes[size], line_blocks[block]), 1, 1},
	    .block = {line_blocks[block], 1, 1},
	};
}

static void gather_counts(const struct shape *shape, struct expected *expected)
{
	expected->ld_global = expected->st_global = (double)shape->n;
}

static void gather(struct walk *walk)
{
	int64_t i = global_x(walk);

	if (i >= walk->shape->n)
		return;
	load(0, A + 4 * (i % 5 * 3 + i / 5 % 6 * 2000 + i / 30 % 64 * 31), 4);
	store(0, B + 4 * i, 4);
}

static void rounds_shape(struct shape *shape, unsigned size, unsigned block)
{
	static const int64_t sizes[SIZES] = {3, 10, 22};

	*shape = (struct shape){
	    .n = sizes[size],
	    .arguments = "0x10000000,%ld,0.5f",
	    .grid = {5, 1, 1},
	    .block = {line_blocks[block], 1, 1},
	};
}

/* Six outer rounds take each of n, 2 n and 5 twice. */
static void rounds_counts(const struct shape *shape, struct expected *expected)
{
	expected->fma = threads_of(shape) * (6 * (double)shape->n + 10);
	expected->st_global = threads_of(shape);
}

static void rounds(struct walk *walk)
{
	store(0, A + 4 * global_x(walk), 4);
}

const struct subject own_memory_subjects[] = {
    {"gather_strided", gather_shape, gather_counts, gather, NULL},
    {"gather_in_place", gather_shape, gather_counts, gather, NULL},
    {"gather_coordinates", gather_shape, gather_counts, gather, NULL},
    {"rounds_by_table", rounds_shape, rounds_counts, rounds, NULL},
    {0},
};
