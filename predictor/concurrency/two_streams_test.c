/*
 * Two equal kernels in two streams of a GTX 950, 289 sizes, each also measured
 * alone (traces/two_streams/mem_mem_matched): start and duration of both and
 * the makespan by the left-over rules, with nothing learned. Sizes in ascending
 * order: indices 0, 2, 4... choose over how many neighbouring sizes solo times
 * are smoothed and the baselines' constants, 1, 3, 5... are reported. What is known before a run: solo times, and when
 * the copies in front of the second kernel have ended. When the host launched the first is not recorded, so its start
 * is where time begins.
 */
#include "timeline.h"
#include "together.h"
#include "predictor/math/median.h"
#include "cuda_tests/traces/trace_row.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZES_MAX = 400, REACH_MAX = 8 };

struct operation {
	int64_t ready_ns, start_ns, duration_ns;
};

struct size {
	long elements;
	uint32_t blocks, registers;
	int64_t solo_ns;
	struct operation kernels[2]; /* in order of their starts; times from the first start on */
};

struct data {
	struct size sizes[SIZES_MAX];
	int count;
};

struct outcome {
	double makespan, start, second, first; /* relative errors */
};

static struct size *size_of(struct data *data, long elements)
{
	for (int i = 0; i < data->count; i++)
		if (data->sizes[i].elements == elements)
			return &data->sizes[i];
	if (data->count == SIZES_MAX)
		return NULL;
	data->sizes[data->count] = (struct size){.elements = elements};
	return &data->sizes[data->count++];
}

/* The end of the last copy of a stream is when its kernel is ready. */
static void read_row(struct data *data, const struct kc_trace_row *row, int64_t ready_ns[2])
{
	const char *process = row->fields[KC_TRACE_PROCESS], *name = strstr(process, "trace_");
	struct size *size = name ? size_of(data, atol(name + strlen("trace_"))) : NULL;
	int second = atoi(row->fields[KC_TRACE_STREAM]) == 14;

	assert_non_null(size);
	if (!kc_trace_is_kernel(row)) {
		ready_ns[second] = row->start_ns + row->duration_ns;
		return;
	}
	size->blocks = row->shape.grid[0];
	size->registers = row->resources.registers;
	if (strstr(process, "_s1/"))
		size->solo_ns = row->duration_ns;
	else
		size->kernels[second] = (struct operation){ready_ns[second], row->start_ns, row->duration_ns};
}

static int by_size(const void *a, const void *b)
{
	const struct size *x = a, *y = b;

	return (x->elements > y->elements) - (x->elements < y->elements);
}

/* 0: there is no such file. */
static int load(struct data *data, const char *folder)
{
	static char line[KC_TRACE_LINE_BYTES], process[256];
	int64_t ready_ns[2] = {0, 0};
	FILE *pipe = kc_open_recorded(folder, "traces/two_streams/mem_mem_matched.csv.gz");

	if (!pipe)
		return 0;
	assert_non_null(fgets(line, sizeof(line), pipe));
	process[0] = '\0';
	while (fgets(line, sizeof(line), pipe)) {
		struct kc_trace_row row;

		kc_trace_read(line, &row);
		if (strcmp(process, row.fields[KC_TRACE_PROCESS])) {
			snprintf(process, sizeof(process), "%s", row.fields[KC_TRACE_PROCESS]);
			ready_ns[0] = ready_ns[1] = 0;
		}
		read_row(data, &row, ready_ns);
	}
	pclose(pipe);
	qsort(data->sizes, (size_t)data->count, sizeof(data->sizes[0]), by_size);
	return 1;
}

/* The one that starts first in front. What was ready before the first started came after it. */
static void shift_times(struct size *size)
{
	struct operation *k = size->kernels, first = k[0];

	if (k[1].start_ns < k[0].start_ns) {
		k[0] = k[1];
		k[1] = first;
	}
	first = k[0];
	for (int i = 0; i < 2; i++) {
		k[i].start_ns -= first.start_ns;
		k[i].ready_ns = k[i].ready_ns > first.start_ns ? k[i].ready_ns - first.start_ns : 0;
	}
}

/* A block's time alone, the median over neighbouring sizes: some solo runs were at another clock. */
static double smoothed_solo_ns(const struct data *data, int i, int reach)
{
	double per_block[2 * REACH_MAX + 1] = {0};
	int count = 0;

	for (int j = i - reach; j <= i + reach; j++)
		if (j >= 0 && j < data->count)
			per_block[count++] = (double)data->sizes[j].solo_ns / data->sizes[j].blocks;
	kc_sort(per_block, (size_t)count);
	return per_block[count / 2] * data->sizes[i].blocks;
}

static struct kc_device gtx950(void)
{
	struct kc_device device = *kc_device_builtin("gtx950");

	device.launch_overhead_ns = 0; /* the copies' ends are known instead */
	device.launch_gap_ns = 0;
	return device;
}

struct both {
	int64_t start_ns[2], end_ns[2];
};

/* reach: sizes on either side whose solo runs are taken with a size's own. */
static struct both place(struct kc_timeline *tl, const struct data *data, int i, int reach)
{
	const struct size *size = &data->sizes[i];
	struct kc_device device = gtx950();
	struct kc_resources resources = {.registers = size->registers};
	struct kc_shape shape = {{size->blocks, 1, 1}, {256, 1, 1}, 0, 0};
	struct kc_work work;
	struct kc_placement p;
	struct both both;
	struct kc_demand demand = {.work = &work, .solo_ns = (int64_t)smoothed_solo_ns(data, i, reach)};
	const int64_t origin_ns = 1000000000;

	assert_int_equal(kc_work_init(&work, &device, &resources, &shape, 0), 0);
	kc_timeline_init(tl, &device);
	for (uint32_t s = 0; s < 2; s++) {
		int64_t ready_ns = origin_ns + size->kernels[s].ready_ns;

		kc_timeline_stream(tl, s, KC_STREAM_NONBLOCKING, 0);
		kc_timeline_launch(tl, s, ready_ns, &demand, &p);
		both.start_ns[s] = p.start_ns - origin_ns;
		both.end_ns[s] = p.end_ns - origin_ns;
	}
	return both;
}

static double relative(double predicted, double measured)
{
	return fabs(predicted - measured) / measured;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

static double makespan_of(const struct operation *k)
{
	return later((double)(k[0].start_ns + k[0].duration_ns), (double)(k[1].start_ns + k[1].duration_ns)) -
	       (double)k[0].start_ns;
}

/* Times from the first start on, which has no error then. */
static struct outcome judge(const struct size *size, const struct both *both)
{
	const struct operation *k = size->kernels;
	double measured = makespan_of(k);
	double predicted = later((double)both->end_ns[0], (double)both->end_ns[1]) - (double)both->start_ns[0];

	return (struct outcome){
	    .makespan = relative(predicted, measured),
	    .second = relative((double)(both->end_ns[1] - both->start_ns[1]), (double)k[1].duration_ns),
	    .first = relative((double)(both->end_ns[0] - both->start_ns[0]), (double)k[0].duration_ns),
	    .start = (fabs((double)(both->start_ns[0] - k[0].start_ns)) +
		      fabs((double)(both->start_ns[1] - k[1].start_ns))) /
		     2 / measured,
	};
}

/* Mean errors over every second size, from index `from`. */
static struct outcome errors(struct kc_timeline *tl, const struct data *data, int from, int reach)
{
	struct outcome sum = {0};
	int n = 0;

	for (int i = from; i < data->count; i += 2, n++) {
		struct both both = place(tl, data, i, reach);
		struct outcome o = judge(&data->sizes[i], &both);

		sum.makespan += o.makespan;
		sum.second += o.second;
		sum.first += o.first;
		sum.start += o.start;
	}
	return (struct outcome){sum.makespan / n, sum.start / n, sum.second / n, sum.first / n};
}

/* Least sum of the makespan's and both durations' errors on the even indices. */
static int choose_reach(struct kc_timeline *tl, const struct data *data)
{
	double least = INFINITY;
	int best = 0;

	for (int reach = 0; reach <= REACH_MAX; reach += 2) {
		struct outcome o = errors(tl, data, 0, reach);

		if (o.makespan + o.second + o.first >= least)
			continue;
		least = o.makespan + o.second + o.first;
		best = reach;
	}
	return best;
}

static void print_row(const char *what, const struct outcome *o)
{
	printf("%-46s %5.2f %%  %5.2f %%  %5.2f %%  %5.2f %%\n", what, 100 * o->makespan, 100 * o->second,
	       100 * o->first, 100 * o->start);
}

/* y = a + b solo by least squares on the even indices; ratio: a = 0, b their mean ratio. */
struct line {
	double a, b;
};

static double quantity(const struct size *size, int second)
{
	return second ? (double)size->kernels[1].duration_ns : makespan_of(size->kernels);
}

static struct line fit(const struct data *data, int second, int ratio)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, ratios = 0;

	for (int i = 0; i < data->count; i += 2) {
		double x = (double)data->sizes[i].solo_ns, y = quantity(&data->sizes[i], second);

		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		ratios += y / x;
	}
	if (ratio)
		return (struct line){0, ratios / n};
	return (struct line){(sy * sxx - sx * sxy) / (n * sxx - sx * sx), (n * sxy - sx * sy) / (n * sxx - sx * sx)};
}

/* Simple forecasts from a size's own solo run. */
static double line_error(const struct data *data, struct line line, int second)
{
	double sum = 0;
	int n = 0;

	for (int i = 1; i < data->count; i += 2, n++)
		sum += relative(line.a + line.b * (double)data->sizes[i].solo_ns, quantity(&data->sizes[i], second));
	return sum / n;
}

/* Both run as if alone, from when they are ready. */
static double without_contention(const struct data *data)
{
	double sum = 0;
	int n = 0;

	for (int i = 1; i < data->count; i += 2, n++) {
		const struct size *size = &data->sizes[i];
		double apart = (double)size->kernels[1].ready_ns;

		sum += relative(apart + (double)size->solo_ns, makespan_of(size->kernels));
	}
	return sum / n;
}

/* As kc_together() has it, whose constants are chosen on another GPU: nothing is known of what the kernels need, and
 * both are launched at once. */
static double by_the_tail(const struct data *data, int reach)
{
	struct kc_device device = gtx950();
	double sum = 0, gain = 0, told = 0;
	int n = 0, within = 0;

	for (int i = 1; i < data->count; i += 2) {
		const struct size *size = &data->sizes[i];
		struct kc_resources resources = {.registers = size->registers};
		struct kc_shape shape = {{size->blocks, 1, 1}, {256, 1, 1}, 0, 0};
		struct kc_work work;
		struct kc_neighbour kernel = {&work, smoothed_solo_ns(data, i, reach), NULL};
		double measured = makespan_of(size->kernels);
		struct kc_together t;

		assert_int_equal(kc_work_init(&work, &device, &resources, &shape, 0), 0);
		assert_int_equal(kc_together(&device, &kernel, &kernel, &t), 0);
		if (!(t.ns > 0))
			continue;
		sum += relative(t.ns, measured);
		gain += 1 - measured / t.serial_ns;
		told += 1 - t.ns / t.serial_ns;
		within += t.low_ns <= measured && measured <= t.high_ns;
		n++;
	}
	printf("tail, of %d sizes whose gain is told: %.2f %% gained, %.2f %% told (means); %d within their ranges\n",
	       n, 100 * gain / n, 100 * told / n, within);
	return sum / n;
}

static void print_baselines(const struct data *data)
{
	printf("%-46s %5.2f %%  %5.2f %%\n", "no contention", 100 * without_contention(data),
	       100 * line_error(data, (struct line){0, 1}, 1));
	printf("%-46s %5.2f %%  %5.2f %%\n", "full serialisation", 100 * line_error(data, (struct line){0, 2}, 0),
	       100 * line_error(data, (struct line){0, 1}, 1));
	printf("%-46s %5.2f %%  %5.2f %%\n", "constant ratio, of even indices",
	       100 * line_error(data, fit(data, 0, 1), 0), 100 * line_error(data, fit(data, 1, 1), 1));
	printf("%-46s %5.2f %%  %5.2f %%\n", "straight line, of even indices",
	       100 * line_error(data, fit(data, 0, 0), 0), 100 * line_error(data, fit(data, 1, 0), 1));
}

static void judge_sizes(const char *folder)
{
	static struct data data;
	struct kc_timeline *tl;
	struct outcome even, odd;
	int reach;

	data.count = 0;
	if (!load(&data, folder)) {
		skip();
		return;
	}
	assert_int_equal(data.count, 289);
	for (int i = 0; i < data.count; i++)
		shift_times(&data.sizes[i]);
	tl = malloc(kc_timeline_size());
	reach = choose_reach(tl, &data);
	even = errors(tl, &data, 0, reach);
	odd = errors(tl, &data, 1, reach);
	free(tl);
	printf("chosen on even indices: solo times over %d sizes\n", 2 * reach + 1);
	printf("%-46s %-9s %-9s %-9s %s\n", "error on odd indices, mean", "makespan", "second", "first",
	       "second's start, of the makespan");
	print_row("timeline", &odd);
	print_baselines(&data);
	printf("%-46s %5.2f %%\n", "tail (together.h)", 100 * by_the_tail(&data, reach));
	print_row("(timeline, the even indices it was chosen on)", &even);
	/* Regression limits, no claims: what the timeline reached, 3.60 and 3.56 %, and a little. */
	assert_true(odd.makespan <= 0.037);
	assert_true(odd.second <= 0.037);
}

/* The reduced recording is the whole one. */
static void two_equal_kernels(void **state)
{
	(void)state;
	judge_sizes(KC_REDUCED_DATA);
}

static void two_equal_kernels_of_the_full_recording(void **state)
{
	(void)state;
	judge_sizes(kc_full_data());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_equal_kernels),
	    cmocka_unit_test(two_equal_kernels_of_the_full_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
