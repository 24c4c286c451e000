#include "memory.h"

#include <math.h>

#define SECTOR_LOG2 5 /* log2(KC_SECTOR_BYTES) */

#define LINE_LOG2 7 /* of the 128 bytes of a line of L1 */

static uint32_t share_of_lane(uint32_t bytes)
{
	return (bytes + KC_SECTOR_BYTES - 1) / KC_SECTOR_BYTES;
}

/* Distinct numbers so far; most come in ascending order. */
struct met {
	int64_t all[2 * KC_WARP_LANES];
	int64_t highest;
	uint32_t count;
};

static void meet(struct met *met, int64_t number)
{
	if (!met->count || number > met->highest) {
		met->highest = number;
		met->all[met->count++] = number;
		return;
	}
	if (number == met->highest)
		return;
	for (uint32_t i = met->count; i--;)
		if (met->all[i] == number)
			return;
	met->all[met->count++] = number;
}

/* Addresses of lanes in rows, averaged over their alignments: moved by each multiple of `apart`, a divisor of a sector.
 */
struct grid {
	int64_t at, column_step, row_step;
	int64_t in_row, rows;
	uint32_t apart;
};

/* Sectors of `bytes` from `first` on, averaged over alignments: the sum of floor((i + x) / n) for i = 0 … n - 1 is
 * floor(x), here with n = 32 / apart. */
static double touched(const struct grid *g, int64_t first, int64_t bytes)
{
	int64_t whole = ((first & (g->apart - 1)) + bytes - 1) / g->apart;

	return 1 + (double)(whole * g->apart) / KC_SECTOR_BYTES;
}

/* If neither rows nor lanes within one share sectors, unless a row covers all sectors that it spans. 0: they may share.
 */
static double sectors_of_grid(struct grid g, uint32_t bytes)
{
	int64_t row_bytes, distance;
	double sectors = 0;

	g.in_row = g.column_step ? g.in_row : 1;
	g.rows = g.row_step ? g.rows : 1;
	if (g.column_step < 0) {
		g.at += g.column_step * (g.in_row - 1);
		g.column_step = -g.column_step;
	}
	row_bytes = g.column_step * (g.in_row - 1) + bytes;
	distance = g.row_step < 0 ? -g.row_step : g.row_step;
	if (g.rows > 1 && distance < row_bytes + KC_SECTOR_BYTES)
		return 0;
	if (g.column_step > KC_SECTOR_BYTES && g.column_step < bytes + KC_SECTOR_BYTES)
		return 0;
	for (int64_t row = 0; row < g.rows; row++) {
		int64_t at = g.at + row * g.row_step;

		if (g.column_step <= KC_SECTOR_BYTES)
			sectors += touched(&g, at, row_bytes);
		for (int64_t i = 0; i < g.in_row && g.column_step > KC_SECTOR_BYTES; i++)
			sectors += touched(&g, at + i * g.column_step, bytes);
	}
	return sectors;
}

/* 0: the addresses of the lanes are no such rows. */
static double sectors_of_plane(const struct kc_lanes *address, uint32_t lanes, uint32_t bytes, uint32_t apart)
{
	uint32_t first = (uint32_t)__builtin_ctz(lanes), run = lanes >> first;
	struct grid g;

	if (!address->plane)
		return 0;
	g = (struct grid){address->v[0],
			  address->column_step,
			  address->row_step,
			  1 << address->row_log2,
			  KC_WARP_LANES >> address->row_log2,
			  apart};
	if (lanes == KC_ALL_LANES) {
		double sectors = sectors_of_grid(g, bytes);

		if (sectors > 0)
			return sectors;
		return sectors_of_grid((struct grid){g.at, g.row_step, g.column_step, g.rows, g.in_row, apart}, bytes);
	}
	if (g.rows > 1 || run & (run + 1))
		return 0;
	g.at += first * g.column_step;
	g.in_row = kc__count_of(run);
	return sectors_of_grid(g, bytes);
}

/* Pieces of 2^log2 bytes that the lanes touch, all addresses moved by `by` bytes. */
static uint32_t pieces_met(const struct kc_lanes *address, uint32_t lanes, uint32_t bytes, uint32_t by, uint32_t log2)
{
	struct met met;

	met.count = 0;
	for (; lanes; lanes &= lanes - 1) {
		int64_t first = (int64_t)((uint64_t)kc__lane(address, (uint32_t)__builtin_ctz(lanes)) + by);
		int64_t last = (int64_t)((uint64_t)first + bytes - 1);

		meet(&met, first >> log2);
		if (last >> log2 != first >> log2)
			meet(&met, last >> log2);
	}
	return met.count;
}

uint32_t kc__lines(const struct kc_lanes *address, uint32_t mask, uint32_t bytes)
{
	uint32_t known = mask & address->known, is_unknown = known != mask;

	if (address->uniform && known)
		known = known & -known;
	return is_unknown + pieces_met(address, known, bytes, 0, LINE_LOG2);
}

/* Alignments that are averaged over. */
#define ALIGNMENTS_MAX 8u

double kc__mean_sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes, uint32_t apart)
{
	uint32_t unknown = mask & ~address->known, known = mask & address->known, count, met = 0;
	double sectors = (double)kc__count_of(unknown) * share_of_lane(bytes), of_plane;

	if (!known)
		return sectors;
	of_plane = sectors_of_plane(address, known, bytes, apart);
	if (of_plane > 0)
		return sectors + of_plane;
	if (address->uniform)
		known = 1;
	apart = apart < KC_SECTOR_BYTES / ALIGNMENTS_MAX ? KC_SECTOR_BYTES / ALIGNMENTS_MAX : apart;
	count = KC_SECTOR_BYTES / apart;
	for (uint32_t n = 0; n < count; n++)
		met += pieces_met(address, known, bytes, n * apart, SECTOR_LOG2);
	return sectors + (double)met / count;
}

double kc__near_sectors(uint32_t alike, double in_row, double rows, uint32_t bytes)
{
	double pitch = (double)(1u << (alike >> KC_ALIKE_PITCH_AT)), far_rows = alike & KC_ALIKE_ROWS ? rows : 1;
	double length = bytes + (alike & KC_ALIKE_Y ? (rows - far_rows) * bytes : 0);

	if (alike & KC_ALIKE_X && pitch >= KC_SECTOR_BYTES)
		return in_row * (alike & KC_ALIKE_Y ? rows : 1) * share_of_lane(bytes);
	if (alike & KC_ALIKE_X)
		length += (in_row - 1) * pitch;
	return far_rows * (length > bytes ? 1 + (length - 1) / KC_SECTOR_BYTES : share_of_lane(bytes));
}

uint32_t kc__sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes)
{
	return (uint32_t)kc__mean_sectors(address, mask, bytes, KC_SECTOR_BYTES);
}

uint32_t kc__uneven_sectors(const struct kc_lanes *address, uint32_t mask, const uint8_t bytes[KC_WARP_LANES])
{
	struct met met;
	uint32_t unknown = 0;

	met.count = 0;
	for (; mask; mask &= mask - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(mask);
		int64_t first = kc__lane(address, lane), last = (int64_t)((uint64_t)first + bytes[lane] - 1);

		if (!(address->known >> lane & 1)) {
			unknown += share_of_lane(bytes[lane]);
			continue;
		}
		meet(&met, first >> SECTOR_LOG2);
		if (last >> SECTOR_LOG2 != first >> SECTOR_LOG2)
			meet(&met, last >> SECTOR_LOG2);
	}
	return met.count + unknown;
}

uint32_t kc__least_sectors(uint32_t all_bytes)
{
	return share_of_lane(all_bytes);
}

uint32_t kc__scattered_sectors(const struct kc_lanes *address, uint32_t mask, uint32_t all_bytes, uint32_t sectors)
{
	uint32_t dense = kc__least_sectors(all_bytes);
	int64_t first = INT64_MAX;

	if (sectors > dense && (mask & address->known) == mask) {
		for (uint32_t left = mask; left; left &= left - 1) {
			int64_t at = kc__lane(address, (uint32_t)__builtin_ctz(left));

			first = at < first ? at : first;
		}
		dense = share_of_lane((uint32_t)((uint64_t)first % KC_SECTOR_BYTES) + all_bytes);
	}
	return sectors > dense ? sectors - dense : 0;
}

/* Parts of a warp in which a request is served: 1, 2 halves or 4 quarters. */
static uint32_t parts_of(uint32_t bytes)
{
	uint32_t words = bytes / KC_BANK_BYTES;

	return words < 2 ? 1 : words > 4 ? 4 : words;
}

uint32_t kc__least_passes(uint32_t mask, uint32_t bytes)
{
	uint32_t parts = parts_of(bytes), lanes = KC_WARP_LANES / parts, passes = 0;

	for (uint32_t part = 0; part < parts; part++)
		passes += (mask >> (part * lanes) & (lanes < KC_WARP_LANES ? (1u << lanes) - 1 : KC_ALL_LANES)) != 0;
	return passes;
}

/* Passes of lanes that are served together: one for each different word of the bank that has most. */
static uint32_t passes_of(const struct kc_lanes *address, uint32_t lanes, uint32_t words)
{
	int64_t word_at[KC_WARP_LANES * 4];
	uint8_t next[KC_WARP_LANES * 4] = {0}, first[KC_BANKS] = {0}, count[KC_BANKS] = {0};
	uint32_t met = 0, most = 1;

	for (; lanes; lanes &= lanes - 1) {
		int64_t at = kc__lane(address, (uint32_t)__builtin_ctz(lanes)) >> 2;

		for (uint32_t i = 0; i < words; i++) {
			int64_t word = at + i;
			uint32_t bank = (uint32_t)word % KC_BANKS, seen;

			for (seen = first[bank]; seen && word_at[seen - 1] != word; seen = next[seen - 1])
				;
			if (seen)
				continue;
			word_at[met] = word;
			next[met] = first[bank];
			first[bank] = (uint8_t)++met;
			if (++count[bank] > most)
				most = count[bank];
		}
	}
	return most;
}

/* 1: each two lanes whose numbers differ by that bit alone have the same address, if both are served. */
static int are_pairs(const struct kc_lanes *address, uint32_t mask, uint32_t bit)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), other = lane ^ bit;

		if (mask >> other & 1 && kc__lane(address, lane) != kc__lane(address, other))
			return 0;
	}
	return 1;
}

/* The same for one word per lane at equal distances. 0: distances are not equal. */
static uint32_t passes_of_row(const struct kc_lanes *address, uint32_t lanes)
{
	uint32_t width, run = lanes >> __builtin_ctz(lanes), count = KC_WARP_LANES, in_one_pass;
	int64_t distance;

	if (!address->plane || (address->v[0] | address->column_step | address->row_step) % KC_BANK_BYTES)
		return 0;
	width = 1u << address->row_log2;
	distance = address->column_step;
	if (width == KC_WARP_LANES) {
		if (run & (run + 1))
			return 0;
		count = kc__count_of(run);
	} else if (lanes != KC_ALL_LANES) {
		return 0;
	} else if (!address->row_step) {
		count = width;
	} else if (!address->column_step) {
		count = KC_WARP_LANES / width;
		distance = address->row_step;
	} else if (address->row_step != address->column_step * width) {
		return 0;
	}
	distance = (distance < 0 ? -distance : distance) / KC_BANK_BYTES;
	in_one_pass = KC_BANKS / (uint32_t)kc__common_divisor((uint64_t)distance, KC_BANKS);
	return (count + in_one_pass - 1) / in_one_pass;
}

uint32_t kc__passes(const struct kc_lanes *address, uint32_t mask, uint32_t bytes, int to_lanes)
{
	uint32_t words = bytes <= KC_BANK_BYTES ? 1 : bytes / KC_BANK_BYTES;
	uint32_t parts = parts_of(bytes), lanes, passes = 0;

	words = words > 4 ? 4 : words;
	if (to_lanes && parts > 1 && (mask & address->known) == mask &&
	    (are_pairs(address, mask, 1) || are_pairs(address, mask, 2)))
		parts /= 2;
	lanes = KC_WARP_LANES / parts;
	if (words == 1 && (mask & address->known) == mask && mask)
		passes = passes_of_row(address, mask);
	if (passes)
		return passes;
	for (uint32_t part = 0; part < parts; part++) {
		uint32_t served = mask >> (part * lanes) << (part * lanes);

		if (part + 1 < parts)
			served &= ((uint32_t)1 << ((part + 1) * lanes)) - 1;
		if (!served)
			continue;
		served &= address->known;
		if (address->uniform && served)
			served = 1;
		passes += passes_of(address, served, words);
	}
	return passes;
}

/* All lanes have the same address, a multiple of the size: always one sector, or one word. */
static int is_one_place(const struct kc_lanes *address, uint32_t bytes)
{
	if (!address->uniform || !bytes || address->v[0] % bytes)
		return 0;
	for (uint32_t affine_in = address->affine_in; affine_in; affine_in &= affine_in - 1)
		if (address->step[__builtin_ctz(affine_in)] % bytes)
			return 0;
	return !address->unknown_in;
}

void kc__limit_pattern(struct kc_windows *w, const struct kc_lanes *address, uint32_t bytes, uint32_t granule_bytes)
{
	uint32_t unknown_in = address->unknown_in & w->recorded, affine_in = address->affine_in & w->recorded;

	if (!(unknown_in | affine_in) || is_one_place(address, bytes))
		return;
	for (; unknown_in; unknown_in &= unknown_in - 1)
		kc__limit_address(w, (uint32_t)__builtin_ctz(unknown_in), 1, 1);
	for (; affine_in; affine_in &= affine_in - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(affine_in);
		int64_t step = address->step[c];
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (size % granule_bytes)
			kc__limit_address(w, c, 1, (uint32_t)(granule_bytes / kc__common_divisor(granule_bytes, size)));
	}
}
