#include "scaling.h"

#include "predictor/math/dense.h"
#include "predictor/math/duration.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Beyond the points. Tried by hand on the recorded PyTorch traces. */
#define FULL_REACH 1.386294361    /* log 4: up to here the line is followed in full, */
#define SLOPE_BEYOND 0.3          /* and by this share of the distance beyond */
#define SHORTEST_LOG_NS 7.3132204 /* log 1500: no time is predicted to be shorter */

#define VARIANCE_MAX 1.5     /* larger variances are not subtracted in full, as they are guesses themselves */
#define USUAL_LOG_THREADS 10 /* where the slope over threads adds nothing: 22,000 threads */
#define GRID_WEIGHT 0.4f     /* of a distance in the grid beside one in waves, when a point has to be dropped */
#define SAME_SIZE 1e-6f

const struct kc_scaling_law kc_scaling_law_default = {
    .level = 8.7, /* 6 µs */
    .level_spread = 0.85,
    .slope = 0.9,
    .slope_spread = 0.37,
    .threads_slope = 0.05,
    .size_spread = 0.39,
    .size_reach = 1.6,
    .grid_spread = 0.23,
    .grid_reach = 3.8,
    .noise = 0.08,
    .caution = 0.15,
    .guess_spread = 0.2,
    .guess_size_spread = 0.4,
    .guess_share = 0.4,
    .interval = 2.35,
    .interval_spread = 0.2,
};

struct kc_scaling_size kc_scaling_size(const struct kc_work *work, const struct kc_shape *shape)
{
	struct kc_scaling_size size = {
	    .log_waves = (float)(0.5 * log1p(work->waves * work->waves)),
	    .log_threads = (float)log(fmax((double)work->blocks * work->threads_per_block, 1)),
	};

	for (int i = 0; i < 3; i++)
		size.log_grid[i] = logf(fmaxf((float)shape->grid[i], 1));
	return size;
}

void kc_scaling_init(struct kc_scaling *scaling)
{
	memset(scaling, 0, sizeof(*scaling));
}

static float grid_distance(const struct kc_scaling_size *a, const struct kc_scaling_size *b)
{
	float sum = 0;

	for (int i = 0; i < 3; i++)
		sum += fabsf(a->log_grid[i] - b->log_grid[i]);
	return sum;
}

static int is_same_size(const struct kc_scaling_size *a, const struct kc_scaling_size *b)
{
	return fabsf(a->log_waves - b->log_waves) < SAME_SIZE && fabsf(a->log_threads - b->log_threads) < SAME_SIZE &&
	       grid_distance(a, b) < SAME_SIZE;
}

static double covariance(const struct kc_scaling_law *law, const struct kc_scaling_size *a,
			 const struct kc_scaling_size *b)
{
	double size = fabs((double)a->log_waves - b->log_waves);

	return law->level_spread * law->level_spread +
	       law->slope_spread * law->slope_spread * a->log_waves * b->log_waves +
	       law->size_spread * law->size_spread * exp(-size / law->size_reach) +
	       law->grid_spread * law->grid_spread * exp(-grid_distance(a, b) / law->grid_reach);
}

static double expected(const struct kc_scaling_law *law, const struct kc_scaling_size *size)
{
	return law->level + law->slope * size->log_waves + law->threads_slope * (size->log_threads - USUAL_LOG_THREADS);
}

static double guess_covariance(const struct kc_scaling_law *law, const struct kc_scaling_size *a,
			       const struct kc_scaling_size *b)
{
	double size = fabs((double)a->log_waves - b->log_waves);

	return law->guess_spread * law->guess_spread +
	       law->guess_size_spread * law->guess_size_spread * exp(-size / law->size_reach) +
	       law->grid_spread * law->grid_spread * exp(-grid_distance(a, b) / law->grid_reach);
}

static double guess_expected(const struct kc_scaling_law *law, const struct kc_scaling_size *size)
{
	(void)law;
	return size->log_guess_ns;
}

/* The point closest to another one, apart from the two ends and the last one measured. */
static uint32_t most_redundant(const struct kc_scaling *scaling)
{
	const struct kc_scaling_point *p = scaling->points;
	uint32_t low = 0, high = 0, found = 0;
	float least = INFINITY;

	for (uint32_t i = 1; i < scaling->count; i++) {
		low = p[i].size.log_waves < p[low].size.log_waves ? i : low;
		high = p[i].size.log_waves > p[high].size.log_waves ? i : high;
	}
	for (uint32_t i = 0; i < scaling->count; i++) {
		for (uint32_t j = 0; j < scaling->count; j++) {
			float distance = fabsf(p[i].size.log_waves - p[j].size.log_waves) +
					 GRID_WEIGHT * grid_distance(&p[i].size, &p[j].size);

			if (i == j || i == low || i == high || i == scaling->last || distance >= least)
				continue;
			least = distance;
			found = i;
		}
	}
	return found;
}

static uint32_t point_to_write(struct kc_scaling *scaling)
{
	if (scaling->count < KC_SCALING_POINTS)
		return scaling->count++;
	return most_redundant(scaling);
}

void kc_scaling_learn(struct kc_scaling *scaling, const struct kc_scaling_size *size, int64_t measured_ns)
{
	struct kc_scaling_point *point;
	uint32_t i = 0;

	if (measured_ns <= 0)
		return;
	while (i < scaling->count && !is_same_size(&scaling->points[i].size, size))
		i++;
	if (i == scaling->count) {
		i = point_to_write(scaling);
		scaling->points[i] = (struct kc_scaling_point){.size = *size};
	}
	scaling->last = i;
	point = &scaling->points[i];
	point->count += point->count < UINT32_MAX;
	point->log_ns += (logf((float)measured_ns) - point->log_ns) / (float)point->count;
}

/* The size as far as the line is followed, and the shortest time to predict. */
static struct kc_scaling_size damped_size(const struct kc_scaling *scaling, const struct kc_scaling_size *size,
					  double *least_log_ns)
{
	struct kc_scaling_size at = *size;
	double low = INFINITY, high = -INFINITY, beyond, kept;

	*least_log_ns = SHORTEST_LOG_NS;
	for (uint32_t i = 0; i < scaling->count; i++) {
		low = fmin(low, scaling->points[i].size.log_waves);
		high = fmax(high, scaling->points[i].size.log_waves);
		*least_log_ns = fmin(*least_log_ns, scaling->points[i].log_ns);
	}
	beyond = at.log_waves - fmin(fmax(at.log_waves, low), high);
	kept = fmin(fmax(beyond, -FULL_REACH), FULL_REACH);
	at.log_waves -= (float)((1 - SLOPE_BEYOND) * (beyond - kept));
	at.log_threads -= (float)((1 - SLOPE_BEYOND) * (beyond - kept));
	return at;
}

static int64_t whole_ns(double log_ns)
{
	return (int64_t)fmax(fmin(exp(log_ns), KC__LONGEST_NS), 1);
}

/* One of two processes: by the law over sizes, or around what is expected of such kernels. */
struct process {
	double (*covariance)(const struct kc_scaling_law *law, const struct kc_scaling_size *a,
			     const struct kc_scaling_size *b);
	double (*expected)(const struct kc_scaling_law *law, const struct kc_scaling_size *size);
};

struct outcome {
	double log_ns, variance;
};

static int predict(const struct process *of, const struct kc_scaling_law *law, const struct kc_scaling *scaling,
		   const struct kc_scaling_size *at, struct kc_scaling_space *space, struct outcome *out)
{
	double *l = space->l, *residuals = space->residuals, *k = space->k;
	const struct kc_scaling_point *points = scaling->points;
	uint32_t n = scaling->count;
	double noise = law->noise * law->noise;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j <= i; j++)
			l[i * n + j] = of->covariance(law, &points[i].size, &points[j].size) + (i == j ? noise : 0);
		residuals[i] = points[i].log_ns - of->expected(law, &points[i].size);
		k[i] = of->covariance(law, at, &points[i].size);
	}
	if (kc__cholesky(l, n))
		return -ENODATA;
	kc__solve_lower(l, n, residuals);
	kc__solve_lower(l, n, k);
	out->log_ns = of->expected(law, at);
	out->variance = of->covariance(law, at, at) + noise;
	for (uint32_t i = 0; i < n; i++) {
		out->log_ns += k[i] * residuals[i];
		out->variance -= k[i] * k[i];
	}
	out->variance = fmax(out->variance, noise);
	return 0;
}

static const struct process by_law = {covariance, expected}, by_guess = {guess_covariance, guess_expected};

int kc_scaling_predict(const struct kc_scaling_law *law, const struct kc_scaling *scaling,
		       const struct kc_scaling_size *size, struct kc_scaling_space *space, struct kc_solo *solo)
{
	double half, least, share = size->log_guess_ns > 0 ? law->guess_share : 0;
	struct kc_scaling_size at;
	struct outcome law_says, guess_says = {0, 0};

	if (!scaling->count)
		return -ENODATA;
	at = damped_size(scaling, size, &least);
	if (predict(&by_law, law, scaling, &at, space, &law_says) ||
	    (share > 0 && predict(&by_guess, law, scaling, size, space, &guess_says)))
		return -ENODATA;
	law_says.log_ns = fmax(law_says.log_ns, least);
	law_says.log_ns += share * (guess_says.log_ns - law_says.log_ns);
	law_says.variance += share * (guess_says.variance - law_says.variance);
	half = law->interval * sqrt(law_says.variance + law->interval_spread * law->interval_spread);
	*solo = (struct kc_solo){.model = KC_MODEL_SCALING, .half_width = (float)half};
	solo->low_ns = whole_ns(law_says.log_ns - half);
	solo->high_ns = whole_ns(law_says.log_ns + half);
	solo->ns = whole_ns(fmax(law_says.log_ns - law->caution * fmin(law_says.variance, VARIANCE_MAX), least));
	return 0;
}
