/*
 * Which launches and transfers are awaited under which correlation id.
 *
 * Those that have one id form a list: several after a launch of a graph, or in one runtime call. A slot whose driver's
 * call was inside a runtime call is awaited under that one's id and under its own: a record that carries either finds
 * it. Of two slots whose ids differ by a multiple of 2^19 the later replaces the earlier, which is given up; so are the
 * slots of the oldest of 8,192 lists.
 */
#ifndef KC_SHIM_JOIN_IDS_H
#define KC_SHIM_JOIN_IDS_H

#include "shim/shim.h"
#include "shim/worker/cupti/measuring.h"
#include "awaited_slot.h"

struct kc__ids;
struct kc__ids *kc__ids_new(struct kc_journal *journal); /* NULL: no memory */
void kc__ids_free(struct kc__ids *ids);

/* given_up: for a slot that is awaited no longer, as its place is needed. */
void kc__ids_add(struct kc__ids *ids, struct kc_slot *slot, void (*given_up)(struct kc_slot *slot, void *arg),
		 void *arg);
void kc__ids_remove(struct kc__ids *ids, struct kc_slot *slot);
/* Takes out the slot that a record belongs to. by_either: by the id of the runtime call, too. NULL: none is awaited. */
struct kc_slot *kc__ids_take(struct kc__ids *ids, const struct kc__record *record, bool by_either);

#endif
