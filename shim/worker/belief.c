#include "shim/shim.h"

#include <string.h>

_Static_assert(sizeof(struct kc_belief) % 8 == 0, "a belief is whole words");

/* Word by word into its place: what is read next waits for no copy. */
void kc__belief_read(const struct kc__cell *cell, struct kc_belief *belief)
{
	enum { WORDS = sizeof(struct kc_belief) / 8 };
	uint32_t before, after;

	do {
		before = atomic_load_explicit(&cell->sequence, memory_order_acquire);
		for (int i = 0; i < WORDS; i++) {
			uint64_t word = atomic_load_explicit(&cell->words[i], memory_order_acquire);

			memcpy((char *)belief + 8 * i, &word, sizeof(word));
		}
		after = atomic_load_explicit(&cell->sequence, memory_order_relaxed);
	} while (before != after || (before & 1));
}

void kc__belief_write(struct kc__cell *cell, const struct kc_belief *belief)
{
	enum { WORDS = sizeof(struct kc_belief) / 8 };
	uint64_t words[WORDS];
	uint32_t sequence = atomic_load_explicit(&cell->sequence, memory_order_relaxed);

	memcpy(words, belief, sizeof(*belief));
	atomic_store_explicit(&cell->sequence, sequence + 1, memory_order_relaxed);
	for (int i = 0; i < WORDS; i++)
		atomic_store_explicit(&cell->words[i], words[i], memory_order_release);
	atomic_store_explicit(&cell->sequence, sequence + 2, memory_order_release);
}
