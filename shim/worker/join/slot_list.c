#include "slot_list.h"
#include "shim/worker/cupti/measuring.h"

#include "join_ids.h"

#include <stdlib.h>

enum {
	TABLE_SLOTS = 32,   /* more are a table */
	FIRST_CHAINS = 128, /* of a table; a power of two */
};

struct kc__slot_table {
	struct kc__slot_chain *chains;
	uint64_t count, mask;
	uint64_t any;       /* chains before it are empty */
	uint32_t id;        /* of the driver's call that all its slots are of; 0: they are of several */
	uint32_t enclosing; /* of the runtime call around it */
};

/* Index + 1 of the next slot of the chain; 0: it is the last. */
static uint64_t *link_of(struct kc_slot *slot)
{
	return kc__awaited(slot).link;
}

static struct kc_slot *slot_at(struct kc_journal *journal, uint64_t link)
{
	return link ? kc_journal_at(journal, link - 1) : NULL;
}

/* Chains */

static void append(struct kc_journal *journal, struct kc__slot_chain *chain, struct kc_slot *slot)
{
	struct kc_slot *last = slot_at(journal, chain->last);

	*link_of(slot) = 0;
	if (last)
		*link_of(last) = slot->index + 1;
	else
		chain->first = slot->index + 1;
	chain->last = slot->index + 1;
}

/* before: the slot before it; NULL: it is the first. */
static void unlink_from(struct kc__slot_chain *chain, struct kc_slot *before, struct kc_slot *slot)
{
	if (before)
		*link_of(before) = *link_of(slot);
	else
		chain->first = *link_of(slot);
	if (chain->last == slot->index + 1)
		chain->last = before ? before->index + 1 : 0;
}

static struct kc_slot *take_from(struct kc_journal *journal, struct kc__slot_chain *chain,
				 const struct kc__record *record, kc__fits *fits, bool by_either)
{
	struct kc_slot *slot, *before = NULL, *found = NULL, *found_before = NULL;
	enum kc__fit best = KC__FITS_NOT;

	for (slot = slot_at(journal, chain->first); slot && best != KC__FITS;
	     before = slot, slot = slot_at(journal, *link_of(slot))) {
		enum kc__fit fit = fits(record, slot, by_either);

		if (fit <= best)
			continue;
		best = fit;
		found = slot;
		found_before = before;
	}
	if (found)
		unlink_from(chain, found_before, found);
	return found;
}

static bool remove_from(struct kc_journal *journal, struct kc__slot_chain *chain, struct kc_slot *slot)
{
	struct kc_slot *at, *before = NULL;

	for (at = slot_at(journal, chain->first); at && at != slot; at = slot_at(journal, *link_of(at)))
		before = at;
	if (at)
		unlink_from(chain, before, at);
	return at != NULL;
}

/* Tables */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x9e3779b97f4a7c15ull;
}

static uint64_t hash_of_node(uint64_t node)
{
	return mixed(0, node) >> 32;
}

static uint64_t hash_of_shape(uint64_t gx, uint64_t gy, uint64_t gz, uint64_t bx, uint64_t by, uint64_t bz)
{
	return mixed(mixed(mixed(1, gx | gy << 32), gz | bx << 32), by | bz << 32) >> 32;
}

static uint64_t hash_of(const struct kc_slot *slot)
{
	const struct kc_launch *l = &slot->launch;

	if (slot->kind == KC_KIND_TRANSFER && slot->transfer.graph_record && !slot->transfer.in_child)
		return hash_of_node(slot->transfer.graph_record);
	if (slot->kind != KC_KIND_LAUNCH)
		return 0;
	return l->graph_record && !l->in_child
		   ? hash_of_node(l->graph_record)
		   : hash_of_shape(l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
}

static struct kc__slot_chain *chain_for(const struct kc__slot_table *table, const struct kc_slot *slot)
{
	return &table->chains[hash_of(slot) & table->mask];
}

static struct kc__slot_table *table_new(void)
{
	struct kc__slot_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->mask = FIRST_CHAINS - 1;
	table->chains = calloc(FIRST_CHAINS, sizeof(*table->chains));
	if (!table->chains) {
		free(table);
		return NULL;
	}
	return table;
}

static void table_free(struct kc__slot_table *table)
{
	free(table->chains);
	free(table);
}

/* Without memory the chains get longer. Slots of one chain keep their order. */
static void table_grow(struct kc_journal *journal, struct kc__slot_table *table)
{
	struct kc__slot_table bigger = {.mask = 2 * table->mask + 1};

	bigger.chains = calloc(bigger.mask + 1, sizeof(*bigger.chains));
	if (!bigger.chains)
		return;
	for (uint64_t i = 0; i <= table->mask; i++) {
		struct kc_slot *slot = slot_at(journal, table->chains[i].first), *next;

		for (; slot; slot = next) {
			next = slot_at(journal, *link_of(slot));
			append(journal, chain_for(&bigger, slot), slot);
		}
	}
	free(table->chains);
	table->chains = bigger.chains;
	table->mask = bigger.mask;
	table->any = 0;
}

static void table_add(struct kc_journal *journal, struct kc__slot_table *table, struct kc_slot *slot)
{
	if (!table->count) {
		table->id = kc__slot_id(slot);
		table->enclosing = kc__slot_enclosing(slot);
	} else if (table->id != kc__slot_id(slot)) {
		table->id = 0;
	}
	if (table->count > table->mask)
		table_grow(journal, table);
	append(journal, chain_for(table, slot), slot);
	table->any = 0;
	table->count++;
}

static struct kc_slot *table_take(struct kc_journal *journal, struct kc__slot_table *table,
				  const struct kc__record *record, kc__fits *fits, bool by_either)
{
	const uint32_t *g = record->grid, *b = record->block;
	uint64_t by_node = hash_of_node(record->graph_node) & table->mask;
	uint64_t by_shape = hash_of_shape(g[0], g[1], g[2], b[0], b[1], b[2]) & table->mask;
	struct kc_slot *slot = NULL;

	if (table->id && table->id != record->correlation && !(by_either && table->enclosing == record->correlation))
		return NULL;
	if (record->graph_node) /* the other one may be the same chain: then it is found there */
		slot = take_from(journal, &table->chains[by_node], record, fits, by_either);
	if (!slot && !record->is_kernel)
		slot = take_from(journal, &table->chains[0], record, fits, by_either);
	if (!record->is_kernel)
		return slot;
	if (!slot)
		slot = take_from(journal, &table->chains[by_shape], record, fits, by_either);
	/* The record does not say which node it is of, and slots may be filed under their nodes. */
	for (uint64_t i = 0; !slot && !record->graph_node && i <= table->mask; i++)
		slot = take_from(journal, &table->chains[i], record, fits, by_either);
	return slot;
}

static struct kc_slot *table_take_any(struct kc_journal *journal, struct kc__slot_table *table)
{
	struct kc__slot_chain *chain;
	struct kc_slot *slot;

	while (!table->chains[table->any].first)
		table->any++;
	chain = &table->chains[table->any];
	slot = slot_at(journal, chain->first);
	unlink_from(chain, NULL, slot);
	return slot;
}

/* Without memory for it they stay a chain. */
static void make_table(struct kc_journal *journal, struct kc__slot_list *list)
{
	struct kc__slot_table *table = table_new();
	struct kc_slot *slot = table ? slot_at(journal, list->chain.first) : NULL, *next;

	for (; slot; slot = next) {
		next = slot_at(journal, *link_of(slot));
		table_add(journal, table, slot);
	}
	if (!table)
		return;
	list->table = table;
	list->is_table = 1;
}

/* Lists */

/* A slot has been taken out. */
static void one_less(struct kc__slot_list *list)
{
	if (list->is_table)
		list->table->count--;
	if (--list->count == 0)
		kc__slot_list_free(list);
}

void kc__slot_list_add(struct kc_journal *journal, struct kc__slot_list *list, struct kc_slot *slot)
{
	if (list->is_table)
		table_add(journal, list->table, slot);
	else
		append(journal, &list->chain, slot);
	if (++list->count == TABLE_SLOTS && !list->is_table)
		make_table(journal, list);
}

void kc__slot_list_remove(struct kc_journal *journal, struct kc__slot_list *list, struct kc_slot *slot)
{
	if (list->count && remove_from(journal, list->is_table ? chain_for(list->table, slot) : &list->chain, slot))
		one_less(list);
}

struct kc_slot *kc__slot_list_take(struct kc_journal *journal, struct kc__slot_list *list,
				   const struct kc__record *record, kc__fits *fits, bool by_either)
{
	struct kc_slot *slot = NULL;

	if (list->is_table)
		slot = table_take(journal, list->table, record, fits, by_either);
	else if (list->count)
		slot = take_from(journal, &list->chain, record, fits, by_either);
	if (slot)
		one_less(list);
	return slot;
}

struct kc_slot *kc__slot_list_take_any(struct kc_journal *journal, struct kc__slot_list *list)
{
	struct kc_slot *slot;

	if (!list->count)
		return NULL;
	if (list->is_table) {
		slot = table_take_any(journal, list->table);
	} else {
		slot = slot_at(journal, list->chain.first);
		unlink_from(&list->chain, NULL, slot);
	}
	one_less(list);
	return slot;
}

void kc__slot_list_free(struct kc__slot_list *list)
{
	if (list->is_table)
		table_free(list->table);
	*list = (struct kc__slot_list){.id = list->id};
}
