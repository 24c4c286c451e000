/*
 * The library's tables: open addressing, entries that begin with their key. Any
 * thread may search; who adds or removes holds tables_lock.
 *
 * The memory of an entry stays an entry of its table for good. One that is removed
 * may be used again for another key while a thread that has found it before still
 * looks at it. So an entry is removed only when no correct program can be using what
 * it stands for, and whoever has found one may get what is known of another, but
 * nothing that is none.
 */
#ifndef KC_SHIM_TABLES_H
#define KC_SHIM_TABLES_H

#include "shim/shim.h"

#define KC__VARIANTS_MAX 16384u /* launch shapes with their arguments: the ids in variant_by_id[] */

#include <string.h>

/* Multiplicative hashing (Knuth, TAOCP 6.4). Words are mixed independently, so the multiplications overlap. */
static inline uint64_t kc__mix(const uint64_t *key, int words)
{
	static const uint64_t odd[] = {0x9E3779B97F4A7C15u, 0xD1342543DE82EF95u, 0xBF58476D1CE4E5B9u,
				       0x94D049BB133111EBu, 0xC2B2AE3D27D4EB4Fu};
	uint64_t h = 0;

	for (int i = 0; i < words; i++)
		h += (key[i] ^ key[i] >> 32) * odd[i];
	h ^= h >> 32;
	h *= odd[0];
	return h ^ h >> 29;
}

static inline bool kc__same_key(const uint64_t *a, const uint64_t *b, int words)
{
	uint64_t difference = 0;

	for (int i = 0; i < words; i++)
		difference |= __atomic_load_n(&a[i], __ATOMIC_RELAXED) ^ b[i];
	return !difference;
}

static inline void *kc__find(const struct kc__table *t, const uint64_t *key, int words)
{
	uint32_t at = (uint32_t)kc__mix(key, words) & t->mask;
	void *entry;

	while ((entry = atomic_load_explicit(&t->slots[at], memory_order_acquire))) {
		if (kc__same_key(entry, key, words))
			return entry;
		at = (at + 1) & t->mask;
	}
	return NULL;
}

/* tables_lock held. The entry is complete: other threads find it from now on. */
void kc__insert(struct kc__table *t, void *entry, int words);
/* tables_lock held. Nobody finds it any more. Its count remains until kc__let_go(). */
void kc__remove(struct kc__table *t, const void *entry, int words);
/* tables_lock held. There is room for another one in place of a removed entry. */
void kc__let_go(struct kc__table *t);
/* tables_lock held. The key of an entry that is used again. */
void kc__set_key(void *entry, const uint64_t *key, int words);
/* tables_lock held. A new entry with its key set, not yet in the table; NULL: a limit is reached. */
void *kc__fresh(struct kc__table *t, size_t bytes, const uint64_t *key, int words);
/* Of code and paths, to tell them apart: goes on from h, 0 begins. */
uint64_t kc__hash_bytes(uint64_t h, const void *bytes, size_t length);
/* tables_lock held. A copy that is never freed; NULL: the limit is reached. */
char *kc__keep_text(const char *text);

/* NULL: not known */
struct kc__device *kc__device_of_handle(CUdevice handle);

/* In the whole */
int kc__tables_init(void);
/* The caller holds tables_lock. Returns zeroed memory that is never freed, or NULL: no memory, or KC__SHARE_ENTRIES has
 * none left. */
void *kc__arena(size_t bytes);
bool kc__entries_are_scarce(void);     /* for a kernel that is launched for the first time; tables_lock held */
bool kc__tables_have_kept_loads(void); /* of code, all that were seen */
struct kc__device *kc__current_device(struct kc__thread *t, CUcontext *context);
void kc__context_ends(void);    /* a new one may get its address */
void kc__tables_say_full(void); /* worker */

/* driver_devices.c */
/* 0: there is one. -EAGAIN: the driver is not initialised (yet); -ENODEV: none. */
int kc__devices_look(void);
int kc__devices_init(void); /* after kc__devices_look() */

#endif
