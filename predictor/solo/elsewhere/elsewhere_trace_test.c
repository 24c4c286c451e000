/*
 * What a launch would take on another GPU, on launches that other people timed on several
 * (../shared/data): solo_bsp (6 GPUs), NeuSight's operators (5), Kernel Tuner's spaces (6),
 * and one PyTorch model on an A100 and a V100, which is printed alone.
 *
 * Points are launches of one kernel, launch shape and problem that two GPUs both have, at most
 * 2,000 of each ordered pair of GPUs, drawn by random_testing.h. The GPU that is predicted is left
 * out, as source and as target, on all sets, when the constants of both laws and the widths of
 * the ranges are chosen: those of the least sum of log median errors over the sets, on
 * 500 points of each pair, without those of NeuSight's A100, which are marked *report*. The form of the law and the
 * steps of its constants were tried on the same data.
 *
 * NeuSight's products of matrices are a library's, which is another kernel on another GPU; its
 * grids do not tell one of the dimensions. The tuning spaces do not tell grids.
 */
#include "elsewhere_testing.h"

#include "predictor/math/median.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* --- choosing without the GPU that is predicted */

static const double bytes[] = {15, 20, 30}, lows[] = {0, 0.1, 0.2}, highs[] = {0.6, 0.85},
		    unknowns[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1};
enum { LAWS = 3 * 3 * 2, UNKNOWNS = 6 };

static struct kc_elsewhere_law law_at(int i)
{
	return (struct kc_elsewhere_law){
	    .bytes = bytes[i % 3], .low = lows[i / 3 % 3], .high = highs[i / 9], .unknown = unknowns[i % UNKNOWNS]};
}

static double residual(const struct kc_elsewhere_law *law, const struct point *point)
{
	return kc_elsewhere_log_ratio(law, point->here, point->there, &point->launch) - point->y;
}

static double error_of(double log_error)
{
	return 100 * fabs(expm1(log_error));
}

static int has_gpu(const struct point *point, const struct kc_device *gpu)
{
	return point->here == gpu || point->there == gpu;
}

static int is_within(const struct point *point)
{
	return kc_elsewhere_is_within(point->here, point->there);
}

struct chosen {
	const struct kc_device *gpu;    /* left out; NULL: none */
	struct kc_elsewhere_law law[2]; /* across, within */
	double score[2], unknown_score; /* the least sums so far */
};

enum { CHOSEN_MAX = 20, EITHER = -1 };

struct choice {
	struct chosen at[CHOSEN_MAX]; /* the first one leaves none out */
	int count;
};

/* Values of the points of a set that may be chosen on without this GPU. Returns how many. */
static size_t values_of(const struct data *data, const double *all, int set, const struct kc_device *without,
			int within, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < data->count; i++) {
		const struct point *p = &data->points[i];

		if (p->set == set && p->to_choose && !has_gpu(p, without) &&
		    (within == EITHER || is_within(p) == within))
			values[n++] = all[i];
	}
	return n;
}

/* Of sets whose grids are known, the sum of log median errors; of the tuning spaces, the median over both. */
static double score_of(const struct data *data, const double *errors, const struct kc_device *without, int within)
{
	static double values[POINTS_MAX];
	double score = 0;

	for (int set = within == EITHER ? TUNING : 0; set < (within == EITHER ? CHOSEN_ON : TUNING); set++) {
		size_t n = values_of(data, errors, set, without, within, values);

		score += n ? log(kc_quantile(values, n, 0.5)) : 0;
	}
	return score;
}

static int chosen_at(const struct choice *choice, const struct kc_device *gpu)
{
	int i = 0;

	while (i < choice->count && choice->at[i].gpu != gpu)
		i++;
	return i;
}

static void list_gpus(const struct data *data, struct choice *choice)
{
	const struct chosen none = {.score = {INFINITY, INFINITY}, .unknown_score = INFINITY};

	choice->at[choice->count++] = none;
	for (size_t i = 0; i < data->count; i++) {
		const struct kc_device *gpu = data->points[i].there;

		if (data->points[i].set < CHOSEN_ON && chosen_at(choice, gpu) == choice->count) {
			assert_true(choice->count < CHOSEN_MAX);
			choice->at[choice->count] = none;
			choice->at[choice->count++].gpu = gpu;
		}
	}
}

static void try_law(const struct data *data, const struct kc_elsewhere_law *law, int with_unknown,
		    struct chosen *chosen, const double *errors)
{
	double score;

	for (int within = 0; within < 2; within++) {
		score = score_of(data, errors, chosen->gpu, within);
		if (score < chosen->score[within]) {
			double unknown = chosen->law[within].unknown;

			chosen->score[within] = score;
			chosen->law[within] = *law;
			chosen->law[within].unknown = unknown;
		}
	}
	score = with_unknown ? score_of(data, errors, chosen->gpu, EITHER) : INFINITY;
	if (score < chosen->unknown_score) {
		chosen->unknown_score = score;
		chosen->law[0].unknown = chosen->law[1].unknown = law->unknown;
	}
}

/* Points of a pair follow each other. */
static size_t end_of_pair(const struct data *data, size_t first)
{
	size_t end = first;

	while (end < data->count && data->points[end].pair == data->points[first].pair)
		end++;
	return end;
}

/* The half width that holds 90 % of the points to choose on, in four of five pairs of GPUs, without one GPU. */
static double width_of(const struct data *data, const double *errors, const struct kc_device *without, int within)
{
	static double values[PAIR_MAX], widths[GPUS_MAX * GPUS_MAX * SETS];
	size_t pairs = 0;

	for (size_t first = 0, end; first < data->count; first = end) {
		const struct point *p = &data->points[first];
		size_t n = 0;

		end = end_of_pair(data, first);
		if (p->set >= CHOSEN_ON || has_gpu(p, without) || is_within(p) != within)
			continue;
		for (size_t i = first; i < end; i++)
			if (data->points[i].to_choose)
				values[n++] = errors[i];
		if (n)
			widths[pairs++] = kc_quantile(values, n, 0.9);
	}
	return kc_quantile(widths, pairs, 0.8);
}

static void choose(const struct data *data, struct choice *choice)
{
	static double errors[POINTS_MAX];

	list_gpus(data, choice);
	for (int i = 0; i < LAWS; i++) {
		struct kc_elsewhere_law law = law_at(i);

		for (size_t k = 0; k < data->count; k++)
			errors[k] = data->points[k].to_choose ? error_of(residual(&law, &data->points[k])) : 0;
		for (int k = 0; k < choice->count; k++)
			try_law(data, &law, i < UNKNOWNS, &choice->at[k], errors);
	}
	for (int k = 0; k < choice->count; k++) {
		struct chosen *chosen = &choice->at[k];

		for (size_t i = 0; i < data->count; i++)
			errors[i] = fabs(residual(&chosen->law[is_within(&data->points[i])], &data->points[i]));
		for (int within = 0; within < 2; within++)
			chosen->law[within].half_width = width_of(data, errors, chosen->gpu, within);
	}
}

static void print_choice(const struct choice *choice)
{
	for (int i = 0; i < choice->count; i++)
		for (int within = 0; within < 2; within++) {
			const struct kc_elsewhere_law *law = &choice->at[i].law[within];

			printf("# without %-36s %-6s bytes %2.0f, share %.1f to %.2f, %.1f; half width %.2f\n",
			       choice->at[i].gpu ? choice->at[i].gpu->name : "any", within ? "within" : "across",
			       law->bytes, law->low, law->high, law->unknown, law->half_width);
		}
}

/* --- what is predicted without the GPU */

static const struct kc_elsewhere_law *law_for(const struct choice *choice, const struct point *point)
{
	int at = chosen_at(choice, point->there);

	return &choice->at[at < choice->count ? at : 0].law[is_within(point)];
}

/* What the product says, with this law and these anchors. */
static double predicted(const struct choice *choice, const struct point *point,
			const struct kc_elsewhere_anchors *anchors, double *half_width)
{
	const struct kc_elsewhere_law *law = law_for(choice, point);
	struct kc_elsewhere out;

	kc__elsewhere_by(law, point->here, point->there, &point->launch, anchors, &out);
	*half_width = log(out.high_ns / out.ns);
	return log(out.ns / point->launch.ns);
}

/* Another point of the pair, of the same kernel or of others. 0: none was met. */
static int draw(const struct data *data, size_t first, size_t end, size_t one, int of_same, size_t *other)
{
	for (int i = 0; i < 400; i++) {
		*other = first + random_below((uint32_t)(end - first));
		if (*other != one && (data->points[*other].kernel == data->points[one].kernel) == of_same)
			return 1;
	}
	return 0;
}

static int draw_anchors(const struct data *data, const double *beyond, size_t first, size_t end, size_t one,
			int of_same, int count, struct kc_elsewhere_anchors *anchors)
{
	double values[16], nearest = INFINITY;
	size_t other;

	*anchors = (struct kc_elsewhere_anchors){NAN, NAN, 0};
	for (int i = 0; i < count; i++) {
		if (!draw(data, first, end, one, of_same, &other))
			return 0;
		values[i] = beyond[other];
		if (of_same && fabs(log(data->points[other].launch.ns / data->points[one].launch.ns)) < nearest) {
			nearest = fabs(log(data->points[other].launch.ns / data->points[one].launch.ns));
			anchors->size = beyond[other];
		}
	}
	if (!of_same) {
		anchors->others = kc_median(values, (size_t)count);
		anchors->count = (uint32_t)count;
	}
	return 1;
}

/* What was predicted of each point: log errors, with their half widths. */
struct told {
	double error[POINTS_MAX], half_width[POINTS_MAX], told[POINTS_MAX];
};

static int is_asked(const struct data *data, size_t i, int set, int within)
{
	const struct point *p = &data->points[i];

	return p->set == set && (within == EITHER || is_within(p) == within);
}

/* Percent; NAN: there are none. */
static double median_of(const struct data *data, const struct told *told, int set, int within)
{
	static double values[POINTS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < data->count; i++)
		if (is_asked(data, i, set, within) && !isnan(told->error[i]))
			values[n++] = error_of(told->error[i]);
	return n ? kc_quantile(values, n, 0.5) : NAN;
}

static double covered(const struct told *told, size_t first, size_t end)
{
	size_t in = 0;

	for (size_t i = first; i < end; i++)
		in += fabs(told->error[i]) <= told->half_width[i];
	return 100 * (double)in / (double)(end - first);
}

struct coverage {
	double rows, pairs,
	    factor; /* percent of rows inside; of pairs with 75 % of them inside; the widest, as a factor */
};

static struct coverage coverage_of(const struct data *data, const struct told *told, int set)
{
	struct coverage out = {0};
	double rows = 0, pairs = 0, good = 0;

	for (size_t first = 0, end; first < data->count; first = end) {
		double in;

		end = end_of_pair(data, first);
		if (data->points[first].set != set)
			continue;
		in = covered(told, first, end);
		out.rows += in * (double)(end - first);
		rows += (double)(end - first);
		good += in >= 75;
		pairs++;
		for (size_t i = first; i < end; i++)
			out.factor = fmax(out.factor, exp(told->half_width[i]));
	}
	out.rows /= rows;
	out.pairs = 100 * good / pairs;
	return out;
}

/* Percent of rows where it is told that they are faster or slower, and of these, where they are not. */
static void verdicts(const struct data *data, const struct told *told, int set, double *commits, double *wrong)
{
	double rows = 0, said = 0, false_ones = 0;

	for (size_t i = 0; i < data->count; i++) {
		int verdict = kc_elsewhere_verdict(1, exp(told->told[i]), exp(told->told[i] + told->half_width[i]));

		if (data->points[i].set != set)
			continue;
		rows++;
		said += verdict != 0;
		false_ones += verdict * data->points[i].y < 0;
	}
	*commits = 100 * said / rows;
	*wrong = 100 * false_ones / said;
}

/* Sum of predicted over sum of measured times, less 1, in percent: mean and mean size over the pairs. */
static void sums(const struct data *data, const struct told *told, int set, double *mean, double *size)
{
	double pairs = 0;

	*mean = *size = 0;
	for (size_t first = 0, end; first < data->count; first = end) {
		double measured = 0, predicted_ns = 0, off;

		end = end_of_pair(data, first);
		if (data->points[first].set != set)
			continue;
		for (size_t i = first; i < end; i++) {
			measured += data->points[i].launch.ns * exp(data->points[i].y);
			predicted_ns += data->points[i].launch.ns * exp(told->told[i]);
		}
		off = 100 * (predicted_ns / measured - 1);
		*mean += off;
		*size += fabs(off);
		pairs++;
	}
	*mean /= pairs;
	*size /= pairs;
}

static void tell(const struct data *data, const struct choice *choice, size_t i,
		 const struct kc_elsewhere_anchors *anchors, struct told *out)
{
	out->told[i] = predicted(choice, &data->points[i], anchors, &out->half_width[i]);
	out->error[i] = out->told[i] - data->points[i].y;
}

static void tell_without_anchors(const struct data *data, const struct choice *choice, struct told *out)
{
	const struct kc_elsewhere_anchors none = {NAN, NAN, 0};

	for (size_t i = 0; i < data->count; i++)
		tell(data, choice, i, &none, out);
}

/* Where fewer were found, nothing: NAN. */
static void tell_with_anchors(const struct data *data, const struct choice *choice, const double *beyond, int of_same,
			      int count, struct told *out)
{
	for (size_t first = 0, end; first < data->count; first = end) {
		end = end_of_pair(data, first);
		for (size_t i = first; i < end; i++) {
			struct kc_elsewhere_anchors anchors;

			out->error[i] = NAN;
			if (draw_anchors(data, beyond, first, end, i, of_same, count, &anchors))
				tell(data, choice, i, &anchors, out);
		}
	}
}

enum { DRAWS = 4 };

/* Mean over the draws. */
static void anchored(const struct data *data, const struct choice *choice, const double *beyond, int of_same, int count,
		     double *medians)
{
	static struct told told;

	for (int draw_number = 0; draw_number < DRAWS; draw_number++) {
		tell_with_anchors(data, choice, beyond, of_same, count, &told);
		for (int set = 0; set < SETS; set++)
			medians[set] += median_of(data, &told, set, EITHER) / DRAWS;
	}
}

/* Limits: of the task's; INFINITY: none. A law that was chosen among eight (no change; bandwidth; SMs times clock, with
 * and without cores; both, geometrically; clock; wave scaling) without the target has 15.0, 27.2 and 19.3 %. */
static const struct {
	double all, within, one, nearest, others;
} limits[SETS] = {
    {0.85 * 15.0, 6.9, 7.5, 7.5, 13},
    {0.95 * 27.2, INFINITY, INFINITY, INFINITY, 20},
    {0.95 * 19.3, 11.5, INFINITY, 8.5, 15.5},
    {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
};

static void at_most(double value, double limit)
{
	if (isfinite(limit))
		assert_true(value <= limit);
}

static void medians_without_the_gpu(const struct data *data, const struct choice *choice, const struct told *told)
{
	static double beyond[POINTS_MAX];
	double one[SETS] = {0}, nearest[SETS] = {0}, others[SETS] = {0}, lone[SETS] = {0};

	for (size_t i = 0; i < data->count; i++)
		beyond[i] = -told->error[i];
	anchored(data, choice, beyond, 1, 1, one);
	anchored(data, choice, beyond, 1, 8, nearest);
	anchored(data, choice, beyond, 0, 5, others);
	anchored(data, choice, beyond, 0, 1, lone);
	printf("# median error, %%    all  within  across  same kernel: one  nearest of 8  five others  one other\n");
	for (int set = 0; set < SETS; set++) {
		double all = median_of(data, told, set, EITHER), within = median_of(data, told, set, 1);

		printf("# %-16s %6.1f %7.1f %7.1f %17.1f %13.1f %12.1f %10.1f\n", sets[set].name, all, within,
		       median_of(data, told, set, 0), one[set], nearest[set], others[set], lone[set]);
		at_most(all, limits[set].all);
		at_most(within, limits[set].within);
		at_most(one[set], limits[set].one);
		at_most(nearest[set], limits[set].nearest);
		at_most(others[set], limits[set].others);
	}
}

static void ranges_without_the_gpu(const struct data *data, const struct told *told)
{
	double said = 0;

	printf("# %%                 inside  pairs with 75  factor  faster or slower  wrong  sums: mean  size\n");
	for (int set = 0; set < SETS; set++) {
		struct coverage in = coverage_of(data, told, set);
		double commits, wrong, mean, size;

		verdicts(data, told, set, &commits, &wrong);
		sums(data, told, set, &mean, &size);
		printf("# %-16s %8.1f %14.1f %7.2f %17.1f %6.1f %+11.1f %5.1f\n", sets[set].name, in.rows, in.pairs,
		       in.factor, commits, wrong, mean, size);
		assert_true(in.factor <= 2.5);
		assert_true(wrong <= 5);
		if (set == CHOSEN_ON)
			continue;
		assert_true(in.rows >= 85);
		assert_true(in.pairs >= 80);
		said += commits / CHOSEN_ON;
	}
	assert_true(said >= 80);
}

/* The product's constants are those that are chosen with all GPUs, its half widths as wide. */
static void constants_are_those_chosen(const struct choice *choice)
{
	const struct kc_device *k20 = kc_device_builtin("k20"), *k40 = kc_device_builtin("k40"),
			       *v100 = kc_device_builtin("v100");

	for (int within = 0; within < 2; within++) {
		const struct kc_elsewhere_law *law = kc_elsewhere_law(k20, within ? k40 : v100),
					      *chosen = &choice->at[0].law[within];

		assert_true(law->bytes == chosen->bytes && law->low == chosen->low && law->high == chosen->high);
		assert_true(law->unknown == chosen->unknown);
		assert_true(law->half_width >= chosen->half_width);
	}
}

static void without_the_gpu_that_is_predicted(void **state)
{
	static struct choice choice;
	static struct told told;
	struct data *data = read_data();

	(void)state;
	if (!data)
		skip();
	choose(data, &choice);
	print_choice(&choice);
	constants_are_those_chosen(&choice);
	tell_without_anchors(data, &choice, &told);
	ranges_without_the_gpu(data, &told);
	medians_without_the_gpu(data, &choice, &told);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(without_the_gpu_that_is_predicted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
