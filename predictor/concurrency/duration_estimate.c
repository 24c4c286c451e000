#include "duration_estimate.h"

#include <math.h>

#define LARGEST_LOG 36.0f /* of nanoseconds: longer than any kernel */

double kc__estimate_ns(const struct kc_duration_estimate *direct, double placed_ns)
{
	float log_ns = direct->log_ns;
	double ns;

	if (!kc__estimate_is_all(direct))
		log_ns = direct->share * log_ns + (1 - direct->share) * logf((float)fmax(placed_ns, 1));
	ns = (double)expf(fminf(fmaxf(log_ns, 0), LARGEST_LOG));
	if (direct->tick_ns > 1)
		ns = fmax(floor(ns / direct->tick_ns + 0.5), 1) * direct->tick_ns;
	return ns;
}
