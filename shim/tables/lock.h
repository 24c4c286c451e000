/*
 * The lock of a device: taken for each launch, held for a few hundred nanoseconds and nearly always free. Taking it and
 * giving it back are an instruction each, in place: with the C library's mutex they are 13 cache lines of code, which a
 * driver has emptied from the cache by the next launch.
 *
 * Source of the three states: Drepper, "Futexes Are Tricky" (2011), section 5.
 */
#ifndef KC_SHIM_LOCK_H
#define KC_SHIM_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum kc__lock_state { KC__LOCK_FREE, KC__LOCK_HELD, KC__LOCK_AWAITED };

/* All zeros: free. */
struct kc__lock {
	_Atomic uint32_t state; /* enum kc__lock_state */
};

/* errno is kept. */
void kc__lock_wait(struct kc__lock *lock);
void kc__lock_wake(struct kc__lock *lock);

static inline bool kc__lock_try(struct kc__lock *lock)
{
	uint32_t expected = KC__LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&lock->state, &expected, KC__LOCK_HELD, memory_order_acquire,
						       memory_order_relaxed);
}

static inline void kc__lock(struct kc__lock *lock)
{
	if (__builtin_expect(!kc__lock_try(lock), 0))
		kc__lock_wait(lock);
}

static inline void kc__unlock(struct kc__lock *lock)
{
	if (__builtin_expect(
		atomic_exchange_explicit(&lock->state, KC__LOCK_FREE, memory_order_release) != KC__LOCK_HELD, 0))
		kc__lock_wake(lock);
}

#endif
