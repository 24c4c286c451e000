#include "arguments.h"

#include "predictor/math/dense.h"
#include "predictor/math/duration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Log time. Chosen on the recorded operators of the V100, T4, P4 and P100, which are marked "choose". */
#define LEVEL_WORTH 0.02    /* launches that the first one's time is worth as the level */
#define SLOPE_WORTH 0.25    /* the same of each slope, in squared logarithms of sizes */
#define ARGUMENT_SLOPE 0.5  /* over each number, before anything is known */
#define NEAREST 3           /* launches that correct the regression */
#define NEAR 0.01           /* squared distance within which they are equally near */
#define FARTHEST 3.0        /* beyond what was measured */
#define FIRST_ERROR 0.3f    /* mean error, before there was any */
#define ERROR_WORTH 2.0f    /* launches that it is worth */
#define ERROR_MEMORY 20.0f  /* launches; older ones fade */
#define LARGEST_ERROR 2.0f  /* of one launch */
#define LEAST_ERROR 0.01f   /* smaller ones do not tell the two apart */
#define INTERVAL 2.5        /* half width in mean errors */
#define LEAST_INTERVAL 0.05 /* half width */

_Static_assert(KC_ARGUMENT_COLUMNS <= KC_SCALING_POINTS, "both work in the same space");

/* Reading */

static int is_known_modulus_only(const char *name, const char *equals)
{
	return memmem(name, (size_t)(equals - name), " mod ", strlen(" mod ")) != NULL;
}

static void add(struct kc_argument_numbers *numbers, double number)
{
	if (numbers->count < KC_ARGUMENT_NUMBERS)
		numbers->log[numbers->count++] = (float)log(fmin(fmax(fabs(number), 1), 1e300));
}

void kc_arguments_read(struct kc_argument_numbers *numbers, const char *text)
{
	*numbers = (struct kc_argument_numbers){.count = 0};
	for (const char *at = text, *equals; at && (equals = strchr(at, '=')); at = equals) {
		char *end;
		double number = strtod(equals + 1, &end);
		int is_number = end != equals + 1 && number == number;
		int is_unknown = equals[1] == ' ' && equals[2] == '?';

		if ((is_number || is_unknown) && !is_known_modulus_only(at, equals))
			add(numbers, is_number ? number : 0);
		equals = is_number ? end : equals + 1;
	}
}

/* The regression */

static void features(const struct kc_argument_numbers *numbers, const struct kc_scaling_size *size,
		     float x[KC_ARGUMENT_FEATURES])
{
	uint32_t n = numbers->count;

	memset(x, 0, KC_ARGUMENT_FEATURES * sizeof(*x));
	memcpy(x, numbers->log, n * sizeof(*x));
	x[n] = size->log_waves;
	memcpy(x + n + 1, size->log_grid, sizeof(size->log_grid));
}

static uint32_t columns_of(const struct kc_arguments_fit *fit)
{
	return fit->numbers + KC_ARGUMENT_COLUMNS - KC_ARGUMENT_NUMBERS;
}

static void begin(struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers,
		  const struct kc_scaling_size *size, float log_ns)
{
	uint32_t n;

	fit->numbers = numbers->count;
	n = columns_of(fit);
	features(numbers, size, fit->first);
	fit->least_log_ns = fit->most_log_ns = log_ns;
	fit->error = fit->law_error = FIRST_ERROR;
	for (uint32_t i = 0; i < n; i++) {
		double slope = i && i <= fit->numbers ? ARGUMENT_SLOPE : 0;

		fit->products[i * n + i] = i ? SLOPE_WORTH : LEVEL_WORTH;
		fit->sums[i] = i ? SLOPE_WORTH * slope : LEVEL_WORTH * (double)log_ns;
	}
}

static double on_plane(const double *coefficients, const float *x, uint32_t columns)
{
	double y = coefficients[0];

	for (uint32_t i = 1; i < columns; i++)
		y += coefficients[i] * (double)x[i - 1];
	return y;
}

static double distance_of(const float *a, const float *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (double)((a[i] - b[i]) * (a[i] - b[i]));
	return sum;
}

/* By how much the launches nearest to x are off the plane. */
static double nearby(const struct kc_arguments_fit *fit, const double *coefficients, const float *x)
{
	uint32_t n = columns_of(fit), known = fit->learned < KC_ARGUMENT_POINTS ? fit->learned : KC_ARGUMENT_POINTS;
	double distances[NEAREST] = {INFINITY, INFINITY, INFINITY}, off[NEAREST] = {0}, sum = 0, weights = 0;

	for (uint32_t i = 0; i < known; i++) {
		const struct kc_arguments_point *point = &fit->points[i];
		double distance = distance_of(x, point->x, n - 1);
		uint32_t at = NEAREST;

		for (; at > 0 && distance < distances[at - 1]; at--) {
			if (at == NEAREST)
				continue;
			distances[at] = distances[at - 1];
			off[at] = off[at - 1];
		}
		if (at == NEAREST)
			continue;
		distances[at] = distance;
		off[at] = (double)point->log_ns - on_plane(coefficients, point->x, n);
	}
	for (uint32_t i = 0; i < NEAREST; i++) {
		double weight = 1 / (distances[i] + NEAR);

		sum += weight * off[i];
		weights += weight;
	}
	return sum / weights;
}

/* x: less the first launch's. Returns 0 where nothing is known. */
static int regress(const struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers,
		   const struct kc_scaling_size *size, struct kc_scaling_space *space, double *log_ns)
{
	double *l = space->l, *coefficients = space->residuals;
	float x[KC_ARGUMENT_FEATURES];
	uint32_t n = columns_of(fit);

	if (!fit->learned || numbers->count != fit->numbers)
		return 0;
	memcpy(l, fit->products, n * n * sizeof(*l));
	memcpy(coefficients, fit->sums, n * sizeof(*coefficients));
	if (kc__cholesky(l, n))
		return 0;
	kc__solve_lower(l, n, coefficients);
	kc__solve_upper(l, n, coefficients);
	features(numbers, size, x);
	for (uint32_t i = 0; i < n - 1; i++)
		x[i] -= fit->first[i];
	*log_ns = on_plane(coefficients, x, n) + nearby(fit, coefficients, x);
	*log_ns = fmin(fmax(*log_ns, (double)fit->least_log_ns - FARTHEST), (double)fit->most_log_ns + FARTHEST);
	return 1;
}

static void learn_error(float *mean, float learned, double predicted, float log_ns)
{
	float error = fminf(fabsf((float)predicted - log_ns), LARGEST_ERROR);

	*mean += (error - *mean) / (fminf(learned, ERROR_MEMORY) + ERROR_WORTH);
}

static double log_of(const struct kc_solo *solo)
{
	return log(fmax((double)solo->ns, 1));
}

void kc_arguments_learn(struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers,
			const struct kc_scaling_size *size, const struct kc_solo *law, int64_t measured_ns,
			struct kc_scaling_space *space)
{
	struct kc_arguments_point *point = &fit->points[fit->learned % KC_ARGUMENT_POINTS];
	float log_ns = logf((float)measured_ns);
	double predicted, row[KC_ARGUMENT_COLUMNS] = {1};
	uint32_t n;

	if (!fit->learned)
		begin(fit, numbers, size, log_ns);
	if (numbers->count != fit->numbers || fit->learned == UINT32_MAX)
		return;
	if (law->model != KC_MODEL_NONE && regress(fit, numbers, size, space, &predicted)) {
		learn_error(&fit->error, (float)fit->learned, predicted, log_ns);
		learn_error(&fit->law_error, (float)fit->learned, log_of(law), log_ns);
	}
	n = columns_of(fit);
	features(numbers, size, point->x);
	for (uint32_t i = 1; i < n; i++) {
		point->x[i - 1] -= fit->first[i - 1];
		row[i] = (double)point->x[i - 1];
	}
	point->log_ns = log_ns;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < n; j++)
			fit->products[i * n + j] += row[i] * row[j];
		fit->sums[i] += row[i] * (double)log_ns;
	}
	fit->least_log_ns = fminf(fit->least_log_ns, log_ns);
	fit->most_log_ns = fmaxf(fit->most_log_ns, log_ns);
	fit->learned++;
}

void kc_arguments_predict(const struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers,
			  const struct kc_scaling_size *size, struct kc_scaling_space *space, struct kc_solo *solo)
{
	double log_ns, ratio, share = 1, half;

	if (!regress(fit, numbers, size, space, &log_ns))
		return;
	half = INTERVAL * (double)fit->error + LEAST_INTERVAL;
	if (solo->model != KC_MODEL_NONE) {
		ratio = (double)((fit->error + LEAST_ERROR) / (fit->law_error + LEAST_ERROR));
		share = 1 / (1 + pow(ratio, 6));
		log_ns = share * log_ns + (1 - share) * log_of(solo);
		half = share * half + (1 - share) * (double)solo->half_width;
	}
	*solo = (struct kc_solo){
	    .ns = kc__whole_ns(fmax(exp(log_ns), 1)),
	    .low_ns = kc__whole_ns(exp(log_ns - half)),
	    .high_ns = kc__whole_ns(exp(log_ns + half)),
	    .half_width = (float)half,
	    .model = KC_MODEL_SCALING,
	};
}
