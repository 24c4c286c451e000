#include "processes.h"
#include "onset.h"
#include "tools/slow/peers.h"

#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "store/common/ids/intern.h"
#include "tools/diff/whole_process.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_LEAST 8u      /* launches, for their level to count by itself */
#define TOGETHER_LEAST 4u   /* launches, for their level to count with those of other shapes */
#define PARTS_MOST 32u      /* of a process's launches, as they came */
#define QUARTERS 4u         /* of them, in each of which a process that is slower as a whole is slower */
#define CHANCE 4.0          /* standard errors that chance does not explain */
#define USUAL_LEAST 8u      /* levels, to tell how far they usually are from one another */
#define OF_NEAREST 0.3186   /* a quarter of a normal distribution is nearer to its middle, over the deviation */
#define OF_MEDIAN 1.2533    /* standard error of the median of a normal distribution, times sqrt(n) / deviation */
#define OF_QUARTILES 0.7413 /* deviation of a normal distribution over the distance of its quartiles */

struct level {
	uint32_t alike, process;
	uint32_t unit; /* number of alike and process, less 1 */
	uint32_t launches;
	double median, error;
	const double *logs;                       /* sorted */
	double fastest, slowest;                  /* medians of its parts */
	double quarters[QUARTERS], quarter_error; /* likewise, and the standard error of one */
	uint32_t lower; /* place in the levels of the middle one of all processes, at this launch shape */
	uint32_t others;
};

struct value {
	uint32_t unit, place;
	double log;
};

struct comparing {
	const struct kc_slow_timed *timed;
	size_t count;
	const struct kc_diff_limits *limits;
	uint32_t *units; /* by launch */
	uint32_t unit_count, processes;
	struct level *levels;
	size_t level_count;
	double *logs;         /* of the levels */
	double usual;         /* deviation of the levels of healthy processes from one another */
	double *of_units;     /* how much slower, of the logarithm */
	double *of_processes; /* the same, of those that are slower as a whole; 0: others */
	uint32_t *others;     /* by process: kc_slow_excess */
	double *late;         /* by launch: how much slower, where its process became so; 0: others */
};

KC_ORDER(by_unit_and_place, struct value, KC_UP(unit) ?: KC_UP(place))

KC_ORDER(by_alike_and_median, struct level, KC_UP(alike) ?: KC_UP(median))

static int number_units(struct comparing *c)
{
	struct kc_intern ids = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		const uint32_t key[] = {c->timed[i].alike, c->timed[i].process};
		uint32_t number = kc_intern(&ids, 'u', key, sizeof(key));

		c->units[i] = number - 1;
		rc = number ? 0 : -ENOMEM;
		if (c->timed[i].process >= c->processes)
			c->processes = c->timed[i].process + 1;
	}
	c->unit_count = ids.count;
	kc_intern_free(&ids);
	return rc;
}

/* --- levels */

/* Part `i` of `parts` of the launches, in scratch. Returns how many. */
static size_t copy_part(const double *logs, size_t n, size_t i, size_t parts, double *scratch)
{
	size_t first = i * n / parts, end = (i + 1) * n / parts;

	memcpy(scratch, logs + first, (end - first) * sizeof(*scratch));
	return end - first;
}

static double error_of_median(double *logs, size_t n)
{
	double distance = kc_quantile(logs, n, 0.75) - kc_quantile(logs, n, 0.25);

	return OF_MEDIAN * OF_QUARTILES * distance / sqrt((double)n);
}

/* logs: as they came; they are sorted. scratch: room for n more. */
static void measure(double *logs, size_t n, double *scratch, struct level *out)
{
	size_t parts = n / LEVEL_LEAST < PARTS_MOST ? n / LEVEL_LEAST : PARTS_MOST, of_part;
	double errors = 0;

	out->fastest = INFINITY;
	out->slowest = -INFINITY;
	for (size_t part = 0; part < parts; part++) {
		double median;

		of_part = copy_part(logs, n, part, parts, scratch);
		median = kc_quantile(scratch, of_part, 0.5);
		out->fastest = fmin(out->fastest, median);
		out->slowest = fmax(out->slowest, median);
	}
	for (size_t q = 0; q < QUARTERS; q++) {
		of_part = copy_part(logs, n, q, QUARTERS, scratch);
		out->quarters[q] = kc_quantile(scratch, of_part, 0.5);
		errors += error_of_median(scratch, of_part);
	}
	out->quarter_error = errors / QUARTERS;
	out->launches = (uint32_t)n;
	kc_sort(logs, n);
	out->median = kc_quantile(logs, n, 0.5);
	out->error = error_of_median(logs, n);
}

/* values: by unit and place. scratch: room for n. Levels that are not known are left out. */
static void find_levels(struct comparing *c, const struct value *values, size_t n, double *scratch)
{
	for (size_t first = 0, end; first < n; first = end) {
		const struct kc_slow_timed *timed = c->timed + values[first].place;

		for (end = first; end < n && values[end].unit == values[first].unit; end++)
			c->logs[end] = values[end].log;
		if (end - first < TOGETHER_LEAST)
			continue;
		c->levels[c->level_count] = (struct level){.alike = timed->alike,
							   .process = timed->process,
							   .unit = values[first].unit,
							   .logs = c->logs + first};
		measure(c->logs + first, end - first, scratch, c->levels + c->level_count++);
	}
	if (c->level_count)
		qsort(c->levels, c->level_count, sizeof(*c->levels), by_alike_and_median);
}

static int make_levels(struct comparing *c)
{
	struct value *values = calloc(c->count + 1, sizeof(*values));
	double *scratch = calloc(c->count + 1, sizeof(*scratch));
	size_t n = 0;

	for (size_t i = 0; values && scratch && i < c->count; i++)
		if (c->timed[i].tells && !c->timed[i].waits)
			values[n++] = (struct value){c->units[i], (uint32_t)i, c->timed[i].log};
	if (n) {
		qsort(values, n, sizeof(*values), by_unit_and_place);
		find_levels(c, values, n, scratch);
	}
	free(values);
	free(scratch);
	return values && scratch ? 0 : -ENOMEM;
}

static size_t end_of_shape(const struct comparing *c, size_t first)
{
	size_t end = first + 1;

	while (end < c->level_count && c->levels[end].alike == c->levels[first].alike)
		end++;
	return end;
}

/* Finds the middle one of the levels at each launch shape. */
static void relate(struct comparing *c)
{
	for (size_t first = 0, end; first < c->level_count; first = end) {
		end = end_of_shape(c, first);
		for (size_t i = first; i < end; i++) {
			struct level *level = c->levels + i;

			level->lower = (uint32_t)(first + (end - first - 1) / 2);
			level->others = (uint32_t)(end - first - 1);
			if (c->others[level->process] < level->others)
				c->others[level->process] = level->others;
		}
	}
}

static double time_of(const struct level *level)
{
	return level->launches * exp(level->median);
}

/* By how much a process's level is above the middle one; its error. */
static double above(const struct comparing *c, const struct level *level, double *error)
{
	const struct level *middle = c->levels + level->lower;

	*error = hypot(level->error, middle->error);
	return level->median - middle->median;
}

/* How far the levels of healthy processes are from one another, in this run, beyond their errors: by the quarter of the
 * levels that are nearest to the middle ones, since the others may be slow. */
static int find_usual(struct comparing *c)
{
	double *far = calloc(c->level_count + 1, sizeof(*far)), *errors = calloc(c->level_count + 1, sizeof(*errors));
	size_t n = 0;

	for (size_t i = 0; far && errors && i < c->level_count; i++)
		if (c->levels[i].others && c->levels[i].lower != i) {
			far[n] = fabs(above(c, c->levels + i, errors + n));
			n++;
		}
	if (n >= USUAL_LEAST) {
		double deviation = kc_quantile(far, n, 0.25) / OF_NEAREST, error = kc_quantile(errors, n, 0.5);

		c->usual = sqrt(fmax(deviation * deviation - error * error, 0));
	}
	free(far);
	free(errors);
	return far && errors ? 0 : -ENOMEM;
}

/* --- at one launch shape */

/* Whether the launches of a level are longer than the other's by their ranks (Mann and Whitney, 1947, without the
 * correction for ties): by more than chance explains, or every single one. */
static int is_above(const struct level *level, const struct level *other)
{
	double n = level->launches, m = other->launches, above = 0; /* pairs; ties count half */
	uint32_t below = 0, upto = 0;

	for (uint32_t i = 0; i < level->launches; i++) {
		while (below < other->launches && other->logs[below] < level->logs[i])
			below++;
		while (upto < other->launches && other->logs[upto] <= level->logs[i])
			upto++;
		above += (below + upto) / 2.0;
	}
	return above >= n * m || above - n * m / 2 > CHANCE * sqrt(n * m * (n + m + 1) / 12);
}

static double excess_of(const struct comparing *c, const struct level *level, const struct level *other)
{
	double excess = fmin(level->median - other->median, level->fastest - other->fastest);
	int is_past = excess > log1p(c->limits->over) && exp(other->median) * expm1(excess) > c->limits->floor_ns;

	if (excess <= level->slowest - level->fastest)
		return 0;
	if (!is_past || excess <= CHANCE * hypot(c->usual, hypot(level->error, other->error)))
		return 0;
	return is_above(level, other) ? excess : 0;
}

/* levels: of one launch shape, by their medians. Each that counts by itself is compared with the median of the others,
 * of two with the lower. counting: room for n. */
static void compare_levels(struct comparing *c, const struct level *levels, size_t n, const struct level **counting)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (levels[i].launches >= LEVEL_LEAST)
			counting[known++] = levels + i;
	for (size_t i = 0; known > 1 && i < known; i++) {
		size_t other = (known - 2) / 2;

		other += i <= other;
		c->of_units[counting[i]->unit] = excess_of(c, counting[i], counting[other]);
	}
}

static int compare_all(struct comparing *c)
{
	const struct level **counting = calloc(c->level_count + 1, sizeof(const struct level *));

	for (size_t first = 0, end; counting && first < c->level_count; first = end) {
		end = end_of_shape(c, first);
		compare_levels(c, c->levels + first, end - first, counting);
	}
	free(counting);
	return counting ? 0 : -ENOMEM;
}

/* --- as a whole */

struct quarter { /* of a process */
	double sum, weight, squares;
};

/* By how much a process is above the middle levels in quarter `q` of its launches. of: by process, zeros. */
static void add_quarter(const struct comparing *c, unsigned q, struct quarter *of)
{
	for (size_t i = 0; i < c->level_count; i++) {
		const struct level *level = c->levels + i, *middle = c->levels + level->lower;
		struct quarter *quarter = of + level->process;

		if (!level->others)
			continue;
		quarter->sum += time_of(level) * (level->quarters[q] - middle->quarters[q]);
		quarter->weight += time_of(level);
		quarter->squares += pow(time_of(level) * hypot(level->quarter_error, middle->quarter_error), 2);
	}
}

/* What is not slower all the time, by half of its excess less what chance explains, is not slower as a whole. */
static int drop_drifting(struct comparing *c, struct kc_whole_process *wholes)
{
	struct quarter *of = calloc((size_t)c->processes + 1, sizeof(*of));

	for (unsigned q = 0; of && q < QUARTERS; q++) {
		memset(of, 0, c->processes * sizeof(*of));
		add_quarter(c, q, of);
		for (uint32_t p = 0; p < c->processes; p++)
			if (wholes[p].differs &&
			    of[p].sum + CHANCE * sqrt(of[p].squares) < of[p].weight * wholes[p].log / 2)
				wholes[p].differs = 0;
	}
	free(of);
	return of ? 0 : -ENOMEM;
}

/* The parts' errors tell how far they are from the process's mean, too. */
static int judge_wholes(struct comparing *c, struct kc_whole_part *parts, struct kc_whole_process *wholes)
{
	double least = log1p(c->limits->over) / 2, error;
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < c->level_count; i++) {
		const struct level *level = c->levels + i;

		if (level->others) {
			double log = above(c, level, &error);

			parts[n++] = (struct kc_whole_part){level->process, log, error, time_of(level)};
		}
	}
	rc = kc_whole_processes(parts, n, least, wholes, c->processes);
	for (size_t i = 0; rc == 0 && i < n; i++)
		parts[i].error = hypot(parts[i].error, parts[i].log - wholes[parts[i].process].log);
	if (rc == 0)
		rc = kc_whole_processes(parts, n, least, wholes, c->processes);
	return rc == 0 ? drop_drifting(c, wholes) : rc;
}

static int find_wholes(struct comparing *c)
{
	struct kc_whole_part *parts = calloc(c->level_count + 1, sizeof(*parts));
	struct kc_whole_process *wholes = calloc((size_t)c->processes + 1, sizeof(*wholes));
	int rc = parts && wholes ? judge_wholes(c, parts, wholes) : -ENOMEM;

	for (uint32_t p = 0; rc == 0 && p < c->processes; p++)
		c->of_processes[p] = wholes[p].differs && wholes[p].log > 0 ? wholes[p].log : 0;
	for (size_t i = 0; rc == 0 && i < c->count; i++)
		if (c->of_processes[c->timed[i].process] > 0)
			c->of_units[c->units[i]] = c->of_processes[c->timed[i].process];
	/* Where a launch shape is known to differ by something else, by that. */
	for (size_t i = 0; rc == 0 && i < c->level_count; i++) {
		const struct level *level = c->levels + i;
		double error, log = above(c, level, &error), of_process = c->of_processes[level->process];

		if (of_process > 0 && level->others && fabs(log - of_process) > CHANCE * error)
			c->of_units[level->unit] = fmax(log, 0);
	}
	free(parts);
	free(wholes);
	return rc;
}

/* --- from some launch on */

/* Launches of processes that are not slower as a whole, where others tell what they should take. level_of: by unit, its
 * level's place plus 1. Returns how many. */
static size_t list_beyond(const struct comparing *c, const uint32_t *level_of, struct kc_slow_beyond *out)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct kc_slow_timed *timed = c->timed + i;
		uint32_t of = level_of[c->units[i]];
		const struct level *level = c->levels + of - 1;

		if (of && level->others && timed->tells && !timed->waits && !(c->of_processes[timed->process] > 0))
			out[n++] = (struct kc_slow_beyond){timed->log - c->levels[level->lower].median, exp(timed->log),
							   timed->process, c->units[i], (uint32_t)i};
	}
	return n;
}

static int find_late(struct comparing *c)
{
	uint32_t *level_of = calloc((size_t)c->unit_count + 1, sizeof(*level_of));
	struct kc_slow_beyond *beyond = calloc(c->count + 1, sizeof(*beyond));
	struct kc_slow_onset *onsets = calloc((size_t)c->processes + 1, sizeof(*onsets));
	double *of_units = calloc((size_t)c->unit_count + 1, sizeof(*of_units));
	int rc = level_of && beyond && onsets && of_units ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < c->level_count; i++)
		level_of[c->levels[i].unit] = (uint32_t)i + 1;
	if (rc == 0)
		rc = kc_slow_onsets(beyond, list_beyond(c, level_of, beyond), log1p(c->limits->over), onsets,
				    c->processes, of_units, c->unit_count);
	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		const struct kc_slow_onset *onset = onsets + c->timed[i].process;

		if (onset->log > 0 && i >= onset->place && c->of_units[c->units[i]] == 0)
			c->late[i] = of_units[c->units[i]] > 0 ? of_units[c->units[i]] : onset->log;
	}
	free(level_of);
	free(beyond);
	free(onsets);
	free(of_units);
	return rc;
}

/* --- all of them */

static double excess_at(const struct comparing *c, size_t i)
{
	return c->timed[i].waits ? 0 : c->late[i] > 0 ? c->late[i] : c->of_units[c->units[i]];
}

/* What a launch took because of its process. */
static double lost_by(const struct comparing *c, size_t i)
{
	return exp(c->timed[i].log) * -expm1(-excess_at(c, i));
}

static int give_out(const struct comparing *c, struct kc_slow_excess *out)
{
	double(*times)[2] = calloc((size_t)c->processes + 1, sizeof(*times)); /* by process: in all, and lost */

	for (size_t i = 0; times && i < c->count; i++) {
		times[c->timed[i].process][0] += c->timed[i].waits ? 0 : exp(c->timed[i].log);
		times[c->timed[i].process][1] += lost_by(c, i);
	}
	for (size_t i = 0; times && i < c->count; i++) {
		uint32_t process = c->timed[i].process;

		out[i] = (struct kc_slow_excess){
		    .others = c->others[process], .whole = c->of_processes[process] > 0, .late = c->late[i] > 0};
		if (times[process][1] >= KC_SLOW_PROCESS_LEAST * times[process][0])
			out[i].log = excess_at(c, i);
	}
	free(times);
	return times ? 0 : -ENOMEM;
}

static int compare(struct comparing *c)
{
	int rc = make_levels(c);

	if (rc == 0) {
		relate(c);
		rc = find_usual(c);
	}
	if (rc == 0)
		rc = compare_all(c);
	if (rc == 0)
		rc = find_wholes(c);
	return rc == 0 ? find_late(c) : rc;
}

int kc_slow_processes(const struct kc_slow_timed *timed, size_t count, const struct kc_diff_limits *limits,
		      struct kc_slow_excess *out)
{
	struct comparing c = {
	    .timed = timed,
	    .count = count,
	    .limits = limits,
	    .units = calloc(count + 1, sizeof(*c.units)),
	    .levels = calloc(count + 1, sizeof(*c.levels)),
	    .logs = calloc(count + 1, sizeof(*c.logs)),
	    .of_units = calloc(count + 1, sizeof(*c.of_units)),
	    .late = calloc(count + 1, sizeof(*c.late)),
	};
	int rc = c.units && c.levels && c.logs && c.of_units && c.late ? number_units(&c) : -ENOMEM;

	c.of_processes = calloc((size_t)c.processes + 1, sizeof(*c.of_processes));
	c.others = calloc((size_t)c.processes + 1, sizeof(*c.others));
	if (!c.of_processes || !c.others)
		rc = -ENOMEM;
	if (rc == 0 && c.processes > 1)
		rc = compare(&c);
	if (rc == 0)
		rc = give_out(&c, out);
	free(c.units);
	free(c.levels);
	free(c.logs);
	free(c.of_units);
	free(c.late);
	free(c.of_processes);
	free(c.others);
	return rc;
}
