/*
 * From RETURNED to FINAL, on the worker thread: which launch a record of CUPTI's belongs to, and what a measured
 * kernel met on its device. The launch of a graph that is measured as one is measured like a kernel: of what ran beside
 * it, what it met is not known.
 *
 * Slots are looked at in index order. A launch that awaits its measured time is found again by a correlation id: that
 * of the driver's call, or that of the runtime call around it.
 * A measured kernel is held until no kernel that could have run at the same time is still awaited: then its overlap
 * is decided, and the slot is final.
 *
 * When is that? An awaited launch starts no earlier than its own host time, and no earlier than the last measured end
 * of its stream; a programmatic dependent launch no earlier than the last measured start, and the kernels of a graph
 * with parallel branches no earlier than the last end before the graph launch. The least of these bounds over a
 * device's streams is the watermark: what ended before it is decided.
 * What has waited too long is let go: what it met is not known.
 */
#ifndef KC_SHIM_JOIN_H
#define KC_SHIM_JOIN_H

#include "shim/shim.h"
#include "shim/worker/cupti/measuring.h"

/* What the join is given. Times are of one clock, that of now_ns(). */
struct kc__join_driver {
	struct kc_journal *journal;
	uint32_t device_count;
	int64_t (*now_ns)(void);
	int64_t (*exit_ns)(void); /* when the process began to exit; 0: it has not */
	void (*say)(enum kc_message_code code, const char *detail);
	/* Hands over every record that has been delivered. */
	void (*drain)(void (*on_record)(const struct kc__record *record, void *arg), void *arg);
	uint64_t (*dropped)(void);       /* records, as CUPTI tells */
	int64_t (*clock_error_ns)(void); /* of their times, at most, if these can be at all */
	/* A record matched what has both ids; a record matched nothing. */
	void (*id_matched)(enum kc__calls calls, bool by_enclosing);
	void (*id_unmatched)(enum kc__calls calls);
	/* A record without a launch is of one that was not asked for. */
	bool (*not_asked)(bool is_kernel);
	struct kc__stream_wait *(*stream_wait)(uint32_t id); /* NULL: not known */
	/* All that are known, in any order, in so many places; NULL: there is none in this one. */
	uint32_t (*stream_places)(void);
	struct kc__stream_wait *(*stream_at)(uint32_t place);
	/* A launch of a graph has returned, or failed: makes slots of its kernels, behind its own and in the same
	 * state, and says so in it. */
	void (*expand)(struct kc_slot *launch);
	/* What the launch puts on its device; zeros: not known. */
	struct kc_load (*load)(const struct kc_launch *launch);
	/* The measured times are in the record. */
	void (*launch_measured)(struct kc_launch *launch);
	void (*transfer_measured)(struct kc_transfer *transfer);
	void (*graph_measured)(struct kc_graph_launch *launch);
	/* The overlap is in the record, too. met: what the launches it ran beside put on the device meanwhile. */
	void (*launch_decided)(struct kc_launch *launch, const struct kc_load *met);
	/* The slot is final: it can be stored. */
	void (*ready)(struct kc_slot *slot);
	/* So many are final that no more are to be made so by giving up on records: those wait as well in the journal.
	 */
	bool (*enough_ready)(void);
};

struct kc__join;
struct kc__join *kc__join_new(const struct kc__join_driver *driver); /* NULL: no memory */
void kc__join_free(struct kc__join *join);
/* Looks at new slots, matches CUPTI's records with launches and transfers, decides overlaps. Returns 1 while a launch
 * or transfer that was looked at still awaits its record, else 0. */
int kc__join_step(struct kc__join *join);
/* What is recorded in slots before this index may still be measured. */
bool kc__join_awaits(const struct kc__join *join, uint64_t end);
uint64_t kc__join_matched(const struct kc__join *join); /* slots that have got their records, so far */
/* Slots before this index have been looked at: their streams know that they are awaited. */
uint64_t kc__join_looked_at(const struct kc__join *join);
/* From now on slots before this index alone are looked at. */
void kc__join_bound(struct kc__join *join, uint64_t end);
/* Nothing more will be delivered: gives up on what is awaited. */
void kc__join_give_up(struct kc__join *join);

/* join_driver.c: a join of this process's journal, CUPTI records, streams and devices. store: is given the slots that
 * are final and asked for. NULL: no memory */
struct kc__join *kc__join_start(void (*store)(struct kc_slot *slot), bool (*enough_ready)(void));

#endif
