/*
 * A belief that one thread writes while others read it: a sequence lock, so that
 * readers take no lock and never see half of one.
 */
#ifndef KC_PUBLISHED_H
#define KC_PUBLISHED_H

#include "forecast.h"

#include <stdatomic.h>
#include <stdint.h>

struct kc_published {
	_Atomic uint32_t sequence; /* odd: it is being written */
	_Atomic uint64_t words[sizeof(struct kc_belief) / 8];
};

/* Any thread. All zeros: a belief of count 0. */
void kc_published_read(const struct kc_published *published, struct kc_belief *belief);

/* Any thread: a number that changes with every belief. What is read after it is that belief or a later one. */
static inline uint32_t kc_published_number(const struct kc_published *published)
{
	return atomic_load_explicit(&published->sequence, memory_order_acquire);
}

/* One thread at a time. */
void kc_published_write(struct kc_published *published, const struct kc_belief *belief);

#endif
