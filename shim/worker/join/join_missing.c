/* Which records will not come: those before others of their stream that came long ago, and at the end all. */
#include "join_parts.h"

enum { SWEEP_SLOTS = 16384 }; /* looked at in one step of a search */

#define SWEEP_NS 1000000000ll /* from the end of one search to the next */
/* A record is missing when one of a later launch of its stream was delivered so long ago; or, while CUPTI has dropped
 * more records than are known to be missing, so long. */
#define DELIVERY_NS 5000000000ll
#define DELIVERY_DROPPED_NS 2000000000ll

static int64_t delivery_ns(const struct kc__join *join)
{
	return join->dropped_seen < join->driver.dropped() ? DELIVERY_DROPPED_NS : DELIVERY_NS;
}

void kc__join_note_measured(const struct kc__join *join, struct kc__stream_wait *wait, uint64_t index)
{
	int64_t now_ns = join->driver.now_ns();

	if (now_ns - wait->marked_ns >= delivery_ns(join)) {
		wait->settled = wait->marked;
		wait->marked = wait->last_measured;
		wait->marked_ns = now_ns;
	}
	if (index > wait->last_measured) {
		wait->last_measured = index;
		wait->last_measured_ns = now_ns;
	}
}

/* Why a record did not come: CUPTI says how many it dropped, not which. */
enum kc_unmeasured kc__join_missing_why(struct kc__join *join)
{
	if (join->dropped_seen >= join->driver.dropped())
		return KC_NOT_DELIVERED;
	join->dropped_seen++;
	join->driver.say(KC_MESSAGE_RECORDS_DROPPED, NULL);
	return KC_RECORD_DROPPED;
}

static bool awaiting(const struct kc_slot *slot)
{
	const struct kc__awaited_slot awaited = kc__awaited(slot);
	bool may = slot->kind == KC_KIND_LAUNCH || slot->kind == KC_KIND_TRANSFER ||
		   (slot->kind == KC_KIND_GRAPH_LAUNCH && slot->graph_launch.made);

	return may && atomic_load_explicit(&slot->state, memory_order_relaxed) == KC_SLOT_RETURNED &&
	       !*awaited.unmeasured && !*awaited.end_ns;
}

/* The record of a later launch of the same stream came long ago. */
static bool is_missing(const struct kc__join *join, const struct kc_slot *slot, int64_t now_ns)
{
	const struct kc__stream_wait *wait = join->driver.stream_wait(kc__awaited(slot).stream);

	if (!wait)
		return false;
	return slot->index < wait->settled ||
	       (slot->index < wait->last_measured && now_ns - wait->last_measured_ns >= delivery_ns(join));
}

static void give_up_missing(struct kc__join *join, struct kc_slot *slot)
{
	kc__ids_remove(join->ids, slot);
	kc__join_give_up_on(join, slot, kc__join_missing_why(join));
}

/* The first slot from *index on and before the end that is still in the journal; NULL: there is none. Segments are
 * retired as a whole. */
static struct kc_slot *next_kept(const struct kc__join *join, uint64_t *index, uint64_t end)
{
	struct kc_slot *slot;

	for (; *index < end; *index = (*index / KC_SEGMENT_SLOTS + 1) * KC_SEGMENT_SLOTS)
		if ((slot = kc__join_slot(join, *index)))
			return slot;
	return NULL;
}

/* A pass over what may be awaited, in parts. The next pass begins where this one found the first slot that waits. */
void kc__join_sweep(struct kc__join *join, int64_t now_ns)
{
	struct kc_slot *slot;

	if (join->sweep_at >= join->sweep_end) {
		if (now_ns - join->swept_ns <= SWEEP_NS)
			return;
		join->sweep_at = join->oldest;
		join->sweep_end = join->scan;
		join->sweep_leading = true;
	}
	for (int n = 0; n < SWEEP_SLOTS && (slot = next_kept(join, &join->sweep_at, join->sweep_end)); n++) {
		bool waits = atomic_load_explicit(&slot->state, memory_order_relaxed) < KC_SLOT_RETURNED;

		if (awaiting(slot) && is_missing(join, slot, now_ns))
			give_up_missing(join, slot);
		else if (waits || awaiting(slot))
			join->sweep_leading = false;
		join->sweep_at++;
		if (join->sweep_leading)
			join->oldest = join->sweep_at;
	}
	join->swept_ns = now_ns;
}

void kc__join_give_up_all(struct kc__join *join)
{
	struct kc_slot *slot;

	for (uint64_t i = join->oldest; (slot = next_kept(join, &i, join->scan)); i++)
		if (awaiting(slot))
			give_up_missing(join, slot);
}
