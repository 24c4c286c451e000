/*
 * Events, and when what they stand for is predicted to be done. Programs make and destroy events all the time, so
 * the place of a destroyed one is used again: a handle is kept within PROBES places of where its hash points, and
 * whoever looks for it looks no further.
 */
#include "tables.h"
#include "memory.h"
#include "streams.h"

#include <errno.h>

enum {
	PLACES = 2 * KC__EVENTS_MAX,
	PROBES = 128,
};
#define DESTROYED 1u /* in place of a handle, which is an address */

int kc__events_init(void)
{
	atomic_store(&kc__shim.events_full.reached, false);
	kc__shim.events_full.said = false;
	kc__shim.events = kc__map(PLACES * sizeof(*kc__shim.events));
	return kc__shim.events ? 0 : -ENOMEM;
}

static struct kc__event *place_of(uint64_t handle, uint32_t probe)
{
	return &kc__shim.events[((uint32_t)kc__mix(&handle, 1) + probe) % PLACES];
}

static struct kc__event *find(uint64_t handle)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct kc__event *event = place_of(handle, i);
		uint64_t there = atomic_load_explicit(&event->handle, memory_order_acquire);

		if (there == handle)
			return event;
		if (!there)
			return NULL;
	}
	return NULL;
}

/* tables_lock held. NULL: every place is taken. */
static struct kc__event *add(uint64_t handle)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct kc__event *event = place_of(handle, i);

		if (atomic_load_explicit(&event->handle, memory_order_relaxed) > DESTROYED)
			continue;
		atomic_store_explicit(&event->ready_ns, 0, memory_order_relaxed);
		atomic_store_explicit(&event->handle, handle, memory_order_release);
		return event;
	}
	atomic_store_explicit(&kc__shim.events_full.reached, true, memory_order_relaxed);
	return NULL;
}

struct kc__event *kc__event_of(CUevent event, bool make)
{
	uint64_t handle = (uint64_t)(uintptr_t)event;
	struct kc__event *found = handle > DESTROYED ? find(handle) : NULL;

	if (found || !make || handle <= DESTROYED)
		return found;
	pthread_mutex_lock(&kc__shim.tables_lock);
	found = find(handle);
	if (!found)
		found = add(handle);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return found;
}

void kc__events_happened(void)
{
	for (uint32_t i = 0; i < PLACES; i++)
		if (atomic_load_explicit(&kc__shim.events[i].ready_ns, memory_order_relaxed))
			atomic_store_explicit(&kc__shim.events[i].ready_ns, 0, memory_order_relaxed);
}

void kc__event_destroyed(CUevent event)
{
	struct kc__event *found = kc__event_of(event, false);

	if (found)
		atomic_store_explicit(&found->handle, DESTROYED, memory_order_release);
}
