/* Keeping cells from one run to the next. Most contexts are met once: then all estimates are alike, and so are their
 * errors. */
#include "cells_table.h"

#include <errno.h>

struct saved_head {
	float new_error[NEW_KINDS], new_count[NEW_KINDS];
	uint32_t clock, met_once, others;
};

/* Which cell: its place in the table (bucket * WAYS + way), 1 bit of at_start, and its count, up to what fits. */
#define PLACES (BUCKETS * WAYS)
#define PLACE_BITS 17u
#define SAVED_COUNT_MAX ((1u << (31 - PLACE_BITS)) - 1)
_Static_assert(PLACES == 1u << PLACE_BITS, "a place fits its bits");

struct saved_once {
	uint32_t which, used;
	uint64_t word;
	float value, error;
};

struct saved_cell {
	uint32_t which, used;
	uint64_t word;
	float value[KC_ESTIMATORS], error[KC_ESTIMATORS];
};

static uint32_t which_of(uint32_t place, const struct cell *cell)
{
	uint32_t count = cell->count < SAVED_COUNT_MAX ? cell->count : SAVED_COUNT_MAX;

	return place | (uint32_t)(cell->at_start & 1) << PLACE_BITS | count << (PLACE_BITS + 1);
}

/* What the table itself would drop first is not kept. What a program begins with comes again when it does. */
static int is_kept(const struct kc_cells *cells, const struct cell *cell)
{
	return cell->at_start || kc__cell_kept_until(cells, cell);
}

size_t kc_cells_saved_most(void)
{
	return sizeof(struct saved_head) + PLACES * sizeof(struct saved_cell);
}

static uint8_t *save_met_once(const struct kc_cells *cells, struct saved_head *head, uint8_t *at)
{
	for (uint32_t place = 0; place < PLACES; place++) {
		const struct cell *cell = &cells->cells[place / WAYS][place % WAYS];
		struct saved_once saved = {.word = cells->words[place / WAYS][place % WAYS]};

		if (!saved.word || cell->count != 1 || !is_kept(cells, cell)) /* most was never touched */
			continue;
		saved.which = which_of(place, cell);
		saved.used = cell->used;
		saved.value = cell->value[0];
		saved.error = cell->error[0];
		memcpy(at, &saved, sizeof(saved));
		at += sizeof(saved);
		head->met_once++;
	}
	return at;
}

static uint8_t *save_others(const struct kc_cells *cells, struct saved_head *head, uint8_t *at)
{
	for (uint32_t place = 0; place < PLACES; place++) {
		const struct cell *cell = &cells->cells[place / WAYS][place % WAYS];
		struct saved_cell saved = {.word = cells->words[place / WAYS][place % WAYS]};

		if (!saved.word || cell->count < 2 || !is_kept(cells, cell))
			continue;
		saved.which = which_of(place, cell);
		saved.used = cell->used;
		memcpy(saved.value, cell->value, sizeof(saved.value));
		memcpy(saved.error, cell->error, sizeof(saved.error));
		memcpy(at, &saved, sizeof(saved));
		at += sizeof(saved);
		head->others++;
	}
	return at;
}

size_t kc_cells_save(const struct kc_cells *cells, void *into)
{
	struct saved_head head = {.clock = cells->clock};
	uint8_t *at = (uint8_t *)into + sizeof(head);

	memcpy(head.new_error, cells->new_error, sizeof(head.new_error));
	memcpy(head.new_count, cells->new_count, sizeof(head.new_count));
	at = save_met_once(cells, &head, at);
	at = save_others(cells, &head, at);
	memcpy(into, &head, sizeof(head));
	return (size_t)(at - (uint8_t *)into);
}

#define LOG_MAX 60.0f /* of a duration */
#define WEIGHT_MAX 1e36f

static int is_within(float value, float least, float most)
{
	return value >= least && value <= most; /* 0 for NAN */
}

static int put_cell(struct kc_cells *cells, uint32_t which, uint64_t word, struct cell *cell)
{
	uint32_t place = which & (PLACES - 1);
	int possible =
	    word && is_within(value_of(word), -LOG_MAX, LOG_MAX) && is_within(weight_of(word), 0, WEIGHT_MAX);

	for (uint32_t i = 0; i < KC_ESTIMATORS; i++)
		possible &= is_within(cell->value[i], -LOG_MAX, LOG_MAX) & is_within(cell->error[i], 0, LARGEST_ERROR);
	cell->at_start = which >> PLACE_BITS & 1;
	cell->count = (uint16_t)(which >> (PLACE_BITS + 1));
	if (!possible || !cell->count)
		return -EBADMSG;
	cells->words[place / WAYS][place % WAYS] = word;
	cells->cells[place / WAYS][place % WAYS] = *cell;
	return 0;
}

static int load_once(struct kc_cells *cells, const struct saved_once *saved)
{
	struct cell cell = {.used = saved->used};

	kc__cell_begin(&cell, saved->value, saved->error);
	return put_cell(cells, saved->which, saved->word, &cell);
}

static int load_other(struct kc_cells *cells, const struct saved_cell *saved)
{
	struct cell cell = {.used = saved->used};

	memcpy(cell.value, saved->value, sizeof(cell.value));
	memcpy(cell.error, saved->error, sizeof(cell.error));
	return put_cell(cells, saved->which, saved->word, &cell);
}

static int load_head(struct kc_cells *cells, const struct saved_head *head)
{
	for (uint32_t kind = 0; kind < NEW_KINDS; kind++) {
		if (!is_within(head->new_error[kind], 0, LARGEST_NEW_ERROR) ||
		    !is_within(head->new_count[kind], 0, NEW_MEMORY))
			return -EBADMSG;
	}
	memcpy(cells->new_error, head->new_error, sizeof(head->new_error));
	memcpy(cells->new_count, head->new_count, sizeof(head->new_count));
	cells->clock = head->clock;
	return 0;
}

int kc_cells_load(struct kc_cells *cells, const void *saved, size_t bytes)
{
	const uint8_t *at = saved;
	struct saved_head head;
	int rc;

	if (bytes < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.met_once > PLACES || head.others > PLACES ||
	    bytes != sizeof(head) + head.met_once * sizeof(struct saved_once) + head.others * sizeof(struct saved_cell))
		return -EBADMSG;
	rc = load_head(cells, &head);
	for (uint32_t i = 0; rc == 0 && i < head.met_once; i++, at += sizeof(struct saved_once)) {
		struct saved_once once;

		memcpy(&once, at, sizeof(once));
		rc = load_once(cells, &once);
	}
	for (uint32_t i = 0; rc == 0 && i < head.others; i++, at += sizeof(struct saved_cell)) {
		struct saved_cell other;

		memcpy(&other, at, sizeof(other));
		rc = load_other(cells, &other);
	}
	return rc;
}
