/*
 * The two moments of a launch, the same live and in a replay: what is said of
 * it before it runs, and what is learned from it once it has been measured.
 */
#ifndef KC_OUTLOOK_H
#define KC_OUTLOOK_H

#include "timeline.h"

/* A launch that is being made. */
struct kc_outlook {
	const struct kc_device *device;
	const struct kc_work *work;
	const struct kc_contention *contention; /* of the launch shape; NULL: slowdown by room alone */
	uint32_t identity;                      /* any number that tells the launch shape from others */
};

/* Where it falls on the timeline, and how long it takes there. */
void kc_outlook_place(const struct kc_outlook *outlook, struct kc_timeline *tl, uint32_t stream, int64_t now_ns,
		      int64_t solo_ns, struct kc_placement *out);

/* What it puts on the device: for those that meet it. */
struct kc_load kc_outlook_load(const struct kc_outlook *outlook, int64_t solo_ns);

/* A launch that has been measured, and of which it is known what it met. */
struct kc_lesson {
	const struct kc_work *work;
	struct kc_lambda *lambda;         /* of the launch shape */
	struct kc_contention *contention; /* of the launch shape; may be NULL */
	struct kc_meeting meeting;        /* as predicted */
	struct kc_load met;               /* as measured */
	double slowdown;                  /* as predicted */
	int overlapped;
	uint32_t solos; /* launches of the shape measured alone before */
	int64_t measured_ns;
};

void kc_outlook_learn(const struct kc_lesson *lesson);

#endif
