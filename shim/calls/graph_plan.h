/*
 * What the launches of an executable graph find: a plan of all its kernels, predicted with what was known when it was
 * made, and put into the journal. A launch takes the plan that is there, and a place on the timeline for the whole
 * graph; the worker makes the launches of the kernels from both (kc_graph_expand()). So a launch takes as long however
 * many kernels there are.
 *
 * A plan is made when the graph is instantiated or updated, by the launch that finds none that fits, and by the worker
 * when something was learned that changes it. It never changes afterwards.
 */
#ifndef KC_GRAPH_PLAN_H
#define KC_GRAPH_PLAN_H

#include "graph_nodes.h"
#include "launch.h"

#include "predictor/graph.h"

/* A variant among the kernels, and what the plan rests on. */
struct kc__plan_kind {
	struct kc__variant *variant;
	uint32_t news, sizes; /* kc_engine_variant.news, kc_engine_sizes_known() */
	uint32_t first;       /* kernel of it */
};

/* Where a part of the plan is in the journal. */
struct kc__plan_place {
	uint64_t first;
	uint32_t slots;
};

/* A copy or memset, which the process alone knows of. */
struct kc__plan_copy {
	uint64_t record, bytes;
	uint8_t kind, in_child;
};

struct kc__plan {
	struct kc_graph_entry entry;
	struct kc_graph_whole whole;
	struct kc_graph_kernel *kernels; /* entry.kernels of them */
	struct kc__plan_copy *copies;
	uint32_t copy_count;
	struct kc__kernel **chosen; /* of each, where some of them are not always asked for; else NULL */
	struct kc__plan_kind *kinds;
	uint32_t kind_count;
	struct kc__device *device; /* NULL: not known */
	bool with_stream;          /* launches have a place on a timeline */
	uint32_t generation;       /* of modules, when kernels were looked up */
	uint32_t formulas;         /* kc__shim.formulas, then */
	bool told;                 /* the first launch has been: kc__early_made() */
	/* Of the lock: */
	struct kc__graph_exec *exec; /* NULL: it has another plan, or is gone */
	struct kc__plan_place *places;
	uint32_t place_count; /* 0: it is not in the journal */
	bool used_since_put;
	_Atomic bool used;         /* since it was made */
	_Atomic uint64_t launches; /* whose kernels have no slots yet; grows under the lock */
	/* Of the worker: */
	uint64_t checked; /* events taken in when it was found to be up to date */
	int64_t again_ns; /* not made again before */
	struct kc__plan *next;
};

void kc__plan_forget(void); /* likewise */
void kc__plan_lock(void);
void kc__plan_unlock(void);

/* Makes the exec's plan for launches in on's stream and device. Without a stream: for any stream of the device. */
void kc__plan_make(struct kc__graph_exec *exec, const struct kc__known *on);
/* The exec is gone, or is to get another plan. */
void kc__plan_leave(struct kc__graph_exec *exec);
/* The plan that a launch of the exec there is to use, which is one of its launches from here on. Where there is none,
 * or it does not fit any more, it is made. NULL: no memory, or the journal is full. */
struct kc__plan *kc__plan_take(struct kc__graph_exec *exec, const struct kc__known *on);
/* Worker: that launch has its slots; or any thread: it is not made. */
void kc__plan_give(struct kc__plan *plan);

/* graph_plans.c: worker */
/* Makes slots of the kernels of a launch, in the state that it is in. */
void kc__plans_expand(struct kc_slot *launch);
/* Makes plans anew that rest on what is no longer all that is known, and frees those that no launch needs. */
void kc__plans_step(void);
/* The journal is closed after this: what it holds of plans is of no more use. */
void kc__plans_end(void);
void kc__plans_forget(void); /* a child that begins to record: those of its parent */
/* For graph_plan.c: a plan has been made; any thread, with the lock. */
void kc__plans_add(struct kc__plan *plan);

/* For graph_plans.c */
/* kernels: as of another plan; variants: of each. NULL: no memory. Nothing is learned meanwhile. */
struct kc__plan *kc__plan_new(const struct kc__plan *like, struct kc_engine_variant *const *variants,
			      const struct kc_graph_kernel *kernels);
bool kc__plan_put(struct kc__plan *plan); /* into the journal. The lock is held */
void kc__plan_free(struct kc__plan *plan);

#endif
