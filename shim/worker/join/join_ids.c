#include "join_ids.h"
#include "shim/tables/memory.h"
#include "shim/worker/cupti/measuring.h"

#include "slot_list.h"

enum {
	PLACES = 1 << 19, /* by the low bits of an id */
	LISTS = 1 << 13,  /* of several slots with one id */
};

/*
 * What is awaited under an id, in 4 bytes, as there are many: 0, nothing; one slot, by the low bits of its index and 1;
 * or a list, by its number and IS_LIST. A slot with two ids has two places. A list that has ended may still be referred
 * to by places of its slots' own ids: none of the slots that it has by then fits.
 */
#define IS_LIST (UINT32_C(1) << 31)
#define INDEX_MASK ((UINT64_C(1) << 30) - 1)

struct kc__ids {
	struct kc_journal *journal;
	uint32_t places[PLACES];
	struct kc__slot_list lists[LISTS];
	uint32_t next_list;
};

/* For a slot that is awaited no longer, as its place is needed. */
struct giving_up {
	void (*fn)(struct kc_slot *slot, void *arg);
	void *arg;
};

struct kc__ids *kc__ids_new(struct kc_journal *journal)
{
	struct kc__ids *ids = kc__map_root(sizeof(*ids));

	if (ids)
		ids->journal = journal;
	return ids;
}

/* The id that a slot is awaited under together with others: the runtime call's, if there is one. */
static uint32_t common_id(const struct kc_slot *slot)
{
	return kc__slot_enclosing(slot) ? kc__slot_enclosing(slot) : kc__slot_id(slot);
}

static uint32_t *place_of(struct kc__ids *ids, uint32_t id)
{
	return &ids->places[id & (PLACES - 1)];
}

static uint32_t reference(const struct kc_slot *slot)
{
	return (uint32_t)(slot->index & INDEX_MASK) + 1;
}

/* Of a place that refers to one slot. All that are awaited are among the last 2^30. */
static struct kc_slot *slot_of(const struct kc__ids *ids, uint32_t place)
{
	uint64_t last = kc_journal_claimed(ids->journal) - 1;

	return kc_journal_at(ids->journal, last - ((last - (place - 1)) & INDEX_MASK));
}

static struct kc__slot_list *list_of(struct kc__ids *ids, uint32_t place)
{
	return place & IS_LIST ? &ids->lists[place & (LISTS - 1)] : NULL;
}

static void refer(struct kc__ids *ids, const struct kc_slot *slot, uint32_t from, uint32_t to)
{
	uint32_t *common = place_of(ids, common_id(slot)), *own = place_of(ids, kc__slot_id(slot));

	if (*common == from)
		*common = to;
	if (*own == from)
		*own = to;
}

static void end_list(struct kc__ids *ids, struct kc__slot_list *list, const struct giving_up *given_up)
{
	struct kc_slot *slot;

	while ((slot = kc__slot_list_take_any(ids->journal, list)))
		given_up->fn(slot, given_up->arg);
}

/* What is awaited here under its common id is given up. What has its own id here is still found by the common one. */
static void clear(struct kc__ids *ids, uint32_t *place, const struct giving_up *given_up)
{
	struct kc__slot_list *list = list_of(ids, *place);
	struct kc_slot *slot = *place && !list ? slot_of(ids, *place) : NULL;

	if (list && list->count && place_of(ids, list->id) == place)
		end_list(ids, list, given_up);
	if (slot && place_of(ids, common_id(slot)) == place) {
		refer(ids, slot, *place, 0);
		given_up->fn(slot, given_up->arg);
	}
	*place = 0;
}

/* The slots of the oldest are given up, if they are still awaited. */
static uint32_t new_list(struct kc__ids *ids, uint32_t id, const struct giving_up *given_up)
{
	uint32_t number = ids->next_list++ & (LISTS - 1);

	end_list(ids, &ids->lists[number], given_up);
	ids->lists[number].id = id;
	return number | IS_LIST;
}

/* Adds a slot to those that are awaited under its common id. */
static void add_to_common(struct kc__ids *ids, struct kc_slot *slot, const struct giving_up *given_up)
{
	uint32_t id = common_id(slot), *place = place_of(ids, id);
	struct kc__slot_list *list = list_of(ids, *place);
	struct kc_slot *first = *place && !list ? slot_of(ids, *place) : NULL;

	if (first && common_id(first) == id) {
		uint32_t made = new_list(ids, id, given_up);

		refer(ids, first, *place, made);
		list = list_of(ids, made);
		kc__slot_list_add(ids->journal, list, first);
	}
	if (list && list->count && list->id == id) {
		kc__slot_list_add(ids->journal, list, slot);
		return;
	}
	clear(ids, place, given_up);
	*place = reference(slot);
}

void kc__ids_add(struct kc__ids *ids, struct kc_slot *slot, void (*given_up)(struct kc_slot *slot, void *arg),
		 void *arg)
{
	const struct giving_up giving_up = {given_up, arg};
	uint32_t *common = place_of(ids, common_id(slot)), *own = place_of(ids, kc__slot_id(slot));

	add_to_common(ids, slot, &giving_up);
	if (*own == *common)
		return;
	clear(ids, own, &giving_up);
	*own = *common;
}

void kc__ids_remove(struct kc__ids *ids, struct kc_slot *slot)
{
	uint32_t place = *place_of(ids, common_id(slot));
	struct kc__slot_list *list = list_of(ids, place);

	if (list && list->id == common_id(slot))
		kc__slot_list_remove(ids->journal, list, slot);
	refer(ids, slot, reference(slot), 0);
}

static bool same_shape(const struct kc_launch *l, const struct kc__record *record)
{
	for (int i = 0; i < 3; i++)
		if (l->grid[i] != record->grid[i] || l->block[i] != record->block[i])
			return false;
	return true;
}

/* What is not of a graph has no record that is: before 13.1 Update 1 CUPTI may give the kernels of graphs wrong ids
 * once it has been switched off and on again (its release notes). The nodes of a graph share an id: CUPTI's id of the
 * node decides or, where that is not known, the launch shape. Of a node in a child graph CUPTI 13.0 tells another id
 * when the graph is instantiated than its records have: the shape decides where no id does, in the order of the nodes.
 */
static enum kc__fit kernel_fits(const struct kc__record *record, const struct kc_launch *l)
{
	if (!l->graph_record || !record->graph_node)
		return same_shape(l, record) ? KC__FITS : KC__FITS_NOT;
	if (l->graph_record == record->graph_node)
		return KC__FITS;
	return l->in_child && same_shape(l, record) ? KC__FITS_PERHAPS : KC__FITS_NOT;
}

/* Likewise, and where no id decides, what is copied does. A node may have been set to copy something else since. */
static enum kc__fit copy_fits(const struct kc__record *record, const struct kc_transfer *t)
{
	bool same = (record->kind == KC_MEMSET) == (t->kind == KC_MEMSET) && record->graph_node;
	bool as_read = record->bytes == t->bytes && (record->kind == t->kind || t->kind == KC_COPY_OTHER);

	if (t->graph_record && t->graph_record == record->graph_node)
		return KC__FITS;
	if (!same || (t->graph_record && !t->in_child))
		return KC__FITS_NOT;
	return as_read && !t->graph_record ? KC__FITS : KC__FITS_PERHAPS;
}

static enum kc__fit record_fits(const struct kc__record *record, const struct kc_slot *slot)
{
	bool in_graph = slot->kind == KC_KIND_LAUNCH ? slot->launch.graph_launch != 0 : slot->transfer.in_graph;

	if (record->is_kernel != (slot->kind == KC_KIND_LAUNCH) ||
	    record->is_graph != (slot->kind == KC_KIND_GRAPH_LAUNCH))
		return KC__FITS_NOT;
	if (record->is_graph)
		return KC__FITS;
	if (!in_graph)
		return record->graph_node ? KC__FITS_NOT : KC__FITS;
	return record->is_kernel ? kernel_fits(record, &slot->launch) : copy_fits(record, &slot->transfer);
}

/* Where the record has the id of the runtime call, which may have launched several kernels, the launch shape tells. */
static enum kc__fit fits(const struct kc__record *record, const struct kc_slot *slot, bool by_either)
{
	bool by_driver = kc__slot_id(slot) == record->correlation;
	enum kc__fit fit;

	if (!by_driver && !(by_either && kc__slot_enclosing(slot) == record->correlation))
		return KC__FITS_NOT;
	fit = record_fits(record, slot);
	return fit == KC__FITS_NOT || by_driver || !record->is_kernel || slot->launch.graph_launch ||
		       same_shape(&slot->launch, record)
		   ? fit
		   : KC__FITS_PERHAPS;
}

struct kc_slot *kc__ids_take(struct kc__ids *ids, const struct kc__record *record, bool by_either)
{
	uint32_t place = *place_of(ids, record->correlation);
	struct kc__slot_list *list = list_of(ids, place);
	struct kc_slot *slot;

	if (list)
		return kc__slot_list_take(ids->journal, list, record, fits, by_either);
	slot = place ? slot_of(ids, place) : NULL;
	if (!slot || !fits(record, slot, by_either))
		return NULL;
	refer(ids, slot, place, 0);
	return slot;
}

void kc__ids_free(struct kc__ids *ids)
{
	for (uint32_t i = 0; i < LISTS; i++)
		kc__slot_list_free(&ids->lists[i]);
	kc__unmap_root(ids, sizeof(*ids));
}
