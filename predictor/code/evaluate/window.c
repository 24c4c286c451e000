#include "lanes.h"

/* More is not worth it: terms are taken one by one. */
#define STRIDE_MAX 64u

void kc__open_window(struct kc_window *window)
{
	window->flow = KC_ENDLESS;
	window->address = KC_ENDLESS;
	window->moves = window->bends = window->coupled = 0;
	window->stride = 1;
}

uint64_t kc__common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

void kc__want_stride(struct kc_windows *w, uint32_t c, uint64_t stride)
{
	struct kc_window *window = &w->of[c];
	uint64_t common;

	if (!(w->recorded >> c & 1) || stride > STRIDE_MAX)
		return;
	common = window->stride / kc__common_divisor(window->stride, stride) * stride;
	if (common <= STRIDE_MAX)
		window->stride = (uint32_t)common;
}

void kc__limit_flow(struct kc_windows *w, uint32_t c, int64_t terms, uint16_t others)
{
	struct kc_window *window = &w->of[c];

	if (!(w->recorded >> c & 1) || terms >= window->flow)
		return;
	window->flow = terms;
	window->moves = 0;
	window->bends = (uint16_t)(others & ((1u << c) - 1));
}

void kc__limit_address(struct kc_windows *w, uint32_t c, int64_t terms, uint32_t stride)
{
	struct kc_window *window = &w->of[c];

	if (!(w->recorded >> c & 1))
		return;
	if (terms < window->address)
		window->address = terms;
	kc__want_stride(w, c, stride);
}

struct extent {
	int64_t low, high;
	int any;
};

/* Of those lanes, the ones where a plane is lowest and highest. */
static uint32_t corners(const struct kc_lanes *a, uint32_t lanes)
{
	uint32_t along = (1u << a->shift) - 1;

	if (along == KC_WARP_LANES - 1)
		return 1u << __builtin_ctz(lanes) | 1u << (KC_WARP_LANES - 1) >> __builtin_clz(lanes);
	if (lanes != KC_ALL_LANES)
		return lanes;
	return 1 | 1u << along | 1u << (KC_WARP_LANES - 1 - along) | 1u << (KC_WARP_LANES - 1);
}

static struct extent extent_of(const struct kc_lanes *a, uint32_t active, uint32_t bits, int is_signed)
{
	struct extent e = {INT64_MAX, INT64_MIN, 0};

	active &= a->known;
	if (a->uniform)
		active = active ? 1 : 0;
	else if (active && a->plane)
		active = corners(a, active);
	for (uint32_t mask = active; mask; mask &= mask - 1) {
		int64_t v = kc__read(kc__lane(a, (uint32_t)__builtin_ctz(mask)), bits, is_signed);

		e.low = v < e.low ? v : e.low;
		e.high = v > e.high ? v : e.high;
	}
	e.any = active != 0;
	return e;
}

void kc__limit_range(struct kc_windows *w, const struct kc_lanes *a, uint32_t bits, int is_signed, uint32_t active)
{
	uint16_t moves = a->moves & w->recorded;
	struct extent e;
	int64_t low, high;

	if (!moves || bits >= 64)
		return;
	e = extent_of(a, active, bits, is_signed);
	if (!e.any)
		return;
	low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
	high = is_signed ? -low - 1 : ((int64_t)1 << bits) - 1;
	for (; moves; moves &= (uint16_t)(moves - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(moves);
		int64_t step = a->step[c], size = step < 0 ? -step : step;

		kc__limit_flow(w, c, (step > 0 ? high - e.high : e.low - low) / (size ? size : 1) + 1,
			       (uint16_t)((a->moves | a->bends) & ~(1u << c)));
	}
}

/* --- comparisons: a < b holds while d = a - b, which goes on by D, is negative */

struct difference {
	const struct kc_lanes *a, *b;
	int64_t d[KC_WARP_LANES];
	uint32_t lanes;      /* those that count */
	int64_t most, least; /* d where it is negative, at most; where it is not, at least */
	uint32_t negative;
};

/* Whether the difference is a plane that is below 0 in all lanes, or in none; then there are only its extremes. */
static int differ_by_sign(struct difference *x, const struct kc_value *value)
{
	static const struct kc_value minus = {
	    .op = KC_OP_SUB, .bits = 64, .source_bits = 64, .is_signed = 1, .count = 2};
	int64_t low, high, shift = value->compare == KC_PTX_LE;
	struct kc_lanes d;
	uint32_t lanes;

	if (value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE || !x->lanes || !(x->a->plane || x->b->plane) ||
	    !kc__reads_as_kept(x->a, value->source_bits, value->is_signed) ||
	    !kc__reads_as_kept(x->b, value->source_bits, value->is_signed) ||
	    !kc__operate_planes(&minus, x->a, x->b, x->a, &d))
		return 0;
	lanes = d.plane ? corners(&d, x->lanes) : 1;
	low = high = kc__lane(&d, (uint32_t)__builtin_ctz(lanes));
	for (lanes &= lanes - 1; lanes; lanes &= lanes - 1) {
		int64_t at = kc__lane(&d, (uint32_t)__builtin_ctz(lanes));

		low = at < low ? at : low;
		high = at > high ? at : high;
	}
	if (low - shift < 0 && high - shift >= 0)
		return 0;
	if (high - shift < 0) {
		x->negative = x->lanes;
		x->most = high - shift;
	} else {
		x->least = low - shift;
	}
	return 1;
}

/* 0: it cannot be said. */
static int find_difference(struct difference *x, const struct kc_value *value, uint32_t active)
{
	uint32_t bits = value->source_bits;
	int signs = value->is_signed || value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE;
	int64_t shift = value->compare == KC_PTX_LE;

	x->lanes = active & x->a->known & x->b->known;
	if (x->a->uniform && x->b->uniform)
		x->lanes = x->lanes ? 1 : 0;
	x->most = INT64_MIN;
	x->least = INT64_MAX;
	x->negative = 0;
	if (differ_by_sign(x, value))
		return 1;
	for (uint32_t mask = x->lanes; mask; mask &= mask - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(mask);
		int64_t a = kc__read(kc__lane(x->a, lane), bits, signs),
			b = kc__read(kc__lane(x->b, lane), bits, signs);
		int64_t d;

		if ((!signs && bits == 64 && (a | b) < 0) || __builtin_sub_overflow(a, b, &d) || d > KC_STEP_MAX ||
		    d < -KC_STEP_MAX)
			return 0;
		d -= shift;
		x->d[lane] = d;
		if (d < 0) {
			x->negative |= 1u << lane;
			x->most = d > x->most ? d : x->most;
		} else {
			x->least = d < x->least ? d : x->least;
		}
	}
	return 1;
}

/* The term at which the sign of the difference changes first. */
static int64_t sign_changes(const struct difference *x, int64_t step)
{
	if (step > 0)
		return x->negative ? (-x->most - 1) / step + 1 : KC_ENDLESS;
	return x->lanes & ~x->negative ? x->least / -step + 1 : KC_ENDLESS;
}

/* The term at which the difference becomes 0, or stops being 0. */
static int64_t zero_changes(const struct difference *x, int64_t step)
{
	int64_t first = KC_ENDLESS;

	for (uint32_t mask = x->lanes; mask; mask &= mask - 1) {
		int64_t d = x->d[__builtin_ctz(mask)];
		int64_t terms = !d ? 1 : d % step ? KC_ENDLESS : -(d / step);

		if (terms > 0 && terms < first)
			first = terms;
	}
	return first;
}

static int64_t step_of(const struct difference *x, uint32_t c)
{
	return (x->a->moves >> c & 1 ? x->a->step[c] : 0) - (x->b->moves >> c & 1 ? x->b->step[c] : 0);
}

/* For how many terms of a sum in which d changes by g the change of sign comes after as many terms as it does now. */
static int64_t terms_until_shift(const struct difference *x, int64_t step, int64_t g)
{
	int64_t size = step < 0 ? -step : step, ahead = step > 0 ? -x->most - 1 : x->least, rest = ahead % size;
	int64_t by = g < 0 ? -g : g;

	return ((g > 0) == (step > 0) ? rest : size - 1 - rest) / (by ? by : 1) + 1;
}

/* When a sum around goes on by one term, d changes by G there: the change comes -G / D terms later. */
static void follow_others(struct kc_windows *w, const struct kc_value *value, const struct difference *x, uint32_t c,
			  int64_t step)
{
	int is_order = value->compare != KC_PTX_EQ && value->compare != KC_PTX_NE;
	struct kc_window *window = &w->of[c];
	uint16_t moves = (uint16_t)((x->a->moves | x->b->moves) & ((1u << c) - 1));

	window->bends = (uint16_t)((x->a->bends | x->b->bends) & ((1u << c) - 1));
	window->moves = 0;
	for (; moves; moves &= (uint16_t)(moves - 1)) {
		uint32_t other = (uint32_t)__builtin_ctz(moves);
		int64_t g = step_of(x, other);
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (!g)
			continue;
		if (is_order && g % step && (g > 0 ? g : -g) <= (int64_t)size / TERMS_WORTH_A_WINDOW) {
			kc__limit_flow(
			    w, other, terms_until_shift(x, step, g),
			    (uint16_t)((x->a->moves | x->a->bends | x->b->moves | x->b->bends) & ~(1u << other)));
		} else if (g % step) {
			window->bends |= (uint16_t)(1u << other);
			kc__want_stride(w, other, size / kc__common_divisor(size, (uint64_t)(g < 0 ? -g : g)));
		} else {
			window->moves |= (uint16_t)(1u << other);
			window->step[other] = -(g / step);
		}
	}
}

void kc__limit_compare(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		       const struct kc_lanes *b, uint32_t active)
{
	struct difference x;
	uint16_t bends = (a->bends | b->bends) & w->recorded, moves = (a->moves | b->moves) & w->recorded;
	uint16_t all = a->bends | b->bends | a->moves | b->moves;
	int signs = value->is_signed || value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE;
	int told;

	if (!(bends | moves) || !(active & a->known & b->known))
		return;
	for (uint16_t left = bends | moves; left; left &= (uint16_t)(left - 1))
		w->of[__builtin_ctz(left)].coupled |= all;
	for (uint16_t left = bends; left; left &= (uint16_t)(left - 1))
		kc__limit_flow(w, (uint32_t)__builtin_ctz(left), 1, 0);
	moves &= (uint16_t)~bends;
	if (!moves)
		return;
	x.a = a;
	x.b = b;
	told = find_difference(&x, value, active);
	for (; moves; moves &= (uint16_t)(moves - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(moves);
		int64_t step = step_of(&x, c), terms;

		if (!step)
			continue;
		if (!told) {
			kc__limit_flow(w, c, 1, 0);
			continue;
		}
		terms = value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE ? zero_changes(&x, step)
										   : sign_changes(&x, step);
		if (terms >= w->of[c].flow)
			continue;
		w->of[c].flow = terms;
		follow_others(w, value, &x, c, step);
	}
	kc__limit_range(w, a, value->source_bits, signs, active);
	kc__limit_range(w, b, value->source_bits, signs, active);
}
