#include "join_ids.h"

#include "slot_list.h"

enum { PLACES = 1 << 17 }; /* awaited at once, by the low bits of the id */

struct kc__ids {
	struct kc_journal *journal;
	bool had_tables; /* some of the lists may be */
	struct kc__slot_list places[PLACES];
};

struct kc__ids *kc__ids_new(struct kc_journal *journal)
{
	struct kc__ids *ids = kc__map_root(sizeof(*ids));

	if (ids)
		ids->journal = journal;
	return ids;
}

/* The id of the list that a slot is awaited in. */
static uint32_t list_of(const struct kc_slot *slot)
{
	return kc__slot_enclosing(slot) ? kc__slot_enclosing(slot) : kc__slot_id(slot);
}

static struct kc__slot_list *place_of(struct kc__ids *ids, uint32_t id)
{
	return &ids->places[id & (PLACES - 1)];
}

static bool is_list(const struct kc__slot_list *place, uint32_t id)
{
	return place->count && place->id == id;
}

static void clear(struct kc__ids *ids, struct kc__slot_list *place, void (*given_up)(struct kc_slot *slot, void *arg),
		  void *arg)
{
	struct kc_slot *slot;

	while ((slot = kc__slot_list_take_any(ids->journal, place)))
		given_up(slot, arg);
	kc__slot_list_free(place);
}

void kc__ids_add(struct kc__ids *ids, struct kc_slot *slot, void (*given_up)(struct kc_slot *slot, void *arg),
		 void *arg)
{
	uint32_t id = kc__slot_id(slot), list_id = list_of(slot);
	struct kc__slot_list *list = place_of(ids, list_id), *own = place_of(ids, id);

	if (!is_list(list, list_id))
		clear(ids, list, given_up, arg);
	list->id = list_id;
	kc__slot_list_add(ids->journal, list, slot);
	ids->had_tables |= list->is_table;
	if (own == list || is_list(own, id))
		return;
	clear(ids, own, given_up, arg);
	*own = (struct kc__slot_list){.id = id, .is_alias = 1, .alias_of = list_id};
}

void kc__ids_remove(struct kc__ids *ids, struct kc_slot *slot)
{
	struct kc__slot_list *list = place_of(ids, list_of(slot));

	if (is_list(list, list_of(slot)))
		kc__slot_list_remove(ids->journal, list, slot);
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

/* Where the record has the id of the runtime call, which may have launched several kernels, the launch shape tells. */
static enum kc__fit fits(const struct kc__record *record, const struct kc_slot *slot, bool by_either)
{
	bool by_driver = kc__slot_id(slot) == record->correlation;

	if (!by_driver && !(by_either && kc__slot_enclosing(slot) == record->correlation))
		return KC__FITS_NOT;
	if (!record_matches(record, slot))
		return KC__FITS_NOT;
	return by_driver || !record->is_kernel || slot->launch.graph_launch || same_shape(&slot->launch, record)
		   ? KC__FITS
		   : KC__FITS_PERHAPS;
}

struct kc_slot *kc__ids_take(struct kc__ids *ids, const struct kc__record *record, bool by_either)
{
	uint32_t id = record->correlation;
	struct kc__slot_list *place = place_of(ids, id);

	if (place->is_alias && place->id == id) {
		id = place->alias_of;
		place = place_of(ids, id);
	}
	return is_list(place, id) ? kc__slot_list_take(ids->journal, place, record, fits, by_either) : NULL;
}

void kc__ids_free(struct kc__ids *ids)
{
	for (uint32_t i = 0; ids->had_tables && i < PLACES; i++)
		if (ids->places[i].is_table)
			kc__slot_list_free(&ids->places[i]);
	kc__unmap_root(ids, sizeof(*ids));
}
