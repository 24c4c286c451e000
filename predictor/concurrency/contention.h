/*
 * How much slower a kernel gets because others use the device as well: issue
 * slots, memory bandwidth, L2. Room on the SMs is the timeline's matter; this is
 * the slowdown that remains when every block fits.
 *
 *   kc_load         use of the device, in shares of its capacity: by one kernel,
 *                   or by the others while it runs
 *   kc_expected_contention      what was expected at a launch: the load of the others, the
 *                   slowdown by room alone, and the classes of its situation;
 *                   kept until the launch is measured
 *   kc_contention   what was learned of one launch shape; its parent is the
 *                   device's, which answers for shapes not yet measured
 *
 * Several simple forecasts of log(time / solo) compete: the slowdown by room; a
 * law linear in the load, with learned sensitivities; and running medians over all
 * launches of the shape, over those that expect a similar load, and over those
 * that find as many streams busy. The answer is their mean, weighted by
 * how accurate each has been: what others will launch meanwhile is not known, but
 * it repeats. Launches that expect to overlap others are judged apart from those
 * that do not: without overlap every forecast of no slowdown is right, which says
 * nothing of its worth with overlap.
 *
 * One thread learns. Any thread may ask meanwhile: everything read is a word of
 * 64 bits, read and written whole.
 */
#ifndef KC_CONTENTION_H
#define KC_CONTENTION_H

#include "predictor/solo/forecast.h"

#include <stdint.h>

enum kc_load_term { KC_LOAD_ISSUE, KC_LOAD_MEMORY, KC_LOAD_L2, KC_LOAD_TERMS };

struct kc_load {
	float of[KC_LOAD_TERMS]; /* 0: none; 1: all of the device */
};

struct kc_expected_contention {
	struct kc_load load;
	float room;       /* slowdown by room on the SMs alone, ≥ 1 */
	uint16_t streams; /* others with work that has not ended; KC_STREAM_CLASSES - 1: so many or more */
	uint16_t crowd;   /* by the others' use of issue slots, below KC_LOAD_CLASSES; 0: too little to be noticed */
};

enum kc_contention_forecast {
	KC_FORECAST_ROOM, /* kc_expected_contention.room */
	KC_FORECAST_LAW,  /* the linear law */
	KC_FORECAST_SHAPE,
	KC_FORECAST_LOAD,
	KC_FORECAST_STREAMS,
	KC_FORECASTS,
};

#define KC_LOAD_CLASSES 6u
#define KC_STREAM_CLASSES 8u
#define KC_OVERLAP_CELLS 3u /* without expected overlap, and again with it */
#define KC_CONTENTION_CELLS (2 * KC_OVERLAP_CELLS + KC_LOAD_CLASSES + KC_STREAM_CLASSES)

struct kc_contention {
	struct kc_contention *parent;        /* NULL: this is the device's */
	uint64_t cells[KC_CONTENTION_CELLS]; /* log slowdown and its weight, two floats; 0: empty */
	uint64_t law[2];                     /* sensitivities, as floats; the last 32 bits are free */
	uint8_t counts[KC_CONTENTION_CELLS]; /* measurements behind each, up to 255. Learner only */
	float errors[KC_CONTENTION_CELLS];   /* mean absolute error of the logarithms, from which the weights follow.
						Learner only */
	float log_solo;                      /* solo time that the cells refer to; 0: none yet. Learner only */
};

/* parent NULL: this is the device's. Nothing is learned yet. */
void kc_contention_init(struct kc_contention *c, struct kc_contention *parent);

/* Without what follows from the rest, as it is saved: the parent, and the cells' weights. And with them again. */
void kc_contention_detach(struct kc_contention *c);
void kc_contention_attach(struct kc_contention *c, struct kc_contention *parent);

/* Load of a kernel that runs alone. bytes: its traffic to device memory, 0 where not known. solo_ns > 0. */
struct kc_load kc_load_of(const struct kc_device *device, const struct kc_work *work, double bytes, int64_t solo_ns);

/* Adds another kernel's load, present during overlap_ns of a kernel's own_ns, to the load that this kernel met. */
void kc_load_add_overlap(struct kc_load *met, const struct kc_load *other, int64_t overlap_ns, int64_t own_ns);

/* What classes the launch by the load that it expects to meet, which is set, and the other streams with work that has
 * not ended. */
static inline void kc_expected_contention_classify(struct kc_expected_contention *meeting, uint32_t streams)
{
	float issue =
	    meeting->load.of[KC_LOAD_ISSUE]; /* each class of it spans about twice the load of the one before */

	meeting->crowd =
	    (uint16_t)((issue > 0.02f) + (issue > 0.125f) + (issue > 0.25f) + (issue > 0.5f) + (issue > 1.0f));
	meeting->streams = (uint16_t)(streams < KC_STREAM_CLASSES ? streams : KC_STREAM_CLASSES - 1);
}

/* Packed into 64 bits for records: room to 1 / 4096 up to 4096, loads to 1 / 32 up to 7.97. */
uint64_t kc_expected_contention_pack(const struct kc_expected_contention *meeting);
struct kc_expected_contention kc_expected_contention_unpack(uint64_t packed);

/* Time over solo time, ≥ 1: no more than a fair share of the device for each stream found busy, this launch and one
 * that may begin costs, beside the slowdown by room. c NULL: the slowdown by room. */
float kc_contention_slowdown(const struct kc_contention *c, const struct kc_expected_contention *meeting);

/* A launch was measured. solo_ns > 0: its solo time as now known; met: the load that others really put on the device
 * while it ran. */
void kc_contention_learn(struct kc_contention *c, const struct kc_expected_contention *meeting,
			 const struct kc_load *met, int64_t solo_ns, int64_t measured_ns);

#endif
