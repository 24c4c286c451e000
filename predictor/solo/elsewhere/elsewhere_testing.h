/*
 * Launches of one kernel, launch shape and problem that two GPUs both have, from recordings of other people
 * (../shared/data), for elsewhere_trace_test.c.
 *
 *   timed   a launch on one GPU, known by its key
 *   point   one on two of them
 *   data    all points, those of an ordered pair of GPUs after one another
 */
#ifndef KC_ELSEWHERE_TESTING_H
#define KC_ELSEWHERE_TESTING_H

#include "elsewhere.h"

#include "cuda_tests/traces/trace_row.h"
#include "predictor/math/hash.h"
#include "predictor/math/median.h"
#include "predictor/math/random_testing.h"
#include "predictor/solo/work.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	SETS = 4,
	CHOSEN_ON = 3,
	GPUS_MAX = 8,
	TIMED_MAX = 40000,
	PAIR_MAX = 2000,
	PAIR_CHOICE = 500,
	POINTS_MAX = 160000
};
enum { TUNING = 2, FILES_MAX = 4 };

struct gpu {
	const char *device;
	const char *files[FILES_MAX];
};

static const struct set {
	const char *name;
	struct gpu gpus[GPUS_MAX];
} sets[SETS] = {
    {"solo_bsp",
     {{"gtx680", {"traces/solo_bsp/GTX-680.csv.gz"}},
      {"k20", {"traces/solo_bsp/Tesla-K20.csv.gz"}},
      {"k40", {"traces/solo_bsp/Tesla-K40.csv.gz"}},
      {"titan", {"traces/solo_bsp/Titan.csv.gz"}},
      {"gtx970", {"traces/solo_bsp/GTX-970.csv.gz"}},
      {"gtx980", {"traces/solo_bsp/GTX-980.csv.gz"}}}},
    {"neusight",
     {{"p4", {"traces_2/operators/neusight_p4.csv.gz"}},
      {"p100-pcie", {"traces_2/operators/neusight_p100.csv.gz"}},
      {"v100-pcie-32gb", {"traces_2/operators/neusight_v100.csv.gz"}},
      {"t4", {"traces_2/operators/neusight_t4.csv.gz"}},
      {"a100-pcie", {"traces_2/operators/neusight_a100_40gb.csv.gz"}}}},
    {"tuning",
     {{"a4000", {"tuning/convolution__A4000__main.csv.gz", "tuning/dedispersion__A4000__main.csv.gz"}},
      {"a6000", {"tuning/convolution__A6000__main.csv.gz", "tuning/dedispersion__A6000__main.csv.gz"}},
      {"a4000", {"tuning/convolution__a4000__unused_kt.csv.gz"}},
      {"a6000", {"tuning/convolution__A6000_original__main.csv.gz"}},
      {"rtx2080ti",
       {"tuning/convolution__RTX_2080_Ti__unused_kt.csv.gz", "tuning/gemm__RTX_2080_Ti__unused_kt.csv.gz",
	"tuning/pnpoly__RTX_2080_Ti__unused_kt.csv.gz"}},
      {"rtx3060-laptop",
       {"tuning/convolution__RTX_3060_laptop__unused_kt.csv.gz", "tuning/gemm__RTX_3060_laptop__unused_kt.csv.gz",
	"tuning/pnpoly__RTX_3060_laptop__unused_kt.csv.gz"}},
      {"rtx3090",
       {"tuning/convolution__RTX_3090__unused_kt.csv.gz", "tuning/gemm__RTX_3090__unused_kt.csv.gz",
	"tuning/pnpoly__RTX_3090__unused_kt.csv.gz"}},
      {"titanrtx",
       {"tuning/convolution__RTX_Titan__unused_kt.csv.gz", "tuning/gemm__RTX_Titan__unused_kt.csv.gz",
	"tuning/pnpoly__RTX_Titan__unused_kt.csv.gz"}}}},
    {"diff_a100_v100",
     {{"a100", {"traces_2/pytorch/hta_trace_diff_control_a100.csv.gz"}},
      {"v100", {"traces_2/pytorch/hta_trace_diff_test_v100.csv.gz"}}}},
};

/* A launch on one GPU: of several alike the median, once sorted. */
struct timed {
	uint64_t key, kernel;
	double ns;
	struct kc_shape shape; /* grid 0: not known */
	struct kc_resources resources;
};

struct table {
	struct timed at[TIMED_MAX];
	size_t count;
};

struct point {
	uint64_t kernel;
	const struct kc_device *here, *there;
	int set, pair, to_choose; /* pair: its number, over all sets */
	double y;                 /* log(there / here), measured */
	struct kc_elsewhere_launch launch;
};

struct data {
	struct table tables[GPUS_MAX];
	struct point points[POINTS_MAX];
	size_t count;
	int pairs;
};

/* --- reading */

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	return kc_fnv(hash, text, strlen(text) + 1);
}

static inline void add(struct table *table, const struct timed *timed)
{
	assert_true(table->count < TIMED_MAX);
	table->at[table->count++] = *timed;
}

/* set 0: the same program, size and launch; 1: the operator and its dimensions; 3: the launch. */
static inline void read_trace_row(int set, const struct kc_trace_row *row, struct table *table)
{
	struct timed timed = {.ns = (double)row->duration_ns, .shape = row->shape, .resources = row->resources};
	uint64_t shape = kc_fnv(KC_FNV_OFFSET, &row->shape, sizeof(row->shape));

	timed.kernel = hash_text(hash_text(KC_FNV_OFFSET, row->fields[KC_TRACE_MODULE]), row->fields[KC_TRACE_NAME]);
	timed.key = set == 1 ? KC_FNV_OFFSET : hash_text(shape, row->fields[KC_TRACE_NAME]);
	if (set != 3)
		timed.key = hash_text(hash_text(timed.key, row->fields[KC_TRACE_PROCESS]), row->fields[KC_TRACE_ARGS]);
	add(table, &timed);
}

static inline int read_trace(int set, const char *name, struct table *table)
{
	static char line[KC_TRACE_LINE_BYTES];
	FILE *file = kc_open_recorded(kc_full_data(), name);
	struct kc_trace_row row;

	if (!file)
		return 0;
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file)) {
		kc_trace_read(line, &row);
		if (kc_trace_is_kernel(&row) && row.duration_ns > 0)
			read_trace_row(set, &row, table);
	}
	pclose(file);
	return 1;
}

enum { COLUMNS_MAX = 32, LINE_MAX = 1024 };

static inline int is_parameter(const char *column)
{
	static const char *const others[] = {"time_ms",      "times_min",         "times_max",      "n_times",
					     "compile_time", "verification_time", "benchmark_time", "GFLOP/s",
					     "GB/s",         "strategy_time",     "framework_time"};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(column, others[i]))
			return 0;
	return 1;
}

static inline int split(char *line, char **fields)
{
	int count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (line && count < COLUMNS_MAX)
		fields[count++] = strsep(&line, ",");
	return count;
}

/* A configuration is known by its parameters, whatever the order of their columns. */
static inline void read_configuration(char *const *heads, char *const *fields, int count, double unit_ns,
				      struct timed *timed)
{
	timed->key = timed->kernel;
	timed->ns = 0;
	for (int i = 0; i < count; i++) {
		if (!strcmp(heads[i], "time_ms"))
			timed->ns = unit_ns * atof(fields[i]);
		else if (is_parameter(heads[i]))
			timed->key += hash_text(hash_text(KC_FNV_OFFSET, heads[i]), fields[i]);
	}
}

/* pnpoly's times are in seconds on two GPUs. */
static inline int read_tuning(const char *name, struct table *table)
{
	static char head[LINE_MAX], line[LINE_MAX];
	int is_seconds = strstr(name, "pnpoly") && (strstr(name, "2080") || strstr(name, "Titan")), count;
	FILE *file = kc_open_recorded(kc_full_data(), name);
	char *heads[COLUMNS_MAX], *fields[COLUMNS_MAX];
	struct timed timed = {.kernel = kc_fnv(KC_FNV_OFFSET, name, strcspn(name, "_"))};

	if (!file)
		return 0;
	assert_non_null(fgets(head, sizeof(head), file));
	count = split(head, heads);
	while (fgets(line, sizeof(line), file)) {
		if (split(line, fields) < count)
			continue;
		read_configuration(heads, fields, count, is_seconds ? 1e9 : 1e6, &timed);
		if (timed.ns > 0 && timed.ns < 1e15)
			add(table, &timed);
	}
	pclose(file);
	return 1;
}

static inline int by_key(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Leaves of each key the median. */
static inline void join(struct table *table)
{
	size_t kept = 0;

	qsort(table->at, table->count, sizeof(*table->at), by_key);
	for (size_t first = 0, end; first < table->count; first = end) {
		for (end = first; end < table->count && table->at[end].key == table->at[first].key; end++)
			;
		table->at[kept++] = table->at[(first + end - 1) / 2];
	}
	table->count = kept;
}

static inline int read_set(int set, struct data *data)
{
	for (int gpu = 0; gpu < GPUS_MAX; gpu++) {
		struct table *table = &data->tables[gpu];

		table->count = 0;
		for (int i = 0; i < FILES_MAX && sets[set].gpus[gpu].files[i]; i++) {
			const char *file = sets[set].gpus[gpu].files[i];

			if (!(set == TUNING ? read_tuning(file, table) : read_trace(set, file, table)))
				return 0;
		}
		join(table);
	}
	return 1;
}

/* --- points */

static inline void place(struct point *point, const struct timed *timed)
{
	struct kc_work here, there;

	point->launch = (struct kc_elsewhere_launch){.ns = timed->ns};
	if (!timed->shape.grid[0])
		return;
	if (kc_work_init(&here, point->here, &timed->resources, &timed->shape, 0) ||
	    kc_work_init(&there, point->there, &timed->resources, &timed->shape, 0))
		return;
	point->launch.threads = (double)here.blocks * here.threads_per_block;
	point->launch.waves_here = here.waves;
	point->launch.waves_there = there.waves;
}

static inline void add_point(struct data *data, const struct point *like, const struct timed *here,
			     const struct timed *there)
{
	struct point *point = &data->points[data->count++];

	assert_true(data->count <= POINTS_MAX);
	*point = *like;
	point->kernel = here->kernel;
	point->y = log(there->ns / here->ns);
	place(point, here);
}

/* Not to be chosen on: traces_2/MANIFEST.csv. The set that is never chosen on is left out elsewhere. */
static inline int has_reported(int set, int gpu)
{
	return set == 1 && !strcmp(sets[set].gpus[gpu].device, "a100-pcie");
}

static inline void add_pair(struct data *data, int set, int from, int to)
{
	static size_t both[TIMED_MAX][2];
	const struct table *here = &data->tables[from], *there = &data->tables[to];
	struct point like = {.here = kc_device_builtin(sets[set].gpus[from].device),
			     .there = kc_device_builtin(sets[set].gpus[to].device),
			     .set = set,
			     .pair = data->pairs};
	int is_reported = has_reported(set, from) || has_reported(set, to);
	size_t n = 0;

	for (size_t i = 0, k = 0; i < here->count && k < there->count;) {
		if (here->at[i].key == there->at[k].key) {
			both[n][0] = i++;
			both[n++][1] = k++;
		} else if (here->at[i].key < there->at[k].key) {
			i++;
		} else {
			k++;
		}
	}
	for (size_t drawn = 0; drawn < n && drawn < PAIR_MAX; drawn++) {
		size_t other = drawn + random_below((uint32_t)(n - drawn)), one[2] = {both[other][0], both[other][1]};

		memcpy(both[other], both[drawn], sizeof(one));
		like.to_choose = drawn < PAIR_CHOICE && !is_reported;
		add_point(data, &like, &here->at[one[0]], &there->at[one[1]]);
	}
	data->pairs += n > 0;
}

static inline struct data *read_data(void)
{
	struct data *data = calloc(1, sizeof(*data));

	assert_non_null(data);
	for (int set = 0; set < SETS; set++) {
		if (!read_set(set, data)) {
			free(data);
			return NULL;
		}
		for (int from = 0; from < GPUS_MAX; from++)
			for (int to = 0; to < GPUS_MAX; to++)
				if (from != to && sets[set].gpus[from].device && sets[set].gpus[to].device)
					add_pair(data, set, from, to);
	}
	return data;
}

#endif
