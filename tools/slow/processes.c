#include "processes.h"
#include "peers.h"

#include "store/common/ids/intern.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEVEL_LEAST 8u      /* launches, for their level to count */
#define PARTS_MOST 32u      /* of a process's launches, as they came */
#define CHANCE 4.0          /* standard errors that chance does not explain */
#define OF_MEDIAN 1.2533    /* standard error of the median of a normal distribution, times sqrt(n) / deviation */
#define OF_QUARTILES 0.7413 /* deviation of a normal distribution over the distance of its quartiles */

struct level {
	uint32_t alike;
	uint32_t unit; /* number of alike and process, less 1 */
	double median, error;
	double fastest, slowest; /* medians of its parts */
};

struct value {
	uint32_t unit, place;
	double log;
};

static int by_unit_and_place(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int by_alike_and_median(const void *a, const void *b)
{
	const struct level *x = a, *y = b;

	if (x->alike != y->alike)
		return x->alike < y->alike ? -1 : 1;
	return x->median < y->median ? -1 : x->median > y->median;
}

static int number_units(const struct kc_slow_timed *timed, size_t count, uint32_t *units)
{
	struct kc_intern ids = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const uint32_t key[] = {timed[i].alike, timed[i].process};
		uint32_t number = kc_intern(&ids, 'u', key, sizeof(key));

		units[i] = number - 1;
		rc = number ? 0 : -ENOMEM;
	}
	kc_intern_free(&ids);
	return rc;
}

/* logs: as they came; they are sorted. */
static void measure(double *logs, size_t n, struct level *out)
{
	size_t parts = n / LEVEL_LEAST < PARTS_MOST ? n / LEVEL_LEAST : PARTS_MOST;
	double low, high;

	out->fastest = INFINITY;
	out->slowest = -INFINITY;
	for (size_t part = 0; part < parts; part++) {
		size_t first = part * n / parts, end = (part + 1) * n / parts;
		double median = kc_slow_quantile(logs + first, end - first, 0.5);

		out->fastest = fmin(out->fastest, median);
		out->slowest = fmax(out->slowest, median);
	}
	low = kc_slow_quantile(logs, n, 0.25);
	high = kc_slow_quantile(logs, n, 0.75);
	out->median = kc_slow_quantile(logs, n, 0.5);
	out->error = OF_MEDIAN * OF_QUARTILES * (high - low) / sqrt((double)n);
}

/* values: by unit and place. logs: room for n. levels: have their alike, by unit. Returns how many levels are known;
 * the others are left out. */
static size_t find_levels(const struct value *values, size_t n, double *logs, struct level *levels)
{
	size_t known = 0;

	for (size_t first = 0, end; first < n; first = end) {
		struct level level = levels[values[first].unit];

		for (end = first; end < n && values[end].unit == values[first].unit; end++)
			logs[end - first] = values[end].log;
		if (end - first < LEVEL_LEAST)
			continue;
		measure(logs, end - first, &level);
		levels[known++] = level; /* units ascend, so that this one is not needed any more */
	}
	return known;
}

static double excess_of(const struct level *level, const struct level *other, const struct kc_diff_limits *limits)
{
	double excess = fmin(level->median - other->median, level->fastest - other->fastest);
	int is_past = excess > log1p(limits->over) && exp(other->median) * expm1(excess) > limits->floor_ns;

	if (excess <= level->slowest - level->fastest)
		return 0;
	return is_past && excess > CHANCE * hypot(level->error, other->error) ? excess : 0;
}

/* n levels of one kind, by their medians. Each is compared with the median of the others, of two with the lower. */
static void compare_levels(const struct level *levels, size_t n, const struct kc_diff_limits *limits, double *of_units)
{
	for (size_t i = 0; n > 1 && i < n; i++) {
		size_t other = (n - 2) / 2;

		other += i <= other;
		of_units[levels[i].unit] = excess_of(levels + i, levels + other, limits);
	}
}

static void compare_all(struct level *levels, size_t n, const struct kc_diff_limits *limits, double *of_units)
{
	if (n)
		qsort(levels, n, sizeof(*levels), by_alike_and_median);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first; end < n && levels[end].alike == levels[first].alike; end++)
			;
		compare_levels(levels + first, end - first, limits, of_units);
	}
}

int kc_slow_processes(const struct kc_slow_timed *timed, size_t count, const struct kc_diff_limits *limits, double *out)
{
	uint32_t *units = calloc(count + 1, sizeof(*units));
	struct value *values = calloc(count + 1, sizeof(*values));
	struct level *levels = calloc(count + 1, sizeof(*levels));
	double *logs = calloc(count + 1, sizeof(*logs)), *of_units = calloc(count + 1, sizeof(*of_units));
	int rc = units && values && levels && logs && of_units ? number_units(timed, count, units) : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		levels[units[i]] = (struct level){.alike = timed[i].alike, .unit = units[i]};
		if (timed[i].tells)
			values[n++] = (struct value){units[i], (uint32_t)i, timed[i].log};
	}
	if (rc == 0) {
		if (n)
			qsort(values, n, sizeof(*values), by_unit_and_place);
		compare_all(levels, find_levels(values, n, logs, levels), limits, of_units);
		for (size_t i = 0; i < count; i++)
			out[i] = of_units[units[i]];
	}
	free(units);
	free(values);
	free(levels);
	free(logs);
	free(of_units);
	return rc;
}
