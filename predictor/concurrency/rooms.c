#include "rooms.h"

#include <errno.h>
#include <string.h>

void kc__rooms_init(struct kc__rooms *rooms, const struct kc_footprint *sm, uint32_t sm_count)
{
	rooms->sm_count = sm_count < KC__SMS_MAX ? sm_count : KC__SMS_MAX;
	memset(rooms->marks, 0, sizeof(rooms->marks));
	memset(rooms->change, 0, rooms->sm_count * sizeof(rooms->change[0]));
	rooms->change[0] = kc__amounts_of(sm);
}

static kc__amounts block_of(const struct kc__hold *hold)
{
	return (kc__amounts){1, (float)(int)hold->warps, (float)(int)(hold->register_units * KC_REGISTER_UNIT),
			     (float)(int)(hold->shared_units * KC__SHARED_UNIT_BYTES)};
}

static int is_zero(kc__amounts amounts)
{
	uint64_t words[sizeof(amounts) / 8];

	memcpy(words, &amounts, sizeof(amounts));
	return !(words[0] | words[1]);
}

static void put(struct kc__rooms *rooms, const struct kc__hold *hold, kc__amounts block)
{
	int before = 0;

	for (uint32_t rank = 0, i = 0; i < hold->count; i++) {
		int more = (int)hold->steps[i].blocks - before;
		uint64_t *marks = &rooms->marks[rank / 64], mark = rank ? 1ull << rank % 64 : 0;
		kc__amounts change = rooms->change[rank] - block * (float)more;

		rooms->change[rank] = change;
		*marks = is_zero(change) ? *marks & ~mark : *marks | mark;
		before += more;
		rank = (uint32_t)hold->steps[i].last + 1;
	}
}

void kc__rooms_enter(struct kc__rooms *rooms, const struct kc__hold *hold)
{
	put(rooms, hold, block_of(hold));
}

void kc__rooms_leave(struct kc__rooms *rooms, const struct kc__hold *hold)
{
	put(rooms, hold, -block_of(hold));
}

/* The last part so far, and what the others come to. */
struct sweep {
	uint32_t begin, fit, part;
	uint32_t slots, least, most, roomiest;
};

/* Neighbours with the same room are one part. What is free changes from SM to SM without a pattern: no branch
 * depends on it. */
static inline struct sweep add_part(struct sweep s, struct kc__sm_range *parts, uint32_t end, uint32_t fit)
{
	uint32_t roomier = fit > s.most;

	s.part += s.fit != fit;
	s.fit = fit;
	parts[s.part] = (struct kc__sm_range){(uint16_t)end, (uint16_t)fit};
	s.slots += (end - s.begin) * fit;
	s.least = fit < s.least ? fit : s.least;
	s.roomiest = roomier ? s.begin : s.roomiest;
	s.most = roomier ? fit : s.most;
	s.begin = end;
	return s;
}

uint32_t kc__rooms_offer(const struct kc__rooms *rooms, const struct kc_grid *grid, struct kc__offer *offer)
{
	struct sweep s = {.fit = UINT32_MAX, .part = UINT32_MAX, .least = UINT32_MAX};
	kc__amounts free = rooms->change[0];

	for (uint32_t w = 0; w * 64 < rooms->sm_count; w++) {
		for (uint64_t marks = rooms->marks[w]; marks; marks &= marks - 1) {
			uint32_t rank = w * 64 + (uint32_t)__builtin_ctzll(marks);

			s = add_part(s, offer->parts, rank, kc__fitting(free, grid));
			free += rooms->change[rank];
		}
	}
	s = add_part(s, offer->parts, rooms->sm_count, kc__fitting(free, grid));
	offer->slots = s.slots;
	offer->least = s.least;
	offer->most = s.most;
	offer->roomiest = s.roomiest;
	offer->count = s.part + 1;
	return s.slots;
}

static uint32_t at_most(int32_t value, uint32_t most)
{
	return value < 0 ? 0 : (uint32_t)value < most ? (uint32_t)value : most;
}

static uint32_t units_of(int32_t amount, uint32_t unit, uint32_t most)
{
	return at_most((int32_t)(((uint32_t)amount + unit - 1) / unit), most);
}

void kc__hold_init(struct kc__hold *hold, const struct kc_footprint *block)
{
	enum { WARPS_MAX = (1 << 7) - 1, REGISTER_UNITS_MAX = (1 << 9) - 1, SHARED_UNITS_MAX = (1 << 12) - 1 };

	*hold = (struct kc__hold){0};
	hold->warps = at_most(block->of[KC_SM_WARPS], WARPS_MAX) & WARPS_MAX;
	hold->register_units =
	    units_of(block->of[KC_SM_REGISTERS], KC_REGISTER_UNIT, REGISTER_UNITS_MAX) & REGISTER_UNITS_MAX;
	hold->shared_units =
	    units_of(block->of[KC_SM_SHARED_BYTES], KC__SHARED_UNIT_BYTES, SHARED_UNITS_MAX) & SHARED_UNITS_MAX;
}

/* -ENOSPC: one step too many. */
static int add_step(struct kc__hold *hold, uint32_t end, uint32_t blocks)
{
	uint32_t count = hold->count;

	if (count && hold->steps[count - 1].blocks == (uint8_t)blocks)
		count--;
	if (count == KC__STEPS_MAX)
		return -ENOSPC;
	hold->steps[count] = (struct kc__step){(uint8_t)(end - 1), (uint8_t)blocks};
	hold->count = (count + 1) & 0xf;
	return 0;
}

void kc__hold_evenly(struct kc__hold *hold, const struct kc_even *even, uint32_t sm_count, uint32_t start)
{
	uint32_t sms = sm_count < KC__SMS_MAX ? sm_count : KC__SMS_MAX;
	uint32_t end = start + (even->extra < sms ? even->extra : sms);

	hold->count = 0;
	if (end > sms) {
		add_step(hold, end - sms, even->base + 1);
		add_step(hold, start, even->base);
		add_step(hold, sms, even->base + 1);
		return;
	}
	if (start)
		add_step(hold, start, even->base);
	if (end > start)
		add_step(hold, end, even->base + 1);
	if (end < sms)
		add_step(hold, sms, even->base);
}

kc__amounts kc__hold_most(const struct kc__hold *hold)
{
	int most = 0;

	for (uint32_t i = 0; i < hold->count; i++)
		most = hold->steps[i].blocks > most ? hold->steps[i].blocks : most;
	return block_of(hold) * (float)most;
}

/* SMs that still take `level` blocks or more. */
static uint32_t with_room(const struct kc__offer *offer, uint32_t level)
{
	uint32_t sms = 0;

	for (uint32_t begin = 0, i = 0; i < offer->count; begin = offer->parts[i++].end)
		sms += offer->parts[i].fit >= level ? offer->parts[i].end - begin : 0;
	return sms;
}

/* Every SM with more room than `level` comes down to it; `odd` blocks more go one each, by rank, to those at it. */
static int lay(struct kc__hold *hold, const struct kc__offer *offer, uint32_t level, uint32_t odd)
{
	int rc = 0;

	hold->count = 0;
	for (uint32_t begin = 0, i = 0; i < offer->count && !rc; begin = offer->parts[i++].end) {
		const struct kc__sm_range *part = &offer->parts[i];
		uint32_t blocks = part->fit > level ? part->fit - level : 0;
		uint32_t size = part->end - begin;
		uint32_t more = part->fit >= level ? (odd < size ? odd : size) : 0;

		odd -= more;
		if (more)
			rc = add_step(hold, begin + more, blocks + 1);
		if (more < size && !rc)
			rc = add_step(hold, part->end, blocks);
	}
	return rc;
}

int kc__hold_most_room(struct kc__hold *hold, const struct kc__offer *offer, uint32_t blocks)
{
	uint32_t level = offer->most;

	for (; level; level--) {
		uint32_t sms = with_room(offer, level);

		if (sms > blocks)
			break;
		blocks -= sms;
	}
	return lay(hold, offer, level, level ? blocks : 0);
}

int kc__hold_round(struct kc__hold *hold, const struct kc__offer *offer, uint32_t blocks)
{
	uint32_t sm_count = offer->parts[offer->count - 1].end;
	struct kc_even even = kc_spread_evenly(blocks, sm_count);

	if (even.base + (even.extra > 0) > offer->least)
		return -ENOSPC;
	kc__hold_evenly(hold, &even, sm_count, offer->roomiest);
	return 0;
}

/* Blocks lost where this part and the next become one. */
static uint32_t lost(const struct kc__offer *offer, uint32_t i)
{
	uint32_t begin = i ? offer->parts[i - 1].end : 0, middle = offer->parts[i].end, end = offer->parts[i + 1].end;
	uint32_t left = offer->parts[i].fit, right = offer->parts[i + 1].fit;

	return left > right ? (left - right) * (middle - begin) : (right - left) * (end - middle);
}

static void join(struct kc__offer *offer, uint32_t i)
{
	uint16_t right = offer->parts[i + 1].fit;

	offer->slots -= lost(offer, i);
	if (offer->parts[i].fit > right)
		offer->parts[i].fit = right;
	offer->parts[i].end = offer->parts[i + 1].end;
	offer->count--;
	memmove(&offer->parts[i + 1], &offer->parts[i + 2], (offer->count - i - 1) * sizeof(offer->parts[0]));
}

/* Odd blocks make one step more of one part; of two parts that differ, one offers something. */
void kc__offer_simplify(struct kc__offer *offer)
{
	while (offer->count > KC__STEPS_MAX - 1) {
		uint32_t least = 0;

		for (uint32_t i = 1; i + 1 < offer->count; i++)
			least = lost(offer, i) < lost(offer, least) ? i : least;
		join(offer, least);
		if (least + 1 < offer->count && offer->parts[least].fit == offer->parts[least + 1].fit)
			join(offer, least);
		if (least && offer->parts[least - 1].fit == offer->parts[least].fit)
			join(offer, least - 1);
	}
}
