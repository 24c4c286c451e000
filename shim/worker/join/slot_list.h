/*
 * Slots of the journal in the order in which they came, from which the one that a record belongs to is taken.
 *
 * A few are a chain. Those of a large graph, all under one correlation id, are a hash table of chains: filed under
 * CUPTI's id of the node or, where that is not known for certain, under the launch shape. So finding the slot of a
 * record takes as long for ten thousand nodes as for one, in whatever order the records come. Chains are linked by the
 * slots' link.
 */
#ifndef KC_SHIM_SLOT_LIST_H
#define KC_SHIM_SLOT_LIST_H

#include "shim/shim.h"
#include "shim/worker/cupti/measuring.h"

struct kc__slot_table;

struct kc__slot_chain { /* index + 1 of its slots; 0: empty */
	uint64_t first, last;
};

struct kc__slot_list { /* all zeros: empty */
	uint32_t id;   /* the owner's */
	uint32_t count : 31;
	uint32_t is_table : 1;
	union {
		struct kc__slot_chain chain;
		struct kc__slot_table *table;
	};
};

enum kc__fit { KC__FITS_NOT, KC__FITS_PERHAPS, KC__FITS };
typedef enum kc__fit kc__fits(const struct kc__record *record, const struct kc_slot *slot, bool by_either);

void kc__slot_list_add(struct kc_journal *journal, struct kc__slot_list *list, struct kc_slot *slot);
/* Takes out this slot, if it is in. */
void kc__slot_list_remove(struct kc_journal *journal, struct kc__slot_list *list, struct kc_slot *slot);
/* Takes out the oldest slot that fits or, where none does, that fits perhaps. NULL: there is neither. The slots of a
 * table are looked at only as far as their driver calls' id, or by_either the runtime call's, is the record's. */
struct kc_slot *kc__slot_list_take(struct kc_journal *journal, struct kc__slot_list *list,
				   const struct kc__record *record, kc__fits *fits, bool by_either);
/* Takes out any slot. NULL: it is empty. */
struct kc_slot *kc__slot_list_take_any(struct kc_journal *journal, struct kc__slot_list *list);
/* Frees its memory; the slots are left alone. */
void kc__slot_list_free(struct kc__slot_list *list);

#endif
