#include "block_sizes.h"

#include "predictor/device/units.h"

#include <math.h>
#include <string.h>

#define SECTOR_VALUES 8u /* 4-byte values in a sector of 32 bytes */

/* Chosen on the GTX 680, K20 and GTX 970 of the recorded tiled products (block_sizes_trace_test.c). */
#define TERMS 4
#define EQUAL_SHARES 0.2    /* strength of the pull, where a relative error of 1 counts 1 */
#define RESIDUAL_SHARE 0.5  /* of what donors' curves leave unexplained at the timed points nearby */
#define BEST_DONOR_FIT 0.02 /* a better fit, in log time, earns no more weight */

#define DESCENT_STEPS 1000
#define DESCENT_ENOUGH 1e-9

/* How far lines are continued beyond the known sizes, and how far apart two of them may be, in log size. */
#define SIZE_BEYOND 0.405 /* log 1.5 */
#define SIZE_APART 1.387  /* log 4 */

static double threads_of(const struct kc_block_size *size)
{
	double threads = 1;

	for (int i = 0; i < 3; i++)
		threads *= size->block[i] ? size->block[i] : 1;
	return threads;
}

static int same_block(const struct kc_block_size *a, const struct kc_block_size *b)
{
	return !memcmp(a->block, b->block, sizeof(a->block));
}

static const struct kc_block_time *find(const struct kc_block_curve *curve, const struct kc_block_size *size)
{
	for (uint32_t i = 0; i < curve->count; i++)
		if (same_block(&curve->times[i].size, size))
			return &curve->times[i];
	return NULL;
}

/* --- donors */

struct residual {
	double log_threads, log_ratio;
};

/* Interpolated between the nearest two block sizes. Residuals are deviations from their mean. */
static double residual_at(const struct residual *residuals, uint32_t count, double log_threads)
{
	const struct residual *below = NULL, *above = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct residual *r = &residuals[i];

		if (r->log_threads <= log_threads && (!below || r->log_threads > below->log_threads))
			below = r;
		if (r->log_threads >= log_threads && (!above || r->log_threads < above->log_threads))
			above = r;
	}
	if (!below || !above)
		return below ? below->log_ratio : above ? above->log_ratio : 0;
	if (above->log_threads <= below->log_threads)
		return below->log_ratio;
	return below->log_ratio + (above->log_ratio - below->log_ratio) * (log_threads - below->log_threads) /
				      (above->log_threads - below->log_threads);
}

/* Log ns predicted from one donor; returns its weight, 0 where it knows too little. */
static double predict_from_donor(const struct kc_block_curve *own, const struct kc_block_curve *donor,
				 const struct kc_block_size *target, double *log_ns)
{
	const struct kc_block_time *there = find(donor, target);
	struct residual residuals[KC_BLOCK_SIZES_MAX];
	double mean = 0, square = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; there && i < own->count && n < KC_BLOCK_SIZES_MAX; i++) {
		const struct kc_block_time *here = &own->times[i], *other = find(donor, &here->size);

		if (other)
			residuals[n++] =
			    (struct residual){log(threads_of(&here->size)), log(here->ns) - log(other->ns)};
	}
	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		mean += residuals[i].log_ratio / n;
	for (uint32_t i = 0; i < n; i++) {
		residuals[i].log_ratio -= mean;
		square += residuals[i].log_ratio * residuals[i].log_ratio / n;
	}
	*log_ns = log(there->ns) + mean + RESIDUAL_SHARE * residual_at(residuals, n, log(threads_of(target)));
	return 1 / (square + BEST_DONOR_FIT * BEST_DONOR_FIT);
}

/* --- terms */

/* Sectors that a row of x 4-byte values touches, over those it needs; mean over the places where rows begin. */
static double sector_waste(uint32_t x)
{
	double sum = 0;

	for (uint32_t column = 0; column < SECTOR_VALUES; column++) {
		uint32_t begin = column * (x % SECTOR_VALUES) % SECTOR_VALUES;

		sum += ceil((begin + (double)x) / SECTOR_VALUES);
	}
	return sum / x;
}

static void terms_of(const struct kc_block_size *size, double terms[TERMS])
{
	uint32_t x = size->block[0] ? size->block[0] : 1;
	double threads = threads_of(size), rows = threads / x, warps = ceil(threads / KC_WARP_LANES);
	double resident = size->blocks_per_sm ? size->blocks_per_sm : 1;
	double lanes = warps * KC_WARP_LANES / threads;

	terms[0] = lanes;
	/* A tile of x times `rows` threads loads 1 / x + 1 / rows values per thread and step. */
	terms[1] = sector_waste(x) * (1.0 / x + 1 / rows) / 2;
	terms[2] = lanes / (resident * warps);
	terms[3] = 1 / resident;
}

struct equation { /* 1 = Σ coefficient · value; its error is relative */
	double value[TERMS];
};

/* Least squares by coordinate descent. Coefficients are at least 0, and pulled towards equal shares. */
static void fit_terms(const struct equation *equations, uint32_t count, double coefficients[TERMS])
{
	const double pull = EQUAL_SHARES * EQUAL_SHARES;
	double moved = 1;

	for (int j = 0; j < TERMS; j++)
		coefficients[j] = 1.0 / TERMS;
	for (int step = 0; step < DESCENT_STEPS && moved > DESCENT_ENOUGH; step++) {
		moved = 0;
		for (int j = 0; j < TERMS; j++) {
			double above = pull / TERMS, below = pull, next;

			for (uint32_t i = 0; i < count; i++) {
				const double *v = equations[i].value;
				double rest = 1;

				for (int k = 0; k < TERMS; k++)
					rest -= k == j ? 0 : coefficients[k] * v[k];
				above += rest * v[j];
				below += v[j] * v[j];
			}
			next = fmax(above / below, 0);
			moved = fmax(moved, fabs(next - coefficients[j]));
			coefficients[j] = next;
		}
	}
}

static double predict_by_terms(const struct kc_block_curve *own, const struct kc_block_size *target)
{
	struct equation equations[KC_BLOCK_SIZES_MAX];
	double coefficients[TERMS], mean[TERMS] = {0}, at[TERMS], log_ns = 0, ns = 0;
	uint32_t n = own->count < KC_BLOCK_SIZES_MAX ? own->count : KC_BLOCK_SIZES_MAX;

	for (uint32_t i = 0; i < n; i++) {
		terms_of(&own->times[i].size, equations[i].value);
		log_ns += log(own->times[i].ns) / n;
		for (int j = 0; j < TERMS; j++)
			mean[j] += equations[i].value[j] / n;
	}
	for (uint32_t i = 0; i < n; i++)
		for (int j = 0; j < TERMS; j++)
			equations[i].value[j] *= exp(log_ns) / (mean[j] * own->times[i].ns);
	fit_terms(equations, n, coefficients);
	terms_of(target, at);
	for (int j = 0; j < TERMS; j++)
		ns += coefficients[j] * at[j] / mean[j] * exp(log_ns);
	return ns;
}

double kc_blocks_predict(const struct kc_block_curve *own, const struct kc_block_curve *donors, uint32_t donor_count,
			 const struct kc_block_size *target)
{
	const struct kc_block_time *timed = find(own, target);
	double sum = 0, weights = 0;

	if (!own->count)
		return NAN;
	if (timed)
		return timed->ns;
	for (uint32_t i = 0; i < donor_count; i++) {
		double log_ns = 0, weight = predict_from_donor(own, &donors[i], target, &log_ns);

		sum += weight * log_ns;
		weights += weight;
	}
	return weights > 0 ? exp(sum / weights) : predict_by_terms(own, target);
}

/* --- problem sizes */

double kc_size_between(const double *sizes, const double *times_ns, uint32_t count, double size)
{
	uint32_t above = 0;
	double from, to, at;

	while (above < count && sizes[above] < size)
		above++;
	if (above < count && sizes[above] == size)
		return times_ns[above];
	if (count < 2)
		return NAN;
	above = above == 0 ? 1 : above == count ? count - 1 : above;
	from = log(sizes[above - 1]);
	to = log(sizes[above]);
	at = log(size);
	if (to - from > SIZE_APART || at < from - SIZE_BEYOND || at > to + SIZE_BEYOND)
		return NAN;
	return exp(log(times_ns[above - 1]) +
		   (log(times_ns[above]) - log(times_ns[above - 1])) * (at - from) / (to - from));
}
