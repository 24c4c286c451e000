/*
 * The first prediction of kernels whose code was read, against measured times: first
 * launches of HeCBench's programs on an RTX 3080 (gpuFLOPBench, by ncu at 1,440 MHz with
 * flushed caches) and the same launches on an H200 (by CUPTI), with the counts of one
 * version of kerncast. The programs are those whose half is open (crc32 of the name is
 * even): p of the norm, the floor of both GPUs and what resources.c says so of were
 * chosen on them. A buffer that an argument points into is read or written once, at most
 * whole: its size stands for the distinct bytes, which that version did not count. Nor did
 * it tell divisions of floating-point numbers from those of integers.
 */
#include "predictor/device/units.h"
#include "predictor/math/median.h"
#include "cuda_tests/traces/recorded_csv.h"
#include "resources.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LAUNCHES_MAX = 256 };

/* --- reading */

struct launch {
	char name[1024]; /* program, kernel, grid and block */
	struct kc_resources resources;
	struct kc_shape shape;
	struct kc_counts counts;
	double blocks;
	double live_ns, with_code_ns, low_ns, high_ns; /* of the version that counted */
	double measured_ns;
};

static void read_name(const struct kc_recorded_csv *csv, struct launch *launch)
{
	snprintf(launch->name, sizeof(launch->name), "%s %s %s %s", kc_csv_text(csv, "program"),
		 kc_csv_text(csv, "mangled"), kc_csv_text(csv, "grid"), kc_csv_text(csv, "block"));
}

static void read_shape(const struct kc_recorded_csv *csv, struct launch *launch)
{
	uint32_t *grid = launch->shape.grid, *block = launch->shape.block;

	assert_int_equal(sscanf(kc_csv_text(csv, "grid"), "%u %u %u", &grid[0], &grid[1], &grid[2]), 3);
	assert_int_equal(sscanf(kc_csv_text(csv, "block"), "%u %u %u", &block[0], &block[1], &block[2]), 3);
	launch->blocks = (double)grid[0] * grid[1] * grid[2];
	launch->shape.dynamic_shared_bytes = (uint32_t)kc_csv_number(csv, "dynamic_shared");
	launch->resources = (struct kc_resources){.registers = (uint32_t)kc_csv_number(csv, "registers"),
						  .static_shared_bytes = (uint32_t)kc_csv_number(csv, "static_shared")};
}

/* The counts tell no distinct bytes, so the sizes of the buffers do. */
static void cap_by_buffers(struct kc_counts *counts, double buffers)
{
	double loaded = counts->threads * counts->of[KC_COUNT_OF_BYTES_LOADED],
	       stored = counts->threads * counts->of[KC_COUNT_OF_BYTES_STORED];
	double bytes = fmin(buffers, fmin(loaded + stored, counts->threads * counts->of[KC_COUNT_OF_SECTORS] * 32));

	if (!(buffers > 0) || !(loaded + stored > 0))
		return;
	counts->distinct_loaded_bytes = bytes * loaded / (loaded + stored);
	counts->distinct_stored_bytes = bytes * stored / (loaded + stored);
}

/* They are taken to be of the floating-point types that a thread computes with, by their shares, and of integers where
 * it computes with none: 10 FP32 or 9 FP64 instructions and a special one, as gpuFLOPBench's counters of ncu show. */
static void tell_divisions(struct kc_counts *counts)
{
	double *n = counts->of, divisions = n[KC_COUNT_OF_DIVMOD];
	double floating = n[KC_COUNT_OF_FMA] + n[KC_COUNT_OF_ADD] + n[KC_COUNT_OF_MUL];
	double wide = floating > 0 ? divisions * fmin(n[KC_COUNT_OF_DOUBLE] / floating, 1) : 0;

	if (!(floating > 0))
		return;
	n[KC_COUNT_OF_DIVMOD] = 0;
	n[KC_COUNT_OF_SPECIAL] += divisions;
	n[KC_COUNT_OF_FMA] += 9 * wide + 10 * (divisions - wide);
	n[KC_COUNT_OF_DOUBLE] += 9 * wide;
}

static void read_counts(const struct kc_recorded_csv *csv, struct kc_counts *counts)
{
	char column[64];

	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++) {
		snprintf(column, sizeof(column), "n_%s", kc_cost_counter_name(i));
		counts->of[i] = kc_csv_number(csv, column);
	}
	counts->threads = kc_csv_number(csv, "n_threads");
	counts->active_share = kc_csv_number(csv, "n_active_share");
	counts->longest_warp = kc_csv_number(csv, "n_longest_warp");
	counts->exact = !strcmp(kc_csv_text(csv, "exact"), "True");
	tell_divisions(counts);
	cap_by_buffers(counts, kc_csv_number(csv, "buffer_bytes"));
}

static int read_launches(struct launch *launches)
{
	static struct kc_recorded_csv csv;
	int count = 0;

	if (!kc_csv_open(&csv, kc_full_data(), "programs/hecbench_rtx3080_open.csv.gz"))
		return 0;
	for (; kc_csv_next(&csv); count++) {
		struct launch *launch = &launches[count];

		assert_true(count < LAUNCHES_MAX);
		*launch = (struct launch){.measured_ns = kc_csv_number(&csv, "measured_ns"),
					  .live_ns = kc_csv_number(&csv, "kerncast_live_first_ns"),
					  .with_code_ns = kc_csv_number(&csv, "kerncast_engine_with_code_ns"),
					  .low_ns = kc_csv_number(&csv, "explain_low_ns"),
					  .high_ns = kc_csv_number(&csv, "explain_high_ns")};
		read_name(&csv, launch);
		read_shape(&csv, launch);
		read_counts(&csv, &launch->counts);
	}
	return count;
}

/* Those of the launches that were measured on the H200 as well, with their times there. */
static int read_h200(const struct launch *known, int known_count, struct launch *launches)
{
	static struct kc_recorded_csv csv;
	int count = 0;

	if (!kc_csv_open(&csv, kc_full_data(), "gpu_h200/programs_h200_open.csv.gz"))
		return 0;
	while (kc_csv_next(&csv)) {
		struct launch *launch = &launches[count];
		struct launch named = {0};

		read_name(&csv, &named);
		for (int i = 0; i < known_count; i++) {
			if (strcmp(known[i].name, named.name) != 0)
				continue;
			assert_true(count++ < LAUNCHES_MAX);
			*launch = known[i];
			launch->measured_ns = kc_csv_number(&csv, "median_ns");
			launch->live_ns = kc_csv_number(&csv, "solo_ns");
			break;
		}
	}
	return count;
}

/* --- tables */

struct figures {
	int count;
	double median, mean;       /* error, per cent */
	double within_2, within_4; /* per cent */
	double geometric_mean;     /* predicted over measured */
};

enum group { ALL, EXACT, NOT_EXACT, FEW_BLOCKS, GROUPS };

static int is_in(const struct launch *launch, enum group group, const struct kc_device *device)
{
	switch (group) {
	case EXACT:
		return launch->counts.exact;
	case NOT_EXACT:
		return !launch->counts.exact;
	case FEW_BLOCKS:
		return launch->blocks < device->sm_count;
	default:
		return 1;
	}
}

static struct figures figures_of(const struct kc_device *device, const struct launch *launches, int count,
				 const double *ns, enum group group)
{
	double errors[LAUNCHES_MAX], logs = 0;
	struct figures f = {0};

	for (int i = 0; i < count; i++) {
		double ratio = ns[i] / launches[i].measured_ns;

		if (!is_in(&launches[i], group, device))
			continue;
		errors[f.count++] = fabs(ratio - 1);
		f.mean += 100 * fabs(ratio - 1);
		logs += log(ratio);
		f.within_2 += 100 * (fabs(log2(ratio)) <= 1);
		f.within_4 += 100 * (fabs(log2(ratio)) <= 2);
	}
	assert_true(f.count > 0);
	f.median = 100 * kc_median(errors, (size_t)f.count);
	f.mean /= f.count;
	f.within_2 /= f.count;
	f.within_4 /= f.count;
	f.geometric_mean = exp(logs / f.count);
	return f;
}

static struct figures print(const char *rule, const struct kc_device *device, const struct launch *launches, int count,
			    const double *ns, enum group group)
{
	static const char *const groups[] = {"all", "exact", "not exact", "few blocks"};
	struct figures f = figures_of(device, launches, count, ns, group);

	printf("# |%-10s %-35s %4d %7.1f %9.1f %6.1f %6.1f %7.3f\n", groups[group], rule, f.count, f.median, f.mean,
	       f.within_2, f.within_4, f.geometric_mean);
	return f;
}

static void by_resources(const struct kc_device *device, const struct launch *launches, int count, double *ns)
{
	for (int i = 0; i < count; i++) {
		const struct launch *launch = &launches[i];
		struct kc_resource_times times;
		struct kc_work work;

		assert_int_equal(kc_work_init(&work, device, &launch->resources, &launch->shape, 0), 0);
		assert_int_equal(kc_resource_times(device, &work, &launch->counts, &times), 0);
		ns[i] = times.total_ns;
	}
}

/* How many are within their intervals, faster than their bounds, and at most four times slower. */
struct coverage {
	int count, inside, beaten, near;
	double widths[LAUNCHES_MAX];
};

static void cover(const struct kc_device *device, const struct launch *launch, struct coverage *coverage)
{
	struct kc_resource_times times;
	struct kc_work work;
	double half, bound;
	uint32_t by;

	assert_int_equal(kc_work_init(&work, device, &launch->resources, &launch->shape, 0), 0);
	assert_int_equal(kc_resource_times(device, &work, &launch->counts, &times), 0);
	half = (double)kc_resource_half_width(&launch->counts, &times);
	coverage->inside += fabs(log(times.total_ns / launch->measured_ns)) <= half;
	coverage->widths[coverage->count++] = exp(2 * half);
	bound = kc_resource_bound_ns(device, &work, &launch->counts, &by);
	coverage->beaten += bound > launch->measured_ns;
	coverage->near += bound >= launch->measured_ns / 4;
}

static void by_resources_without_buffers(const struct kc_device *device, const struct launch *launches, int count,
					 double *ns)
{
	static struct launch without[LAUNCHES_MAX];

	for (int i = 0; i < count; i++) {
		without[i] = launches[i];
		without[i].counts.distinct_loaded_bytes = without[i].counts.distinct_stored_bytes = 0;
	}
	by_resources(device, without, count, ns);
}

static void print_header(const char *title)
{
	printf("# |%s\n# |%-10s %-35s %4s %7s %9s %6s %6s %7s\n", title, "", "error in %, share in %", "n", "median",
	       "mean", "in 2", "in 4", "ratio");
}

#define RECORDED(field)                                                                                                \
	for (int i = 0; i < count; i++)                                                                                \
	ns[i] = launches[i].field

static void on_the_rtx3080(void **state)
{
	static struct launch launches[LAUNCHES_MAX];
	struct kc_device device = *kc_device_builtin("rtx3080");
	int count = read_launches(launches);
	double ns[LAUNCHES_MAX];
	struct figures now[GROUPS];

	(void)state;
	if (!count)
		skip();
	print_header("RTX 3080");
	for (enum group group = ALL; group < GROUPS; group++) {
		RECORDED(live_ns);
		print("as recorded: live first launch", &device, launches, count, ns, group);
		RECORDED(with_code_ns);
		print("as recorded: engine with code", &device, launches, count, ns, group);
		RECORDED(low_ns);
		print("as recorded: explain, lower end", &device, launches, count, ns, group);
		RECORDED(high_ns);
		print("as recorded: explain, upper end", &device, launches, count, ns, group);
		by_resources(&device, launches, count, ns);
		now[group] = print("resources", &device, launches, count, ns, group);
		by_resources_without_buffers(&device, launches, count, ns);
		print("resources, sizes of buffers unknown", &device, launches, count, ns, group);
		device.clock_khz = 1440000;
		by_resources(&device, launches, count, ns);
		print("resources, at ncu's 1,440 MHz", &device, launches, count, ns, group);
		device.clock_khz = kc_device_builtin("rtx3080")->clock_khz;
	}
	assert_true(now[ALL].median <= 32 && now[ALL].within_2 >= 70 && now[ALL].within_4 >= 86 &&
		    now[ALL].mean <= 200);
	assert_true(now[EXACT].median <= 23 && now[EXACT].within_2 >= 79 && now[EXACT].within_4 >= 95);
	assert_true(now[ALL].geometric_mean >= 0.8 && now[ALL].geometric_mean <= 1.25);
	assert_true(now[EXACT].geometric_mean >= 0.8 && now[EXACT].geometric_mean <= 1.25);
	assert_true(now[FEW_BLOCKS].within_2 >= 68);
}

/* Of launches whose counts are exact: that version did not tell all that it assumed of the others. */
static void intervals_on_the_rtx3080(void **state)
{
	static struct launch launches[LAUNCHES_MAX];
	const struct kc_device *device = kc_device_builtin("rtx3080");
	struct coverage c = {0};
	int count = read_launches(launches);

	(void)state;
	if (!count)
		skip();
	for (int i = 0; i < count; i++)
		if (launches[i].counts.exact)
			cover(device, &launches[i], &c);
	printf("# |exact: %.1f %% of %d within their intervals, which span a factor of %.1f; below the bound %.1f %%, "
	       "within 4 times of it %.1f %%\n",
	       100.0 * c.inside / c.count, c.count, kc_median(c.widths, (size_t)c.count), 100.0 * c.beaten / c.count,
	       100.0 * c.near / c.count);
	assert_true(c.inside >= 0.88 * c.count);
	assert_true(c.beaten <= 0.02 * c.count && c.near >= 0.6 * c.count);
}

/* --- RAJAPerf on a V100: means of many launches of kernels that stream doubles */

/* Per element, by RAJAPerf's source; a thread's index and its comparison, a byte offset, and one addition for each
 * array are integer instructions. */
static const struct stream {
	const char *name;
	double loads, stores, arrays, add, mul, fma;
} streams[] = {
    {"Stream_COPY", 1, 1, 2, 0, 0, 0},  /* c = a */
    {"Stream_MUL", 1, 1, 2, 0, 1, 0},   /* b = alpha * c */
    {"Stream_ADD", 2, 1, 3, 1, 0, 0},   /* c = a + b */
    {"Stream_TRIAD", 2, 1, 3, 0, 0, 1}, /* a = b + alpha * c */
    {"Basic_DAXPY", 2, 1, 2, 0, 0, 1},  /* y += a * x */
};

static const struct stream *stream_of(const char *name)
{
	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
		if (!strcmp(name, streams[i].name))
			return &streams[i];
	return NULL;
}

static void read_stream(const struct kc_recorded_csv *csv, const struct stream *stream, struct launch *launch)
{
	double bytes = sizeof(double), *n = launch->counts.of;

	*launch = (struct launch){.measured_ns = kc_csv_number(csv, "duration_ns")};
	launch->shape = (struct kc_shape){.grid = {(uint32_t)kc_csv_number(csv, "grid_x"), 1, 1},
					  .block = {(uint32_t)kc_csv_number(csv, "block_x"), 1, 1}};
	launch->counts.exact = 1;
	launch->counts.threads = kc_csv_number(csv, "grid_x") * kc_csv_number(csv, "block_x");
	n[KC_COUNT_OF_ADD] = stream->add;
	n[KC_COUNT_OF_MUL] = stream->mul;
	n[KC_COUNT_OF_FMA] = stream->fma;
	n[KC_COUNT_OF_DOUBLE] = stream->add + stream->mul + stream->fma;
	n[KC_COUNT_OF_INT] = 3 + stream->arrays;
	n[KC_COUNT_OF_CONTROL] = 2;
	n[KC_COUNT_OF_LD_GLOBAL] = stream->loads;
	n[KC_COUNT_OF_ST_GLOBAL] = stream->stores;
	n[KC_COUNT_OF_BYTES_LOADED] = bytes * stream->loads;
	n[KC_COUNT_OF_BYTES_STORED] = bytes * stream->stores;
	n[KC_COUNT_OF_REQUESTS] = (stream->loads + stream->stores) / KC_WARP_LANES;
	n[KC_COUNT_OF_SECTORS] = bytes * (stream->loads + stream->stores) / KC_SECTOR_BYTES;
	launch->counts.distinct_loaded_bytes = launch->counts.threads * bytes * stream->loads;
	launch->counts.distinct_stored_bytes = launch->counts.threads * bytes * stream->stores;
}

/* L2 has 6 MB (NVIDIA, Tesla V100 whitepaper, 2017) and may have as much of what is loaded from before, and keep as
 * much of what is stored: where both are more than twice that, at least half of the bytes come and go. */
static int is_beyond_l2(const struct launch *launch)
{
	double l2 = 6.0 * 1024 * 1024;

	return launch->counts.distinct_loaded_bytes > 2 * l2 && launch->counts.distinct_stored_bytes > 2 * l2;
}

static void streams_on_a_v100(void **state)
{
	static struct kc_recorded_csv csv;
	static struct launch launch;
	struct coverage c = {0}, beyond = {0};

	(void)state;
	if (!kc_csv_open(&csv, kc_full_data(), "traces_2/operators/rajaperf_v100.csv.gz"))
		skip();
	while (kc_csv_next(&csv)) {
		const struct stream *stream = stream_of(kc_csv_text(&csv, "name"));

		if (!stream)
			continue;
		read_stream(&csv, stream, &launch);
		cover(kc_device_builtin("v100"), &launch, &c);
		if (is_beyond_l2(&launch))
			cover(kc_device_builtin("v100"), &launch, &beyond);
	}
	assert_int_equal(c.count, 100);
	assert_int_equal(c.inside, c.count);
	assert_int_equal(c.beaten, 0);
	assert_int_equal(beyond.count, 60); /* 12 of each kernel, on vectors of 2,097,152 doubles and more */
	assert_int_equal(beyond.near, beyond.count);
}

static void on_the_h200(void **state)
{
	static struct launch known[LAUNCHES_MAX], launches[LAUNCHES_MAX];
	const struct kc_device *device = kc_device_builtin("h200");
	int count = read_h200(known, read_launches(known), launches);
	double ns[LAUNCHES_MAX];
	struct figures now[GROUPS];

	(void)state;
	if (!count)
		skip();
	print_header("H200");
	for (enum group group = ALL; group < GROUPS; group++) {
		RECORDED(live_ns);
		print("as recorded: live first launch", device, launches, count, ns, group);
		by_resources(device, launches, count, ns);
		now[group] = print("resources", device, launches, count, ns, group);
	}
	assert_true(now[ALL].median <= 35 && now[ALL].within_2 >= 68);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(on_the_rtx3080),
	    cmocka_unit_test(intervals_on_the_rtx3080),
	    cmocka_unit_test(on_the_h200),
	    cmocka_unit_test(streams_on_a_v100),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
