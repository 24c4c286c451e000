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
	/* Of the launches since the state began, those of what is not known well, and their predicted time. */
	uint32_t unknown;
	uint64_t unknown_ns;
	bool awaiting; /* launches that are to be measured have not been */
	/* Of what is known well: measured durations that have become known since it began to measure, and those of them
	 * that were outside their intervals. */
	uint32_t measured, outside;
};

struct kc__window {
	enum kc__window_state state;
	int64_t since_ns;
	uint64_t launches; /* in all when the state began */
	/* One cycle, to know how many launches there are in a second: when the last rest, or all, began. */
	int64_t cycle_ns;
	uint64_t cycle_launches;
	uint64_t rest;   /* launches that the last rest was to last for; 0: none yet */
	uint64_t rested; /* that it has lasted for */
	uint64_t last;   /* launches in the last window */
	uint32_t turn;   /* rests so far */
	float outside;   /* share of measured durations that are outside their intervals as a rule */
	bool learning;   /* it measures because much is new or has changed */
};

struct kc__window kc__window_begin(int64_t now_ns, uint64_t launches);
/* Returns whether it has another state now, or has begun it anew. */
bool kc__window_step(struct kc__window *window, const struct kc__window_view *view);

/* What is known of how well launches are predicted that are alike. All zeros: nothing. */
struct kc__familiar {
	uint8_t
	    outside; /* of the last eight measured durations, a bit each, the newest lowest: 1: not in its interval */
	uint8_t measured; /* up to eight */
	uint8_t tried;    /* how much has been measured in vain */
	uint8_t held;     /* measurements while intervals hold, modulo 256 */
	bool known_well;
};
/* A launch has been measured. Returns whether the like of it are known well now. */
bool kc__window_learn(struct kc__familiar *familiar, bool inside);
/* The same of all launches of a kernel that are known well. Returns whether the kernel has changed. */
bool kc__window_changes(struct kc__familiar *familiar, bool inside);

#endif
