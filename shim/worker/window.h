/* When CUPTI measures and when it rests, as windows.h says: the rules alone. */
#ifndef KC_SHIM_WINDOW_H
#define KC_SHIM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define KC__WINDOW_PART 8u /* launches that are measured in a window: of those that were not, one in so many */

enum kc__window_state { KC__MEASURING, KC__DRAINING, KC__RESTING };

/* What there is to see at a step of the worker. */
struct kc__window_view {
	int64_t now_ns;
	uint64_t launches; /* and other slots, in all */
	/* Of the launches since the state began, those of what is not known well, and their predicted time. */
	uint32_t unknown;
	uint64_t unknown_ns;
	uint64_t measured; /* or will be, of the launches since a window began */
	uint64_t left_out; /* by its share */
	bool awaiting;     /* launches that are to be measured have not been */
	bool drifts;       /* kc__window_drifts() of all launches of what is known well */
};

/* Of the launches of what is known well in a window, those that are measured: so many after some that are not, and
 * again where the window is met by many more. */
struct kc__window_share {
	uint64_t skip, size;
};

struct kc__window {
	enum kc__window_state state;
	int64_t began_ns; /* the state */
	int64_t since_ns; /* likewise; while it measures, without the time in which nothing was launched */
	int64_t seen_ns;  /* at the last step, and what had been launched */
	uint64_t seen;
	uint64_t launches; /* in all when the state began */
	/* One cycle, to know how many launches there are in a second: when the last rest, or all, began. */
	int64_t cycle_ns;
	uint64_t cycle_launches;
	uint64_t rest;   /* launches that the last rest was to last for; 0: none yet */
	uint64_t ended;  /* launches in all when the last window, or measuring all, ended */
	uint64_t missed; /* left out by its share */
	uint64_t last;   /* launches measured in the last window */
	struct kc__window_share share;
	uint32_t turn;    /* rests so far */
	bool learning;    /* it measures because much is new or has changed */
	int64_t spare_ns; /* that may be measured because of drifts */
};

struct kc__window kc__window_begin(int64_t now_ns, uint64_t launches);
/* Returns whether it has another state now, or has begun it anew. */
bool kc__window_step(struct kc__window *window, const struct kc__window_view *view);

/* number: of the launch in its window, from 0. size 0: all. */
static inline bool kc__window_measures(struct kc__window_share share, uint64_t number)
{
	return !share.size ||
	       (number >= share.skip && (number - share.skip) % ((KC__WINDOW_PART + 1) * share.size) < share.size);
}

/* What is known of how well launches are predicted that are alike. All zeros: nothing. */
struct kc__familiar {
	uint8_t
	    outside; /* of the last eight measured durations, a bit each, the newest lowest: 1: not in its interval */
	uint8_t measured; /* up to eight */
	uint8_t tried;    /* how much has been measured in vain */
	uint8_t held;     /* measurements while intervals hold, modulo 256 */
	bool known_well;
};
/* A launch has been measured that was predicted before any like it had been, and lies outside its interval. That says
 * nothing of how well they are known now, and in a burst there may be many: the first alone counts, as one measured. */
void kc__window_meet(struct kc__familiar *familiar);
/* Any other launch has been measured: where even an interval of before held, they are known well. Returns whether the
 * like of it are known well now. */
bool kc__window_learn(struct kc__familiar *familiar, bool inside);

/* By how much the last launches that are known well were mispredicted. All zeros: nothing. */
struct kc__drift {
	float error;       /* mean logarithm of measured over predicted */
	float in_widths;   /* the same in halves of the intervals */
	uint8_t measured;  /* up to the mean's */
	uint32_t found_in; /* turn of windows.c in which it was last found that they drift */
};
#define KC__DRIFT_OF_KERNEL 8u /* launches that the means are of */
#define KC__DRIFT_OF_ALL 16u
/* A launch has been measured. error: logarithm of measured over predicted; width: of the interval's end over its
 * beginning; known: it has been found. Returns whether launches take longer or shorter than predicted, and not by
 * chance. Once that is known, the interval does not matter: a few durations outside make those of others wider. */
bool kc__window_drifts(struct kc__drift *drift, unsigned launches, float error, float width, bool known);

#endif
