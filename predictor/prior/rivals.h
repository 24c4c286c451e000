/*
 * The first guess of a launch whose kernel was never measured, from two that compete:
 *
 *   the prior   what such kernels take on other machines (prior.h), corrected by what
 *               was measured here (correction.h)
 *   λ           of the device, and a nominal work per thread (forecast.h)
 *
 *   kc_rivals   what both have proved on this device so far, by the family of the
 *               kernel
 *
 * The guess is a mean in log time, weighted by the inverse sixth power of the mean errors. Before anything was
 * measured, the prior is believed for the families that it was trained on, and λ for others. One thread learns; any
 * thread may ask meanwhile.
 */
#ifndef KC_RIVALS_H
#define KC_RIVALS_H

#include "correction.h"
#include "prior.h"
#include "predictor/solo/forecast.h"

enum kc_rival { KC_RIVAL_PRIOR, KC_RIVAL_LAMBDA, KC_RIVALS };

struct kc_rivals {
	struct kc_correction correction;
	struct kc_rival_record {
		float share;                    /* of the prior in the guess */
		float error[KC_RIVALS], weight; /* learner only */
	} of[KC_FAMILIES];
};

void kc_rivals_init(struct kc_rivals *rivals);

/* log_ns: kc_prior_log_ns(). Replaces λ's guess by that of both. */
void kc_rivals_mix(const struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns,
		   struct kc_solo *solo);

/* A launch of a shape that was never measured took measured_ns > 0. lambda: λ's guess before. weight: what it is worth,
 * 1 for the first launch of a kernel. lesson: what the shape has taught, with this. */
void kc_rivals_learn(struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns,
		     const struct kc_solo *lambda, int64_t measured_ns, float weight,
		     struct kc_correction_lesson *lesson);

/* A later launch of the shape took measured_ns > 0: kc_correction_amend(). */
void kc_rivals_amend(struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns, int64_t measured_ns,
		     struct kc_correction_lesson *lesson);

#endif
