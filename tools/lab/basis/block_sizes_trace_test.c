/*
 * Tiled matrix multiplication on six GPUs with tiles of 4 to 32
 * (traces/solo_bsp, matMul_gpu_sharedmem): four block sizes timed, the others
 * predicted, for every choice of the four, every problem size and every GPU.
 * Sizes are multiples of the tile and so differ by some per cent; times are
 * brought to those of the predicted tile along each tile's own curve.
 * The terms and constants of block_sizes.c were chosen on three of the GPUs, marked.
 *
 * As last seen: 3.3 % (3.0 % held out) where the kernel is known on another GPU of
 * the architecture, 8.5 % (8.6 %) where it is known nowhere (on Maxwell 15 to
 * 18 %); singular vectors from the same architecture 4.4 %, from the other 16.7 %.
 */
#include "predictor/solo/block_sizes.h"

#include "predictor/solo/curve.h"
#include "cuda_tests/traces/trace_row.h"
#include "block_basis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GPUS = 6, TILES = 8, SIZES_MAX = 64, TIMED = 4, TIMES_A_LINE = 2 };

/* Regression limits, no claims: what is predicted today, and so much more. */
#define MARGIN 1.03

static const struct {
	const char *file, *device;
	int tuned;
} gpus[GPUS] = {{"GTX-680", "gtx680", 1}, {"Tesla-K20", "k20", 1},  {"Tesla-K40", "k40", 0},
		{"Titan", "titan", 0},    {"GTX-970", "gtx970", 1}, {"GTX-980", "gtx980", 0}};

struct series { /* a tile on a GPU; sizes ascending */
	struct kc_block_size block;
	double sizes[SIZES_MAX], times_ns[SIZES_MAX];
	uint32_t count;
};

struct data {
	struct series of[GPUS][TILES]; /* tile of 4, 8, ... 32; count 0: not measured */
};

/* --- reading */

static void read_line(struct data *data, int gpu, char *line)
{
	struct kc_trace_row row = {0};
	const uint32_t *block = row.shape.block;
	struct series *series;
	struct kc_work work;
	uint32_t i;
	double size;

	kc_trace_read(line, &row);
	if (strcmp(row.fields[KC_TRACE_MODULE], "matMul_gpu_sharedmem") ||
	    strncmp(row.fields[KC_TRACE_PROCESS], "block_", 6))
		return;
	assert_int_equal(kc_work_init(&work, kc_device_builtin(gpus[gpu].device), &row.resources, &row.shape, 0), 0);
	assert_true(block[0] == block[1] && block[0] % 4 == 0 && block[0] <= 4 * TILES);
	series = &data->of[gpu][block[0] / 4 - 1];
	memcpy(series->block.block, block, sizeof(row.shape.block));
	series->block.blocks_per_sm = work.blocks_per_sm;
	size = atof(row.fields[KC_TRACE_ARGS]);
	assert_true(series->count < SIZES_MAX);
	for (i = series->count++; i > 0 && series->sizes[i - 1] > size; i--) {
		series->sizes[i] = series->sizes[i - 1];
		series->times_ns[i] = series->times_ns[i - 1];
	}
	series->sizes[i] = size;
	series->times_ns[i] = (double)row.duration_ns;
}

static int load(struct data *data, const char *folder)
{
	char name[64], line[KC_TRACE_LINE_BYTES];

	for (int gpu = 0; gpu < GPUS; gpu++) {
		FILE *pipe;

		snprintf(name, sizeof(name), "traces/solo_bsp/%s.csv.gz", gpus[gpu].file);
		pipe = kc_open_recorded(folder, name);
		if (!pipe)
			return 0;
		assert_non_null(fgets(line, sizeof(line), pipe));
		while (fgets(line, sizeof(line), pipe))
			read_line(data, gpu, line);
		pclose(pipe);
	}
	return 1;
}

/* --- what is known of a GPU at one problem size */

struct curve {
	struct kc_block_time times[TILES];
	struct kc_block_curve curve;
};

/* tiles: bits of those that are known. */
static void curve_at(const struct data *data, int gpu, unsigned tiles, double size, struct curve *out)
{
	uint32_t n = 0;

	for (int tile = 0; tile < TILES; tile++) {
		const struct series *s = &data->of[gpu][tile];
		double ns =
		    s->count && tiles >> tile & 1 ? kc_size_between(s->sizes, s->times_ns, s->count, size) : NAN;

		if (ns > 0)
			out->times[n++] = (struct kc_block_time){s->block, ns};
	}
	out->curve = (struct kc_block_curve){out->times, n};
}

static int kin(int a, int b)
{
	return kc_curve_relatedness(kc_device_builtin(gpus[a].device), kc_device_builtin(gpus[b].device)) > 0;
}

static double ours(const struct data *data, int gpu, unsigned timed, int tile, double size, int donors)
{
	struct kc_block_curve curves[GPUS];
	struct curve own, others[GPUS];
	uint32_t n = 0;

	curve_at(data, gpu, timed, size, &own);
	for (int other = 0; donors && other < GPUS; other++) {
		if (other == gpu || !kin(other, gpu) || !data->of[other][tile].count)
			continue;
		curve_at(data, other, ~0U, size, &others[n]);
		curves[n] = others[n].curve;
		n++;
	}
	return donors && !n ? NAN : kc_blocks_predict(&own.curve, curves, n, &data->of[gpu][tile].block);
}

/* The paper's basis: a row for each problem size of each other GPU, of the architecture or not of it. */
static double papers(const struct data *data, int gpu, unsigned timed, int tile, double size, int donors)
{
	double rows[GPUS * SIZES_MAX * TILES], rates[TILES], out[TILES], error;
	uint32_t groups[GPUS * SIZES_MAX], columns[TILES], at[TILES], n = 0, count = 0, timed_count = 0, k;
	uint32_t target = TILES;
	struct kc_basis basis;
	struct curve own;

	/* Tiles that this GPU and those others have. */
	for (int t = 0; t < TILES; t++) {
		int everywhere = t == tile || data->of[gpu][t].count;

		for (int other = 0; other < GPUS; other++)
			if (other != gpu && kin(other, gpu) == donors)
				everywhere = everywhere && data->of[other][t].count;
		if (!everywhere)
			continue;
		target = t == tile ? n : target;
		columns[n++] = (uint32_t)t;
	}
	if (target == TILES)
		return NAN;
	for (int other = 0; other < GPUS; other++) {
		const struct series *sizes = &data->of[other][columns[0]];

		if (other == gpu || kin(other, gpu) != donors)
			continue;
		for (uint32_t i = 0; i < sizes->count; i++) {
			struct curve row;

			curve_at(data, other, ~0U, sizes->sizes[i], &row);
			for (uint32_t c = 0, r = 0; c < n; c++, r++) {
				while (row.times[r].size.block[0] != 4 * (columns[c] + 1))
					r++;
				rows[count * n + c] = 1 / row.times[r].ns;
			}
			groups[count++] = (uint32_t)other;
		}
	}
	curve_at(data, gpu, timed, size, &own);
	for (uint32_t i = 0; i < own.curve.count; i++)
		for (uint32_t c = 0; c < n; c++)
			if (own.times[i].size.block[0] == 4 * (columns[c] + 1)) {
				at[timed_count] = c;
				rates[timed_count++] = 1 / own.times[i].ns;
			}
	if (!timed_count || kc_basis_train(&basis, rows, count, n))
		return NAN;
	k = kc_basis_choose(rows, groups, count, n, at, timed_count, &error);
	return kc_basis_fit(&basis, k, at, rates, timed_count, out) ? NAN : 1 / out[target];
}

/* --- errors */

typedef double predictor(const struct data *, int gpu, unsigned timed, int tile, double size, int donors);

struct error {
	double sum;
	unsigned count;
};

/* every: of the problem sizes. */
static struct error error_on(const struct data *data, int gpu, predictor *predict, int donors, uint32_t every)
{
	struct error e = {0, 0};

	for (unsigned timed = 0; timed < 1U << TILES; timed++) {
		int measured = 1;

		for (int tile = 0; tile < TILES; tile++)
			measured = measured && (!(timed >> tile & 1) || data->of[gpu][tile].count);
		if (__builtin_popcount(timed) != TIMED || !measured)
			continue;
		for (int tile = 0; tile < TILES; tile++) {
			const struct series *s = &data->of[gpu][tile];

			for (uint32_t i = every / 2; i < s->count && !(timed >> tile & 1); i += every) {
				double ns = predict(data, gpu, timed, tile, s->sizes[i], donors);

				if (isnan(ns))
					continue;
				e.sum += fabs(ns / s->times_ns[i] - 1);
				e.count++;
			}
		}
	}
	return e;
}

static double report(const struct data *data, const char *title, predictor *predict, int donors, uint32_t every)
{
	struct error groups[2] = {{0, 0}};
	double all;

	printf("# |%-44s", title);
	for (int gpu = 0; gpu < GPUS; gpu++) {
		struct error e = error_on(data, gpu, predict, donors, every);

		groups[gpus[gpu].tuned].sum += e.sum;
		groups[gpus[gpu].tuned].count += e.count;
		printf(" %9.1f", 100 * e.sum / e.count);
	}
	all = 100 * (groups[0].sum + groups[1].sum) / (groups[0].count + groups[1].count);
	printf(" %9.2f %9.2f %9.2f\n", 100 * groups[1].sum / groups[1].count, 100 * groups[0].sum / groups[0].count,
	       all);
	return all;
}

/* The reduced recordings lack the sorts alone, which are not predicted here: the limits are the same. */
static void judge_block_sizes(const char *folder)
{
	enum { ALL = 1, A_FEW = 8 }; /* of the problem sizes */
	static struct data data;
	double with, without;

	memset(&data, 0, sizeof(data));
	if (!load(&data, folder)) {
		skip();
		return;
	}
	printf("# |%-44s", "4 block sizes timed, error in %");
	for (int gpu = 0; gpu < GPUS; gpu++)
		printf(" %9s", gpus[gpu].file);
	printf(" %9s %9s %9s\n", "tuned on", "held out", "all");
	with = report(&data, "known on another GPU of the architecture", ours, 1, ALL);
	without = report(&data, "known on no other GPU", ours, 0, ALL);
	report(&data, "singular vectors, from the architecture", papers, 1, A_FEW);
	report(&data, "singular vectors, from the other architecture", papers, 0, A_FEW);
	assert_true(with <= MARGIN * 3.28);
	assert_true(without <= MARGIN * 8.48);
}

static void four_of_eight_block_sizes(void **state)
{
	(void)state;
	judge_block_sizes(KC_REDUCED_DATA);
}

static void four_of_eight_block_sizes_of_the_full_recordings(void **state)
{
	(void)state;
	judge_block_sizes(kc_full_data());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(four_of_eight_block_sizes),
	    cmocka_unit_test(four_of_eight_block_sizes_of_the_full_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
