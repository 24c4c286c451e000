/*
 * What is predicted of a launch before it runs, and what is learned from it
 * afterwards: first when it is measured, then when it is known which kernels it
 * overlapped. Live and in a replay alike.
 *
 *   kc_device_experience   what launches on a device have taught: durations by
 *                          context, widths of intervals, which model to believe.
 *                          The learner writes, launching threads read
 *   kc_kernel_experience   the same of one kernel
 *   kc_outlook             a launch about to be made, as the timeline needs it
 *   kc_prediction_request            the same with what models and earlier launches say
 *   kc_prediction          the result
 *   kc_estimate_cache             a cache of estimates for launches that are repeated
 *                          before anything new was learned, as most in a loop are
 *   kc_measured_launch             a launch that was measured
 *   kc_decided_launch              the same once its overlap is known
 */
#ifndef KC_OUTLOOK_H
#define KC_OUTLOOK_H

#include "margins.h"
#include "predictor/concurrency/timeline.h"

#include <stdatomic.h>
#include <stddef.h>

/* What a prediction is made of. Research switches parts off, one bit each, to see what they are worth; "without" tells
 * what takes the place of a part that is off. */
enum kc_layer {
	KC_LAYER_LAMBDA,     /* λ of launch shapes and kernels; without: the device's alone */
	KC_LAYER_SIZES,      /* times of other sizes */
	KC_LAYER_CONTEXTS,   /* durations by the launches before */
	KC_LAYER_MIX,        /* which model to believe; without: as before anything was measured */
	KC_LAYER_CONTENTION, /* learned slowdown; without: by room on the SMs alone */
	KC_LAYER_PLACEMENT,  /* left-over placement; without: behind the launches of its stream, whatever else runs */
	KC_LAYER_MARGINS,    /* learned widths of intervals */
	KC_LAYER_PRIOR,      /* what other machines teach of kernels never measured; without: λ of the device */
	KC_LAYERS,
};
static inline int kc_lacks(uint32_t without, enum kc_layer layer)
{
	return (without >> layer & 1) != 0;
}

struct kc_device_experience {
	struct kc_cells *cells; /* shared by all devices; NULL: contexts are not told apart */
	struct kc_standing standing;
	struct kc_margins margins;
	uint64_t tick;           /* ns: greatest common divisor of all durations so far. Learner only */
	uint32_t tick_ns, timed; /* the same once it is certain; number of durations behind it (learner only) */
};

struct kc_kernel_experience {
	struct kc_standing standing; /* its parent: the device's */
	struct kc_margin margin;
};

void kc_device_experience_init(struct kc_device_experience *device, struct kc_cells *cells);
void kc_kernel_experience_init(struct kc_kernel_experience *kernel, struct kc_device_experience *device);

struct kc_outlook {
	const struct kc_device *device;
	const struct kc_work *work;
	const struct kc_contention *contention; /* of the launch shape; NULL: slowdown by room alone */
	uint32_t identity;                      /* any number that names the launch shape */
	int in_stream;                          /* 1: KC_LAYER_PLACEMENT is off, so it is placed by its stream alone */
};

/* The load that the launch puts on the device. */
struct kc_load kc_outlook_load(const struct kc_outlook *outlook, int64_t solo_ns);

/* For one device; launching threads own it, with the timeline and the history. All zeros: empty. */
struct kc_estimate_cache;
size_t kc_estimate_cache_bytes(void); /* 0.4 MiB */

/* The launches of one kind in this process; those in flight are the difference. Launching threads count what was
 * launched, the learner what of it was measured. */
struct kc_outstanding {
	_Atomic uint32_t launched, measured;
};

struct kc_prediction_request {
	struct kc_outlook launch;
	struct kc_name name;
	enum kc_novelty novelty;
	struct kc_solo solo; /* predicted by λ */
	struct kc_load load; /* kc_outlook_load() of that time */
	int alone;           /* 1: λ was learned from launches that ran alone */
	const struct kc_device_experience *device;
	const struct kc_kernel_experience *kernel;
	const struct kc_range *range;       /* of such launches; NULL: intervals are not cut to it */
	struct kc_outstanding *outstanding; /* of such launches; NULL: none is taken to be in flight */
	uint32_t measured;                  /* such launches so far, in earlier runs as well */
	uint64_t known;                     /* events that have been taken in */
	struct kc_estimate_cache *answers;  /* NULL: no cache */
	struct kc_repeated *repeated; /* of launches that this is asked for, until it is asked again; NULL: not kept */
	uint32_t news;                /* changes when enough has been learned of such launches to estimate them anew */
	uint32_t belief, lessons;     /* of the engine: the state of knowledge that it holds for */
};

struct kc_prediction {
	struct kc_placement placement; /* its slowdown is (end - start) / solo_ns */
	int64_t solo_ns, solo_low_ns,
	    solo_high_ns;                /* 90 % interval; multiplied by the slowdown it is that of the duration */
	uint32_t model;                  /* enum kc_model */
	uint64_t context;                /* to be kept until the launch is measured */
	struct kc_candidates candidates; /* what each model predicted; none where the estimate came from the cache */
};

/* The caller serialises calls on one timeline and its history. */
void kc_outlook_predict(const struct kc_prediction_request *prospect, struct kc_timeline *tl,
			struct kc_history *history, uint32_t stream, int64_t now_ns, struct kc_prediction *out);

/* A launch that has been measured. */
struct kc_measured_launch {
	struct kc_device_experience *device;
	struct kc_kernel_experience *kernel;
	struct kc_range *range; /* NULL: it is not kept */
	struct kc_name name;
	uint64_t context;
	uint64_t known, event;   /* events taken in when it was predicted; number of this one */
	float slowdown;          /* expected, by kc_contention_slowdown() */
	int64_t low_ns, high_ns; /* predicted interval of the duration */
	enum kc_novelty novelty; /* of such a launch before this measurement is learned */
	struct kc_solo solo;     /* predicted by λ before this measurement is learned */
	int64_t measured_ns;
	uint32_t without; /* a bit for each enum kc_layer that does not learn */
};

void kc_outlook_measured(const struct kc_measured_launch *outcome);

/* 1: the measurement changes what is known enough to estimate such launches anew. measured: how many there were before.
 */
int kc_outlook_changes_estimates(const struct kc_measured_launch *outcome, uint32_t measured);

/* A launch that was measured, and whose overlap is known or never will be. */
struct kc_decided_launch {
	const struct kc_work *work;
	struct kc_lambda *lambda;              /* of the launch shape */
	struct kc_contention *contention;      /* of the launch shape; NULL: its overlap is unknown */
	struct kc_expected_contention meeting; /* as predicted */
	struct kc_load met;                    /* of the kernels that it overlapped, as measured */
	double slowdown;                       /* as predicted */
	int overlapped;                        /* 0: it ran alone */
	uint32_t solos;                        /* launches of the shape that were measured alone before */
	int64_t measured_ns;
};

void kc_outlook_learn(const struct kc_decided_launch *lesson);

#endif
