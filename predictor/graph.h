/*
 * The kernels of an executable graph, which one call launches in the same order again and again. They are predicted
 * once for all launches until something more is known, so that a launch costs the same however many there are:
 *
 *   kc_graph_predict()  what each of them takes where the graph has its device for itself and follows itself, as in a
 *                       loop; the times count from the start of the first
 *   kc_graph_place()    a launch: the graph occupies its stream as one kernel does that takes as long as all of them,
 *                       has the blocks of the one that takes most of it, and the mean load of all
 *   kc_graph_times()    when one of them runs in a launch
 *
 * What runs beside a launch delays and stretches all of its kernels alike, by room on the SMs alone. What contention
 * costs the kernels of graphs is learned of each of them, as what usually runs beside it.
 */
#ifndef KC_GRAPH_H
#define KC_GRAPH_H

#include "engine.h"
#include "experience/graph_prediction.h"

/* All of them, for the timeline and the history of the device that they are launched on. */
struct kc_graph_whole {
	int64_t span_ns;
	const struct kc_work *work; /* of the kernel that takes most of it; NULL: none can be predicted */
	struct kc_load load;
	uint32_t identity; /* of the last one */
	int in_stream;     /* kc_outlook.in_stream */
	uint32_t last_count;
	uint64_t last[KC_HISTORY_LAUNCHES]; /* names of the last ones, in their order */
};

/* Where they are predicted: memory of the caller, all zeros, for one call. */
struct kc_graph_room;
size_t kc_graph_room_bytes(void); /* 5.8 MiB, of which few pages are touched for a small graph, and 0.7 MiB at most */

/* variants: of the kernels in their order, all on one device; NULL: one that cannot be predicted. firsts: where each of
 * the different ones is met first, in this order; room for `count` of them. NULL: not asked for. Takes in nothing and
 * must not run beside what does. Not for the launch path: it takes some 300 ns for each kernel, and allocates. Returns
 * how many are different, or -ENOMEM. */
int kc_graph_predict(struct kc_engine *engine, struct kc_engine_variant *const *variants, uint32_t count,
		     struct kc_graph_room *room, struct kc_graph_prediction *predictions, uint32_t *firsts,
		     struct kc_graph_whole *whole);

/* As kc_engine_predict(). placement: of the whole, where there is work; nothing is placed else. */
void kc_graph_place(const struct kc_graph_whole *whole, const struct kc_engine_stage *stage, uint32_t stream,
		    int64_t now_ns, struct kc_placement *placement);

#endif
