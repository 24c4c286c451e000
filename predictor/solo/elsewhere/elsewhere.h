/*
 * What a launch that was measured on one GPU would take on another one.
 *
 *   kc_elsewhere_launch     its time here, and how it lies on both GPUs
 *   kc_elsewhere_law        what of that time goes with bandwidth, and what with SMs and clock
 *   kc_elsewhere_anchors    what launches that were timed on both GPUs tell beyond the law
 *   kc_elsewhere            the time there, its 90 % range, and what it rests on
 *
 * The law: log(there / here) = m · log(bandwidth here / there) + (1 - m) · (log(√(1 + waves²) there / here) +
 * log(clock here / there)). m, the share that goes with memory, falls from `high` to `low` where the bytes that memory
 * could have moved per thread, in the time measured, exceed `bytes`: a kernel that leaves memory no time for more than
 * a few words per thread is bound by it. Waves are taken as in wave scaling (Yu et al. 2021, Habitat, Equation 1), but
 * without its steps; a grid that does not fill a GPU takes the time of one block, however many SMs there are.
 *
 * The constants were chosen on recordings of ../shared/data that are marked *choose* or not marked: solo_bsp,
 * NeuSight's operators, tuning. elsewhere_trace_test.c chooses them anew, without the GPU that it predicts, and prints
 * and limits the errors. What anchors weigh, and the widths beside the laws', were set on the same data.
 */
#ifndef KC_ELSEWHERE_H
#define KC_ELSEWHERE_H

#include "predictor/device/device.h"

#include <stdint.h>

struct kc_elsewhere_launch {
	double ns;                      /* > 0, here */
	double threads;                 /* of the grid; 0: neither it nor waves are known */
	double waves_here, waves_there; /* blocks / (SMs · occupancy), not rounded, > 0 */
};

struct kc_elsewhere_law {
	double bytes;      /* per thread */
	double low, high;  /* shares, 0 to 1 */
	double unknown;    /* share where the grid is not known */
	double half_width; /* of the 90 % range, in log time */
};

/* What the time there rests on, the surest first. */
#define KC_ELSEWHERE_EVIDENCES(X)                                                                                      \
	X(KNOWN, "known", "timed on it")                                                                               \
	X(SIZE, "size", "the same kernel was timed on it, at another size")                                            \
	X(OTHERS, "others", "other kernels were timed on it")                                                          \
	X(WITHIN, "within", "by law, within its architecture")                                                         \
	X(ACROSS, "across", "by law, from another architecture")                                                       \
	X(NEW, "new", "by law, to an architecture that was not in training")                                           \
	X(UNKNOWN, "unknown", "not known")

enum kc_elsewhere_evidence {
#define X(constant, key, text) KC_ELSEWHERE_##constant,
	KC_ELSEWHERE_EVIDENCES(X)
#undef X
	    KC_ELSEWHERE_COUNT,
};
const char *kc_elsewhere_key(enum kc_elsewhere_evidence evidence);
const char *kc_elsewhere_text(enum kc_elsewhere_evidence evidence);

/* log(measured there / by the law) of launches that were timed on both GPUs. */
struct kc_elsewhere_anchors {
	double size;    /* of the same kernel at the size that is nearest in time here; NAN: none */
	double others;  /* median over other kernels */
	uint32_t count; /* of these: fewer than KC_ELSEWHERE_OTHERS_LEAST are not asked */
};

#define KC_ELSEWHERE_OTHERS_LEAST 5u

struct kc_elsewhere {
	double ns, low_ns, high_ns; /* NAN: not known */
	enum kc_elsewhere_evidence evidence;
};

/* Whether both are of one architecture (Kepler, Maxwell, Pascal, Volta, Turing, Ampere, Ada, Hopper, Blackwell) and
 * have as many FP32 lanes in an SM, which an A100 and an RTX 3090 have not, nor a P100 and a P4. */
int kc_elsewhere_is_within(const struct kc_device *here, const struct kc_device *there);
const struct kc_elsewhere_law *kc_elsewhere_law(const struct kc_device *here, const struct kc_device *there);
/* log(there / here) by this law. The devices are complete (kc_device_is_possible()). */
double kc_elsewhere_log_ratio(const struct kc_elsewhere_law *law, const struct kc_device *here,
			      const struct kc_device *there, const struct kc_elsewhere_launch *launch);
void kc_elsewhere(const struct kc_device *here, const struct kc_device *there, const struct kc_elsewhere_launch *launch,
		  const struct kc_elsewhere_anchors *anchors, struct kc_elsewhere *out);

/* The same by another law. */
void kc__elsewhere_by(const struct kc_elsewhere_law *law, const struct kc_device *here, const struct kc_device *there,
		      const struct kc_elsewhere_launch *launch, const struct kc_elsewhere_anchors *anchors,
		      struct kc_elsewhere *out);

/* Whether it is faster (-1) or slower (1) there; 0: cannot tell. For single launches and for sums: by how much the time
 * differs, over the half width of its range in log time, for at most 5 % of such answers to be wrong. */
int kc_elsewhere_verdict(double here_ns, double there_ns, double high_ns);

#endif
