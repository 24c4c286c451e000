#include "trees.h"
#include "tuning.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chosen on the recorded spaces of the RTX 2080 Ti and A4000 (tuning_trace_test.c). */
static const struct kc_trees_options donor_trees = {
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

/* A hash table of a donor's configurations by the parameters that the space has as well. */
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

/* One donor beside the space. */
struct transfer {
	const struct kc_space *space;
	const struct kc_space_times *donor;
	uint32_t own[KC_SPACE_PARAMETERS], its[KC_SPACE_PARAMETERS], common; /* parameters that both have */
	uint32_t extra[KC_SPACE_PARAMETERS], extra_count; /* parameters that vary only in the donor */
	double fixed[KC_SPACE_PARAMETERS];                /* values used for those */
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

static void pair_parameters(struct transfer *transfer)
{
	const struct kc_space *its = &transfer->donor->space;

	for (uint32_t p = 0; p < its->parameters; p++) {
		int32_t own = transfer->donor->same_as[p];

		if (own >= 0 && (uint32_t)own < transfer->space->parameters) {
			transfer->own[transfer->common] = (uint32_t)own;
			transfer->its[transfer->common++] = p;
		} else if (varies(its, p)) {
			transfer->extra[transfer->extra_count++] = p;
		}
	}
}

static void key_of_donor(const struct transfer *transfer, uint32_t row, double *key)
{
	const double *values = transfer->donor->space.values + (size_t)row * transfer->donor->space.parameters;

	for (uint32_t i = 0; i < transfer->common; i++)
		key[i] = values[transfer->its[i]];
	for (uint32_t i = 0; i < transfer->extra_count; i++)
		key[transfer->common + i] = values[transfer->extra[i]];
}

static void key_of_space(const struct transfer *transfer, uint32_t row, double *key)
{
	const double *values = transfer->space->values + (size_t)row * transfer->space->parameters;

	for (uint32_t i = 0; i < transfer->common; i++)
		key[i] = values[transfer->own[i]];
	for (uint32_t i = 0; i < transfer->extra_count; i++)
		key[transfer->common + i] = transfer->fixed[i];
}

/* Row of the donor with this key; -1: none. */
static int64_t find(const struct transfer *transfer, const double *key)
{
	uint32_t columns = transfer->common + transfer->extra_count;
	double other[2 * KC_SPACE_PARAMETERS];

	for (uint32_t slot = (uint32_t)hash_of(key, columns) & transfer->index.mask; transfer->index.slots[slot];
	     slot = (slot + 1) & transfer->index.mask) {
		key_of_donor(transfer, transfer->index.slots[slot] - 1, other);
		if (!memcmp(key, other, columns * sizeof(*key)))
			return (int64_t)transfer->index.slots[slot] - 1;
	}
	return -1;
}

static int make_index(struct transfer *transfer)
{
	uint32_t columns = transfer->common + transfer->extra_count;
	double key[2 * KC_SPACE_PARAMETERS];

	transfer->index.mask = 1;
	while (transfer->index.mask < 2 * transfer->donor->space.count)
		transfer->index.mask *= 2;
	transfer->index.slots = calloc(transfer->index.mask, sizeof(*transfer->index.slots));
	if (!transfer->index.slots)
		return -ENOMEM;
	transfer->index.mask--;
	for (uint32_t r = 0; r < transfer->donor->space.count; r++) {
		uint32_t slot;

		key_of_donor(transfer, r, key);
		slot = (uint32_t)hash_of(key, columns) & transfer->index.mask;
		while (transfer->index.slots[slot])
			slot = (slot + 1) & transfer->index.mask;
		transfer->index.slots[slot] = r + 1;
	}
	return 0;
}

static int fit_donor(struct transfer *transfer)
{
	uint32_t columns = transfer->common + transfer->extra_count, rows = transfer->donor->space.count;
	double *x = malloc((size_t)rows * columns * sizeof(*x) + 1), *y = malloc(rows * sizeof(*y) + 1);
	int rc = x && y ? 0 : -ENOMEM;

	for (uint32_t r = 0; !rc && r < rows; r++) {
		key_of_donor(transfer, r, x + (size_t)r * columns);
		y[r] = log(transfer->donor->ns[r]);
	}
	if (!rc)
		rc = kc_trees_fit(&transfer->trees, &donor_trees, x, y, rows, columns);
	free(x);
	free(y);
	return rc;
}

/* The donor's log ns of one configuration of the space. */
static double log_ns_of(const struct transfer *transfer, uint32_t row)
{
	double key[2 * KC_SPACE_PARAMETERS];
	int64_t found;

	key_of_space(transfer, row, key);
	found = find(transfer, key);
	return found >= 0 ? log(transfer->donor->ns[found]) : kc_trees_predict(transfer->trees, key);
}

/* Variance of the timed configurations around a straight line over the donor's predictions. */
static double misfit(const struct transfer *transfer, const uint32_t *timed, const double *ns, uint32_t count)
{
	double x = 0, y = 0, xx = 0, xy = 0, yy = 0;

	for (uint32_t i = 0; i < count; i++) {
		double a = log_ns_of(transfer, timed[i]), b = log(ns[i]);

		x += a / count;
		y += b / count;
		xx += a * a / count;
		xy += a * b / count;
		yy += b * b / count;
	}
	xx -= x * x;
	return yy - y * y - (xx > 0 ? (xy - x * y) * (xy - x * y) / xx : 0);
}

/* Tries each value of each parameter that only the donor has, one parameter after the other. */
static void fix_extra(struct transfer *transfer, const uint32_t *timed, const double *ns, uint32_t count)
{
	const struct kc_space *its = &transfer->donor->space;

	for (uint32_t i = 0; i < transfer->extra_count; i++)
		transfer->fixed[i] = its->values[transfer->extra[i]];
	for (uint32_t i = 0; i < transfer->extra_count; i++) {
		double least = misfit(transfer, timed, ns, count), best = transfer->fixed[i], tried[KC_TREES_BINS];
		uint32_t n = 0;

		tried[n++] = best;
		for (uint32_t r = 0; r < its->count && n < KC_TREES_BINS; r++) {
			double value = its->values[(size_t)r * its->parameters + transfer->extra[i]], off;
			uint32_t seen = 0;

			while (seen < n && tried[seen] != value)
				seen++;
			if (seen < n)
				continue;
			tried[n++] = transfer->fixed[i] = value;
			off = misfit(transfer, timed, ns, count);
			best = off < least ? value : best;
			least = fmin(off, least);
		}
		transfer->fixed[i] = best;
	}
}

/* Whether the donor has every configuration and no further parameters. */
static int knows_all(const struct transfer *transfer)
{
	double key[2 * KC_SPACE_PARAMETERS];

	for (uint32_t r = 0; r < transfer->space->count; r++) {
		key_of_space(transfer, r, key);
		if (find(transfer, key) < 0)
			return 0;
	}
	return !transfer->extra_count;
}

static int transfer_from(const struct kc_space *space, const struct kc_space_times *donor, const uint32_t *timed,
			 const double *ns, uint32_t timed_count, uint32_t column, struct kc_tuning_donors *out)
{
	struct transfer transfer = {.space = space, .donor = donor};
	int rc;

	pair_parameters(&transfer);
	if (!transfer.common || !donor->space.count)
		return -EINVAL;
	rc = make_index(&transfer);
	if (!rc && !knows_all(&transfer))
		rc = fit_donor(&transfer);
	if (!rc) {
		fix_extra(&transfer, timed, ns, timed_count);
		for (uint32_t r = 0; r < space->count; r++)
			out->log_ns[(size_t)r * out->count + column] = log_ns_of(&transfer, r);
	}
	kc_trees_free(transfer.trees);
	free(transfer.index.slots);
	return rc;
}

int kc_tuning_transfer(const struct kc_space *space, const uint32_t *timed, const double *ns, uint32_t timed_count,
		       const struct kc_space_times *donors, uint32_t donor_count, struct kc_tuning_donors *out)
{
	int rc = 0;

	*out = (struct kc_tuning_donors){.count = donor_count, .rows = space->count};
	if (!timed_count || space->parameters > KC_SPACE_PARAMETERS || donor_count > KC_TUNING_DONORS)
		return -EINVAL;
	out->log_ns = malloc((size_t)space->count * donor_count * sizeof(*out->log_ns) + 1);
	if (!out->log_ns)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < donor_count; i++)
		rc = donors[i].space.parameters > KC_SPACE_PARAMETERS
			 ? -EINVAL
			 : transfer_from(space, &donors[i], timed, ns, timed_count, i, out);
	if (rc)
		kc_tuning_donors_free(out);
	return rc;
}

void kc_tuning_donors_free(struct kc_tuning_donors *donors)
{
	free(donors->log_ns);
	*donors = (struct kc_tuning_donors){0};
}
