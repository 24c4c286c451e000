#include "processes_changed.h"

#include "predictor/math/median.h"

#include <math.h>
#include <stdlib.h>

#define CHANCE 3.0       /* standard errors that chance does not explain */
#define BROAD 0.75       /* share of its kernels' time that changed with a process */
#define KERNELS_LEAST 2u /* that changed with it */

/* Time of NEW that a part's change is known for. */
static double weight_of(const struct kc_diff_kernel *part)
{
	return part->estimate.ns[KC_NEW] * part->estimate.launches[KC_NEW];
}

/* Whether so much of its kernels' time changed like this, at least half as much. */
static int is_broad(const struct kc_diff *diff, size_t process, double change)
{
	double all = 0, with = 0;
	size_t kernels = 0;

	for (size_t i = 0; i < diff->part_count; i++) {
		const struct kc_diff_kernel *part = diff->parts + i;
		int is_with = part->estimate.log_change / change >= 0.5;

		if (part->process != process || !part->estimate.enough)
			continue;
		all += weight_of(part);
		with += is_with ? weight_of(part) : 0;
		kernels += is_with != 0;
	}
	return kernels >= KERNELS_LEAST && with >= BROAD * all;
}

/* A process is compared with the median of the others. */
static void judge(const struct kc_measured_names *names, const struct kc_diff *diff, double least,
		  struct kc_diff_process *processes, double *others)
{
	size_t count = names->processes.count + 1, changed = 0, known = 0;

	for (size_t p = 1; p < count; p++) {
		struct kc_diff_process *process = processes + p;
		size_t n = 0;
		double beyond;

		for (size_t k = 0; k < count; k++)
			if (k != p && isfinite(processes[k].log_change))
				others[n++] = processes[k].log_change;
		known += isfinite(process->log_change) != 0;
		if (n == 0 || !isfinite(process->log_change))
			continue;
		beyond = process->log_change - kc_median(others, n);
		process->is_changed = beyond * process->log_change > 0 &&
				      fmin(fabs(beyond), fabs(process->log_change)) > least + CHANCE * process->error &&
				      is_broad(diff, p, process->log_change);
		changed += process->is_changed != 0;
	}
	for (size_t p = 1; changed > 1 && 2 * changed > known && p < count; p++)
		processes[p].is_changed = 0;
}

struct kc_diff_process *kc_diff_processes(const struct kc_measured_names *names, const struct kc_diff *diff,
					  const struct kc_diff_limits *limits)
{
	size_t count = names->processes.count + 1;
	struct kc_diff_process *out = calloc(count, sizeof(*out));
	double *weights = calloc(count, sizeof(*weights));

	for (size_t i = 0; out && weights && i < diff->part_count; i++) {
		const struct kc_diff_kernel *part = diff->parts + i;
		struct kc_diff_process *process = out + part->process;

		if (!part->is_collective)
			process->ns += part->total_ns[KC_NEW] - part->total_ns[KC_OLD];
		if (!part->estimate.enough)
			continue;
		weights[part->process] += weight_of(part);
		process->log_change += weight_of(part) * part->estimate.log_change;
		process->error += pow(weight_of(part) * part->estimate.error, 2);
	}
	for (size_t p = 0; out && weights && p < count; p++) {
		out[p].log_change = weights[p] > 0 ? out[p].log_change / weights[p] : NAN;
		out[p].error = weights[p] > 0 ? sqrt(out[p].error) / weights[p] : NAN;
	}
	if (out && weights)
		judge(names, diff, log1p(limits->over) / 2, out, weights);
	if (!weights) {
		free(out);
		out = NULL;
	}
	free(weights);
	return out;
}
