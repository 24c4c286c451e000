#include "keep_learned.h"
#include "shim/tables/recall.h"
#include "shim/tables/tables.h"
#include "storing.h"

#include "store/past/snapshot.h"
#include "store/past/snapshot_row.h"

#include <errno.h>

#define FIRST_NS 1000000000ll   /* until it is written first; then twice as long each time, */
#define SELDOM_NS 60000000000ll /* but no longer than this, unless */
#define SHARE 128               /* writing would take more than one part in so many of a core */

static struct {
	int64_t due_ns, every_ns;
	uint64_t matched; /* launches that were learned from when it was written last */
} keeping;

static uint64_t matched(void)
{
	return atomic_load_explicit(&kc__shim.header->counters[KC_COUNT_CUPTI_MATCHED], memory_order_relaxed);
}

void kc__keep_learned_begin(int64_t now_ns)
{
	keeping.every_ns = FIRST_NS;
	keeping.due_ns = now_ns + FIRST_NS;
	keeping.matched = 0;
}

static int add(struct kc_snapshot_maker *maker, const struct kc__variant *variant)
{
	const struct kc_snapshot_entry entry = {
	    .code = kc__identity_of(variant->kernel),
	    .uuid = variant->kernel->device->uuid,
	    .dims = &variant->dims,
	    .name = variant->launch_name,
	    .variant = &variant->engine,
	};
	int error;

	pthread_mutex_lock(&kc__shim.tables_lock);
	error = kc_snapshot_add(maker, &entry);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return error;
}

static uint32_t newest(void)
{
	uint32_t id = 0;

	while (id < KC__VARIANTS_MAX && atomic_load_explicit(&kc__shim.variant_by_id[id + 1], memory_order_acquire))
		id++;
	return id;
}

/* The newest first, as there may not be room for all. Launching threads wait for one entry at most. NULL: no memory. */
static struct kc_snapshot_maker *gather(void)
{
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	int error = maker ? 0 : -ENOMEM;

	for (uint32_t id = newest(); !error && id > 0; id--) {
		const struct kc__variant *variant =
		    atomic_load_explicit(&kc__shim.variant_by_id[id], memory_order_acquire);

		if (!variant->unpredictable &&
		    atomic_load_explicit(&variant->engine.learned.measured, memory_order_relaxed))
			error = add(maker, variant);
	}
	if (!error)
		return maker;
	kc_snapshot_drop(maker);
	return NULL;
}

/* What could not be written is written the next time. */
static void keep(void)
{
	const struct kc_snapshot_carried carried = {
	    .others_since = kc__recalled_source(),
	    .before = kc__recalled_snapshot(),
	    .cells = kc__shim.engine.cells,
	};
	uint64_t learned_from = matched();
	struct kc_snapshot_maker *maker;

	if (learned_from == keeping.matched)
		return;
	maker = gather();
	if (maker && !kc__storing_learned(&carried, maker))
		keeping.matched = learned_from;
}

void kc__keep_learned_step(int64_t now_ns)
{
	int64_t spent_ns;

	if (now_ns < keeping.due_ns)
		return;
	spent_ns = kc__processor_ns();
	keep();
	spent_ns = kc__processor_ns() - spent_ns;
	keeping.every_ns = 2 * keeping.every_ns < SELDOM_NS ? 2 * keeping.every_ns : SELDOM_NS;
	if (keeping.every_ns < SHARE * spent_ns)
		keeping.every_ns = SHARE * spent_ns;
	keeping.due_ns = now_ns + keeping.every_ns;
}

void kc__keep_learned_last(void)
{
	keep();
}
