/*
 * A process that recorded what was known when each launch was predicted is replayed so: its events come in the order of
 * their numbers, and an operation is predicted when as many of them have come as it says.
 */
#ifndef KC_REPLAY_RECORDED_H
#define KC_REPLAY_RECORDED_H

#include "store/past/replay_internal.h"

struct kc__recorded {
	struct kc__recorded_events events;
	struct kc__past_parts parts;
	struct kc__due_event *due; /* by number */
	size_t due_count, next;
	uint32_t *order; /* operations in the order of their predictions */
};

/* Of the process whose operations are loaded. Sets state->as_recorded, which stays 0 where nothing of this was
 * recorded. recorded is all zeros. 0 or -errno, and either way to be let go with kc__recorded_leave(). */
int kc__recorded_load(struct kc__recorded *recorded, struct kc__replay_state *state, int64_t process);
void kc__recorded_leave(struct kc__recorded *recorded, struct kc__replay_state *state);
int kc__recorded_replay(struct kc__recorded *recorded, struct kc__replay_state *state);

#endif
