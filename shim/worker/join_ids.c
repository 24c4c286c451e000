#include "join_ids.h"

#include <sys/mman.h>

enum { PLACES = 1 << 20 }; /* awaited at once, by the low bits of the id */

struct place {
	uint32_t id;
	enum { FREE, LIST, ALIAS } use;
	union {
		uint64_t first; /* slot index */
		uint32_t list;  /* ALIAS: id of the list */
	};
	uint64_t last; /* slot index */
};

struct kc__ids {
	struct kc_journal *journal;
	struct place places[PLACES];
};

struct kc__ids *kc__ids_new(struct kc_journal *journal)
{
	struct kc__ids *ids =
	    mmap(NULL, sizeof(*ids), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ids == MAP_FAILED)
		return NULL;
	ids->journal = journal;
	return ids;
}

void kc__ids_free(struct kc__ids *ids)
{
	munmap(ids, sizeof(*ids));
}

/* The id of the list that a slot is awaited in. */
static uint32_t list_of(const struct kc_slot *slot)
{
	return kc__slot_enclosing(slot) ? kc__slot_enclosing(slot) : kc__slot_id(slot);
}

static struct place *place_of(struct kc__ids *ids, uint32_t id)
{
	return &ids->places[id & (PLACES - 1)];
}

static bool is_list(const struct place *place, uint32_t id)
{
	return place->use == LIST && place->id == id;
}

/* Index + 1 of the next slot of the list; 0: it is the last. */
static uint64_t *link_of(struct kc_slot *slot)
{
	return slot->kind == KC_KIND_LAUNCH ? &slot->launch.link : &slot->transfer.link;
}

static struct kc_slot *first_of(const struct kc__ids *ids, const struct place *list)
{
	return kc_journal_at(ids->journal, list->first);
}

static struct kc_slot *next_of(const struct kc__ids *ids, struct kc_slot *slot)
{
	return *link_of(slot) ? kc_journal_at(ids->journal, *link_of(slot) - 1) : NULL;
}

static void clear(struct kc__ids *ids, struct place *place, void (*given_up)(struct kc_slot *slot, void *arg),
		  void *arg)
{
	struct kc_slot *slot = place->use == LIST ? first_of(ids, place) : NULL, *next;

	for (; slot; slot = next) {
		next = next_of(ids, slot);
		given_up(slot, arg);
	}
	place->use = FREE;
}

void kc__ids_add(struct kc__ids *ids, struct kc_slot *slot, void (*given_up)(struct kc_slot *slot, void *arg),
		 void *arg)
{
	uint32_t id = kc__slot_id(slot), list_id = list_of(slot);
	struct place *list = place_of(ids, list_id), *own = place_of(ids, id);
	struct kc_slot *last = is_list(list, list_id) ? kc_journal_at(ids->journal, list->last) : NULL;

	*link_of(slot) = 0;
	if (last) {
		*link_of(last) = slot->index + 1;
		list->last = slot->index;
	} else {
		clear(ids, list, given_up, arg);
		*list = (struct place){.id = list_id, .use = LIST, .first = slot->index, .last = slot->index};
	}
	if (own == list || is_list(own, id))
		return;
	clear(ids, own, given_up, arg);
	*own = (struct place){.id = id, .use = ALIAS, .list = list_id};
}

/* before: the slot before it; NULL: it is the first. */
static void unlink_slot(struct place *list, struct kc_slot *before, struct kc_slot *slot)
{
	uint64_t link = *link_of(slot);

	if (before)
		*link_of(before) = link;
	else if (link)
		list->first = link - 1;
	else
		list->use = FREE;
	if (before && list->last == slot->index)
		list->last = before->index;
}

void kc__ids_remove(struct kc__ids *ids, struct kc_slot *slot)
{
	struct place *list = place_of(ids, list_of(slot));
	struct kc_slot *at, *before = NULL;

	if (!is_list(list, list_of(slot)))
		return;
	for (at = first_of(ids, list); at && at != slot; at = next_of(ids, at))
		before = at;
	if (at)
		unlink_slot(list, before, at);
}

static bool same_shape(const struct kc_launch *l, const struct kc__record *record)
{
	for (int i = 0; i < 3; i++)
		if (l->grid[i] != record->grid[i] || l->block[i] != record->block[i])
			return false;
	return true;
}

/* The nodes of a graph share an id: CUPTI's id of the node decides or, where that is not known, the launch shape. */
static bool record_matches(const struct kc__record *record, const struct kc_slot *slot)
{
	if (record->is_kernel != (slot->kind == KC_KIND_LAUNCH))
		return false;
	if (!record->is_kernel || !slot->launch.graph_launch)
		return true;
	return slot->launch.graph_record && record->graph_node ? slot->launch.graph_record == record->graph_node
							       : same_shape(&slot->launch, record);
}

/* The runtime call whose id the record has may have launched several kernels: the one of its launch shape. */
static bool is_the_one(const struct kc__record *record, const struct kc_slot *slot)
{
	return kc__slot_id(slot) == record->correlation || !record->is_kernel || slot->launch.graph_launch ||
	       same_shape(&slot->launch, record);
}

static struct place *list_with(struct kc__ids *ids, uint32_t id)
{
	struct place *place = place_of(ids, id);

	if (place->use == ALIAS && place->id == id) {
		id = place->list;
		place = place_of(ids, id);
	}
	return is_list(place, id) ? place : NULL;
}

struct kc_slot *kc__ids_take(struct kc__ids *ids, const struct kc__record *record, bool by_either)
{
	struct place *list = list_with(ids, record->correlation);
	struct kc_slot *slot = list ? first_of(ids, list) : NULL, *before = NULL, *found = NULL, *found_before = NULL;

	for (; slot; before = slot, slot = next_of(ids, slot)) {
		bool by_driver = kc__slot_id(slot) == record->correlation, certain;

		if (!by_driver && !(by_either && kc__slot_enclosing(slot) == record->correlation))
			continue;
		if (!record_matches(record, slot))
			continue;
		certain = is_the_one(record, slot);
		if (certain || !found) {
			found = slot;
			found_before = before;
		}
		if (certain)
			break;
	}
	if (found)
		unlink_slot(list, found_before, found);
	return found;
}
