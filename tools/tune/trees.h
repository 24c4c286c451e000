/*
 * Boosted regression trees: a sum of small trees, each fitted to what those
 * before it left (Friedman 2001), on random parts of the rows and columns.
 *
 *   kc_trees_options   how many, how deep
 *   kc_trees           the sum; made once, then only read
 *
 * Columns are cut into at most KC_TREES_BINS steps of equally many rows, values
 * alike (as single precision floats) never apart. Which parts are drawn follows from the seed alone.
 *
 * Offline: allocates.
 */
#ifndef KC_TREES_H
#define KC_TREES_H

#include <stdint.h>

#define KC_TREES_BINS 64u
#define KC_TREES_DEPTH 8u

struct kc_trees_options {
	uint32_t trees, depth; /* depth: splits from the top to a leaf, up to KC_TREES_DEPTH */
	uint32_t bags;         /* such sums, averaged */
	uint32_t least_leaf;   /* rows */
	uint32_t least_columns;
	double rate;          /* share of a tree's answer that is taken */
	double rows, columns; /* shares drawn for each tree, and for each split (at least least_columns) */
	uint64_t seed;
};

struct kc_trees;

/* x: rows · columns values, y: rows. 0; -EINVAL: nothing to fit, too deep; -ENOMEM. */
int kc_trees_fit(struct kc_trees **out, const struct kc_trees_options *options, const double *x, const double *y,
		 uint32_t rows, uint32_t columns);
double kc_trees_predict(const struct kc_trees *trees, const double *row);
void kc_trees_free(struct kc_trees *trees);

#endif
