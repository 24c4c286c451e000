#include "window.h"

#include <math.h>

/*
 * A window takes a twelfth of the time while all is known well, and no more than a ninth of the launches; a change is
 * met within a second. Rests are counted in launches, so that windows do not always begin where a burst of launches
 * does, and are of different lengths, so that they do not meet the same part of a training's steps again and again.
 */
#define WINDOW_NS 30000000ll
#define REST_NS 330000000ll
#define REST_SHORTEST 0.6 /* of REST_NS; the longest is as much above it */
#define REST_LEAST_NS 120000000ll
#define REST_MOST_NS 900000000ll
#define WINDOW_LEAST 64u /* launches that are enough to judge by */
#define BURST_LEAST 32u  /* likewise, where launches come in bursts */
#define TURN 0x9e3779b9u /* 2^32 divided by the golden ratio: multiples of it are spread evenly */
/* While much is new or has changed, all is measured until that is so no more of half a second. */
#define LEARNING_NS 500000000ll
#define LEARNING_BURST 1024u /* launches; made in bursts, so many tell it, too */
#define DRAIN_NS 500000000ll /* what was launched before is awaited for so long before CUPTI rests */
#define SETTLE_NS 20000000ll /* a call that had begun before has been made by then */
#define UNKNOWN_PART 20u     /* nearly all is known well: fewer than one launch in so many is not */
#define NEW_NS 550000000ull
#define UNKNOWN_FEW 4u /* launches that are no reason to measure */
/* Intervals are to hold nine measured durations of ten. Of at least four, three in four have to be inside. */
#define HISTORY 8u /* measured durations */
#define MEASURED_LEAST 4u
#define OUTSIDE_PART 4u
#define OUTSIDE_CHANGED 5 /* of eight: by chance one in a hundred times even where intervals hold eight of ten only */
#define TRIES 32u         /* measurements; what is not known well after so many does not get better by more */
#define RECOVERY 8u       /* measurements while intervals hold that make up for one of those */
/* What takes longer than predicted, or shorter */
#define DRIFT_LEAST 0.03f
#define DRIFT_WIDTHS                                                                                                   \
	0.75f           /* halves of an interval: by chance, of eight almost five standard deviations of such a mean */
#define ERROR_MOST 0.2f /* of one launch; more says nothing of the others */
#define WIDTHS_MOST 1.5f
#define WIDTH_MORE 0.02f /* of the narrowest intervals half is too little */
/* Where the GPU's clock jumps all the time, no measuring helps: a twentieth of the time. */
#define SPARE_MOST_NS 2000000000ll
#define SPARE_PART 20

struct kc__window kc__window_begin(int64_t now_ns, uint64_t launches)
{
	return (struct kc__window){
	    .began_ns = now_ns,
	    .since_ns = now_ns,
	    .launches = launches,
	    .seen_ns = now_ns,
	    .seen = launches,
	    .cycle_ns = now_ns,
	    .cycle_launches = launches,
	    .learning = true,
	    .spare_ns = SPARE_MOST_NS,
	};
}

static bool begin_state(struct kc__window *window, const struct kc__window_view *view, enum kc__window_state state)
{
	window->state = state;
	window->began_ns = window->since_ns = view->now_ns;
	window->launches = view->launches;
	return true;
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value > least ? value : least;
}

/* Of the launches since the state began, and of the time; of no fewer than least, and no less than least_ns. */
static bool much_is_unknown(const struct kc__window *window, const struct kc__window_view *view, uint64_t least,
			    uint64_t least_ns)
{
	uint64_t launches = at_least(view->launches - window->launches, least),
		 ns = at_least((uint64_t)(view->now_ns - window->began_ns), least_ns);

	return view->unknown > UNKNOWN_FEW &&
	       (view->unknown * (uint64_t)UNKNOWN_PART > launches || view->unknown_ns > ns / UNKNOWN_PART);
}

/* Not only of a moment's launches or time, but of those of NEW_NS. */
static bool much_is_new(const struct kc__window *window, const struct kc__window_view *view)
{
	return much_is_unknown(window, view, window->rest * NEW_NS / REST_NS, NEW_NS);
}

/* All is measured for LEARNING_NS, if it has not been for too long. */
static bool learns_drift(struct kc__window *window, const struct kc__window_view *view)
{
	if (!view->drifts || window->spare_ns < LEARNING_NS)
		return false;
	window->spare_ns -= LEARNING_NS;
	return true;
}

/* Spread evenly between 0 and 1. */
static double part_of_turn(const struct kc__window *window)
{
	return ldexp(window->turn * TURN, -32);
}

/* Where less was launched than the rest was to last for, launches come in bursts. One that is over before the worker
 * looks again would be measured whole, and where each comes after a pause, all of them. So a share of it is measured,
 * which lies elsewhere in each. */
static struct kc__window_share share_of(const struct kc__window *window, const struct kc__window_view *view)
{
	uint64_t missed = view->launches - window->ended + window->missed;
	bool in_bursts =
	    view->now_ns - window->since_ns >= REST_MOST_NS && view->launches - window->launches < window->rest;
	struct kc__window_share share = {
	    .size = at_least(missed / KC__WINDOW_PART, in_bursts ? BURST_LEAST : WINDOW_LEAST)};

	if (in_bursts && missed > share.size)
		share.skip = (uint64_t)((double)(missed - share.size) * part_of_turn(window));
	return share;
}

static bool begin_window(struct kc__window *window, const struct kc__window_view *view, bool learning)
{
	window->learning = learning;
	if (window->state == KC__RESTING)
		window->share = share_of(window, view);
	return begin_state(window, view, KC__MEASURING);
}

static bool end_window(struct kc__window *window, const struct kc__window_view *view)
{
	window->ended = view->launches;
	window->missed = view->left_out;
	return begin_state(window, view, KC__DRAINING);
}

static bool begin_rest(struct kc__window *window, const struct kc__window_view *view)
{
	double ns = (double)(view->now_ns - window->cycle_ns),
	       launches = (double)(view->launches - window->cycle_launches);
	double part;

	window->turn++;
	part = REST_SHORTEST + 2 * (1 - REST_SHORTEST) * part_of_turn(window);
	window->rest =
	    at_least((uint64_t)(ns > 0 ? launches / ns * REST_NS * part : 0), KC__WINDOW_PART * window->last);
	window->spare_ns += (view->now_ns - window->cycle_ns) / SPARE_PART;
	if (window->spare_ns > SPARE_MOST_NS)
		window->spare_ns = SPARE_MOST_NS;
	window->cycle_ns = view->now_ns;
	window->cycle_launches = view->launches;
	return begin_state(window, view, KC__RESTING);
}

static bool measured_enough(const struct kc__window *window, const struct kc__window_view *view)
{
	return view->now_ns - window->since_ns >= WINDOW_NS || view->measured >= window->share.size;
}

static bool rested_enough(const struct kc__window *window, const struct kc__window_view *view)
{
	int64_t ns = view->now_ns - window->since_ns;

	return ns >= REST_MOST_NS || (ns >= REST_LEAST_NS && view->launches - window->launches >= window->rest);
}

static bool step_learning(struct kc__window *window, const struct kc__window_view *view)
{
	uint64_t launches = view->launches - window->launches;

	if (view->now_ns - (launches < LEARNING_BURST ? window->since_ns : window->began_ns) < LEARNING_NS)
		return false;
	if (much_is_unknown(window, view, 0, 0) || learns_drift(window, view))
		return begin_state(window, view, KC__MEASURING);
	return end_window(window, view);
}

/* It is no burst: launches go on for longer than a window. */
static bool skip_no_more(struct kc__window *window, const struct kc__window_view *view)
{
	window->share.skip = 0;
	return begin_state(window, view, KC__MEASURING);
}

static bool step_window(struct kc__window *window, const struct kc__window_view *view)
{
	if (much_is_new(window, view) || learns_drift(window, view))
		return begin_window(window, view, true);
	if (!measured_enough(window, view))
		return false;
	if (window->share.skip && !view->measured)
		return skip_no_more(window, view);
	window->last = view->measured;
	return end_window(window, view);
}

/* Where nothing is launched, measuring costs nothing and tells nothing. */
static void leave_out_idle_time(struct kc__window *window, const struct kc__window_view *view)
{
	if (window->state == KC__MEASURING && view->launches == window->seen)
		window->since_ns += view->now_ns - window->seen_ns;
	window->seen = view->launches;
	window->seen_ns = view->now_ns;
}

bool kc__window_step(struct kc__window *window, const struct kc__window_view *view)
{
	int64_t ns = view->now_ns - window->since_ns;

	leave_out_idle_time(window, view);
	switch (window->state) {
	case KC__MEASURING:
		return window->learning ? step_learning(window, view) : step_window(window, view);
	case KC__DRAINING:
		return (ns >= DRAIN_NS || (ns >= SETTLE_NS && !view->awaiting)) && begin_rest(window, view);
	case KC__RESTING:
		if (learns_drift(window, view))
			return begin_window(window, view, true);
		/* What is new may be known well by the end of a window. */
		return (rested_enough(window, view) || much_is_new(window, view)) && begin_window(window, view, false);
	}
	return false;
}

static bool is_known_well(const struct kc__familiar *familiar, unsigned outside)
{
	if (familiar->known_well)
		return outside < OUTSIDE_CHANGED;
	return familiar->measured >= MEASURED_LEAST &&
	       (outside * OUTSIDE_PART <= familiar->measured || familiar->tried >= TRIES);
}

void kc__window_meet(struct kc__familiar *familiar)
{
	if (!familiar->measured)
		familiar->measured = 1;
}

/* What is measured in vain counts, so that a kernel that varies without a rule is not measured all the time. */
bool kc__window_learn(struct kc__familiar *familiar, bool inside)
{
	unsigned outside;

	familiar->outside = (uint8_t)(familiar->outside << 1 | !inside);
	if (familiar->measured < HISTORY)
		familiar->measured++;
	outside = (unsigned)__builtin_popcount(familiar->outside);
	familiar->known_well = is_known_well(familiar, outside);
	if (!familiar->known_well && familiar->tried < TRIES)
		familiar->tried++;
	else if (outside * OUTSIDE_PART < familiar->measured && familiar->tried && !(++familiar->held % RECOVERY))
		familiar->tried--;
	return familiar->known_well;
}

static float within(float value, float most)
{
	return fminf(fmaxf(value, -most), most);
}

bool kc__window_drifts(struct kc__drift *drift, unsigned launches, float error, float width, bool known)
{
	float of = (float)launches;

	error = within(error, ERROR_MOST);
	drift->error += (error - drift->error) / of;
	drift->in_widths += (within(error / (width / 2 + WIDTH_MORE), WIDTHS_MOST) - drift->in_widths) / of;
	if (drift->measured < launches)
		drift->measured++;
	return drift->measured == launches && fabsf(drift->error) > DRIFT_LEAST &&
	       (known || fabsf(drift->in_widths) > DRIFT_WIDTHS);
}
