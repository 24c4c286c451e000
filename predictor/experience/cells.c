#include "cells_table.h"

#include "predictor/math/compare.h"

#include <math.h>
#include <string.h>

/* Chosen on recorded traces of the V100 and the RTX 2080 Ti. Errors are relative. */
#define ERROR_MEMORY 30.0f           /* measurements */
#define STEP 0.3f                    /* step of a running quantile, as a share of its own error */
#define LEAST_STEP_ERROR 0.002f      /* smaller errors do not shorten the step further */
#define FIRST_ERROR 0.1f             /* of a cell's second measurement, while none of its kind has been seen */
#define NEW_SHARE 0.5f               /* of the mean error seen there: new cells are trusted more */
#define NEW_PRIOR_COUNT 10.0f        /* measurements that FIRST_ERROR is worth */
#define FIRST_ESTIMATOR_ERROR 0.05f  /* of each estimator, before any was measured */
#define LEAST_ESTIMATOR_ERROR 0.01f  /* smaller differences do not tell estimators apart */
#define ESTIMATOR_MEMORY 30.0f       /* measurements */
#define LARGEST_ESTIMATOR_ERROR 1.0f /* of one measurement */
#define LARGEST_DIFFERENCE 1.6f      /* log time: a factor of 5, an error of LARGEST_ERROR */

/* Mean error above which the start of a history is one context among others, and the error expected of a start met
 * once. By judgement: no recorded trace has two runs of one program. */
#define START_ERROR 0.05f
#define START_WEIGHT                                                                                                   \
	(KC_ESTIMATORS / ((START_ERROR + LEAST_ERROR) * (START_ERROR + LEAST_ERROR) * (START_ERROR + LEAST_ERROR)))

#define COUNT_MAX UINT16_MAX

struct slot {
	uint32_t bucket;
	uint16_t name;
};

/* Number of context kinds to look at: KC_CONTEXT_ANY, the last, only where the arguments are known. */
static inline uint32_t kinds_of(const struct kc_name *name)
{
	return !name->shape || name->launch == name->shape ? KC_CONTEXT_ANY : KC_CONTEXT_KINDS;
}

/* Multiplicative hashing (Knuth, TAOCP 6.4) twice, as its upper bits are the best. */
static inline struct slot slot_of(const struct kc_name *name, uint64_t context, enum kc_context_kind kind)
{
	uint64_t x;

	/* Where the arguments are not known, all launches of the shape are alike. */
	if (kind == KC_CONTEXT_SHAPE && name->launch == name->shape)
		kind = KC_CONTEXT_ANY;
	x = (kind == KC_CONTEXT_ANY ? name->shape : name->launch) * KC_CONTEXT_KINDS + kind;
	x = (x << KC_CONTEXT_PART_BITS | kc_context_part(context, kind)) * UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ x >> 32) * UINT64_C(0xD1342543DE82EF95);
	return (struct slot){.bucket = (uint32_t)(x >> 32) % BUCKETS, .name = (uint16_t)(x >> 48)};
}

size_t kc_cells_bytes(void)
{
	return sizeof(struct kc_cells);
}

void kc_cells_init(struct kc_cells *cells)
{
	for (uint32_t kind = 0; kind < KC_CONTEXT_KINDS; kind++)
		cells->new_error[kind] = FIRST_ERROR;
}

void kc_estimators_init(struct kc_estimators *estimators)
{
	for (uint32_t i = 0; i < KC_ESTIMATORS; i++)
		estimators->error[i] = FIRST_ESTIMATOR_ERROR;
}

/* 0: not found. Branches by what is found would be unpredictable. */
static inline uint64_t find_word(const struct kc_cells *cells, struct slot slot)
{
	const uint64_t *words = cells->words[slot.bucket];
	uint64_t found = 0;

	for (uint32_t way = 0; way < WAYS; way++) {
		uint64_t word = __atomic_load_n(&words[way], __ATOMIC_RELAXED);

		found |= word & -(uint64_t)((word & 0xffffu) == slot.name);
	}
	return found;
}

/* Values and weights of a launch's cells; kinds: their number. */
struct cell_set {
	uint32_t kinds;
	float values[KC_CONTEXT_KINDS], weights[KC_CONTEXT_KINDS];
};

/* Whether the start of a history is used alone: while it is trusted, and the last launches are known as well. There are
 * few names for starts, so this could be the start of another program. */
static int prefer_program_start(struct cell_set *c, uint64_t context)
{
	float weight = c->weights[KC_CONTEXT_LAST_32];

	if (!kc_context_is_start(context) || !(weight > START_WEIGHT) || !(c->weights[KC_CONTEXT_LAST_2] > 0) ||
	    !(c->weights[KC_CONTEXT_LAST_8] > 0))
		return 0;
	for (uint32_t kind = 0; kind < c->kinds; kind++)
		c->weights[kind] = kind == KC_CONTEXT_LAST_32 ? weight : 0;
	return 1;
}

/* Returns the sum of the weights. */
static float weighted_mean(const struct cell_set *c, struct kc_context_estimate *out)
{
	float sum = 0, total = 0;

	out->known = 0;
	for (uint32_t kind = 0; kind < c->kinds; kind++) {
		sum += c->weights[kind] * c->values[kind];
		total += c->weights[kind];
		out->known |= (uint32_t)(c->weights[kind] > 0) << kind;
	}
	out->log_ns = out->known ? sum / total : 0;
	return total;
}

/* 1 / cbrtf(x) to 4 %: a float's bits are nearly its logarithm. The constant is 2^23 · (127 + 127 / 3), less what makes
 * the error symmetric. */
static float fast_inverse_cube_root(float x)
{
	return as_float(0x54a2fa8cu - as_bits(x) / 3);
}

/* The error that the cells expect, plus how far apart they are. */
static float spread_of(const struct cell_set *c, float log_ns, float total)
{
	float apart = 0;

	for (uint32_t kind = 0; kind < c->kinds; kind++) {
		float away = c->values[kind] - log_ns;

		apart += c->weights[kind] * away * away;
	}
	return fast_inverse_cube_root(total) + sqrtf(apart / total);
}

static void conclude(struct cell_set *c, uint64_t context, struct kc_context_estimate *out)
{
	int at_start = prefer_program_start(c, context);
	float total = weighted_mean(c, out);

	if (out->known)
		out->spread = spread_of(c, out->log_ns, total);
	if (at_start)
		out->spread = kc__greater(out->spread, START_ERROR);
}

static void load_cell(struct cell_set *c, uint32_t kind, uint64_t word)
{
	c->values[kind] = value_of(word);
	c->weights[kind] = weight_of(word);
}

/* Where some of the cells may be saved ones that are not in the table yet. */
static void load_waiting(const struct kc_cells *cells, const struct slot *slots, struct cell_set *c)
{
	for (uint32_t kind = 0; kind < c->kinds; kind++) {
		struct slot slot = slots[kind];

		load_cell(c, kind,
			  kc__cells_wait(cells, slot.bucket) ? kc__cells_find_waiting(cells, slot.bucket, slot.name)
							     : find_word(cells, slot));
	}
}

void kc_cells_estimate(const struct kc_cells *cells, const struct kc_name *name, uint64_t context,
		       struct kc_context_estimate *out)
{
	struct cell_set cell_set;
	struct slot slots[KC_CONTEXT_KINDS];

	cell_set.kinds = kinds_of(name);
	for (uint32_t kind = 0; kind < cell_set.kinds; kind++) {
		slots[kind] = slot_of(name, context, kind);
		__builtin_prefetch(cells->words[slots[kind].bucket]);
	}
	if (cells->waiting.saved)
		load_waiting(cells, slots, &cell_set);
	else
		for (uint32_t kind = 0; kind < cell_set.kinds; kind++)
			load_cell(&cell_set, kind, find_word(cells, slots[kind]));
	conclude(&cell_set, context, out);
}

/* fabsf(expm1f(predicted - log_ns)) as |(1 + d / 64)^64 - 1|, which a compiler computes for four at once: to 1 % of it
 * up to d = 0.7, to 3 % up to LARGEST_DIFFERENCE. */
static inline float fast_relative_error(float predicted, float log_ns)
{
	float d = kc__greater(kc__lesser(predicted - log_ns, LARGEST_DIFFERENCE), -LARGEST_DIFFERENCE);
	float power = 1 + d * (1.0f / 64);

	power *= power;
	power *= power;
	power *= power;
	power *= power;
	power *= power;
	power *= power;
	return fabsf(power - 1);
}

static inline float cube(float x)
{
	return x * x * x;
}

/* The weight of each estimator for the kernel; the best has 1. */
static void estimator_weights(const struct kc_estimators *estimators, float weights[KC_ESTIMATORS])
{
	float least = estimators->error[0];

	for (uint32_t i = 1; i < KC_ESTIMATORS; i++)
		least = kc__lesser(least, estimators->error[i]);
	for (uint32_t i = 0; i < KC_ESTIMATORS; i++)
		weights[i] = cube((least + LEAST_ESTIMATOR_ERROR) / (estimators->error[i] + LEAST_ESTIMATOR_ERROR));
}

static void move_quantile(struct cell *cell, enum kc_estimator which, float log_ns, float up, float down)
{
	float step = STEP * kc__greater(cell->error[which], LEAST_STEP_ERROR);
	float away = log_ns - cell->value[which];

	if (which == KC_ESTIMATOR_MEDIAN && cell->count < 3)
		up = down = fabsf(away) / (float)(cell->count + 1) / step;
	cell->value[which] += kc__greater(kc__lesser(away, up * step), -down * step);
}

static void refine(struct cell *cell, float log_ns, float errors[KC_ESTIMATORS])
{
	float gain = kc__greater(1 / ERROR_MEMORY, 1 / (float)(cell->count + 1));
	float change = log_ns - cell->value[KC_ESTIMATOR_LAST];

	for (uint32_t i = 0; i < KC_ESTIMATORS; i++) {
		errors[i] = kc__lesser(fast_relative_error(cell->value[i], log_ns), LARGEST_ERROR);
		cell->error[i] += (errors[i] - cell->error[i]) * gain;
	}
	cell->value[KC_ESTIMATOR_LAST] = log_ns;
	cell->value[KC_ESTIMATOR_TREND] = log_ns + change;
	move_quantile(cell, KC_ESTIMATOR_MEDIAN, log_ns, 1, 1);
	move_quantile(cell, KC_ESTIMATOR_QUARTILE, log_ns, 0.5f, 1.5f);
	cell->count += cell->count < COUNT_MAX;
}

static uint32_t kind_of_new_cell(uint64_t context, uint32_t kind)
{
	return kind == KC_CONTEXT_LAST_32 && kc_context_is_start(context) ? NEW_START : kind;
}

/* The error of a cell of this kind at its second measurement. */
static void learn_first_repeat(struct kc_cells *cells, uint32_t kind, const struct cell *cell, float log_ns)
{
	float error = kc__lesser(fast_relative_error(cell->value[KC_ESTIMATOR_LAST], log_ns), LARGEST_NEW_ERROR);

	cells->new_count[kind] += cells->new_count[kind] < NEW_MEMORY;
	cells->new_error[kind] +=
	    (error - cells->new_error[kind]) / kc__lesser(cells->new_count[kind] + NEW_PRIOR_COUNT, NEW_MEMORY);
}

static float weigh(const struct cell *cell, const float weights_of_estimators[KC_ESTIMATORS], float *value)
{
	float sum = 0, total = 0;

	for (uint32_t i = 0; i < KC_ESTIMATORS; i++) {
		float weight = weights_of_estimators[i] / cube(cell->error[i] + LEAST_ERROR);

		sum += weight * cell->value[i];
		total += weight;
	}
	*value = sum / total;
	return total;
}

static uint32_t least_useful(const struct kc_cells *cells, const struct cell *bucket)
{
	uint32_t least = 0;

	for (uint32_t way = 1; way < WAYS; way++) {
		if (kc__cell_kept_until(cells, &bucket[way]) < kc__cell_kept_until(cells, &bucket[least]))
			least = way;
	}
	return least;
}

/* The new cell has no estimate yet, but its name keeps others out. */
static uint32_t claim_way(struct kc_cells *cells, struct slot slot, uint32_t empty)
{
	struct cell *bucket = cells->cells[slot.bucket];
	uint32_t way = empty ? (uint32_t)__builtin_ctz(empty) : least_useful(cells, bucket);

	bucket[way] = (struct cell){0};
	__atomic_store_n(&cells->words[slot.bucket][way], pack(0, 0, slot.name), __ATOMIC_RELAXED);
	return way;
}

/* The way of the cell in its bucket. */
static uint32_t way_of(struct kc_cells *cells, struct slot slot)
{
	const uint64_t *words = cells->words[slot.bucket];
	uint32_t found = 0, empty = 0, way;

	if (kc__cells_wait(cells, slot.bucket))
		kc__cells_take_over(cells, slot.bucket / GROUP_BUCKETS);
	for (way = 0; way < WAYS; way++) {
		found |= (uint32_t)(words[way] && (words[way] & 0xffffu) == slot.name) << way;
		empty |= (uint32_t)!words[way] << way;
	}
	way = found ? (uint32_t)__builtin_ctz(found) : claim_way(cells, slot, empty);
	cells->cells[slot.bucket][way].used = cells->clock;
	return way;
}

static void learn_estimator_errors(struct kc_estimators *estimators, const float errors[KC_ESTIMATORS])
{
	for (uint32_t i = 0; i < KC_ESTIMATORS; i++)
		estimators->error[i] +=
		    (kc__lesser(errors[i], LARGEST_ESTIMATOR_ERROR) - estimators->error[i]) / ESTIMATOR_MEMORY;
}

struct found {
	struct slot slot;
	struct cell *cell;
	uint64_t *word;
};

/* Prefetches all of them, so that memory latencies overlap. */
static void find_cells(struct kc_cells *cells, const struct kc_name *name, uint64_t context, uint32_t kinds,
		       struct found found[KC_CONTEXT_KINDS])
{
	for (uint32_t kind = 0; kind < kinds; kind++) {
		found[kind].slot = slot_of(name, context, kind);
		__builtin_prefetch(cells->words[found[kind].slot.bucket]);
	}
	for (uint32_t kind = 0; kind < kinds; kind++) {
		uint32_t bucket = found[kind].slot.bucket, way = way_of(cells, found[kind].slot);

		found[kind].cell = &cells->cells[bucket][way];
		found[kind].word = &cells->words[bucket][way];
		__builtin_prefetch(found[kind].cell);
	}
}

static void learn_cell(struct kc_cells *cells, const struct found *found, uint32_t kind_of_new_cell, float log_ns,
		       const float weights_of_estimators[KC_ESTIMATORS], float errors[KC_ESTIMATORS])
{
	struct cell *cell = found->cell;
	float value, weight;

	if (cell->count == 1)
		learn_first_repeat(cells, kind_of_new_cell, cell, log_ns);
	if (cell->count)
		refine(cell, log_ns, errors);
	else
		kc__cell_begin(cell, log_ns, NEW_SHARE * cells->new_error[kind_of_new_cell]);
	weight = weigh(cell, weights_of_estimators, &value);
	__atomic_store_n(found->word, pack(value, weight, found->slot.name), __ATOMIC_RELAXED);
}

/* The estimators' errors are those in the cell with the largest weight. */
void kc_cells_learn(struct kc_cells *cells, struct kc_estimators *estimators, const struct kc_name *name,
		    uint64_t context, float measured_log_ns, struct kc_context_estimate *predicted_before)
{
	float errors[KC_CONTEXT_KINDS][KC_ESTIMATORS], weights[KC_ESTIMATORS];
	struct cell_set cell_set;
	struct found found[KC_CONTEXT_KINDS];
	uint32_t heaviest = 0;

	cells->clock++;
	cell_set.kinds = kinds_of(name);
	find_cells(cells, name, context, cell_set.kinds, found);
	estimator_weights(estimators, weights);
	for (uint32_t kind = 0; kind < cell_set.kinds; kind++) {
		load_cell(&cell_set, kind, found[kind].cell->count ? *found[kind].word : 0);
		found[kind].cell->at_start |= (uint16_t)kc_context_is_start(context);
		learn_cell(cells, &found[kind], kind_of_new_cell(context, kind), measured_log_ns, weights,
			   errors[kind]);
	}
	conclude(&cell_set, context, predicted_before);
	for (uint32_t kind = 1; kind < cell_set.kinds; kind++)
		heaviest = cell_set.weights[kind] > cell_set.weights[heaviest] ? kind : heaviest;
	if (predicted_before->known)
		learn_estimator_errors(estimators, errors[heaviest]);
}
