#include "published.h"

#include <string.h>

_Static_assert(sizeof(struct kc_belief) % 8 == 0, "a belief is whole words");

/* Each word goes straight to its place, so that a reader of the belief does not wait for a copy. */
void kc_published_read(const struct kc_published *published, struct kc_belief *belief)
{
	enum { WORDS = sizeof(struct kc_belief) / 8 };
	uint32_t before, after;

	do {
		before = atomic_load_explicit(&published->sequence, memory_order_acquire);
		for (int i = 0; i < WORDS; i++) {
			uint64_t word = atomic_load_explicit(&published->words[i], memory_order_acquire);

			memcpy((char *)belief + 8 * i, &word, sizeof(word));
		}
		after = atomic_load_explicit(&published->sequence, memory_order_relaxed);
	} while (before != after || (before & 1));
}

void kc_published_write(struct kc_published *published, const struct kc_belief *belief)
{
	enum { WORDS = sizeof(struct kc_belief) / 8 };
	uint64_t words[WORDS];
	uint32_t sequence = atomic_load_explicit(&published->sequence, memory_order_relaxed);

	memcpy(words, belief, sizeof(*belief));
	atomic_store_explicit(&published->sequence, sequence + 1, memory_order_relaxed);
	for (int i = 0; i < WORDS; i++)
		atomic_store_explicit(&published->words[i], words[i], memory_order_release);
	atomic_store_explicit(&published->sequence, sequence + 2, memory_order_release);
}
