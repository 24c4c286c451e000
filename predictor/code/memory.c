#include "memory.h"

static uint32_t share_of_lane(uint32_t bytes)
{
	return (bytes + KC_SECTOR_BYTES - 1) / KC_SECTOR_BYTES;
}

/* Distinct numbers met so far; mostly they come in order. */
struct met {
	int64_t all[2 * KC_LANES];
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

/* Of lanes next to each other, at addresses that leave out no sector on the way. */
static uint32_t sectors_of_row(const struct kc_lanes *address, uint32_t row, uint32_t lanes, uint32_t bytes)
{
	uint32_t left = (uint32_t)__builtin_ctz(lanes), right = KC_LANES - 1 - (uint32_t)__builtin_clz(lanes);
	int64_t start = address->v[0] + (int64_t)row * address->across;
	int64_t first = start + left * address->along, last = start + right * address->along + bytes - 1;

	return (uint32_t)((last >> 5) - (first >> 5) + 1);
}

static int is_run(uint32_t lanes)
{
	lanes >>= __builtin_ctz(lanes);
	return !(lanes & (lanes + 1));
}

/* Rows of lanes that are apart, or all in one place. 0: they are not like that. */
static uint32_t sectors_of_rows(const struct kc_lanes *address, uint32_t lanes, uint32_t bytes)
{
	uint32_t width = 1u << address->shift, in_row = width < KC_LANES ? (1u << width) - 1 : KC_ALL_LANES;
	int64_t apart = address->across < 0 ? -address->across : address->across, sectors = 0;
	uint32_t all = 0;

	if (!address->plane || address->along < 0 || address->along > KC_SECTOR_BYTES ||
	    (apart && apart < width * address->along + bytes + KC_SECTOR_BYTES))
		return 0;
	for (uint32_t row = 0; row * width < KC_LANES; row++) {
		uint32_t here = lanes >> (row * width) & in_row;

		all |= here;
		if (!here || !apart)
			continue;
		if (!is_run(here))
			return 0;
		sectors += sectors_of_row(address, row, here, bytes);
	}
	if (apart)
		return (uint32_t)sectors;
	return is_run(all) ? sectors_of_row(address, 0, all, bytes) : 0;
}

uint32_t kc__sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes)
{
	uint32_t unknown = mask & ~address->known, known = mask & address->known;
	uint32_t sectors = (uint32_t)__builtin_popcount(unknown) * share_of_lane(bytes);
	struct met met;
	uint32_t in_rows;

	if (address->uniform && known)
		known = 1;
	in_rows = known ? sectors_of_rows(address, known, bytes) : 0;
	if (in_rows)
		return sectors + in_rows;
	met.count = 0;
	for (; known; known &= known - 1) {
		int64_t first = kc__lane(address, (uint32_t)__builtin_ctz(known)), last = first + bytes - 1;

		meet(&met, first >> 5);
		if (last >> 5 != first >> 5)
			meet(&met, last >> 5);
	}
	return sectors + met.count;
}

/* The lanes that are served at once: words of a bank beyond the first each take another pass. */
static uint32_t passes_of(const struct kc_lanes *address, uint32_t lanes, uint32_t words)
{
	int64_t word_at[KC_LANES * 4];
	uint8_t next[KC_LANES * 4], first[KC_BANKS] = {0}, count[KC_BANKS] = {0};
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

uint32_t kc__passes(const struct kc_lanes *address, uint32_t mask, uint32_t bytes)
{
	uint32_t words = bytes <= KC_BANK_BYTES ? 1 : bytes / KC_BANK_BYTES;
	uint32_t parts = words > 4 ? 4 : words, lanes = KC_LANES / parts, passes = 0;

	words = words > 4 ? 4 : words;
	if (address->plane && address->shift == KC_LANES_LOG2 && words == 1 && address->along == KC_BANK_BYTES)
		return mask != 0;
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

/* All lanes at one place, which an access never straddles: always one sector, or one word. */
static int is_one_place(const struct kc_lanes *address, uint32_t bytes)
{
	if (!address->uniform || !bytes || address->v[0] % bytes)
		return 0;
	for (uint16_t moves = address->moves; moves; moves &= (uint16_t)(moves - 1))
		if (address->step[__builtin_ctz(moves)] % bytes)
			return 0;
	return !address->bends;
}

void kc__limit_pattern(struct kc_windows *w, const struct kc_lanes *address, uint32_t bytes, uint32_t granule_bytes)
{
	uint16_t bends = address->bends & w->recorded, moves = address->moves & w->recorded;

	if (!(bends | moves) || is_one_place(address, bytes))
		return;
	for (; bends; bends &= (uint16_t)(bends - 1))
		kc__limit_address(w, (uint32_t)__builtin_ctz(bends), 1, 1);
	for (; moves; moves &= (uint16_t)(moves - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(moves);
		int64_t step = address->step[c];
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (size % granule_bytes)
			kc__limit_address(w, c, 1, (uint32_t)(granule_bytes / kc__common_divisor(granule_bytes, size)));
	}
}
