/* What the slots have in common that await a record: of launches, of transfers, and of launches of graphs that are
 * measured as one. */
#ifndef KC_SHIM_AWAITED_SLOT_H
#define KC_SHIM_AWAITED_SLOT_H

#include "store/journal/slot.h"

#include <stdbool.h>
#include <stddef.h>

struct kc__awaited_slot {
	uint32_t *correlation;
	uint32_t enclosing; /* id of the runtime call around the driver's; 0: there is none, or it is not known */
	uint32_t stream, device;
	bool in_timeline; /* kernels: what runs beside them matters */
	uint8_t *unmeasured;
	int64_t launched_ns;
	int64_t *start_ns, *end_ns;     /* measured */
	enum kc_order_in_stream beside; /* of kernels */
	uint32_t graph;                 /* kc_awaited_resolve() */
	uint64_t *link;
};

static inline struct kc__awaited_slot kc__awaited_launch(struct kc_launch *l)
{
	return (struct kc__awaited_slot){
	    .correlation = &l->correlation,
	    .enclosing = l->enclosing,
	    .stream = l->stream,
	    .device = l->device,
	    .in_timeline = true,
	    .unmeasured = &l->unmeasured,
	    .launched_ns = l->launched_ns,
	    .start_ns = &l->measured_start_ns,
	    .end_ns = &l->measured_end_ns,
	    .beside = (enum kc_order_in_stream)l->beside,
	    .graph = l->graph_launch,
	    .link = &l->link,
	};
}

static inline struct kc__awaited_slot kc__awaited_graph(struct kc_graph_launch *l)
{
	return (struct kc__awaited_slot){
	    .correlation = &l->correlation,
	    .enclosing = l->enclosing,
	    .stream = l->stream,
	    .device = l->device,
	    .in_timeline = true,
	    .unmeasured = &l->unmeasured,
	    .launched_ns = l->predicted_at_ns,
	    .start_ns = &l->measured_start_ns,
	    .end_ns = &l->measured_end_ns,
	    .beside = KC_IN_ORDER,
	    .link = &l->link,
	};
}

static inline struct kc__awaited_slot kc__awaited_transfer(struct kc_transfer *t)
{
	return (struct kc__awaited_slot){
	    .correlation = &t->correlation,
	    .enclosing = t->enclosing,
	    .stream = t->stream,
	    .device = t->device,
	    .unmeasured = &t->unmeasured,
	    .launched_ns = t->launched_ns,
	    .start_ns = &t->measured_start_ns,
	    .end_ns = &t->measured_end_ns,
	    .link = &t->link,
	};
}

static inline struct kc__awaited_slot kc__awaited(const struct kc_slot *of)
{
	struct kc_slot *slot = (struct kc_slot *)of;

	return slot->kind == KC_KIND_LAUNCH         ? kc__awaited_launch(&slot->launch)
	       : slot->kind == KC_KIND_GRAPH_LAUNCH ? kc__awaited_graph(&slot->graph_launch)
						    : kc__awaited_transfer(&slot->transfer);
}

/* The id of the driver's call. */
static inline uint32_t kc__slot_id(const struct kc_slot *slot)
{
	return *kc__awaited(slot).correlation;
}

static inline uint32_t kc__slot_enclosing(const struct kc_slot *slot)
{
	return kc__awaited(slot).enclosing;
}

#endif
