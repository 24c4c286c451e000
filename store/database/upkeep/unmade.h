/*
 * The launches that a killed process had not yet made from launches of graphs: recovery makes them, of the graphs in
 * the journal (struct kc_graph_entry).
 */
#ifndef KC_UNMADE_H
#define KC_UNMADE_H

#include "store/common/ids/ids.h"
#include "store/journal/journal.h"

struct kc__known_graph {
	struct kc_graph_entry entry; /* of the whole */
	struct kc_graph_kernel *kernels;
	uint32_t held; /* of entry.kernels, so many are there */
};

struct kc__unmade {
	struct kc__known_graph *graphs;
	size_t graph_count, graph_capacity;
	struct kc_ids ids; /* of graphs: their places, from 1 */
	struct kc_assembler assembler;
	/* A launch whose kernels are awaited in the order of their slots. */
	const struct kc__known_graph *graph; /* NULL: none */
	uint64_t index;                      /* its slot's */
	uint32_t next;                       /* kernel, from 0 */
	uint32_t state;
	struct kc_graph_launch launch;
};

/* A slot of KC_KIND_GRAPH. 0 or -ENOMEM. */
int kc__unmade_graph(struct kc__unmade *unmade, const struct kc_slot *slot);
/* Any slot, in the order of their indexes, once the graphs are known; NULL: there are no more. Calls fn first for each
 * launch that belongs before it and is not in the journal. 0, -ENOMEM, or what fn returned if that was not 0. */
int kc__unmade_before(struct kc__unmade *unmade, const struct kc_slot *slot,
		      int (*fn)(const struct kc_slot *slot, void *arg), void *arg);
/* A launch of a graph. */
void kc__unmade_launch(struct kc__unmade *unmade, const struct kc_slot *slot);
void kc__unmade_free(struct kc__unmade *unmade);

#endif
