#include "ready.h"

#include <stdatomic.h>

void kc__ready_add(struct kc__ready *ready, struct kc_slot *slot)
{
	if (!kc__ready_searches(ready) && ready->count < ready->capacity) {
		ready->slots[ready->count++] = slot;
		return;
	}
	if (!kc__ready_searches(ready) || slot->index < ready->search_at)
		ready->search_at = slot->index;
	if (slot->index >= ready->search_end)
		ready->search_end = slot->index + 1;
}

void kc__ready_find(struct kc__ready *ready, const struct kc_journal *journal)
{
	uint64_t first = kc_journal_first(journal);
	struct kc_slot *slot;

	if (kc__ready_left(ready) || !kc__ready_searches(ready))
		return;
	if (ready->search_at < first)
		ready->search_at = first;
	for (; ready->search_at < ready->search_end && ready->count < ready->capacity; ready->search_at++) {
		slot = kc_journal_at(journal, ready->search_at);
		if (slot && atomic_load_explicit(&slot->state, memory_order_relaxed) == KC_SLOT_FINAL)
			ready->slots[ready->count++] = slot;
	}
}

void kc__ready_done(struct kc__ready *ready, uint32_t count)
{
	ready->written += count;
	if (ready->written == ready->count)
		ready->written = ready->count = 0;
}
