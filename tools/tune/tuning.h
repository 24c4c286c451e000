/*
 * Every configuration of a tunable kernel (block sizes, tiles, unrolling) from
 * a few that were timed, and from what is known of the kernel on other devices.
 *
 *   kc_space         configurations (space.h)
 *   kc_space_times   ... all of them timed: a device that lends what it knows
 *   kc_tuning        the answer for one space
 *
 * A lender has few of the same configurations, or other parameters; what it says
 * of each configuration is its own time where it has that one, else that of
 * boosted trees fitted to all its times. Where it has a parameter that the space
 * lacks, the value is taken at which it goes best with the timed ones. Log time
 * is then taken for a straight line over what each lender says, these averaged by
 * how well they fit; what that leaves (all, where there are no lenders) is fitted
 * twice, by boosted trees and by a Gaussian process, over the columns of space.h
 * and the lenders. Their mix is the one that meets best what the lines leave of
 * the timed ones, in fits without a fifth of them each.
 *
 * Offline: allocates, takes seconds.
 */
#ifndef KC_TUNING_H
#define KC_TUNING_H

#include "space.h"

#include <stdint.h>

#define KC_TUNING_DONORS 16u

struct kc_space_times {
	struct kc_space space;
	const double *ns;                     /* > 0 */
	int32_t same_as[KC_SPACE_PARAMETERS]; /* the parameter of the other space; -1: it has none such */
};

struct kc_tuning_donors {
	uint32_t count, rows;
	double *log_ns; /* rows · count */
};

/* What lenders say of every configuration. timed: rows of the space with their
 * times. 0; -EINVAL: too many parameters, nothing timed; -ENOMEM. */
int kc_tuning_transfer(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		       const struct kc_space_times *donors, uint32_t donor_count, struct kc_tuning_donors *out);
void kc_tuning_donors_free(struct kc_tuning_donors *donors);

/* ns of every configuration asked for (rows), into out. lenders may be empty.
 * 0; -EINVAL; -ENOMEM. The same seed gives the same answer. */
int kc_tuning_predict(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		      const struct kc_tuning_donors *donors, uint64_t seed, const uint32_t *asked, uint32_t asked_count,
		      double *out);

#endif
