/* How entries of the engine count, for the engine's own files. The learner alone counts. */
#ifndef KC_ENGINE_COUNTERS_H
#define KC_ENGINE_COUNTERS_H

#include "predictor/engine.h"

static inline uint32_t kc__count_of(const _Atomic uint32_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline void kc__add_one(_Atomic uint32_t *counter)
{
	atomic_store_explicit(counter, kc__count_of(counter) + 1, memory_order_release);
}

/* What predictions on the device rest on has changed, all of it. */
static inline void kc__add_lesson(struct kc_engine_device *device)
{
	kc__add_one(&device->lessons);
}

#endif
