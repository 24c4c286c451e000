#include "learned.h"

#include <string.h>

#define LOG_MAX 60.0 /* of a duration, a factor or a size: e^60 is beyond any */
#define VARIANCE_MAX 1e4
#define WEIGHT_MAX 1e9     /* measurements */
#define LEAST_WEIGHT 1e-3f /* of a lesson */
#define ERROR_MAX 1e3f     /* mean errors, relative or of logarithms */
#define FACTOR_MAX 1e6f
#define NS_MAX 2.6e15 /* a month */
#define WORK_MAX 1e24 /* cycles, bytes */
#define SUM_MAX 1e12  /* of squares and products of logarithms */
#define RATE_MAX (UINT64_C(1) << 50)
/* Of candidates, and of slowdowns by cell: inverse powers of the least errors, which are added to or replace smaller
 * ones (standing.c: 0.003^-12; contention.c: 0.01^-3); a twentieth more for what is rounded. The least trust is that of
 * ERROR_MAX. */
#define LEAST_TRUST 0.9e-36
#define LARGEST_TRUST 2e30
#define LARGEST_CERTAINTY 1.05e6f
#define WORD_FLOATS 2u /* in a word that is published as a whole */

static int within(double value, double least, double most)
{
	return value >= least && value <= most; /* 0 for NAN */
}

static int floats_within(const float *values, size_t count, float least, float most)
{
	int all = 1;

	for (size_t i = 0; i < count; i++)
		all &= values[i] >= least && values[i] <= most;
	return all;
}

static int doubles_within(const double *values, size_t count, double least, double most)
{
	int all = 1;

	for (size_t i = 0; i < count; i++)
		all &= within(values[i], least, most);
	return all;
}

static int words_within(const uint64_t *words, size_t count, float least, float most)
{
	int all = 1;

	for (size_t i = 0; i < count; i++) {
		float values[WORD_FLOATS];

		memcpy(values, &words[i], sizeof(values));
		all &= floats_within(values, WORD_FLOATS, least, most);
	}
	return all;
}

static int is_level(const struct kc_learned *level)
{
	const struct kc_lambda *lambda = &level->lambda;

	return within(lambda->log_value, -LOG_MAX, LOG_MAX) && within(lambda->variance, 0, VARIANCE_MAX) &&
	       within(lambda->weight, 0, WEIGHT_MAX) && within(lambda->widening, 0, (double)FACTOR_MAX) &&
	       within((double)level->last.log_lambda, -LOG_MAX, LOG_MAX) &&
	       within((double)level->last.half_width, 0, LOG_MAX);
}

/* Logarithms, and weights that are inverse powers of errors: those may be large. */
static int is_contention(const struct kc_contention *c)
{
	float sensitivities[2 * WORD_FLOATS];

	memcpy(sensitivities, c->law, sizeof(sensitivities));
	return words_within(c->cells, KC_CONTENTION_CELLS, -(float)LOG_MAX, LARGEST_CERTAINTY) &&
	       floats_within(sensitivities, KC_LOAD_TERMS, -FACTOR_MAX, FACTOR_MAX) &&
	       floats_within(c->errors, KC_CONTENTION_CELLS, 0, ERROR_MAX) &&
	       floats_within(&c->log_solo, 1, -(float)LOG_MAX, (float)LOG_MAX);
}

/* 0: the parent's. */
static int are_weights(uint64_t word)
{
	int all = 1;

	for (uint32_t i = 0; word && i < KC_CANDIDATES; i++) {
		uint32_t bits = (uint32_t)(word >> 16 * i) << 16;
		float weight;

		memcpy(&weight, &bits, sizeof(weight));
		all &= within((double)weight, LEAST_TRUST, LARGEST_TRUST);
	}
	return all;
}

static int is_standing(const struct kc_standing *standing)
{
	int all = floats_within(standing->estimators.error, KC_ESTIMATORS, 0, ERROR_MAX);

	for (uint32_t e = 0; e < KC_EVIDENCES; e++) {
		const struct kc_trust *trust = &standing->with[e];

		all &= floats_within(trust->error, KC_CANDIDATES, 0, ERROR_MAX) & are_weights(trust->weights);
	}
	return all;
}

/* 0: nothing was learned. */
static int is_margin(const struct kc_margin *margin)
{
	return !margin->factors || words_within(&margin->factors, 1, 0, FACTOR_MAX);
}

static int is_margins(const struct kc_margins *margins)
{
	int all = is_margin(&margins->all);

	for (uint32_t i = 0; i < KC_MARGIN_CLASSES; i++)
		all &= is_margin(&margins->classes[i]);
	for (uint32_t i = 0; i < KC_MARGIN_AGES; i++)
		all &= is_margin(&margins->ages[i].margin);
	return all;
}

static int is_correction(const struct kc_correction *correction)
{
	uint32_t count = atomic_load(&correction->count), lessons = correction->lessons;
	int all = count == (lessons < KC_CORRECTION_LESSONS ? lessons : KC_CORRECTION_LESSONS) &&
		  atomic_load(&correction->sequence) % 2 == 0; /* whoever asks waits for an even one */

	for (uint32_t i = 0; all && i < count; i++) {
		const struct kc_correction_taught *taught = &correction->taught[i];
		uint64_t pull = atomic_load(&correction->told[i].pull);

		all &= words_within(&pull, 1, -(float)LOG_MAX, (float)LOG_MAX) &&
		       floats_within(&taught->log_ns, 1, -(float)LOG_MAX, (float)LOG_MAX) &&
		       floats_within(&taught->off, 1, -(float)LOG_MAX, (float)LOG_MAX) &&
		       floats_within(&taught->weight, 1, LEAST_WEIGHT, (float)WEIGHT_MAX);
	}
	return all;
}

static int is_rivals(const struct kc_rivals *rivals)
{
	int all = is_correction(&rivals->correction);

	for (uint32_t i = 0; i < KC_FAMILIES; i++)
		all &= floats_within(&rivals->of[i].share, 1, 0, 1) &&
		       floats_within(rivals->of[i].error, KC_RIVALS, 0, ERROR_MAX) &&
		       floats_within(&rivals->of[i].weight, 1, 0, (float)WEIGHT_MAX);
	return all;
}

int kc_device_learned_is_possible(const struct kc_device_learned *learned)
{
	int all = is_contention(&learned->contention) && is_standing(&learned->experience.standing) &&
		  is_margins(&learned->experience.margins) && is_rivals(&learned->rivals);

	for (int unit = 0; unit < KC_UNITS; unit++)
		all &= is_level(&learned->levels[unit]);
	for (uint32_t kind = 0; kind < KC_ENGINE_COPY_KINDS; kind++)
		all &= atomic_load(&learned->copy_ns_per_mib[kind]) <= RATE_MAX;
	return all && learned->experience.tick_ns <= learned->experience.tick &&
	       within((double)learned->experience.tick, 0, NS_MAX);
}

static int is_size(const struct kc_scaling_size *size)
{
	return within((double)size->log_waves, 0, LOG_MAX) && within((double)size->log_threads, 0, LOG_MAX) &&
	       floats_within(size->log_grid, 3, 0, (float)LOG_MAX) && within((double)size->log_guess_ns, 0, LOG_MAX);
}

int kc_kernel_learned_is_possible(const struct kc_kernel_learned *learned)
{
	const struct kc_scaling *scaling = &learned->scaling;
	int all = is_standing(&learned->experience.standing) && is_margin(&learned->experience.margin) &&
		  scaling->count <= KC_SCALING_POINTS && scaling->last < KC_SCALING_POINTS;

	for (uint32_t i = 0; all && i < scaling->count; i++)
		all = is_size(&scaling->points[i].size) && within((double)scaling->points[i].log_ns, 0, LOG_MAX) &&
		      scaling->points[i].count;
	return all;
}

int kc_key_learned_is_possible(const struct kc_key_learned *learned)
{
	int all = learned->sizes.count <= KC_SIZES;
	double before = 0;

	for (int unit = 0; unit < KC_UNITS; unit++)
		all &= is_level(&learned->levels[unit]);
	for (uint32_t i = 0; all && i < learned->sizes.count; i++) {
		const struct kc_curve_point *point = &learned->sizes.points[i];

		all = point->work_cycles > before && within(point->work_cycles, 0, WORK_MAX) && point->waves > 0 &&
		      within(point->waves, 0, WORK_MAX) && within(point->longest, 0, WORK_MAX) &&
		      within(point->least_bytes, 0, WORK_MAX) && point->time_ns > 0 &&
		      within(point->time_ns, 0, NS_MAX);
		before = point->work_cycles;
	}
	return all;
}

int kc_variant_learned_is_possible(const struct kc_variant_learned *learned)
{
	return is_level(&learned->level) && is_contention(&learned->contention) &&
	       words_within(&learned->range.ends, 1, 0, (float)NS_MAX) &&
	       words_within(&learned->range.measured, 1, 0, (float)NS_MAX);
}

int kc_arguments_fit_is_possible(const struct kc_arguments_fit *fit)
{
	int all = fit->numbers <= KC_ARGUMENT_NUMBERS &&
		  doubles_within(fit->products, KC_ARGUMENT_COLUMNS * KC_ARGUMENT_COLUMNS, -SUM_MAX, SUM_MAX) &&
		  doubles_within(fit->sums, KC_ARGUMENT_COLUMNS, -SUM_MAX, SUM_MAX) &&
		  floats_within(fit->first, KC_ARGUMENT_FEATURES, -(float)LOG_MAX, (float)LOG_MAX) &&
		  within((double)fit->least_log_ns, 0, LOG_MAX) && within((double)fit->most_log_ns, 0, LOG_MAX) &&
		  within((double)fit->error, 0, (double)ERROR_MAX) &&
		  within((double)fit->law_error, 0, (double)ERROR_MAX);

	for (uint32_t i = 0; all && i < KC_ARGUMENT_POINTS; i++)
		all = floats_within(fit->points[i].x, KC_ARGUMENT_FEATURES, -2 * (float)LOG_MAX, 2 * (float)LOG_MAX) &&
		      within((double)fit->points[i].log_ns, 0, LOG_MAX);
	return all;
}
