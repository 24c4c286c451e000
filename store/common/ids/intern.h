/* Numbers for byte strings: the same bytes of the same kind get the same number. */
#ifndef KC_INTERN_H
#define KC_INTERN_H

#include "predictor/math/hash.h"

#include <stddef.h>
#include <stdint.h>

struct kc_interned {
	uint64_t hash;
	uint32_t id; /* 0: free */
	uint32_t bytes;
	char *at;
};

struct kc_intern {
	struct kc_interned *slots;
	size_t capacity;
	uint32_t count;
};

/* The number, from 1; 0: no memory. */
uint32_t kc_intern(struct kc_intern *intern, char kind, const void *at, size_t bytes);
/* The same for two pieces, one after the other. */
uint32_t kc_intern_two(struct kc_intern *intern, char kind, const void *first, size_t first_bytes, const void *second,
		       size_t second_bytes);
/* The number that the bytes have; 0: none. */
uint32_t kc_intern_find(const struct kc_intern *intern, char kind, const void *at, size_t bytes);
void kc_intern_free(struct kc_intern *intern);

#endif
