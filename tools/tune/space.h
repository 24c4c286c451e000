/*
 * The configurations of a tunable kernel (block sizes, tiles, unrolling) as numbers
 * that a model can be fitted to.
 *
 *   kc_space        configurations: one per row, one parameter per column
 *   kc_space_axis   what blocks cover along one axis of the problem, where known
 *   kc__columns     the columns derived from them
 *
 * Plain columns, as far as they vary:
 *
 *   - each parameter, as a logarithm where it is always above 0, so that products
 *     become sums
 *   - the largest power of two in it: alignment
 *   - for each axis, the share of the last blocks that lies past the end, and what
 *     is left for them
 *   - how far a block's threads fill its warps; how many blocks and threads an SM
 *     holds
 *
 * Products: the product and ratio of every two parameters, and the product of all.
 */
#ifndef KC_SPACE_H
#define KC_SPACE_H

#include "predictor/device/device.h"

#include <stdint.h>

#define KC_SPACE_PARAMETERS 32u
#define KC_SPACE_AXES 3u
#define KC_SPACE_CANDIDATES (2 * KC_SPACE_PARAMETERS + 2 * KC_SPACE_AXES + 3)

struct kc_space_axis {
	uint32_t threads; /* a bit for each parameter whose product is the block's threads along it; 0: none */
	uint32_t covered; /* the same for the elements of the problem that a block covers along it */
	double size;      /* of the problem along it; 0: not known */
};

struct kc_space {
	const double *values; /* row after row */
	uint32_t count, parameters;
	const struct kc_device *device; /* may be NULL */
	struct kc_space_axis axes[KC_SPACE_AXES];
};

struct kc__columns {
	uint8_t kept[KC_SPACE_CANDIDATES];        /* which of the candidates are plain columns */
	uint8_t logarithmic[KC_SPACE_PARAMETERS]; /* which parameters vary also as a logarithm */
	uint32_t plain, products;                 /* how many */
};

struct kc__columns kc__columns_of(const struct kc_space *space);
void kc__describe(const struct kc_space *space, const struct kc__columns *columns, uint32_t row, double *plain,
		  double *products);

#endif
