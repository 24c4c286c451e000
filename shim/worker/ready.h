/*
 * Slots that are final and not in the database yet, in the order in which they are written.
 *
 * They are a list, as long as there is room in it. What does not fit is searched for in the journal, a listful at a
 * time, and everything else is left to the search until it has come to its end: a slot that others refer to, such as
 * the name of a kernel, becomes final before them and so is written before them.
 */
#ifndef KC_SHIM_WORKER_READY_H
#define KC_SHIM_WORKER_READY_H

#include "store/journal/journal.h"

#include <stdbool.h>
#include <stdint.h>

struct kc__ready {
	struct kc_slot **slots; /* of these, those from written to count are to be written */
	uint32_t capacity, written, count;
	uint64_t search_at, search_end; /* indices of slots that may be final and not in the list */
};

void kc__ready_add(struct kc__ready *ready, struct kc_slot *slot); /* it has become final */
/* Where the list is empty: fills it with final slots of the journal that did not fit. */
void kc__ready_find(struct kc__ready *ready, const struct kc_journal *journal);
/* So many, from written on, are in the database; their state says so. */
void kc__ready_done(struct kc__ready *ready, uint32_t count);

static inline uint32_t kc__ready_left(const struct kc__ready *ready)
{
	return ready->count - ready->written;
}

static inline bool kc__ready_searches(const struct kc__ready *ready)
{
	return ready->search_at < ready->search_end;
}

#endif
