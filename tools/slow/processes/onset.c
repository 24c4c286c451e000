#include "onset.h"

#include "predictor/math/median.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PART_LEAST 16u /* launches before and after */
#define FARTHEST 1.0   /* one launch counts no more, of the logarithm */
#define CHANCE 6.0     /* standard errors that chance does not explain, at any of the launches */
#define THIRDS 3u
#define AS_MUCH_LEAST 0.5 /* of the change: a part has it, too */
#define BROAD 0.75        /* share of the time, at launch shapes that have it */
#define UNITS_LEAST 2u    /* that have it */

struct unit {
	double sum, ns;
	uint32_t launches;
};

struct process {
	const struct kc_slow_beyond *at;
	size_t count, first; /* first: slower launch */
	double *sums;        /* of the logarithms of those before each */
	double before, after;
};

static double bounded(double log)
{
	return fmax(fmin(log, FARTHEST), -FARTHEST);
}

static double mean(const struct process *p, size_t first, size_t end)
{
	return end > first ? (p->sums[end] - p->sums[first]) / (double)(end - first) : 0;
}

/* Sets first, before and after. Returns whether chance explains no such change. */
static int divide(struct process *p)
{
	double best = 0, squares = 0, n = (double)p->count;

	for (size_t k = PART_LEAST; k + PART_LEAST <= p->count; k++) {
		double difference = mean(p, k, p->count) - mean(p, 0, k);
		double weight = (double)k * (n - (double)k) / n;

		if (difference > 0 && difference * difference * weight > best) {
			best = difference * difference * weight;
			p->first = k;
		}
	}
	if (best <= 0)
		return 0;
	p->before = mean(p, 0, p->first);
	p->after = mean(p, p->first, p->count);
	for (size_t i = 0; i < p->count; i++)
		squares += pow(bounded(p->at[i].log) - (i < p->first ? p->before : p->after), 2);
	return best > CHANCE * CHANCE * squares / n;
}

static int lasts(const struct process *p)
{
	size_t n = p->count - p->first;

	for (size_t i = 0; i < THIRDS; i++)
		if (mean(p, p->first + i * n / THIRDS, p->first + (i + 1) * n / THIRDS) < AS_MUCH_LEAST * p->after)
			return 0;
	return 1;
}

/* of: by unit, zeros; those of the process are set. */
static int is_broad(const struct process *p, struct unit *of)
{
	double all = 0, with = 0;
	size_t n = 0;

	for (size_t i = p->first; i < p->count; i++) {
		struct unit *unit = of + p->at[i].unit;

		unit->sum += p->at[i].log;
		unit->ns += p->at[i].ns;
		unit->launches++;
		all += p->at[i].ns;
	}
	for (size_t i = p->first; i < p->count; i++) {
		struct unit *unit = of + p->at[i].unit;

		if (unit->ns <= 0 || unit->sum < AS_MUCH_LEAST * p->after * unit->launches)
			continue;
		with += unit->ns;
		unit->ns = 0; /* counted */
		n++;
	}
	return n >= UNITS_LEAST && with >= BROAD * all;
}

/* How much the others changed at the same share of their launches: what half of them reach. NAN: there are none. */
static double change_of_others(const struct process *processes, uint32_t count, const struct process *p,
			       double *changes)
{
	size_t n = 0;

	for (const struct process *other = processes; other < processes + count; other++) {
		size_t at = p->first * other->count / p->count;

		if (other != p && at > 0 && at < other->count)
			changes[n++] = mean(other, at, other->count) - mean(other, 0, at);
	}
	return kc_median(changes, n);
}

static void judge(struct process *processes, uint32_t count, struct process *p, double least, struct unit *units,
		  double *changes, struct kc_slow_onset *out, double *of_units)
{
	if (p->count < (size_t)2 * PART_LEAST || !divide(p) || p->after <= least ||
	    fabs(p->before) > AS_MUCH_LEAST * p->after || !lasts(p) || !is_broad(p, units) ||
	    !(change_of_others(processes, count, p, changes) < AS_MUCH_LEAST * p->after))
		return;
	*out = (struct kc_slow_onset){p->after, p->at[p->first].place};
	for (size_t i = p->first; i < p->count; i++)
		of_units[p->at[i].unit] = fmax(units[p->at[i].unit].sum / units[p->at[i].unit].launches, 0);
}

/* by: the launches of one process after the other, in the room of the same name. */
static void group(const struct kc_slow_beyond *launches, size_t count, struct process *processes, uint32_t n,
		  struct kc_slow_beyond *by, double *sums)
{
	size_t first = 0;

	for (size_t i = 0; i < count; i++)
		processes[launches[i].process].count++;
	for (uint32_t p = 0; p < n; p++) {
		processes[p].at = by + first;
		processes[p].sums = sums + first + p; /* one more than launches */
		first += processes[p].count;
		processes[p].count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct process *p = processes + launches[i].process;

		by[(size_t)(p->at - by) + p->count] = launches[i];
		p->sums[p->count + 1] = p->sums[p->count] + bounded(launches[i].log);
		p->count++;
	}
}

int kc_slow_onsets(const struct kc_slow_beyond *launches, size_t count, double least, struct kc_slow_onset *out,
		   uint32_t processes, double *of_units, uint32_t units)
{
	struct process *each = calloc((size_t)processes + 1, sizeof(*each));
	struct kc_slow_beyond *by = calloc(count + 1, sizeof(*by));
	double *sums = calloc(count + processes + 1, sizeof(*sums)),
	       *changes = calloc((size_t)processes + 1, sizeof(*changes));
	struct unit *of = calloc((size_t)units + 1, sizeof(*of));
	int rc = each && by && sums && changes && of ? 0 : -ENOMEM;

	if (rc == 0)
		group(launches, count, each, processes, by, sums);
	for (uint32_t p = 0; rc == 0 && p < processes; p++) {
		out[p] = (struct kc_slow_onset){0};
		judge(each, processes, each + p, least, of, changes, out + p, of_units);
	}
	free(each);
	free(by);
	free(sums);
	free(changes);
	free(of);
	return rc;
}
