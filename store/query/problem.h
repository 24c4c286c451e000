/*
 * Which launches of a kernel worked on the same problem, whatever their block size.
 *
 *   kc_problem_row   a launch shape of one kernel, with what its arguments say
 *                    of the size; kc_problems_find() gives each row the size of
 *                    its problem
 *
 * Rows with the same recorded arguments are one problem. Those without are
 * told by their threads: a grid of g blocks of b threads covers n elements where
 * n lies in ((g - 1) b, g b], in each dimension; rows that some n has in common
 * are one problem, unless all are single blocks, which say nothing of n.
 */
#ifndef KC_STORE_PROBLEM_H
#define KC_STORE_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#define KC_PROBLEM_NUMBERS 8u /* of the arguments; more are not read */

struct kc_problem_row {
	uint32_t block[3], grid[3];
	uint32_t count;                     /* of numbers; 0: nothing was recorded */
	double numbers[KC_PROBLEM_NUMBERS]; /* the rest 0 */
	double size;
};

/* Reads the numbers of launch.arguments: "4096", or "p0 = 131072, p1 = 8, p2 mod 32 = 0", where what is known of p2
 * says only how it is aligned. NULL, and text of another form: none. */
void kc_problem_read(struct kc_problem_row *row, const char *arguments);

/* Order by block, grid and numbers, for bsearch in what kc_problems_find has sorted. */
int kc_problem_order(const void *a, const void *b);

/*
 * Sets the sizes of all rows of one kernel, no two the same, and sorts them by
 * kc_problem_order. Arguments: the largest of them, or, where that does not
 * tell two problems apart, the product of all that are not 0. Threads: the
 * least that a row's grid covers. 0 or -ENOMEM.
 */
int kc_problems_find(struct kc_problem_row *rows, size_t count);

#endif
