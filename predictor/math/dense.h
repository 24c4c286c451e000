/*
 * Linear algebra of small dense matrices, stored row by row, for the predictors that
 * fit something. Dimensions are 10 to 1,000.
 */
#ifndef KC_DENSE_H
#define KC_DENSE_H

#include <stdint.h>

double kc__dot(const double *a, const double *b, uint32_t n);

/* Cholesky: a (n × n, symmetric, only the lower triangle is read) = L·Lᵀ; L replaces the lower triangle. 0; -EDOM: a is
 * not positive definite. */
int kc__cholesky(double *a, uint32_t n);

/* Replaces b by L⁻¹·b, or by L⁻ᵀ·b. */
void kc__solve_lower(const double *l, uint32_t n, double *b);
void kc__solve_upper(const double *l, uint32_t n, double *b);

/* Ridge regression: coefficients[columns] = (XᵀX + ridge·I)⁻¹Xᵀy. work: room for columns² values. 0 or -EDOM. */
int kc__ridge(const double *x, const double *y, uint32_t rows, uint32_t columns, double ridge, double *coefficients,
	      double *work);

/* Eigenvalues of a (n × n, symmetric; destroyed), the largest first, and their unit vectors in the columns of vectors
 * (n × n), by Jacobi's rotations. */
void kc__eigen(double *a, uint32_t n, double *values, double *vectors);

#endif
