#include "lanes.h"

/* Beyond this, terms are taken one by one. */
#define PERIOD_MAX 64u

void kc__open_window(struct kc_window *window)
{
	window->flow_terms = KC_ENDLESS;
	window->address_terms = KC_ENDLESS;
	window->affine_in = window->unknown_in = window->coupled = 0;
	window->period = 1;
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

void kc__want_period(struct kc_windows *w, uint32_t c, uint64_t period)
{
	struct kc_window *window = &w->of[c];
	uint64_t common;

	if (!(w->recorded >> c & 1) || period > PERIOD_MAX)
		return;
	common = window->period / kc__common_divisor(window->period, period) * period;
	if (common <= PERIOD_MAX)
		window->period = (uint32_t)common;
}

void kc__limit_flow(struct kc_windows *w, uint32_t c, int64_t terms, uint32_t others)
{
	struct kc_window *window = &w->of[c];

	if (!(w->recorded >> c & 1) || terms >= window->flow_terms)
		return;
	window->flow_terms = terms;
	window->affine_in = 0;
	window->unknown_in = others & ((1u << c) - 1);
}

void kc__limit_address(struct kc_windows *w, uint32_t c, int64_t terms, uint32_t period)
{
	struct kc_window *window = &w->of[c];

	if (!(w->recorded >> c & 1))
		return;
	if (terms < window->address_terms)
		window->address_terms = terms;
	kc__want_period(w, c, period);
}

struct value_range {
	int64_t low, high;
	int any;
};

/* Those of the lanes that include the lowest and the highest value of a plane. */
static uint32_t corners(const struct kc_lanes *a, uint32_t lanes)
{
	uint32_t column_step = (1u << a->row_log2) - 1;

	if (column_step == KC_WARP_LANES - 1)
		return 1u << __builtin_ctz(lanes) | 1u << (KC_WARP_LANES - 1) >> __builtin_clz(lanes);
	if (lanes != KC_ALL_LANES)
		return lanes;
	return 1 | 1u << column_step | 1u << (KC_WARP_LANES - 1 - column_step) | 1u << (KC_WARP_LANES - 1);
}

static struct value_range extent_of(const struct kc_lanes *a, uint32_t active, uint32_t bits, int is_signed)
{
	struct value_range e = {INT64_MAX, INT64_MIN, 0};

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
	uint32_t affine_in = a->affine_in & w->recorded;
	struct value_range e;
	int64_t low, high;

	if (!affine_in || bits >= 64)
		return;
	e = extent_of(a, active, bits, is_signed);
	if (!e.any)
		return;
	low = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
	high = is_signed ? -low - 1 : ((int64_t)1 << bits) - 1;
	for (; affine_in; affine_in &= affine_in - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(affine_in);
		int64_t step = a->step[c], size = step < 0 ? -step : step;

		kc__limit_flow(w, c, (step > 0 ? high - e.high : e.low - low) / (size ? size : 1) + 1,
			       a->affine_in | a->unknown_in);
	}
}

/* --- comparisons: a < b holds while d = a - b, which has the step D, is negative */

struct difference {
	const struct kc_lanes *a, *b;
	int64_t d[KC_WARP_LANES];
	uint32_t lanes;      /* that are active and known */
	int64_t most, least; /* greatest negative d, and least other d */
	uint32_t negative;
};

/* 1: the difference is a plane with the same sign in all lanes, and only its extremes are set. */
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

/* 0: the numbers are too large. */
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

/* Terms until the sign of the difference changes in some lane. */
static int64_t sign_changes(const struct difference *x, int64_t step)
{
	if (step > 0)
		return x->negative ? (-x->most - 1) / step + 1 : KC_ENDLESS;
	return x->lanes & ~x->negative ? x->least / -step + 1 : KC_ENDLESS;
}

/* Terms until the difference becomes 0, or stops being 0, in some lane. */
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
	return (x->a->affine_in >> c & 1 ? x->a->step[c] : 0) - (x->b->affine_in >> c & 1 ? x->b->step[c] : 0);
}

/* Number of terms of another sum, in which d has the step g, before the sign changes after a different number of terms.
 */
static int64_t terms_until_shift(const struct difference *x, int64_t step, int64_t g)
{
	int64_t size = step < 0 ? -step : step, ahead = step > 0 ? -x->most - 1 : x->least, rest = ahead % size;
	int64_t by = g < 0 ? -g : g;

	return ((g > 0) == (step > 0) ? rest : size - 1 - rest) / (by ? by : 1) + 1;
}

/* One term of a sum around changes d by G, and so delays the change of sign by -G / D terms. */
static void follow_others(struct kc_windows *w, const struct kc_value *value, const struct difference *x, uint32_t c,
			  int64_t step)
{
	int is_order = value->compare != KC_PTX_EQ && value->compare != KC_PTX_NE;
	struct kc_window *window = &w->of[c];
	uint32_t affine_in = (x->a->affine_in | x->b->affine_in) & ((1u << c) - 1);

	window->unknown_in = (x->a->unknown_in | x->b->unknown_in) & ((1u << c) - 1);
	window->affine_in = 0;
	for (; affine_in; affine_in &= affine_in - 1) {
		uint32_t other = (uint32_t)__builtin_ctz(affine_in);
		int64_t g = step_of(x, other);
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (!g)
			continue;
		if (is_order && g % step && (g > 0 ? g : -g) <= (int64_t)size / TERMS_WORTH_A_WINDOW) {
			kc__limit_flow(w, other, terms_until_shift(x, step, g),
				       x->a->affine_in | x->a->unknown_in | x->b->affine_in | x->b->unknown_in);
		} else if (g % step) {
			window->unknown_in |= 1u << other;
			kc__want_period(w, other, size / kc__common_divisor(size, (uint64_t)(g < 0 ? -g : g)));
		} else {
			window->affine_in |= 1u << other;
			window->step[other] = -(g / step);
		}
	}
}

void kc__limit_compare(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		       const struct kc_lanes *b, uint32_t active)
{
	struct difference x;
	uint32_t unknown_in = (a->unknown_in | b->unknown_in) & w->recorded,
		 affine_in = (a->affine_in | b->affine_in) & w->recorded;
	uint32_t all = a->unknown_in | b->unknown_in | a->affine_in | b->affine_in;
	int signs = value->is_signed || value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE;
	int told;

	if (!(unknown_in | affine_in) || !(active & a->known & b->known))
		return;
	for (uint32_t left = unknown_in | affine_in; left; left &= left - 1)
		w->of[__builtin_ctz(left)].coupled |= all;
	for (uint32_t left = unknown_in; left; left &= left - 1)
		kc__limit_flow(w, (uint32_t)__builtin_ctz(left), 1, 0);
	affine_in &= ~unknown_in;
	if (!affine_in)
		return;
	x.a = a;
	x.b = b;
	told = find_difference(&x, value, active);
	for (; affine_in; affine_in &= affine_in - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(affine_in);
		int64_t step = step_of(&x, c), terms;

		if (!step)
			continue;
		if (!told) {
			kc__limit_flow(w, c, 1, 0);
			continue;
		}
		terms = value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE ? zero_changes(&x, step)
										   : sign_changes(&x, step);
		if (terms >= w->of[c].flow_terms)
			continue;
		w->of[c].flow_terms = terms;
		follow_others(w, value, &x, c, step);
	}
	kc__limit_range(w, a, value->source_bits, signs, active);
	kc__limit_range(w, b, value->source_bits, signs, active);
}
