/*
 * The moments of a launch, the same live and in a replay: what is said of it
 * before it runs, and what is learned from it: at once when it has been
 * measured, and once it is known what it ran beside.
 *
 *   kc_device_experience   what launches on a device have taught: their durations
 *                          by context, how wide intervals must be, which model to
 *                          believe. The learner's; launching threads read it
 *   kc_kernel_experience   the same of one kernel
 *   kc_outlook             a launch that is being made, and what the timeline asks of it
 *   kc_prospect            with what the models and the launches before it say
 *   kc_prediction          the answer
 *   kc_answers             what contexts and models said of the launches last made, for
 *                          when they are made again: in a loop most are, and nothing
 *                          new has been learned of them meanwhile
 *   kc_outcome, kc_lesson  it has been measured; it is known what it met
 */
#ifndef KC_OUTLOOK_H
#define KC_OUTLOOK_H

#include "margins.h"
#include "predictor/concurrency/timeline.h"

#include <stddef.h>

struct kc_device_experience {
	struct kc_cells *cells; /* of all devices; NULL: contexts are not told apart */
	struct kc_standing standing;
	struct kc_margins margins;
	uint64_t tick;           /* ns that all durations so far are multiples of. Learner only */
	uint32_t tick_ns, timed; /* the same once it is sure; durations behind it (learner only) */
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
	uint32_t identity;                      /* any number that tells the launch shape from others */
};

/* What it puts on the device: for those that meet it. */
struct kc_load kc_outlook_load(const struct kc_outlook *outlook, int64_t solo_ns);

/* Of one device; launching threads own them, with the timeline and the history. All zeros: none. */
struct kc_answers;
size_t kc_answers_bytes(void); /* 0.4 MiB */

struct kc_prospect {
	struct kc_outlook launch;
	struct kc_name name;
	enum kc_novelty novelty;
	struct kc_solo solo; /* by λ */
	int alone;           /* 1: λ rests on launches that ran alone */
	const struct kc_device_experience *device;
	const struct kc_kernel_experience *kernel;
	struct kc_answers *answers; /* NULL: each launch is thought over */
	uint32_t news;              /* another number once enough has been learned of such launches to ask again */
};

struct kc_prediction {
	struct kc_placement placement;              /* its slowdown: end - start over solo_ns */
	int64_t solo_ns, solo_low_ns, solo_high_ns; /* 90 % interval; times the slowdown, that of the duration */
	uint32_t model;                             /* enum kc_model */
	uint64_t context;                           /* to be kept until it is measured */
	struct kc_candidates candidates;            /* what the models said; none where an answer was at hand */
};

/* The caller serialises calls on one timeline and its history. */
void kc_outlook_predict(const struct kc_prospect *prospect, struct kc_timeline *tl, struct kc_history *history,
			uint32_t stream, int64_t now_ns, struct kc_prediction *out);

/* A launch that has been measured. */
struct kc_outcome {
	struct kc_device_experience *device;
	struct kc_kernel_experience *kernel;
	struct kc_name name;
	uint64_t context;
	float slowdown;          /* of the meeting predicted, by kc_contention_slowdown() */
	int64_t low_ns, high_ns; /* interval of the duration, as predicted */
	enum kc_novelty novelty; /* of such a launch now, before this is learned */
	struct kc_solo solo;     /* likewise, by λ */
	int64_t measured_ns;
};

void kc_outlook_measured(const struct kc_outcome *outcome);

/* 1: what was measured is worth asking again for such launches. measured: of them so far. */
int kc_outlook_is_news(const struct kc_outcome *outcome, uint32_t measured);

/* A launch that has been measured, and of which no more will be known of what it met. */
struct kc_lesson {
	const struct kc_work *work;
	struct kc_lambda *lambda;         /* of the launch shape */
	struct kc_contention *contention; /* of the launch shape; NULL: it is not known what it met */
	struct kc_meeting meeting;        /* as predicted */
	struct kc_load met;               /* as measured */
	double slowdown;                  /* as predicted */
	int overlapped;                   /* 0: it is known to have run alone */
	uint32_t solos;                   /* launches of the shape measured alone before */
	int64_t measured_ns;
};

void kc_outlook_learn(const struct kc_lesson *lesson);

#endif
