#include "trees.h"
#include "tuning.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen on the recorded spaces of the RTX 2080 Ti and A4000 (tuning_trace_test.c). */
static const struct kc_trees_options lender_trees = {
    .trees = 200,
    .depth = 6,
    .bags = 1,
    .least_leaf = 2,
    .least_columns = 8,
    .rate = 0.15,
    .rows = 0.6,
    .columns = 1,
    .seed = 1,
};

/* Configurations of a lender by the parameters that the space has as well: a hash table. */
struct index {
	uint32_t *slots; /* row + 1; 0: free */
	uint32_t mask;
};

static uint64_t hash_of(const double *key, uint32_t count)
{
	uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

	for (uint32_t i = 0; i < count; i++) {
		uint64_t bits;

		memcpy(&bits, &key[i], sizeof(bits));
		hash = (hash ^ bits) * UINT64_C(1099511628211);
		hash ^= hash >> 29;
	}
	return hash;
}

/* One lender beside the space. */
struct loan {
	const struct kc_space *space;
	const struct kc_space_times *lender;
	uint32_t own[KC_SPACE_PARAMETERS], its[KC_SPACE_PARAMETERS], common; /* parameters that both have */
	uint32_t extra[KC_SPACE_PARAMETERS], extra_count;                    /* that vary in the lender alone */
	double fixed[KC_SPACE_PARAMETERS];                                   /* values of those */
	struct kc_trees *trees;
	struct index index;
};

static int varies(const struct kc_space *space, uint32_t p)
{
	for (uint32_t r = 1; r < space->count; r++)
		if (space->values[(size_t)r * space->parameters + p] != space->values[p])
			return 1;
	return 0;
}

static void pair_parameters(struct loan *loan)
{
	const struct kc_space *its = &loan->lender->space;

	for (uint32_t p = 0; p < its->parameters; p++) {
		int32_t own = loan->lender->same_as[p];

		if (own >= 0 && (uint32_t)own < loan->space->parameters) {
			loan->own[loan->common] = (uint32_t)own;
			loan->its[loan->common++] = p;
		} else if (varies(its, p)) {
			loan->extra[loan->extra_count++] = p;
		}
	}
}

static void key_of_lender(const struct loan *loan, uint32_t row, double *key)
{
	const double *values = loan->lender->space.values + (size_t)row * loan->lender->space.parameters;

	for (uint32_t i = 0; i < loan->common; i++)
		key[i] = values[loan->its[i]];
	for (uint32_t i = 0; i < loan->extra_count; i++)
		key[loan->common + i] = values[loan->extra[i]];
}

static void key_of_space(const struct loan *loan, uint32_t row, double *key)
{
	const double *values = loan->space->values + (size_t)row * loan->space->parameters;

	for (uint32_t i = 0; i < loan->common; i++)
		key[i] = values[loan->own[i]];
	for (uint32_t i = 0; i < loan->extra_count; i++)
		key[loan->common + i] = loan->fixed[i];
}

/* Row of the lender with this key, -1: none. */
static int64_t find(const struct loan *loan, const double *key)
{
	uint32_t columns = loan->common + loan->extra_count;
	double other[2 * KC_SPACE_PARAMETERS];

	for (uint32_t slot = (uint32_t)hash_of(key, columns) & loan->index.mask; loan->index.slots[slot];
	     slot = (slot + 1) & loan->index.mask) {
		key_of_lender(loan, loan->index.slots[slot] - 1, other);
		if (!memcmp(key, other, columns * sizeof(*key)))
			return (int64_t)loan->index.slots[slot] - 1;
	}
	return -1;
}

static int make_index(struct loan *loan)
{
	uint32_t columns = loan->common + loan->extra_count;
	double key[2 * KC_SPACE_PARAMETERS];

	loan->index.mask = 1;
	while (loan->index.mask < 2 * loan->lender->space.count)
		loan->index.mask *= 2;
	loan->index.slots = calloc(loan->index.mask, sizeof(*loan->index.slots));
	if (!loan->index.slots)
		return -ENOMEM;
	loan->index.mask--;
	for (uint32_t r = 0; r < loan->lender->space.count; r++) {
		uint32_t slot;

		key_of_lender(loan, r, key);
		slot = (uint32_t)hash_of(key, columns) & loan->index.mask;
		while (loan->index.slots[slot])
			slot = (slot + 1) & loan->index.mask;
		loan->index.slots[slot] = r + 1;
	}
	return 0;
}

static int fit_lender(struct loan *loan)
{
	uint32_t columns = loan->common + loan->extra_count, rows = loan->lender->space.count;
	double *x = malloc((size_t)rows * columns * sizeof(*x) + 1), *y = malloc(rows * sizeof(*y) + 1);
	int rc = x && y ? 0 : -ENOMEM;

	for (uint32_t r = 0; !rc && r < rows; r++) {
		key_of_lender(loan, r, x + (size_t)r * columns);
		y[r] = log(loan->lender->ns[r]);
	}
	if (!rc)
		rc = kc_trees_fit(&loan->trees, &lender_trees, x, y, rows, columns);
	free(x);
	free(y);
	return rc;
}

/* Log ns of one configuration of the space. */
static double say(const struct loan *loan, uint32_t row)
{
	double key[2 * KC_SPACE_PARAMETERS];
	int64_t found;

	key_of_space(loan, row, key);
	found = find(loan, key);
	return found >= 0 ? log(loan->lender->ns[found]) : kc_trees_predict(loan->trees, key);
}

/* How far from a straight line over what the lender says the timed ones lie. */
static double misfit(const struct loan *loan, const uint32_t *timed, const double *ns, uint32_t count)
{
	double x = 0, y = 0, xx = 0, xy = 0, yy = 0;

	for (uint32_t i = 0; i < count; i++) {
		double a = say(loan, timed[i]), b = log(ns[i]);

		x += a / count;
		y += b / count;
		xx += a * a / count;
		xy += a * b / count;
		yy += b * b / count;
	}
	xx -= x * x;
	return yy - y * y - (xx > 0 ? (xy - x * y) * (xy - x * y) / xx : 0);
}

/* Each value of each parameter that only the lender has, one parameter after the other. */
static void fix_extra(struct loan *loan, const uint32_t *timed, const double *ns, uint32_t count)
{
	const struct kc_space *its = &loan->lender->space;

	for (uint32_t i = 0; i < loan->extra_count; i++)
		loan->fixed[i] = its->values[loan->extra[i]];
	for (uint32_t i = 0; i < loan->extra_count; i++) {
		double least = misfit(loan, timed, ns, count), best = loan->fixed[i], tried[KC_TREES_BINS];
		uint32_t n = 0;

		tried[n++] = best;
		for (uint32_t r = 0; r < its->count && n < KC_TREES_BINS; r++) {
			double value = its->values[(size_t)r * its->parameters + loan->extra[i]], off;
			uint32_t seen = 0;

			while (seen < n && tried[seen] != value)
				seen++;
			if (seen < n)
				continue;
			tried[n++] = loan->fixed[i] = value;
			off = misfit(loan, timed, ns, count);
			best = off < least ? value : best;
			least = fmin(off, least);
		}
		loan->fixed[i] = best;
	}
}

/* Whatever the values of parameters that only it has. */
static int knows_all(const struct loan *loan)
{
	double key[2 * KC_SPACE_PARAMETERS];

	for (uint32_t r = 0; r < loan->space->count; r++) {
		key_of_space(loan, r, key);
		if (find(loan, key) < 0)
			return 0;
	}
	return !loan->extra_count;
}

static int borrow_from(const struct kc_space *space, const struct kc_space_times *lender, const uint32_t *timed,
		       const double *ns, uint32_t timed_count, uint32_t column, struct kc_tuning_lenders *out)
{
	struct loan loan = {.space = space, .lender = lender};
	int rc;

	pair_parameters(&loan);
	if (!loan.common || !lender->space.count)
		return -EINVAL;
	rc = make_index(&loan);
	if (!rc && !knows_all(&loan))
		rc = fit_lender(&loan);
	if (!rc) {
		fix_extra(&loan, timed, ns, timed_count);
		for (uint32_t r = 0; r < space->count; r++)
			out->log_ns[(size_t)r * out->count + column] = say(&loan, r);
	}
	kc_trees_free(loan.trees);
	free(loan.index.slots);
	return rc;
}

int kc_tuning_borrow(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		     const struct kc_space_times *lenders, uint32_t lender_count, struct kc_tuning_lenders *out)
{
	int rc = 0;

	*out = (struct kc_tuning_lenders){.count = lender_count, .rows = space->count};
	if (!timed_count || space->parameters > KC_SPACE_PARAMETERS || lender_count > KC_TUNING_LENDERS)
		return -EINVAL;
	out->log_ns = malloc((size_t)space->count * lender_count * sizeof(*out->log_ns) + 1);
	if (!out->log_ns)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < lender_count; i++)
		rc = lenders[i].space.parameters > KC_SPACE_PARAMETERS
			 ? -EINVAL
			 : borrow_from(space, &lenders[i], timed, ns, timed_count, i, out);
	if (rc)
		kc_tuning_lenders_free(out);
	return rc;
}

void kc_tuning_lenders_free(struct kc_tuning_lenders *lenders)
{
	free(lenders->log_ns);
	*lenders = (struct kc_tuning_lenders){0};
}
