#include "sm_room.h"

#include <errno.h>
#include <string.h>

void kc__sm_room_init(struct kc__sm_room *room, const struct kc_footprint *sm, uint32_t sm_count)
{
	room->sm_count = sm_count < KC__SMS_MAX ? sm_count : KC__SMS_MAX;
	memset(room->marks, 0, sizeof(room->marks));
	memset(room->change, 0, room->sm_count * sizeof(room->change[0]));
	room->change[0] = kc__amounts_of(sm);
}

static kc__amounts block_of(const struct kc__sm_blocks *sm_blocks)
{
	return (kc__amounts){1, (float)(int)sm_blocks->warps,
			     (float)(int)(sm_blocks->register_units * KC_REGISTER_UNIT),
			     (float)(int)(sm_blocks->shared_units * KC__SHARED_UNIT_BYTES)};
}

static int is_zero(kc__amounts amounts)
{
	uint64_t words[sizeof(amounts) / 8];

	memcpy(words, &amounts, sizeof(amounts));
	return !(words[0] | words[1]);
}

static void add_blocks(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks, kc__amounts block)
{
	int before = 0;

	for (uint32_t rank = 0, i = 0; i < sm_blocks->count; i++) {
		int more = (int)sm_blocks->steps[i].blocks - before;
		uint64_t *marks = &room->marks[rank / 64], mark = rank ? 1ull << rank % 64 : 0;
		kc__amounts change = room->change[rank] - block * (float)more;

		room->change[rank] = change;
		*marks = is_zero(change) ? *marks & ~mark : *marks | mark;
		before += more;
		rank = (uint32_t)sm_blocks->steps[i].last + 1;
	}
}

void kc__sm_room_take(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks)
{
	add_blocks(room, sm_blocks, block_of(sm_blocks));
}

void kc__sm_room_release(struct kc__sm_room *room, const struct kc__sm_blocks *sm_blocks)
{
	add_blocks(room, sm_blocks, -block_of(sm_blocks));
}

/* The current range, and sums over those before it. */
struct sweep {
	uint32_t begin, fit, part;
	uint32_t slots, least, most, roomiest;
};

/* Neighbours with the same room form one range. Room has no pattern that a branch predictor could learn, so no branch
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

static uint32_t set_offer(struct kc__offer *offer, const struct sweep *s)
{
	offer->slots = s->slots;
	offer->least = s->least;
	offer->most = s->most;
	offer->roomiest = s->roomiest;
	offer->count = s->part + 1;
	return s->slots;
}

static const struct sweep beginning = {.fit = UINT32_MAX, .part = UINT32_MAX, .least = UINT32_MAX};

uint32_t kc__sm_room_offer(const struct kc__sm_room *room, const struct kc_grid *grid, struct kc__offer *offer)
{
	struct sweep s = beginning;
	kc__amounts free = room->change[0];

	for (uint32_t w = 0; w * 64 < room->sm_count; w++) {
		for (uint64_t marks = room->marks[w]; marks; marks &= marks - 1) {
			uint32_t rank = w * 64 + (uint32_t)__builtin_ctzll(marks);

			s = add_part(s, offer->parts, rank, kc__blocks_fitting(free, grid));
			free += room->change[rank];
		}
	}
	s = add_part(s, offer->parts, room->sm_count, kc__blocks_fitting(free, grid));
	return set_offer(offer, &s);
}

__attribute__((hot)) uint32_t kc__sm_room_beside(const struct kc_footprint *sm, uint32_t sm_count,
						 const struct kc__sm_blocks *other, const struct kc_grid *grid,
						 struct kc__offer *offer)
{
	static const struct kc__sm_blocks none = {0};
	struct sweep s = beginning;
	kc__amounts all = kc__amounts_of(sm), block;

	if (!other)
		other = &none;
	block = block_of(other);
	for (uint32_t i = 0; i < other->count; i++) {
		kc__amounts free = all - block * (float)other->steps[i].blocks;

		s = add_part(s, offer->parts, other->steps[i].last + 1u, kc__blocks_fitting(free, grid));
	}
	if (s.begin < sm_count)
		s = add_part(s, offer->parts, sm_count, kc__blocks_fitting(all, grid));
	return set_offer(offer, &s);
}

static uint32_t clamp_units(int32_t value, uint32_t most)
{
	return value < 0 ? 0 : (uint32_t)value < most ? (uint32_t)value : most;
}

static uint32_t units_of(int32_t amount, uint32_t unit, uint32_t most)
{
	return clamp_units((int32_t)(((uint32_t)amount + unit - 1) / unit), most);
}

__attribute__((hot)) void kc__sm_blocks_init(struct kc__sm_blocks *sm_blocks, const struct kc_footprint *block)
{
	enum { WARPS_MAX = (1 << 7) - 1, REGISTER_UNITS_MAX = (1 << 9) - 1, SHARED_UNITS_MAX = (1 << 12) - 1 };

	*sm_blocks = (struct kc__sm_blocks){0};
	sm_blocks->warps = clamp_units(block->of[KC_SM_WARPS], WARPS_MAX) & WARPS_MAX;
	sm_blocks->register_units =
	    units_of(block->of[KC_SM_REGISTERS], KC_REGISTER_UNIT, REGISTER_UNITS_MAX) & REGISTER_UNITS_MAX;
	sm_blocks->shared_units =
	    units_of(block->of[KC_SM_SHARED_BYTES], KC__SHARED_UNIT_BYTES, SHARED_UNITS_MAX) & SHARED_UNITS_MAX;
}

/* -ENOSPC: that would be one step too many. */
static int add_step(struct kc__sm_blocks *sm_blocks, uint32_t end, uint32_t blocks)
{
	uint32_t count = sm_blocks->count;

	if (count && sm_blocks->steps[count - 1].blocks == (uint8_t)blocks)
		count--;
	if (count == KC__STEPS_MAX)
		return -ENOSPC;
	sm_blocks->steps[count] = (struct kc__step){(uint8_t)(end - 1), (uint8_t)blocks};
	sm_blocks->count = (count + 1) & 0xf;
	return 0;
}

/* Beginning with the first SM, which most launches do: at most two steps. */
static void evenly_from_first(struct kc__sm_blocks *sm_blocks, const struct kc_even *even, uint32_t extra, uint32_t sms)
{
	uint32_t count = 0;

	if (extra)
		sm_blocks->steps[count++] = (struct kc__step){(uint8_t)(extra - 1), (uint8_t)(even->base + 1)};
	if (extra < sms)
		sm_blocks->steps[count++] = (struct kc__step){(uint8_t)(sms - 1), (uint8_t)even->base};
	sm_blocks->count = count & 0xf;
}

__attribute__((hot)) void kc__sm_blocks_evenly(struct kc__sm_blocks *sm_blocks, const struct kc_even *even,
					       uint32_t sm_count, uint32_t start)
{
	uint32_t sms = sm_count < KC__SMS_MAX ? sm_count : KC__SMS_MAX;
	uint32_t extra = even->extra < sms ? even->extra : sms;
	uint32_t end = start + extra;

	if (!start) {
		evenly_from_first(sm_blocks, even, extra, sms);
		return;
	}
	sm_blocks->count = 0;
	if (end > sms) {
		add_step(sm_blocks, end - sms, even->base + 1);
		add_step(sm_blocks, start, even->base);
		add_step(sm_blocks, sms, even->base + 1);
		return;
	}
	add_step(sm_blocks, start, even->base);
	if (end > start)
		add_step(sm_blocks, end, even->base + 1);
	if (end < sms)
		add_step(sm_blocks, sms, even->base);
}

kc__amounts kc__sm_blocks_largest(const struct kc__sm_blocks *sm_blocks)
{
	int most = 0;

	for (uint32_t i = 0; i < sm_blocks->count; i++)
		most = sm_blocks->steps[i].blocks > most ? sm_blocks->steps[i].blocks : most;
	return block_of(sm_blocks) * (float)most;
}

/* SMs that can take `level` blocks or more. */
static uint32_t sms_with_room(const struct kc__offer *offer, uint32_t level)
{
	uint32_t sms = 0;

	for (uint32_t begin = 0, i = 0; i < offer->count; begin = offer->parts[i++].end)
		sms += offer->parts[i].fit >= level ? offer->parts[i].end - begin : 0;
	return sms;
}

/* Fills every SM with more room than `level` down to it; `odd` further blocks go to those at it, one each, by rank. */
static int put_on_sms(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer, uint32_t level, uint32_t odd)
{
	int rc = 0;

	sm_blocks->count = 0;
	for (uint32_t begin = 0, i = 0; i < offer->count && !rc; begin = offer->parts[i++].end) {
		const struct kc__sm_range *part = &offer->parts[i];
		uint32_t blocks = part->fit > level ? part->fit - level : 0;
		uint32_t size = part->end - begin;
		uint32_t more = part->fit >= level ? (odd < size ? odd : size) : 0;

		odd -= more;
		if (more)
			rc = add_step(sm_blocks, begin + more, blocks + 1);
		if (more < size && !rc)
			rc = add_step(sm_blocks, part->end, blocks);
	}
	return rc;
}

int kc__sm_blocks_most_room(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer, uint32_t blocks)
{
	uint32_t level = offer->most;

	for (; level; level--) {
		uint32_t sms = sms_with_room(offer, level);

		if (sms > blocks)
			break;
		blocks -= sms;
	}
	return put_on_sms(sm_blocks, offer, level, level ? blocks : 0);
}

__attribute__((hot)) int kc__sm_blocks_round_robin(struct kc__sm_blocks *sm_blocks, const struct kc__offer *offer,
						   uint32_t blocks)
{
	uint32_t sm_count = offer->parts[offer->count - 1].end;
	struct kc_even even = kc_spread_evenly(blocks, sm_count);

	if (even.base + (even.extra > 0) > offer->least)
		return -ENOSPC;
	kc__sm_blocks_evenly(sm_blocks, &even, sm_count, offer->roomiest);
	return 0;
}

/* Slots lost by merging this range with the next. */
static uint32_t slots_lost_by_merging(const struct kc__offer *offer, uint32_t i)
{
	uint32_t begin = i ? offer->parts[i - 1].end : 0, middle = offer->parts[i].end, end = offer->parts[i + 1].end;
	uint32_t left = offer->parts[i].fit, right = offer->parts[i + 1].fit;

	return left > right ? (left - right) * (middle - begin) : (right - left) * (end - middle);
}

static void merge_with_next(struct kc__offer *offer, uint32_t i)
{
	uint16_t right = offer->parts[i + 1].fit;

	offer->slots -= slots_lost_by_merging(offer, i);
	if (offer->parts[i].fit > right)
		offer->parts[i].fit = right;
	offer->parts[i].end = offer->parts[i + 1].end;
	offer->count--;
	memmove(&offer->parts[i + 1], &offer->parts[i + 2], (offer->count - i - 1) * sizeof(offer->parts[0]));
}

/* Odd blocks split one range in two; of two ranges that differ, at least one offers something. */
void kc__offer_simplify(struct kc__offer *offer)
{
	while (offer->count > KC__STEPS_MAX - 1) {
		uint32_t least = 0;

		for (uint32_t i = 1; i + 1 < offer->count; i++)
			least = slots_lost_by_merging(offer, i) < slots_lost_by_merging(offer, least) ? i : least;
		merge_with_next(offer, least);
		if (least + 1 < offer->count && offer->parts[least].fit == offer->parts[least + 1].fit)
			merge_with_next(offer, least);
		if (least && offer->parts[least - 1].fit == offer->parts[least].fit)
			merge_with_next(offer, least - 1);
	}
}
