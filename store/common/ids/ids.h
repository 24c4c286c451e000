/*
 * Numbers for the ids of rows in a file, from 1 in the order in which they are
 * met. An id from a file may be any 64 bits: it is a key and never a size, so
 * memory grows with the number of different ids.
 */
#ifndef KC_IDS_H
#define KC_IDS_H

#include <stddef.h>
#include <stdint.h>

struct kc_id {
	int64_t id;
	uint32_t number; /* 0: free */
};

/* Starts as zeros. */
struct kc_ids {
	struct kc_id *slots;
	size_t capacity;
	uint32_t count;
};

/* The number of the id; it gets a new one if it has none. 0: no memory. */
uint32_t kc_ids_number(struct kc_ids *ids, int64_t id);
/* The number of the id; 0: it has none. */
uint32_t kc_ids_find(const struct kc_ids *ids, int64_t id);
/* Forgets all ids and keeps the memory. */
void kc_ids_clear(struct kc_ids *ids);
void kc_ids_free(struct kc_ids *ids);

#endif
