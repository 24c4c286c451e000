#include "trend.h"

#include "predictor/math/median.h"

#include <math.h>

#define PART_LEAST 8u    /* launches */
#define PARTS_LEAST 4u   /* to see a drift */
#define FAR_FROM 8u      /* launches, from which their scatter is known */
#define PRECISION 0.01   /* standard error of a part's median */
#define OF_MEDIAN 1.2533 /* standard error of the median of a normal distribution, times sqrt(n) / deviation */
#define OF_STEPS 1.0484  /* deviation over the median of |step| to the next value: 1.4826 / sqrt(2) */
#define CHANCE 4.0       /* standard errors that chance does not explain */
#define FASTEST 1.5      /* standard errors within which parts count as the fastest */
#define TAIL 0.1
#define FAR_LEAST 0.05

/* Of the values around whatever they drift along. */
static double deviation(const struct kc_slow_sample *samples, size_t n, double *values)
{
	for (size_t i = 0; i + 1 < n; i++)
		values[i] = fabs(samples[i + 1].log - samples[i].log);
	return n > 1 ? OF_STEPS * kc_quantile(values, n - 1, 0.5) : 0;
}

static double median(const struct kc_slow_sample *samples, size_t n, double *values)
{
	for (size_t i = 0; i < n; i++)
		values[i] = samples[i].log;
	return kc_quantile(values, n, 0.5);
}

static uint32_t count_parts(size_t n, double scatter)
{
	double least = ceil(pow(OF_MEDIAN * scatter / PRECISION, 2));

	least = fmin(fmax(least, PART_LEAST), (double)n / PARTS_LEAST);
	if (least < PART_LEAST)
		return 1;
	return (uint32_t)fmin((double)n / least, KC_SLOW_PARTS);
}

/* The first sample of a part. */
static size_t first_of(uint32_t part, uint32_t parts, size_t n)
{
	return (size_t)((uint64_t)part * n / parts);
}

/* The mean of the fastest parts; where the run begins or ends with a slope, what it came from. medians: by part. */
static double level_of(const double *medians, uint32_t parts, double least, double error)
{
	double sum = 0, here, next, after;
	uint32_t met = 0;

	for (uint32_t p = 0; p < parts; p++)
		if (medians[p] <= least + FASTEST * error) {
			sum += medians[p];
			met++;
		}
	for (int at_end = 0; at_end < 2; at_end++) {
		here = medians[at_end ? parts - 1 : 0];
		next = medians[at_end ? parts - 2 : 1];
		after = medians[at_end ? parts - 3 : 2];
		if (here <= least && next - here > FASTEST * M_SQRT2 * error && after - next > (next - here) / 2)
			return here - (next - here) / 2;
	}
	return sum / met;
}

/* Sets level, parts and drift if the parts' medians are that far apart. */
static void find_drift(const struct kc_slow_sample *samples, size_t n, uint32_t parts, double scatter, double over,
		       double *values, struct kc_slow_trend *out)
{
	double error = OF_MEDIAN * scatter / sqrt((double)n / parts), least = INFINITY, most = -INFINITY;

	for (uint32_t p = 0; p < parts; p++) {
		size_t first = first_of(p, parts, n), end = first_of(p + 1, parts, n);

		out->drift[p] = median(samples + first, end - first, values);
		out->end_ns[p] = end < n ? samples[end].at_ns : INT64_MAX;
		least = fmin(least, out->drift[p]);
		most = fmax(most, out->drift[p]);
	}
	if (most - least <= fmax(2 * over, CHANCE * M_SQRT2 * error))
		return;
	out->level = level_of(out->drift, parts, least, error);
	out->parts = parts;
	for (uint32_t p = 0; p < parts; p++) {
		out->drift[p] -= out->level;
		if (out->drift[p] < FASTEST * error)
			out->drift[p] = 0;
		out->most = fmax(out->most, out->drift[p]);
	}
}

double kc_slow_drift(const struct kc_slow_trend *trend, int64_t at_ns)
{
	for (uint32_t p = 0; p < trend->parts; p++)
		if (at_ns < trend->end_ns[p] || p + 1 == trend->parts)
			return trend->drift[p];
	return 0;
}

void kc_slow_trend(const struct kc_slow_sample *samples, size_t n, double over, double *values,
		   struct kc_slow_trend *out)
{
	double scatter = deviation(samples, n, values), low, high;
	uint32_t parts = count_parts(n, scatter);

	*out = (struct kc_slow_trend){.level = median(samples, n, values), .far = NAN};
	if (parts >= PARTS_LEAST)
		find_drift(samples, n, parts, scatter, over, values, out);
	if (n < FAR_FROM)
		return;
	for (size_t i = 0; i < n; i++)
		values[i] = samples[i].log - out->level - kc_slow_drift(out, samples[i].at_ns);
	low = kc_quantile(values, n, TAIL);
	high = kc_quantile(values, n, 1 - TAIL);
	out->far = high + fmax(high - low, FAR_LEAST);
}
