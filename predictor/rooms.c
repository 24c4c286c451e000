#include "rooms.h"

#include <errno.h>
#include <string.h>

void kc__rooms_init(struct kc__rooms *rooms, const struct kc_footprint *sm, uint32_t sm_count)
{
	struct kc__room *all = &rooms->rooms[0];

	memset(all, 0, sizeof(*all));
	all->size = sm_count < 64 * KC__SM_WORDS ? sm_count : 64 * KC__SM_WORDS;
	all->free = *sm;
	for (uint32_t i = 0; i < all->size; i++)
		all->members[i / 64] |= 1ull << i % 64;
	rooms->count = 1;
}

static void take(struct kc__room *room, const struct kc_footprint *need, uint32_t blocks)
{
	for (int r = 0; r < KC_SM_RESOURCES; r++)
		room->free.of[r] -= need->of[r] * (int32_t)blocks;
}

uint32_t kc__rooms_slots(const struct kc__rooms *rooms, const struct kc_footprint *need)
{
	uint32_t slots = 0;

	for (uint32_t i = 0; i < rooms->count; i++)
		slots += rooms->rooms[i].size * kc_blocks_fitting(&rooms->rooms[i].free, need);
	return slots;
}

/* Blocks placed once no SM could take more than `level` further ones. */
static uint32_t above(const struct kc__rooms *rooms, const uint32_t *fit, uint32_t level)
{
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < rooms->count; i++)
		blocks += fit[i] > level ? rooms->rooms[i].size * (fit[i] - level) : 0;
	return blocks;
}

/* The members of these ranks leave for a group of their own, which is returned. */
static struct kc__room *split(struct kc__rooms *rooms, uint32_t i, const uint64_t chosen[KC__SM_WORDS])
{
	struct kc__room *from = &rooms->rooms[i], *part;
	uint32_t size = 0;

	for (uint32_t w = 0; w < KC__SM_WORDS; w++)
		size += (uint32_t)__builtin_popcountll(from->members[w] & chosen[w]);
	if (!size || size == from->size)
		return size ? from : NULL;
	if (rooms->count == KC__ROOMS_MAX)
		return NULL;
	part = &rooms->rooms[rooms->count++];
	*part = *from;
	part->size = size;
	from->size -= size;
	for (uint32_t w = 0; w < KC__SM_WORDS; w++) {
		part->members[w] &= chosen[w];
		from->members[w] &= ~chosen[w];
	}
	return part;
}

static int same(const struct kc_footprint *a, const struct kc_footprint *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Groups that have become equal become one again. */
static void join_equal(struct kc__rooms *rooms)
{
	for (uint32_t i = 0; i < rooms->count; i++) {
		struct kc__room *into = &rooms->rooms[i];

		for (uint32_t j = rooms->count - 1; j > i; j--) {
			struct kc__room *from = &rooms->rooms[j];

			if (!same(&into->free, &from->free))
				continue;
			for (uint32_t w = 0; w < KC__SM_WORDS; w++)
				into->members[w] |= from->members[w];
			into->size += from->size;
			*from = rooms->rooms[--rooms->count];
		}
	}
}

/* The first `count` of these, in order of rank. */
static void first_ranks(uint64_t members[KC__SM_WORDS], uint32_t count)
{
	for (uint32_t w = 0; w < KC__SM_WORDS; w++) {
		uint64_t kept = 0;

		for (; members[w] && count; count--) {
			kept |= members[w] & -members[w];
			members[w] &= members[w] - 1;
		}
		members[w] = kept;
	}
}

/* One block more on the first `count` of the SMs that could take `level` further ones. Returns how many. */
static uint32_t place_rest(struct kc__rooms *rooms, const struct kc_footprint *need, uint32_t level, uint32_t count)
{
	uint64_t chosen[KC__SM_WORDS] = {0};
	uint32_t before = rooms->count, placed = 0;

	for (uint32_t i = 0; i < before; i++) {
		if (kc_blocks_fitting(&rooms->rooms[i].free, need) != level)
			continue;
		for (uint32_t w = 0; w < KC__SM_WORDS; w++)
			chosen[w] |= rooms->rooms[i].members[w];
	}
	first_ranks(chosen, count);
	for (uint32_t i = 0; i < before; i++) {
		struct kc__room *part = split(rooms, i, chosen);

		if (!part)
			continue;
		take(part, need, 1);
		placed += part->size;
	}
	join_equal(rooms);
	return placed;
}

/* Where the most room is comes down first: every SM to one level, then one block each by rank. */
uint32_t kc__rooms_place(struct kc__rooms *rooms, const struct kc_footprint *need, uint32_t blocks)
{
	uint32_t fit[KC__ROOMS_MAX], level = 0, filled, slots;

	for (uint32_t i = 0; i < rooms->count; i++)
		fit[i] = kc_blocks_fitting(&rooms->rooms[i].free, need);
	slots = above(rooms, fit, 0);
	blocks = blocks < slots ? blocks : slots;
	while (above(rooms, fit, level) > blocks)
		level++;
	filled = above(rooms, fit, level);
	for (uint32_t i = 0; i < rooms->count; i++)
		if (fit[i] > level)
			take(&rooms->rooms[i], need, fit[i] - level);
	return filled + (blocks > filled ? place_rest(rooms, need, level, blocks - filled) : 0);
}

int kc__rooms_occupy(struct kc__rooms *rooms, uint32_t rank, const struct kc_footprint *need)
{
	uint64_t chosen[KC__SM_WORDS] = {0};
	uint32_t before = rooms->count;

	if (rank >= 64 * KC__SM_WORDS)
		return -ENOSPC;
	chosen[rank / 64] = 1ull << rank % 64;
	for (uint32_t i = 0; i < before; i++) {
		struct kc__room *part;

		if (!(rooms->rooms[i].members[rank / 64] & chosen[rank / 64]))
			continue;
		if (!kc_blocks_fitting(&rooms->rooms[i].free, need))
			return -ENOSPC;
		part = split(rooms, i, chosen);
		if (!part)
			return -ENOSPC;
		take(part, need, 1);
		join_equal(rooms);
		return 0;
	}
	return -ENOSPC;
}

struct kc_footprint kc__rooms_free(const struct kc__rooms *rooms, uint32_t rank)
{
	for (uint32_t i = 0; i < rooms->count; i++)
		if (rooms->rooms[i].members[rank / 64 % KC__SM_WORDS] >> rank % 64 & 1)
			return rooms->rooms[i].free;
	return (struct kc_footprint){{0}};
}
