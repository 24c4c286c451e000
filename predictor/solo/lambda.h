/*
 * λ: how many times faster a device does a kernel's work than assumed, learned
 * from measured durations.
 *
 *   kc_lambda   one level of what was learned; a tree: device -> key (kernel,
 *               block shape, registers, shared memory) -> launch shape.
 *               Owned and written by one thread.
 *   kc_belief   a small copy of a kc_lambda, published to launching threads.
 *
 * Whoever learns calls kc_lambda_learn() with measured durations and publishes
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
	float factor;     /* 1 / λ: worked out once, not at every launch */
	float width;      /* the interval's: of its upper end to the middle */
	uint32_t count;   /* measurements behind it; 0: nothing learned */
	uint32_t state;   /* id of the row in `lambda` it is */
};

struct kc_lambda {
	struct kc_lambda *parent; /* NULL: the device's */
	double log_value;
	double variance; /* of single observations around it, log time */
	double weight;   /* evidence, in measurements */
	double widening; /* of the interval, a factor: what coverage so far asks for */
	uint32_t count;
	uint32_t spread_count; /* measurements behind the variance */
	uint32_t run;          /* consecutive outliers on one side: a change of phase */
	int32_t side;          /* of that run: -1 faster than predicted, 1 slower */
};

/* With what follows from the logarithms. */
struct kc_belief kc_belief_of(float log_lambda, float half_width, uint32_t count, uint32_t state);

/* A node starts from its parent (or the built-in prior, parent == NULL). */
void kc_lambda_init(struct kc_lambda *node, struct kc_lambda *parent);

/* What another node learned of the same launches, in other units of work, or in the same (NULL). node keeps its
 * parent. */
void kc_lambda_adopt(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
		     const struct kc_work *from_work);

/* The same of launches that are only related: other code of the same name, another device. It is believed until
 * something of this one is measured, and counts for little then. */
void kc_lambda_suppose(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
		       const struct kc_work *from_work);

/* One measured duration, > 0 ns, of this work; overlapped: another kernel ran
 * meanwhile, slowdown is what was predicted for that (1: none). Refines node
 * and its parents. */
void kc_lambda_learn(struct kc_lambda *node, const struct kc_work *work, int64_t measured_ns, int overlapped,
		     double slowdown);

struct kc_belief kc_lambda_belief(const struct kc_lambda *node, uint32_t state);

/* 1: so different from the one in use that it is worth publishing: half a
 * percent of the predicted time, or a tenth of the interval's half width. */
int kc_lambda_is_news(const struct kc_lambda *node, const struct kc_belief *in_use);

/* The share of a measured time that λ scales is taken to be no less than this. */
#define KC__LEAST_SCALED_SHARE 0.02

/* The part of a duration that grows with the work: all but the launch term. */
static inline double kc__scaled_ns(double launch_ns, double ns)
{
	return fmax(ns - launch_ns, KC__LEAST_SCALED_SHARE * ns);
}

#endif
