/* What the files of the join share: join.c finds what a record is of, join_decide.c what a measured kernel met, and
 * join_missing.c which records will not come. */
#ifndef KC_SHIM_JOIN_PARTS_H
#define KC_SHIM_JOIN_PARTS_H

#include "join.h"
#include "join_ids.h"

enum {
	KC__LATE_MAX = 4096,    /* calls that have not returned: about one per thread */
	KC__ORPHANS_MAX = 8192, /* records whose launch has not returned yet, or not by the driver call's id */
};

/* Of a launch of a graph in the list of what is late: the empty slots of its nodes have been passed over. */
#define KC__PASSED (UINT64_C(1) << 63)

struct kc__orphan {
	struct kc__record record;
	int64_t since_ns;
};

struct kc__join {
	struct kc__join_driver driver;
	uint64_t scan;                /* next slot to look at */
	uint64_t bound;               /* none from there on is looked at */
	uint64_t oldest;              /* no slot before it is awaited */
	uint64_t sweep_at, sweep_end; /* a search for records that never came, so many in a step */
	bool sweep_leading;           /* it has met no slot yet that must be looked at again */
	uint64_t late[KC__LATE_MAX];
	uint32_t late_count;
	struct kc__ids *ids;
	uint64_t awaited, matched;                  /* slots: now, and so far */
	struct kc__orphan orphans[KC__ORPHANS_MAX]; /* a ring, from the one that has waited longest */
	uint32_t orphan_first, orphan_count;
	uint32_t looked_for;                      /* so many of the first came before slots were looked at last */
	struct kc_spans devices[KC__DEVICES_MAX]; /* measured, not decided */
	int64_t swept_ns;
	uint64_t dropped_seen;
};

static inline void kc__join_count(const struct kc__join *join, enum kc_counter counter)
{
	atomic_fetch_add_explicit(&kc_journal_header(join->driver.journal)->counters[counter], 1, memory_order_relaxed);
}

static inline struct kc_slot *kc__join_slot(const struct kc__join *join, uint64_t index)
{
	return kc_journal_at(join->driver.journal, index);
}

/* join.c: it is final; and likewise, without a measured time, as nothing waits for its record any more */
void kc__join_finish(struct kc__join *join, struct kc_slot *slot);
void kc__join_give_up_on(struct kc__join *join, struct kc_slot *slot, enum kc_unmeasured why);

/* join_decide.c */
/* A measured kernel, or graph, until its overlap is decided. false: there is no room for it; what it met will not be
 * known. */
bool kc__join_hold(struct kc__join *join, struct kc_slot *slot);
void kc__join_decide(struct kc__join *join, struct kc_slot *slot, const struct kc_load *met);
/* What nothing that is awaited can meet. unfilled_ns: no launch whose slot is not filled yet starts before it. */
void kc__join_decide_all(struct kc__join *join, int64_t unfilled_ns, int64_t now_ns);
void kc__join_decide_rest(struct kc__join *join);

/* join_missing.c */
void kc__join_note_measured(const struct kc__join *join, struct kc__stream_wait *wait, uint64_t index);
enum kc_unmeasured kc__join_missing_why(struct kc__join *join);
void kc__join_sweep(struct kc__join *join, int64_t now_ns); /* part of a search for records that never came */
void kc__join_give_up_all(struct kc__join *join);           /* that is awaited */

#endif
