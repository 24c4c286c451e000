/*
 * λ: how many times faster a device does a kernel's work than assumed. Learned
 * from measured durations.
 *
 *   kc_lambda   one level of what was learned, in a tree: device -> key (kernel,
 *               block shape, registers, shared memory) -> launch shape. Owned and
 *               written by one thread
 *   kc_belief   a small copy of a kc_lambda, published to launching threads
 *
 * The learning thread calls kc_lambda_learn() with measured durations and publishes
 * the new beliefs.
 */
#ifndef KC_LAMBDA_H
#define KC_LAMBDA_H

#include "work.h"

#include <math.h>
#include <stdint.h>

struct kc_belief {
	float log_lambda;
	float half_width; /* of the 90 % interval, in log time */
	float factor;     /* 1 / λ, computed once */
	float width;      /* upper end of the interval over its middle */
	uint32_t count;   /* measurements behind it; 0: nothing learned */
	uint32_t state;   /* id of its row in the table `lambda` */
};

struct kc_lambda {
	struct kc_lambda *parent; /* NULL: this is the device's */
	double log_value;
	double variance; /* of measurements around the prediction, log time */
	double weight;   /* of the evidence, in measurements */
	double widening; /* factor on the interval's width, learned from how many launches it contained */
	uint32_t count;
	uint32_t spread_count; /* measurements behind the variance */
	uint32_t run;          /* consecutive outliers on one side: the application's phase has changed */
	int32_t side;          /* of that run: -1 faster than predicted, 1 slower */
};

/* Fills in what follows from the two logarithms. */
static inline struct kc_belief kc_belief_of(float log_lambda, float half_width, uint32_t count, uint32_t state)
{
	return (struct kc_belief){
	    .log_lambda = log_lambda,
	    .half_width = half_width,
	    .factor = expf(-log_lambda),
	    .width = expf(half_width),
	    .count = count,
	    .state = state,
	};
}

/* A node starts from its parent, or from the built-in prior where parent is NULL. */
void kc_lambda_init(struct kc_lambda *node, struct kc_lambda *parent);

/* Takes over what another node learned of the same launches. The works tell how its unit differs; NULL: it does not.
 * node keeps its parent. */
void kc_lambda_copy(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
		    const struct kc_work *from_work);

/* The same for launches that are only related: other code of the same name, another device. It is used until a launch
 * of this node is measured, and has little weight then. */
void kc_lambda_start_from_related(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
				  const struct kc_work *from_work);

/* A launch with this work took measured_ns > 0. overlapped: another kernel ran meanwhile, and slowdown was predicted
 * for that (1: none). Updates the node and its parents. */
void kc_lambda_learn(struct kc_lambda *node, const struct kc_work *work, int64_t measured_ns, int overlapped,
		     double slowdown);

struct kc_belief kc_lambda_belief(const struct kc_lambda *node, uint32_t state);

/* 1: the node differs from the published belief by half a percent of the predicted time, or by a tenth of the
 * interval's half width. */
int kc_lambda_needs_publishing(const struct kc_lambda *node, const struct kc_belief *in_use);

/* Share of a measured time that λ scales, at least. */
#define KC__LEAST_SCALED_SHARE 0.02

/* The part of a duration that grows with the work, which excludes the launch term. */
static inline double kc__scaled_ns(double launch_ns, double ns)
{
	return fmax(ns - launch_ns, KC__LEAST_SCALED_SHARE * ns);
}

#endif
