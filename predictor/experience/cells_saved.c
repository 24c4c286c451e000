/* Keeping cells from one run to the next: a head, how many cells each group of buckets has, the cells by group, then
 * what they estimate. Most contexts are met once: then all estimates are alike, and so are their errors. */
#include "cells_table.h"

#include <errno.h>

struct saved_group {
	uint8_t cells, once; /* of those, how many were met once */
};

struct saved_head {
	float new_error[NEW_KINDS], new_count[NEW_KINDS];
	uint32_t clock, reserved;
	struct saved_group groups[GROUPS];
};

/* Which cell: its place in its group (bucket * WAYS + way), 1 bit of at_start, and its count. */
#define GROUP_PLACES (GROUP_BUCKETS * WAYS)
#define PLACE_BITS 5u
_Static_assert(GROUP_PLACES == 1u << PLACE_BITS, "a place fits its bits");
_Static_assert(sizeof(struct saved_head) % sizeof(uint64_t) == 0, "cells are aligned behind it");

static uint32_t which_of(uint32_t place, const struct cell *cell)
{
	return place | (uint32_t)(cell->at_start & 1) << PLACE_BITS | (uint32_t)cell->count << (PLACE_BITS + 1);
}

static uint32_t place_of(const struct kc__saved_cell *saved)
{
	return saved->which & (GROUP_PLACES - 1);
}

static uint32_t count_of(const struct kc__saved_cell *saved)
{
	return saved->which >> (PLACE_BITS + 1);
}

/* Numbers in what it estimates. */
#define ESTIMATES_ONCE 2u
#define ESTIMATES (2u * KC_ESTIMATORS)

static uint32_t estimates_of(uint32_t count)
{
	return count == 1 ? ESTIMATES_ONCE : ESTIMATES;
}

/* What the table itself would drop first is not kept. What a program begins with comes again when it does. */
static int is_kept(const struct kc_cells *cells, const struct cell *cell)
{
	return cell->at_start || kc__cell_kept_until(cells, cell);
}

uint32_t kc_cells_layout(void)
{
	return (uint32_t)(sizeof(struct saved_head) + 1024 * sizeof(struct kc__saved_cell)) ^ BUCKETS << 8 ^ WAYS;
}

#define CELLS_MOST (GROUPS * GROUP_PLACES)

size_t kc_cells_saved_most(void)
{
	return sizeof(struct saved_head) + CELLS_MOST * (sizeof(struct kc__saved_cell) + ESTIMATES * sizeof(float));
}

#define LOG_MAX 60.0f /* of a duration */

static int is_within(float value, float least, float most)
{
	return (value >= least) & (value <= most); /* 0 for NAN */
}

/* A saved cell, and what else of its group there is from here on. */
struct walk {
	const struct kc__saved_cell *first, *at, *end;
	const float *estimates, *estimates_end;
};

static struct walk begin_group(const struct waiting *waiting, uint32_t group)
{
	const struct kc__saved_cell *first = waiting->saved + waiting->first[group];

	return (struct walk){
	    .first = first,
	    .at = first,
	    .end = waiting->saved + waiting->first[group + 1],
	    .estimates = waiting->estimates + waiting->first_estimate[group],
	    .estimates_end = waiting->estimates + waiting->first_estimate[group + 1],
	};
}

static int has_cell(const struct walk *walk)
{
	return walk->at < walk->end && walk->estimates_end - walk->estimates >= estimates_of(count_of(walk->at));
}

static void next_cell(struct walk *walk)
{
	walk->estimates += estimates_of(count_of(walk->at));
	walk->at++;
}

/* Whether launching threads may find it: they put together all words of a bucket that have a context's name. */
static int is_findable(const struct walk *walk)
{
	const struct kc__saved_cell *at = walk->at;
	int possible = at->word && is_within(value_of(at->word), -LOG_MAX, LOG_MAX) &&
		       is_within(weight_of(at->word), 0, LARGEST_WEIGHT);

	for (const struct kc__saved_cell *before = walk->first; before < at; before++)
		possible &= place_of(before) != place_of(at) && (place_of(before) / WAYS != place_of(at) / WAYS ||
								 name_of(before->word) != name_of(at->word));
	return possible;
}

/* 0: it is no cell that is learned from. */
static int read_cell(const struct walk *walk, struct cell *cell)
{
	const struct kc__saved_cell *saved = walk->at;
	uint32_t count = count_of(saved);
	int possible = count && count <= UINT16_MAX && is_findable(walk);

	*cell = (struct cell){.used = saved->used, .at_start = saved->which >> PLACE_BITS & 1};
	if (count == 1) {
		kc__cell_begin(cell, walk->estimates[0], walk->estimates[1]);
	} else {
		memcpy(cell->value, walk->estimates, sizeof(cell->value));
		memcpy(cell->error, walk->estimates + KC_ESTIMATORS, sizeof(cell->error));
		cell->count = (uint16_t)count;
	}
	for (uint32_t i = 0; i < KC_ESTIMATORS; i++)
		possible &= is_within(cell->value[i], -LOG_MAX, LOG_MAX) & is_within(cell->error[i], 0, LARGEST_ERROR);
	return possible;
}

/* Into buckets that are empty. */
static void read_group(const struct kc_cells *cells, uint32_t group, uint64_t words[][WAYS], struct cell into[][WAYS])
{
	struct cell cell;

	for (struct walk walk = begin_group(&cells->waiting, group); has_cell(&walk); next_cell(&walk)) {
		uint32_t place = place_of(walk.at);

		if (!read_cell(&walk, &cell))
			continue;
		into[place / WAYS][place % WAYS] = cell;
		__atomic_store_n(&words[place / WAYS][place % WAYS], walk.at->word, __ATOMIC_RELAXED);
	}
}

void kc__cells_take_over(struct kc_cells *cells, uint32_t group)
{
	read_group(cells, group, &cells->words[group * GROUP_BUCKETS], &cells->cells[group * GROUP_BUCKETS]);
	__atomic_store_n(&cells->waiting.waits[group], 0, __ATOMIC_RELEASE);
}

uint64_t kc__cells_find_waiting(const struct kc_cells *cells, uint32_t bucket, uint16_t name)
{
	struct walk walk = begin_group(&cells->waiting, bucket / GROUP_BUCKETS);
	struct cell cell;

	for (; has_cell(&walk); next_cell(&walk))
		if (place_of(walk.at) / WAYS == bucket % GROUP_BUCKETS && name_of(walk.at->word) == name)
			return read_cell(&walk, &cell) ? walk.at->word : 0;
	return 0;
}

void kc_cells_take_over(struct kc_cells *cells)
{
	for (uint32_t group = 0; cells->waiting.saved && group < GROUPS; group++) {
		if (cells->waiting.waits[group])
			kc__cells_take_over(cells, group);
	}
	memset(&cells->waiting, 0, sizeof(cells->waiting));
}

struct saving {
	const struct kc_cells *cells;
	struct saved_group *group;
	struct kc__saved_cell *at;
	float *estimates;
};

static void save_cell(struct saving *saving, uint32_t place, uint64_t word, const struct cell *cell)
{
	uint32_t each;

	if (!word || !cell->count || !is_kept(saving->cells, cell)) /* most was never touched */
		return;
	each = estimates_of(cell->count) / 2;
	saving->group->cells++;
	saving->group->once += cell->count == 1;
	*saving->at++ = (struct kc__saved_cell){which_of(place, cell), cell->used, word};
	memcpy(saving->estimates, cell->value, each * sizeof(float));
	memcpy(saving->estimates + each, cell->error, each * sizeof(float));
	saving->estimates += 2 * each;
}

static void save_group(struct saving *saving, uint32_t group)
{
	const struct kc_cells *cells = saving->cells;
	const uint64_t(*words)[WAYS] = &cells->words[group * GROUP_BUCKETS];
	const struct cell(*of_group)[WAYS] = &cells->cells[group * GROUP_BUCKETS];
	uint64_t waiting_words[GROUP_BUCKETS][WAYS];
	struct cell waiting[GROUP_BUCKETS][WAYS];

	if (kc__cells_wait(cells, group * GROUP_BUCKETS)) {
		memset(waiting_words, 0, sizeof(waiting_words));
		read_group(cells, group, waiting_words, waiting);
		words = waiting_words;
		of_group = waiting;
	}
	for (uint32_t i = 0; i < GROUP_PLACES; i++)
		save_cell(saving, i, words[i / WAYS][i % WAYS], &of_group[i / WAYS][i % WAYS]);
}

size_t kc_cells_save(const struct kc_cells *cells, void *into)
{
	struct saved_head *head = into;
	struct kc__saved_cell *begin = (struct kc__saved_cell *)(head + 1);
	float *estimates = (float *)(begin + CELLS_MOST);
	struct saving saving = {cells, head->groups, begin, estimates};
	size_t bytes;

	memset(head, 0, sizeof(*head));
	for (uint32_t group = 0; group < GROUPS; group++, saving.group++)
		save_group(&saving, group);
	head->clock = cells->clock;
	memcpy(head->new_error, cells->new_error, sizeof(head->new_error));
	memcpy(head->new_count, cells->new_count, sizeof(head->new_count));
	bytes = (size_t)(saving.estimates - estimates) * sizeof(float);
	memmove(saving.at, estimates, bytes);
	return (size_t)((uint8_t *)saving.at - (uint8_t *)into) + bytes;
}

static int check_head(const struct saved_head *head)
{
	int possible = 1;

	for (uint32_t kind = 0; kind < NEW_KINDS; kind++)
		possible &= is_within(head->new_error[kind], 0, LARGEST_NEW_ERROR) &
			    is_within(head->new_count[kind], 0, NEW_MEMORY);
	return possible;
}

/* Where each group begins. Returns the bytes of all cells and what they estimate; SIZE_MAX: a group has more than it
 * has places. What may be wrong with a cell is seen when it is looked at. */
static size_t index_groups(struct waiting *waiting, const struct saved_group *groups)
{
	uint32_t estimates = 0, count = 0;

	for (uint32_t group = 0; group < GROUPS; group++) {
		uint32_t cells = groups[group].cells, once = groups[group].once;

		if (cells > GROUP_PLACES || once > cells)
			return SIZE_MAX;
		waiting->first[group] = count;
		waiting->first_estimate[group] = estimates;
		waiting->waits[group] = cells != 0;
		count += cells;
		estimates += once * ESTIMATES_ONCE + (cells - once) * ESTIMATES;
	}
	waiting->first[GROUPS] = count;
	waiting->first_estimate[GROUPS] = estimates;
	return count * sizeof(*waiting->saved) + estimates * sizeof(*waiting->estimates);
}

int kc_cells_load(struct kc_cells *cells, const void *saved, size_t bytes)
{
	const struct saved_head *head = saved;
	struct waiting *waiting = &cells->waiting;

	if (bytes < sizeof(*head) || !check_head(head))
		return -EBADMSG;
	if (index_groups(waiting, head->groups) != bytes - sizeof(*head)) {
		memset(waiting, 0, sizeof(*waiting));
		return -EBADMSG;
	}
	waiting->saved = (const struct kc__saved_cell *)(head + 1);
	waiting->estimates = (const float *)(waiting->saved + waiting->first[GROUPS]);
	memcpy(cells->new_error, head->new_error, sizeof(head->new_error));
	memcpy(cells->new_count, head->new_count, sizeof(head->new_count));
	cells->clock = head->clock;
	return 0;
}
