/*
 * Gaussian process regression (Rasmussen and Williams 2006, chapters 2, 4 and 5).
 *
 *   kc_gauss_options   how long to search for the scales
 *   kc_gauss           rows, their values, the scales found; made once, then only read
 *
 * The covariance of two rows is a sum of three parts: squared exponential (Equation
 * 4.9), Matérn 3/2 (Equation 4.17) and exponential (Equation 4.18). Each is a product
 * over the columns of (1 + share · correlation) / (1 + share): columns act alone and
 * together, as in an analysis of variance (Duvenaud et al. 2011), and a column that
 * does not matter gets no share. The scales, as logarithms:
 *
 *   for each part   amplitude, shares of all columns, lengths of all columns
 *   noise
 *
 * They maximise the likelihood of the values, under a broad normal prior around where
 * the search starts. Columns and values are first brought to mean 0 and variance 1.
 *
 * Offline: allocates; time grows with the third power of the rows.
 */
#ifndef KC_GAUSS_H
#define KC_GAUSS_H

#include <stdint.h>

struct kc_gauss_options {
	uint32_t steps;      /* of the search for scales, at most */
	uint32_t scale_rows; /* used in the search: the first ones; all are used afterwards */
};

struct kc_gauss;

/* x: rows · columns values, y: rows. 0; -EINVAL: nothing to fit; -EDOM: no scales give a positive definite covariance;
 * -ENOMEM. */
int kc_gauss_fit(struct kc_gauss **out, const struct kc_gauss_options *options, const double *x, const double *y,
		 uint32_t rows, uint32_t columns);
/* x: rows · columns values; out: rows. 0; -ENOMEM. */
int kc_gauss_predict(const struct kc_gauss *gauss, const double *x, uint32_t rows, double *out);
void kc_gauss_free(struct kc_gauss *gauss);

/* The number of scales. */
uint32_t kc__gauss_scales(uint32_t columns);
/* Uses these scales without a search; x and y are not normalised. */
int kc__gauss_with(struct kc_gauss **out, const double *scales, const double *x, const double *y, uint32_t rows,
		   uint32_t columns);
/* -log p(y | x, scales) (Equation 5.8 without its constant term) and its gradient (Equation 5.9). 0; -EDOM; -ENOMEM. */
int kc__gauss_neg_log_likelihood(const struct kc_gauss *gauss, const double *scales, double *neg_log_likelihood,
				 double *slopes);

#endif
