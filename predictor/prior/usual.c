#include "usual.h"

#include "predictor/math/duration.h"

#include <math.h>

/* What kernels take where nothing is known, by their threads. The bound was chosen on the recorded traces that are
 * marked "choose": with a factor of 8, samples come out at 1.5 times the mean error, and with guesses that stay
 * unchanged up to the bound, operators at 1.06 times. */
#define USUAL_NS 5000.0
#define USUAL_THREADS 32768.0
#define USUAL_SLOPE 0.35  /* of log time over log threads */
#define NOMINAL_SHARE 0.1 /* of the nominal work, which a thread has at least: about 7 bytes to or from memory */
#define FARTHEST 5.0      /* a factor */
#define WIDEST 3.3        /* log time: half the interval of a guess that was moved far */

double kc_usual_ns(const struct kc_work *work)
{
	double threads = fmax((double)work->blocks * work->threads_per_block, 1);

	return USUAL_NS * pow(threads / USUAL_THREADS, USUAL_SLOPE) + NOMINAL_SHARE * work->unit_ns;
}

void kc_usual_bound(const struct kc_work *work, struct kc_solo *solo)
{
	double usual_ns = kc_usual_ns(work), ns = fmax((double)solo->ns, 1);
	double off = log(ns / usual_ns), kept = log(FARTHEST) * tanh(off / log(FARTHEST));
	double half = fmax((double)solo->half_width, fmin(fabs(off - kept), WIDEST));

	ns = usual_ns * exp(kept);
	solo->ns = kc__whole_ns(ns);
	solo->low_ns = kc__whole_ns(ns * exp(-half));
	solo->high_ns = kc__whole_ns(ns * exp(half));
	solo->half_width = (float)half;
}
