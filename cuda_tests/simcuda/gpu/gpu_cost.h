/*
 * What a block costs: a text table of expressions over the launch.
 *
 *   pattern  cycles  bytes
 *
 * pattern: a shell pattern for the kernel's mangled name; the first line that
 * matches applies. cycles: SM clock cycles of one block alone on an SM. bytes: what
 * the block moves to and from device memory. Both are expressions without blanks of numbers,
 * + - * / ( ), unary minus, min(x,y), max(x,y), pow(x,y), sqrt(x), log2(x),
 * ceil(x), floor(x), and
 *   gridX gridY gridZ blockX blockY blockZ
 *   threads          per block
 *   blocks           of the grid
 *   a0 … a15         kernel argument as a signed integer of its size
 *   f0 … f15         kernel argument as a float or double, by its size
 *   hash             0 to 1, from the kernel's name
 * An argument that is missing or not a scalar is 0. Lines that start with #
 * are comments.
 */
#ifndef SIM_COST_H
#define SIM_COST_H

#include <stdint.h>

#define COST_ARGS 16

struct cost;
struct cost_table;

struct cost_input {
	uint32_t grid[3], block[3];
	double hash;
	const void *arg[COST_ARGS]; /* null: none */
	uint32_t arg_bytes[COST_ARGS];
};

/* Reads the table in this file; path null: returns the built-in one. Returns null if the
 * file cannot be read or has an error, which is printed on stderr. */
struct cost_table *cost_table_load(const char *path);

/* Returns the first line that matches this kernel, or the built-in default. */
const struct cost *cost_find(const struct cost_table *table, const char *kernel);

/* Cycles ≥ 1 and bytes ≥ 0 of one block. */
void cost_evaluate(const struct cost *cost, const struct cost_input *input, double *cycles, double *bytes);

/* Returns 1 if an expression of this line reads argument i. */
int cost_reads_arg(const struct cost *cost, unsigned i);

#endif
