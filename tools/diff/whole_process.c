#include "whole_process.h"

#include "predictor/math/median.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CHANCE 3.0        /* standard errors that chance does not explain */
#define BROAD 0.75        /* share of its parts' time that differs with a process */
#define PARTS_LEAST 2u    /* that differ with it */
#define AS_MUCH_LEAST 0.5 /* of the process's difference: a part differs with it */

static void add_up(const struct kc_whole_part *parts, size_t n, struct kc_whole_process *out, size_t count,
		   double *weights)
{
	for (size_t p = 0; p < count; p++)
		out[p] = (struct kc_whole_process){0};
	for (size_t i = 0; i < n; i++) {
		struct kc_whole_process *process = out + parts[i].process;

		weights[parts[i].process] += parts[i].weight;
		process->log += parts[i].weight * parts[i].log;
		process->error += pow(parts[i].weight * parts[i].error, 2);
	}
	for (size_t p = 0; p < count; p++) {
		out[p].log = weights[p] > 0 ? out[p].log / weights[p] : NAN;
		out[p].error = weights[p] > 0 ? sqrt(out[p].error) / weights[p] : NAN;
	}
}

/* with: the time of each process's parts that differ with it; places: how many they are. */
static void find_broad(const struct kc_whole_part *parts, size_t n, const struct kc_whole_process *out, double *with,
		       size_t *places)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i].log / out[parts[i].process].log >= AS_MUCH_LEAST) {
			with[parts[i].process] += parts[i].weight;
			places[parts[i].process]++;
		}
}

/* How far a process is from the median of the others. NAN: there is none. */
static double beyond_others(const struct kc_whole_process *out, size_t count, size_t process, double *others)
{
	size_t n = 0;

	for (size_t p = 0; p < count; p++)
		if (p != process && isfinite(out[p].log))
			others[n++] = out[p].log;
	return out[process].log - kc_median(others, n);
}

int kc_whole_processes(const struct kc_whole_part *parts, size_t n, double least, struct kc_whole_process *out,
		       size_t count)
{
	double *weights = calloc(count + 1, sizeof(*weights)), *with = calloc(count + 1, sizeof(*with)),
	       *others = calloc(count + 1, sizeof(*others));
	size_t *places = calloc(count + 1, sizeof(*places)), differ = 0, known = 0;
	int rc = weights && with && others && places ? 0 : -ENOMEM;

	if (rc == 0) {
		add_up(parts, n, out, count, weights);
		find_broad(parts, n, out, with, places);
	}
	for (size_t p = 0; rc == 0 && p < count; p++) {
		double beyond = beyond_others(out, count, p, others);

		known += isfinite(out[p].log) != 0;
		out[p].differs = beyond * out[p].log > 0 && places[p] >= PARTS_LEAST && with[p] >= BROAD * weights[p] &&
				 fmin(fabs(beyond), fabs(out[p].log)) > least + CHANCE * out[p].error;
		differ += out[p].differs != 0;
	}
	for (size_t p = 0; differ > 1 && 2 * differ > known && p < count; p++)
		out[p].differs = 0;
	free(weights);
	free(with);
	free(others);
	free(places);
	return rc;
}
