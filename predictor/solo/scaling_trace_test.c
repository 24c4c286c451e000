/*
 * Kernels at sizes not seen before in the recorded PyTorch traces
 * (traces/pytorch, NCCL left out): the error of kc_scaling_predict(). Launches
 * are predicted in the order in which they were issued; a time is known once
 * the launch had ended before. No device but the V100 is assumed, as the traces
 * do not say more. The law's constants were chosen on the traces marked "tuned
 * on"; the others are held out.
 *
 * As last seen, over 2,464 new sizes: median error 21.5 %, mean 49 %, 90th
 * percentile 83 % (tuned on: 16, 34, 73; held out: 25, 65, 86). The sampled
 * recommendation traces are worst, with a mean of 130 %: the work of a thread is
 * not in the launch. 87 % of the times lie in the 90 % interval, 84 % where held
 * out.
 */
#include "scaling.h"
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

enum { LAUNCHES_MAX = 30000, KERNELS_MAX = 1024, SHAPES_MAX = 4096, ERRORS_MAX = 20000 };

static const struct {
	const char *name;
	int tuned;
	int reduced; /* 1: among the reduced recordings, too */
} traces[] = {
    {"hta_df_index_v100", 1, 1},
    {"hta_gp100", 0, 1},
    {"hta_nccl_a100", 0, 1},
    {"hta_sampled_rank0", 0, 1},
    {"hta_sampled_rank1", 0, 0},
    {"kineto_resnet50_autograd_nw0", 0, 1},
    {"kineto_resnet50_autograd_nw4", 0, 0},
    {"kineto_resnet50_v100_a", 1, 1},
    {"kineto_resnet50_v100_b", 1, 0},
    {"param_dlrm_v100_w0", 1, 1},
    {"param_dlrm_v100_w1", 1, 0},
    {"param_dlrm_v100_w2", 1, 0},
    {"param_dlrm_v100_w3", 1, 1},
    {"param_dlrm_v100_w4", 1, 0},
    {"param_dlrm_v100_w5", 1, 0},
    {"param_dlrm_v100_w6", 1, 0},
    {"param_dlrm_v100_w7", 1, 0},
    {"param_linear_2080ti", 1, 1},
};
enum { TRACES = sizeof(traces) / sizeof(traces[0]) };

struct kernel {
	char *name;
	struct kc_scaling scaling;
};

struct shape { /* of one kernel */
	struct kernel *kernel;
	struct kc_shape dims;
	struct kc_scaling_size size;
	int known;
};

struct launch {
	int64_t issued_ns, end_ns, duration_ns;
	struct shape *shape;
};

struct trace {
	struct kernel kernels[KERNELS_MAX];
	struct shape shapes[SHAPES_MAX];
	struct launch launches[LAUNCHES_MAX];
	struct launch *by_end[LAUNCHES_MAX];
	int kernel_count, shape_count, launch_count;
};

struct errors {
	double of[ERRORS_MAX];
	int count;
};

/* --- reading */

static struct kernel *kernel_of(struct trace *trace, const char *name)
{
	for (int i = 0; i < trace->kernel_count; i++)
		if (!strcmp(trace->kernels[i].name, name))
			return &trace->kernels[i];
	assert_true(trace->kernel_count < KERNELS_MAX);
	trace->kernels[trace->kernel_count].name = strdup(name);
	kc_scaling_init(&trace->kernels[trace->kernel_count].scaling);
	return &trace->kernels[trace->kernel_count++];
}

static struct shape *shape_of(struct trace *trace, struct kernel *kernel, const struct kc_resources *resources,
			      const struct kc_shape *dims)
{
	struct kc_work work;
	struct shape *shape;

	for (int i = 0; i < trace->shape_count; i++)
		if (trace->shapes[i].kernel == kernel && !memcmp(&trace->shapes[i].dims, dims, sizeof(*dims)))
			return &trace->shapes[i];
	if (kc_work_init(&work, kc_device_builtin("v100"), resources, dims, 0))
		return NULL;
	assert_true(trace->shape_count < SHAPES_MAX);
	shape = &trace->shapes[trace->shape_count++];
	*shape = (struct shape){.kernel = kernel, .dims = *dims, .size = kc_scaling_size(&work, dims)};
	return shape;
}

static void read_line(struct trace *trace, char *line)
{
	struct kc_trace_row row;
	struct launch launch;
	const char *name;

	kc_trace_read(line, &row);
	name = row.fields[KC_TRACE_NAME];
	if (!kc_trace_is_kernel(&row) || strcasestr(name, "nccl"))
		return;
	launch.duration_ns = row.duration_ns;
	launch.end_ns = row.start_ns + row.duration_ns;
	launch.issued_ns = row.issued_ns;
	launch.shape = shape_of(trace, kernel_of(trace, name), &row.resources, &row.shape);
	assert_true(trace->launch_count < LAUNCHES_MAX);
	if (launch.shape && launch.duration_ns > 0)
		trace->launches[trace->launch_count++] = launch;
}

static int by_issue(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	return (x->issued_ns > y->issued_ns) - (x->issued_ns < y->issued_ns);
}

static int by_end(const void *a, const void *b)
{
	const struct launch *const *x = a, *const *y = b;

	return ((*x)->end_ns > (*y)->end_ns) - ((*x)->end_ns < (*y)->end_ns);
}

/* NULL: there is no such file. */
static struct trace *load(const char *folder, const char *name)
{
	char path[128], line[KC_TRACE_LINE_BYTES];
	struct trace *trace;
	FILE *pipe;

	snprintf(path, sizeof(path), "traces/pytorch/%s.csv.gz", name);
	pipe = kc_open_recorded(folder, path);
	if (!pipe)
		return NULL;
	trace = calloc(1, sizeof(*trace));
	assert_true(trace && fgets(line, sizeof(line), pipe));
	while (fgets(line, sizeof(line), pipe))
		read_line(trace, line);
	pclose(pipe);
	qsort(trace->launches, (size_t)trace->launch_count, sizeof(trace->launches[0]), by_issue);
	for (int i = 0; i < trace->launch_count; i++)
		trace->by_end[i] = &trace->launches[i];
	qsort(trace->by_end, (size_t)trace->launch_count, sizeof(trace->by_end[0]), by_end);
	return trace;
}

static void release(struct trace *trace)
{
	for (int i = 0; i < trace->kernel_count; i++)
		free(trace->kernels[i].name);
	free(trace);
}

/* --- predicting */

struct coverage {
	int inside, all;
};

static void replay(struct trace *trace, struct errors *errors, struct coverage *coverage)
{
	int ended = 0;

	for (int i = 0; i < trace->launch_count; i++) {
		struct launch *launch = &trace->launches[i];
		struct kc_scaling_space space;
		struct kc_solo solo;

		for (; ended < trace->launch_count && trace->by_end[ended]->end_ns < launch->issued_ns; ended++) {
			struct launch *known = trace->by_end[ended];

			known->shape->known = 1;
			kc_scaling_learn(&known->shape->kernel->scaling, &known->shape->size, known->duration_ns);
		}
		if (launch->shape->known || kc_scaling_predict(&kc_scaling_law_default, &launch->shape->kernel->scaling,
							       &launch->shape->size, &space, &solo))
			continue;
		assert_true(errors->count < ERRORS_MAX);
		errors->of[errors->count++] = fabs((double)solo.ns / (double)launch->duration_ns - 1);
		coverage->inside += solo.low_ns <= launch->duration_ns && launch->duration_ns <= solo.high_ns;
		coverage->all++;
	}
}

struct figures {
	double median, mape, p90; /* per cent */
};

/* Regression limits, no claims: what is predicted today, and so much more. */
#define MARGIN 1.03
struct today {
	struct figures tuned, held_out;
};

static struct figures figures_of(struct errors *errors, int first)
{
	double *e = errors->of + first;
	int n = errors->count - first;
	double sum = 0;

	if (!n)
		return (struct figures){NAN, NAN, NAN};
	kc_sort(e, (size_t)n);
	for (int i = 0; i < n; i++)
		sum += e[i];
	return (struct figures){100 * (e[(n - 1) / 2] + e[n / 2]) / 2, 100 * sum / n, 100 * e[(9 * n + 9) / 10 - 1]};
}

static void print(const char *name, const char *how, struct errors *errors, int first, const struct coverage *coverage)
{
	struct figures f = figures_of(errors, first);

	printf("# |%-30s %-9s %6d %8.1f %8.1f %8.1f %10.1f\n", name, how, errors->count - first, f.median, f.mape,
	       f.p90, 100.0 * coverage->inside / coverage->all);
}

static void assert_within(struct errors *errors, const struct figures *today)
{
	struct figures f = figures_of(errors, 0);

	assert_true(f.median <= MARGIN * today->median);
	assert_true(f.mape <= MARGIN * today->mape);
	assert_true(f.p90 <= MARGIN * today->p90);
}

static void judge_new_sizes(const char *folder, int reduced, const struct today *today)
{
	static struct errors all, tuned, held_out;
	struct coverage coverage_all = {0, 0}, coverage_tuned = {0, 0}, coverage_held_out = {0, 0};

	all.count = tuned.count = held_out.count = 0;
	printf("# |%-30s %-9s %6s %8s %8s %8s %10s\n", "new size, error in %", "", "n", "median", "mean", "90 %",
	       "in interval");
	for (int i = 0; i < TRACES; i++) {
		struct errors *group = traces[i].tuned ? &tuned : &held_out;
		struct coverage c = {0, 0}, *of_group = traces[i].tuned ? &coverage_tuned : &coverage_held_out;
		struct trace *trace;
		int first = all.count;

		if (reduced && !traces[i].reduced)
			continue;
		trace = load(folder, traces[i].name);
		if (!trace) {
			skip();
			return;
		}
		replay(trace, &all, &c);
		release(trace);
		memcpy(group->of + group->count, all.of + first, (size_t)(all.count - first) * sizeof(double));
		group->count += all.count - first;
		of_group->inside += c.inside;
		of_group->all += c.all;
		if (all.count > first)
			print(traces[i].name, traces[i].tuned ? "tuned on" : "held out", &all, first, &c);
	}
	coverage_all.inside = coverage_tuned.inside + coverage_held_out.inside;
	coverage_all.all = coverage_tuned.all + coverage_held_out.all;
	print("together", "tuned on", &tuned, 0, &coverage_tuned);
	print("together", "held out", &held_out, 0, &coverage_held_out);
	print("together", "", &all, 0, &coverage_all);
	assert_within(&tuned, &today->tuned);
	assert_within(&held_out, &today->held_out);
}

static void new_sizes_without_code(void **state)
{
	static const struct today today = {{17.8, 38.2, 86.4}, {24.7, 63.9, 86.8}};

	(void)state;
	judge_new_sizes(KC_REDUCED_DATA, 1, &today);
}

static void new_sizes_without_code_in_the_full_recordings(void **state)
{
	static const struct today today = {{16.3, 33.5, 73.2}, {25.2, 64.8, 86.3}};

	(void)state;
	judge_new_sizes(kc_full_data(), 0, &today);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(new_sizes_without_code),
	    cmocka_unit_test(new_sizes_without_code_in_the_full_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
