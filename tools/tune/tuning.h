/*
 * Every configuration of a tunable kernel (block sizes, tiles, unrolling), from a
 * few that were timed and from times of the kernel on other devices.
 *
 *   kc_space            configurations (space.h)
 *   kc_space_times      the same, all of them timed: a donor device
 *   kc_tuning_donors    what each donor predicts of every configuration
 *
 * A donor may have few of the same configurations, or other parameters. It predicts
 * its own time of a configuration where it has that one, else by boosted trees
 * fitted to all its times. Where it has a parameter that the space lacks, the value
 * is used that fits the timed configurations best. Log time is a straight line over
 * each donor's prediction; the lines are averaged by how well they fit. The residual
 * (everything, where there are no donors) is fitted twice over the columns of
 * space.h and the donors: by boosted trees and by a Gaussian process. They are mixed
 * in the proportion that fits the timed configurations best in cross-validation with
 * five folds.
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
	int32_t same_as[KC_SPACE_PARAMETERS]; /* the same parameter in the other space; -1: there is none */
};

struct kc_tuning_donors {
	uint32_t count, rows;
	double *log_ns; /* rows · count */
};

/* What donors predict of every configuration. timed: rows of the space, with their times in ns. 0; -EINVAL: too many
 * parameters, nothing timed; -ENOMEM. */
int kc_tuning_transfer(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		       const struct kc_space_times *donors, uint32_t donor_count, struct kc_tuning_donors *out);
void kc_tuning_donors_free(struct kc_tuning_donors *donors);

/* ns of the rows asked for. donors may be empty. The same seed gives the same answer. 0; -EINVAL; -ENOMEM. */
int kc_tuning_predict(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		      const struct kc_tuning_donors *donors, uint64_t seed, const uint32_t *asked, uint32_t asked_count,
		      double *out);

#endif
