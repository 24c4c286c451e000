/*
 * Small dense matrices, rows one after another: what the predictors that fit
 * something need of linear algebra. Sizes are those of sweeps, 10 to 1,000.
 */
#ifndef KC_DENSE_H
#define KC_DENSE_H

#include <stdint.h>

double kc__dot(const double *a, const double *b, uint32_t n);

/* a (n × n, symmetric, the lower triangle is read) becomes L of a = L·Lᵀ, in
 * the lower triangle. 0; -EDOM where a is not positive definite. */
int kc__cholesky(double *a, uint32_t n);

/* b becomes L⁻¹·b, and L⁻ᵀ·b. */
void kc__solve_lower(const double *l, uint32_t n, double *b);
void kc__solve_upper(const double *l, uint32_t n, double *b);

/* Least squares with a ridge: coefficients[columns] that make rows·coefficients
 * nearest to y, by (XᵀX + ridge·I)⁻¹Xᵀy. work: columns² values. 0 or -EDOM. */
int kc__ridge(const double *x, const double *y, uint32_t rows, uint32_t columns, double ridge, double *coefficients,
	      double *work);

/* Eigenvalues of a (n × n, symmetric; it is used up), the largest first, and in
 * the columns of vectors (n × n) their unit vectors: Jacobi's rotations. */
void kc__eigen(double *a, uint32_t n, double *values, double *vectors);

#endif
