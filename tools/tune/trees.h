/*
 * Boosted regression trees: a sum of small trees, each fitted to the residual of
 * those before it (Friedman 2001), on random subsets of rows and columns.
 *
 *   kc_trees_options   how many, how deep
 *   kc_trees           the sum; made once, then only read
 *
 * Columns are cut into at most KC_TREES_BINS bins with equally many rows; equal values
 * (as single precision floats) share a bin. The seed alone decides the subsets.
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
	uint32_t least_leaf;   /* rows in a leaf, at least */
	uint32_t least_columns;
	double rate;          /* learning rate: share of a tree's value that is added */
	double rows, columns; /* shares drawn for each tree, and for each split (least_columns or more) */
	uint64_t seed;
};

struct kc_trees;

/* x: rows · columns values, y: rows. 0; -EINVAL: nothing to fit, too deep; -ENOMEM. */
int kc_trees_fit(struct kc_trees **out, const struct kc_trees_options *options, const double *x, const double *y,
		 uint32_t rows, uint32_t columns);
double kc_trees_predict(const struct kc_trees *trees, const double *row);
void kc_trees_free(struct kc_trees *trees);

#endif
