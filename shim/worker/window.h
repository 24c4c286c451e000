/* When CUPTI measures and when it rests, as windows.h says: the rules alone. */
#ifndef KC_SHIM_WINDOW_H
#define KC_SHIM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum kc__window_state { KC__MEASURING, KC__DRAINING, KC__RESTING };

/* What there is to see at a step of the worker. */
struct kc__window_view {
	int64_t now_ns;
	uint64_t launches; /* and other slots, in all */
	uint32_t unknown;  /* of the launches since the state began, those of what is not known well */
	bool awaiting;     /* launches that are to be measured have not been */
};

struct kc__window {
	enum kc__window_state state;
	int64_t since_ns;
	uint64_t launches; /* in all when the state began */
};

/* Returns whether it has another state now, or has begun it anew. */
bool kc__window_step(struct kc__window *window, const struct kc__window_view *view);

/* Eight bits, the newest lowest: whether measured durations were in their intervals. */
bool kc__window_known_well(uint8_t inside);

#endif
