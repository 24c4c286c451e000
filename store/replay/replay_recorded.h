/*
 * The replay of a process as it was recorded. The process numbered its events, and recorded with each launch how many
 * of them were known when it was predicted: the replay takes the events in order, and predicts a launch after that
 * many.
 */
#ifndef KC_REPLAY_RECORDED_H
#define KC_REPLAY_RECORDED_H

#include "replay_graphs.h"

struct kc__recorded {
	struct kc__recorded_events events;
	struct kc_past_entry began_with;
	int had_past;              /* 1: it began with what an earlier process had learned */
	struct kc__due_event *due; /* by number */
	size_t due_count, next;
	uint32_t *order; /* operations in the order of their predictions; those of graphs are not among them */
	size_t order_count;
	struct kc__recorded_graphs graphs;
};

/* The process's operations are loaded, and recorded is all zeros. Sets state->as_recorded if the process recorded its
 * events. 0 or -errno; call kc__recorded_leave() in either case. */
int kc__recorded_load(struct kc__recorded *recorded, struct kc__replay_state *state, int64_t process);
void kc__recorded_leave(struct kc__recorded *recorded, struct kc__replay_state *state);
/* 0 or -errno. */
int kc__recorded_replay(struct kc__recorded *recorded, struct kc__replay_state *state);

#endif
