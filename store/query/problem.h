/*
 * Which launches of a kernel worked on the same problem, whatever their block size.
 *
 *   kc_problem_row   a launch shape of one kernel, with the numbers among its
 *                    arguments; kc_problems_find() gives each row the size of
 *                    its problem
 *
 * Rows with the same recorded arguments are one problem. Rows without arguments
 * are matched by their threads: in each dimension, a grid of g blocks of b threads
 * covers n elements where n lies in ((g - 1) b, g b]. Rows that share some n are
 * one problem, unless all are single blocks, which do not determine n.
 */
#ifndef KC_STORE_PROBLEM_H
#define KC_STORE_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#define KC_PROBLEM_NUMBERS 8u /* numbers of the arguments that are read */

struct kc_problem_row {
	uint32_t block[3], grid[3];
	uint32_t count;                     /* of numbers; 0: no arguments were recorded */
	double numbers[KC_PROBLEM_NUMBERS]; /* those past count are 0 */
	double size;
};

/* Reads the numbers in launch.arguments: "4096", or "p0 = 131072, p1 = 8, p2 mod 32 = 0", where only the alignment of
 * p2 is known. NULL and text of another form have none. */
void kc_problem_read(struct kc_problem_row *row, const char *arguments);

/* Compares by block, grid and numbers, for bsearch() in rows that kc_problems_find() has sorted. */
int kc_problem_order(const void *a, const void *b);

/*
 * Sets the sizes of all rows of one kernel, which must differ, and sorts them by
 * kc_problem_order. By arguments, the size is the largest number, or, where two
 * problems would get the same size, the product of all numbers that are not 0. By
 * threads, it is the least number of elements that a row's grid covers. 0 or -ENOMEM.
 */
int kc_problems_find(struct kc_problem_row *rows, size_t count);

#endif
