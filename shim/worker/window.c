#include "window.h"

/* A window takes a twelfth of the time while all is known well: a change is met within a second. */
#define WINDOW_NS 80000000ll
#define REST_NS 920000000ll
/* What was launched before is awaited for so long before CUPTI rests. */
#define DRAIN_NS 500000000ll
#define SETTLE_NS 20000000ll /* a call that had begun before has been made by then */
/* Nearly all is known well: fewer than one launch in so many is not. */
#define UNKNOWN_PART 20u
#define UNKNOWN_FEW 4u /* that do not end a rest */
/* Of the last eight measurements so many must be in their intervals, which are to hold nine of ten. */
#define INSIDE_LEAST 6

static bool begin_state(struct kc__window *window, const struct kc__window_view *view, enum kc__window_state state)
{
	window->state = state;
	window->since_ns = view->now_ns;
	window->launches = view->launches;
	return true;
}

static bool much_is_unknown(const struct kc__window *window, const struct kc__window_view *view)
{
	return (uint64_t)view->unknown * UNKNOWN_PART > view->launches - window->launches;
}

bool kc__window_step(struct kc__window *window, const struct kc__window_view *view)
{
	int64_t ns = view->now_ns - window->since_ns;

	switch (window->state) {
	case KC__MEASURING:
		if (ns < WINDOW_NS)
			return false;
		/* Where nothing was launched, measuring costs nothing. */
		if (view->launches == window->launches || much_is_unknown(window, view))
			return begin_state(window, view, KC__MEASURING);
		return begin_state(window, view, KC__DRAINING);
	case KC__DRAINING:
		return (ns >= DRAIN_NS || (ns >= SETTLE_NS && !view->awaiting)) &&
		       begin_state(window, view, KC__RESTING);
	case KC__RESTING:
		return (ns >= REST_NS || (view->unknown > UNKNOWN_FEW && much_is_unknown(window, view))) &&
		       begin_state(window, view, KC__MEASURING);
	}
	return false;
}

bool kc__window_known_well(uint8_t inside)
{
	return __builtin_popcount(inside) >= INSIDE_LEAST;
}
