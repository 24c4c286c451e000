#include "space.h"
#include "predictor/device/occupancy.h"

#include <math.h>
#include <stddef.h>

static double product_of(const struct kc_space *space, const double *values, uint32_t parameters)
{
	double product = 1;

	for (uint32_t p = 0; p < space->parameters; p++)
		product *= parameters >> p & 1 ? values[p] : 1;
	return product;
}

/* 0 where it is not a whole number above 0. */
static double alignment(double value)
{
	uint64_t whole = value > 0 && value < 0x1p53 ? (uint64_t)value : 0;

	return whole && (double)whole == value ? log2((double)(whole & -whole)) : 0;
}

/* The share past the end, and how much of the problem is left for the last blocks. */
static void along(const struct kc_space *space, const struct kc_space_axis *axis, const double *values, double out[2])
{
	double covered = product_of(space, values, axis->covered), blocks = ceil(axis->size / covered);

	out[0] = out[1] = 0;
	if (!axis->covered || !(axis->size > 0) || !(covered > 0))
		return;
	out[0] = log2(blocks * covered / axis->size);
	out[1] = 1 - (blocks - 1) * covered / axis->size;
}

static void on_the_sm(const struct kc_space *space, const double *values, double out[3])
{
	struct kc_block_need need = {0};
	double threads = 1, warps, blocks;
	uint32_t known = 0;

	out[0] = out[1] = out[2] = 0;
	for (uint32_t a = 0; a < KC_SPACE_AXES; a++) {
		threads *= product_of(space, values, space->axes[a].threads);
		known |= space->axes[a].threads;
	}
	if (!space->device || !known || !(threads >= 1) || threads > space->device->max_threads_per_block)
		return;
	need.threads = (uint32_t)threads;
	blocks = fmax(1, kc_occupancy(space->device, &need));
	warps = ceil(threads / space->device->warp_size);
	out[0] = log2(warps * space->device->warp_size / threads);
	out[1] = log2(blocks * warps * space->device->warp_size / space->device->max_threads_per_sm);
	out[2] = log2(blocks);
}

/* Every candidate for a plain column. */
static void candidates(const struct kc_space *space, const uint8_t *logarithmic, uint32_t row, double *out)
{
	const double *values = space->values + (size_t)row * space->parameters;

	for (uint32_t p = 0; p < space->parameters; p++) {
		out[p] = logarithmic[p] ? log2(values[p]) : values[p];
		out[KC_SPACE_PARAMETERS + p] = logarithmic[p] ? alignment(values[p]) : 0;
	}
	out += 2 * (size_t)KC_SPACE_PARAMETERS;
	for (uint32_t a = 0; a < KC_SPACE_AXES; a++, out += 2)
		along(space, &space->axes[a], values, out);
	on_the_sm(space, values, out);
}

static void find_logarithmic(const struct kc_space *space, uint8_t *logarithmic)
{
	for (uint32_t p = 0; p < space->parameters; p++) {
		double low = INFINITY, high = -INFINITY;

		for (uint32_t r = 0; r < space->count; r++) {
			low = fmin(low, space->values[(size_t)r * space->parameters + p]);
			high = fmax(high, space->values[(size_t)r * space->parameters + p]);
		}
		logarithmic[p] = high > low && low > 0;
	}
}

struct kc__columns kc__columns_of(const struct kc_space *space)
{
	double first[KC_SPACE_CANDIDATES] = {0}, now[KC_SPACE_CANDIDATES] = {0};
	uint8_t aligned_otherwise[KC_SPACE_PARAMETERS] = {0};
	struct kc__columns columns = {.plain = 0};
	uint32_t logarithmic = 0;

	find_logarithmic(space, columns.logarithmic);
	for (uint32_t r = 0; r < space->count; r++) {
		candidates(space, columns.logarithmic, r, r ? now : first);
		for (uint32_t c = 0; r && c < KC_SPACE_CANDIDATES; c++)
			columns.kept[c] |= now[c] != first[c];
		for (uint32_t p = 0; p < space->parameters; p++)
			aligned_otherwise[p] |= (r ? now : first)[KC_SPACE_PARAMETERS + p] != (r ? now : first)[p];
	}
	/* For powers of two this equals the parameter. */
	for (uint32_t p = 0; p < space->parameters; p++)
		columns.kept[KC_SPACE_PARAMETERS + p] &= aligned_otherwise[p];
	for (uint32_t c = 0; c < KC_SPACE_CANDIDATES; c++)
		columns.plain += columns.kept[c];
	for (uint32_t p = 0; p < space->parameters; p++)
		logarithmic += columns.logarithmic[p];
	columns.products = logarithmic * (logarithmic ? logarithmic - 1 : 0) + (logarithmic > 2);
	return columns;
}

void kc__describe(const struct kc_space *space, const struct kc__columns *columns, uint32_t row, double *plain,
		  double *products)
{
	double all[KC_SPACE_CANDIDATES] = {0}, logs[KC_SPACE_PARAMETERS] = {0}, sum = 0;
	uint32_t logarithmic = 0;

	candidates(space, columns->logarithmic, row, all);
	for (uint32_t c = 0; c < KC_SPACE_CANDIDATES; c++)
		if (columns->kept[c])
			*plain++ = all[c];
	for (uint32_t p = 0; p < space->parameters; p++)
		if (columns->logarithmic[p])
			logs[logarithmic++] = all[p];
	for (uint32_t i = 0; i < logarithmic; i++) {
		sum += logs[i];
		for (uint32_t j = i + 1; j < logarithmic; j++) {
			*products++ = logs[i] + logs[j];
			*products++ = logs[i] - logs[j];
		}
	}
	if (logarithmic > 2)
		*products = sum;
}
