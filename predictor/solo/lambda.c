#include "lambda.h"

#include <math.h>

/* Each level of the tree keeps a running mean of log λ and the variance of measurements around its predictions. All
 * numbers are in log time. */

/* Standard deviation assumed before a level has seen any: between kernels, between launch shapes of a kernel, between
 * launches of a shape. Recorded runs: log times per thread differ by about 2 between kernels and by 0.5 between sizes;
 * repeated launches by 0.3 % (median) to 3.5 % (90th percentile). */
static const double prior_spread[] = {2.0, 0.5, 0.04};
enum { LEVEL_DEVICE, LEVEL_KEY, LEVEL_SHAPE };
enum { COUNTED_OF_OWN_CODE = 1 }; /* kc_work.counted */

#define PRIOR_COUNT 2.0        /* measurements that the prior spread is worth */
#define MEMORY 16.0            /* measurements: the weight of older ones fades by 1/16 each time */
#define SPREAD_MEMORY 32.0     /* the same, for the variance */
#define FIRST_WEIGHT 0.25      /* a kernel's first launch runs on cold caches */
#define OVERLAPPED_WEIGHT 0.25 /* the predicted slowdown that it is divided by may be wrong */
#define RELATED_SPREAD 0.1     /* between GPUs of an architecture: 6 to 9 % mean error on the recorded BSP runs */
#define REPEAT_WEIGHT 0.05     /* a repeated launch says little new about the levels above */
#define CLIP 1.5               /* Huber's: larger residuals count as this many deviations */
#define LEAST_SPREAD 0.005     /* resolution of CUPTI's clock; no kernel varies less */
#define RUN_LENGTH 6u          /* consecutive outliers on one side, after which the level starts again */
#define WIDENING_STEP 1.01     /* factor: a launch inside narrows by it, one outside widens by its ninth power */
#define WIDENING_LIMIT 3.0     /* factor, in both directions */
#define LARGEST_STEP 3.0       /* of log λ, for one measurement */
#define SETTLED 3u             /* measurements, before which no residual counts as an outlier */

#define LOG_CHANGE 0.005  /* log λ: 0.5 % of the predicted time, */
#define WIDTH_SHARE 0.1   /* or this share of the interval's half width, if that is more */
#define WIDTH_CHANGE 0.25 /* relative, of the interval's half width */

static int level_of(const struct kc_lambda *node)
{
	int level = LEVEL_DEVICE;

	for (node = node->parent; node && level < LEVEL_SHAPE; node = node->parent)
		level++;
	return level;
}

void kc_lambda_init(struct kc_lambda *node, struct kc_lambda *parent)
{
	double spread;

	*node = (struct kc_lambda){.parent = parent, .widening = 1};
	spread = prior_spread[level_of(node)];
	node->log_value = parent ? parent->log_value : (double)KC__PRIOR_LOG_LAMBDA;
	node->variance = spread * spread;
}

/* 95th percentile of Student's t with 2 to 10 degrees of freedom, then the
 * usual expansion around the normal one's 1.645. */
static double t95(double freedom)
{
	static const double table[] = {2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812};
	unsigned whole = freedom < 11 ? (unsigned)freedom : 11; /* a file may tell of more than fit */

	return whole <= 10 ? table[whole < 2 ? 0 : whole - 2] : 1.645 + 1.524 / freedom;
}

static double half_width(const struct kc_lambda *node)
{
	double freedom = PRIOR_COUNT + node->spread_count;
	double is_leaf = node->weight > 0 ? 1 / node->weight : 0;

	return t95(freedom) * sqrt(node->variance * (1 + is_leaf)) * node->widening;
}

struct kc_belief kc_lambda_belief(const struct kc_lambda *node, uint32_t state)
{
	return kc_belief_of((float)node->log_value, (float)half_width(node), node->count, state);
}

/* At every power of two it is published even where it is stable, as the count has grown. */
int kc_lambda_needs_publishing(const struct kc_lambda *node, const struct kc_belief *in_use)
{
	double width = half_width(node), moved = fabs(node->log_value - (double)in_use->log_lambda);

	return !in_use->count || (node->count & (node->count - 1)) == 0 ||
	       moved > fmax(LOG_CHANGE, WIDTH_SHARE * width) ||
	       fabs(width - (double)in_use->half_width) > WIDTH_CHANGE * (double)in_use->half_width;
}

static double predicted_ns(const struct kc_lambda *node, const struct kc_work *work)
{
	return work->launch_ns + work->unit_ns * exp(-node->log_value);
}

/* Fits one duration exactly. */
static void set_from_duration(struct kc_lambda *node, const struct kc_work *work, double ns)
{
	node->log_value = log(work->unit_ns / kc__scaled_ns(work->launch_ns, ns));
}

static void count_outliers_in_a_row(struct kc_lambda *node, double error, double limit)
{
	int32_t side = error > 0 ? 1 : -1;

	if (fabs(error) <= limit)
		node->run = 0;
	else
		node->run = node->side == side ? node->run + 1 : 1;
	node->side = side;
}

static void learn_spread(struct kc_lambda *node, double clipped, double weight)
{
	double gain;

	node->spread_count++;
	gain = weight / fmin(PRIOR_COUNT + node->spread_count, SPREAD_MEMORY);
	node->variance += gain * (clipped * clipped - node->variance);
	node->variance = fmax(node->variance, LEAST_SPREAD * LEAST_SPREAD);
}

/* Moves the width until one launch in ten lies outside. */
static void learn_coverage(struct kc_lambda *node, double error)
{
	static const double cubed = WIDENING_STEP * WIDENING_STEP * WIDENING_STEP;
	int miss = fabs(error) > half_width(node);

	node->widening *= miss ? cubed * cubed * cubed : 1 / WIDENING_STEP;
	node->widening = fmin(fmax(node->widening, 1 / WIDENING_LIMIT), WIDENING_LIMIT);
}

/* One Newton step in log time. A duration near the launch term says little about λ. */
static void move(struct kc_lambda *node, const struct kc_work *work, double expected_ns, double error, double weight)
{
	double share = (expected_ns - work->launch_ns) / expected_ns;
	double step;

	node->weight = node->weight * (1 - 1 / MEMORY) + weight;
	step = weight / node->weight * error / fmax(share, KC__LEAST_SCALED_SHARE);
	node->log_value -= fmin(fmax(step, -LARGEST_STEP), LARGEST_STEP);
}

static void restart(struct kc_lambda *node, const struct kc_work *work, double ns)
{
	set_from_duration(node, work, ns);
	node->weight = 1;
	node->run = 0;
}

/* Learns from another launch of this node itself. */
static void refine_own(struct kc_lambda *node, const struct kc_work *work, double ns, double weight)
{
	double expected_ns = predicted_ns(node, work), error = log(ns / expected_ns);
	double limit = CLIP * sqrt(node->variance) * (1 + 1 / fmax(node->weight, FIRST_WEIGHT));
	double clipped = node->count < SETTLED ? error : fmin(fmax(error, -limit), limit);

	learn_coverage(node, error);
	count_outliers_in_a_row(node, error, limit);
	learn_spread(node, fmin(fmax(error, -limit), limit), weight);
	if (node->run >= RUN_LENGTH)
		restart(node, work, ns);
	else
		move(node, work, expected_ns, clipped, weight);
}

/* Learns from the first launch of a child: how far apart children are, and where their mean is. */
static void learn_from_new_child(struct kc_lambda *node, const struct kc_work *work, double ns, double weight)
{
	double expected_ns = predicted_ns(node, work), error = log(ns / expected_ns);

	learn_spread(node, error, weight);
	move(node, work, expected_ns, error, weight);
}

static void learn_from_repeat(struct kc_lambda *node, const struct kc_work *work, double ns, double weight)
{
	double expected_ns = predicted_ns(node, work);

	move(node, work, expected_ns, log(ns / expected_ns), REPEAT_WEIGHT * weight);
}

static void start_node(struct kc_lambda *node, const struct kc_work *work, double ns, double weight)
{
	set_from_duration(node, work, ns);
	node->weight = FIRST_WEIGHT * weight;
}

/* Where code tells the work, the first kernel's error says little of other kernels', which may have assumed more: the
 * device's λ starts as settled, at what holds if nothing was learned. Of first launches of public programs on an H200
 * the mean error became 33 % where it had been 81. */
static int starts_settled(const struct kc_lambda *node, const struct kc_work *work)
{
	return !node->parent && work->counted == COUNTED_OF_OWN_CODE;
}

static double log_unit_ratio(const struct kc_work *work, const struct kc_work *from_work)
{
	return work && from_work ? log(work->unit_ns / from_work->unit_ns) : 0;
}

void kc_lambda_copy(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
		    const struct kc_work *from_work)
{
	struct kc_lambda *parent = node->parent;

	*node = *from;
	node->parent = parent;
	node->log_value += log_unit_ratio(work, from_work);
}

void kc_lambda_start_from_related(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
				  const struct kc_work *from_work)
{
	node->log_value = from->log_value + log_unit_ratio(work, from_work);
	node->variance = RELATED_SPREAD * RELATED_SPREAD;
	node->weight = FIRST_WEIGHT;
	node->count = 1;
}

void kc_lambda_learn(struct kc_lambda *node, const struct kc_work *work, int64_t measured_ns, int overlapped,
		     double slowdown)
{
	double weight = overlapped ? OVERLAPPED_WEIGHT : 1;
	double ns = (double)measured_ns;
	int is_leaf = 1, child_was_new = 0;

	if (measured_ns <= 0 || !(work->unit_ns > 0))
		return;
	if (overlapped && slowdown > 1)
		ns /= slowdown;
	for (; node; node = node->parent) {
		int new = !node->count, settled = new &&starts_settled(node, work);

		if (settled)
			node->weight = MEMORY;
		if (new && !settled)
			start_node(node, work, ns, weight);
		else if (is_leaf && !settled)
			refine_own(node, work, ns, weight);
		else if (child_was_new)
			learn_from_new_child(node, work, ns, weight);
		else
			learn_from_repeat(node, work, ns, weight);
		node->count++;
		child_was_new = new;
		is_leaf = 0;
	}
}
