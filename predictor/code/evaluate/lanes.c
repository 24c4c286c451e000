#include "lanes.h"

#include <string.h>

void kc__set_uniform(struct kc_lanes *out, int64_t value, uint32_t known)
{
	out->known = known;
	out->moves = out->bends = 0;
	out->uniform = 1;
	out->plane = 0;
	out->v[0] = value;
}

static void write_out(const struct kc_lanes *lanes, int64_t *v)
{
	int64_t first = lanes->v[0];

	for (uint32_t i = 0; i < KC_WARP_LANES && lanes->plane; i++)
		v[i] = kc__lane(lanes, i);
	for (uint32_t i = 0; i < KC_WARP_LANES && lanes->uniform; i++)
		v[i] = first;
}

void kc__spread(struct kc_lanes *lanes)
{
	int64_t v[KC_WARP_LANES];

	if (!lanes->uniform && !lanes->plane)
		return;
	write_out(lanes, v);
	memcpy(lanes->v, v, sizeof(v));
	lanes->uniform = lanes->plane = 0;
}

static int64_t step_in(const struct kc_lanes *lanes, uint32_t c)
{
	return lanes->moves >> c & 1 ? lanes->step[c] : 0;
}

static void set_step(struct kc_lanes *out, uint32_t c, int64_t step, uint32_t bits)
{
	uint16_t bit = (uint16_t)(1u << c);

	step = kc__wrap(step, bits);
	out->moves &= (uint16_t)~bit;
	if (step > KC_STEP_MAX || step < -KC_STEP_MAX) {
		out->bends |= bit;
	} else if (step) {
		out->moves |= bit;
		out->step[c] = step;
	}
}

/* Goes on as `from` does in each sum, where `from` may be out itself. */
static void blend_steps(struct kc_lanes *out, const struct kc_lanes *from)
{
	uint16_t differ = 0;

	for (uint16_t left = out->moves | from->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		if (step_in(out, c) != step_in(from, c))
			differ |= (uint16_t)(1u << c);
	}
	out->bends |= from->bends | differ;
	out->moves &= (uint16_t)~out->bends;
}

void kc__blend(struct kc_lanes *out, const struct kc_lanes *from, uint32_t mask, int first)
{
	if (first) {
		size_t bytes = from->uniform || from->plane ? KC_UNIFORM_BYTES : sizeof(*from);

		memcpy(out, from, bytes);
		out->known &= mask;
		return;
	}
	if (out->uniform && from->uniform && out->v[0] == from->v[0]) {
		out->known = (out->known & ~mask) | (from->known & mask);
		blend_steps(out, from);
		return;
	}
	kc__spread(out);
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		out->v[i] = mask >> i & 1 ? kc__lane(from, i) : out->v[i];
	out->known = (out->known & ~mask) | (from->known & mask);
	blend_steps(out, from);
}

/* --- numbers */

static const int64_t *numbers(const struct kc_lanes *lanes, int64_t *spread)
{
	if (!lanes->uniform && !lanes->plane)
		return lanes->v;
	write_out(lanes, spread);
	return spread;
}

#define EACH(expression)                                                                                               \
	do {                                                                                                           \
		for (uint32_t i = 0; i < KC_WARP_LANES; i++)                                                           \
			r[i] = (int64_t)(expression);                                                                  \
	} while (0)
#define WRAPPED(expression)                                                                                            \
	do {                                                                                                           \
		if (value->bits == 32)                                                                                 \
			EACH((int32_t)(uint32_t)(expression));                                                         \
		else if (value->bits == 64)                                                                            \
			EACH(expression);                                                                              \
		else                                                                                                   \
			return 0;                                                                                      \
	} while (0)

/* The operations that are frequent, so that the compiler makes vector code of them. 0: it is another one. */
static int frequent(const struct kc_value *value, const int64_t *a, const int64_t *b, int b_uniform, int64_t *r)
{
	uint64_t by = (uint64_t)b[0];

	switch (value->op) {
	case KC_OP_ADD:
		WRAPPED((uint64_t)a[i] + (uint64_t)b[i]);
		return 1;
	case KC_OP_SUB:
		WRAPPED((uint64_t)a[i] - (uint64_t)b[i]);
		return 1;
	case KC_OP_MUL:
		WRAPPED((uint64_t)a[i] * (uint64_t)b[i]);
		return 1;
	case KC_OP_AND:
		EACH(a[i] & b[i]);
		return 1;
	case KC_OP_OR:
		EACH(a[i] | b[i]);
		return 1;
	case KC_OP_SHL:
		if (!b_uniform || by >= value->bits)
			return 0;
		WRAPPED((uint64_t)a[i] << by);
		return 1;
	case KC_OP_EXTEND:
		if (value->bits != 64 || value->source_bits != 32)
			return 0;
		if (value->is_signed)
			EACH((int32_t)a[i]);
		else
			EACH((uint32_t)a[i]);
		return 1;
	case KC_OP_COMPARE:
		if (value->source_bits != 32)
			return 0;
		if (value->compare == KC_PTX_LT && value->is_signed)
			EACH((int32_t)a[i] < (int32_t)b[i]);
		else if (value->compare == KC_PTX_LT)
			EACH((uint32_t)a[i] < (uint32_t)b[i]);
		else if (value->compare == KC_PTX_LE && value->is_signed)
			EACH((int32_t)a[i] <= (int32_t)b[i]);
		else if (value->compare == KC_PTX_LE)
			EACH((uint32_t)a[i] <= (uint32_t)b[i]);
		else if (value->compare == KC_PTX_EQ)
			EACH((int32_t)a[i] == (int32_t)b[i]);
		else
			EACH((int32_t)a[i] != (int32_t)b[i]);
		return 1;
	default:
		return 0;
	}
}

static void compute(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		    const struct kc_lanes *c, struct kc_lanes *out)
{
	int64_t spread[KC_SOURCES_MAX][KC_WARP_LANES];
	const int64_t *as, *bs, *cs;

	out->uniform = a->uniform && b->uniform && c->uniform;
	out->plane = 0;
	if (!out->uniform && kc__operate_planes(value, a, b, c, out))
		return;
	if (out->uniform) {
		out->v[0] = kc__compute(value, a->v[0], b->v[0], c->v[0]);
		return;
	}
	as = numbers(a, spread[0]);
	bs = b == a ? as : numbers(b, spread[1]);
	if (frequent(value, as, bs, b->uniform, out->v))
		return;
	cs = c == a ? as : numbers(c, spread[2]);
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		out->v[i] = kc__compute(value, as[i], bs[i], cs[i]);
}

/* --- how they go on */

struct motion {
	struct kc_windows *w;
	const struct kc_value *value;
	const struct kc_lanes *a, *b;
	uint32_t active;
	struct kc_lanes *out;
};

static void bend_all(struct motion *m)
{
	m->out->bends |= m->out->moves;
	m->out->moves = 0;
}

static void bend(struct motion *m, uint32_t c, uint64_t stride)
{
	m->out->bends |= (uint16_t)(1u << c);
	m->out->moves &= (uint16_t) ~(1u << c);
	if (stride)
		kc__want_stride(m->w, c, stride);
}

static void add_steps(struct motion *m, int sign)
{
	for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		set_step(m->out, c, step_in(m->a, c) + sign * step_in(m->b, c), m->value->bits);
	}
}

static void scale_steps(struct motion *m, const struct kc_lanes *scaled, const struct kc_lanes *by)
{
	if (by->moves | by->bends || !by->uniform) {
		if (scaled->moves | scaled->bends)
			bend_all(m);
		return;
	}
	for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		set_step(m->out, c, (int64_t)((uint64_t)step_in(scaled, c) * (uint64_t)by->v[0]), m->value->bits);
	}
}

static void multiply_steps(struct motion *m)
{
	int a = (m->a->moves | m->a->bends) != 0, b = (m->b->moves | m->b->bends) != 0;

	if (a && b)
		bend_all(m);
	else
		scale_steps(m, a ? m->a : m->b, a ? m->b : m->a);
}

/* Terms until a, read as a number from 0 on, comes to another multiple of `modulus`. */
static int64_t terms_within(const struct motion *m, uint64_t modulus, int64_t step)
{
	int64_t terms = KC_ENDLESS;
	uint32_t lanes = m->active & m->a->known;

	if (m->a->uniform)
		lanes = lanes ? 1 : 0;
	for (; lanes; lanes &= lanes - 1) {
		int64_t v = kc__read(kc__lane(m->a, (uint32_t)__builtin_ctz(lanes)), m->value->source_bits,
				     m->value->is_signed);
		int64_t rest =
		    modulus & (modulus - 1) ? (int64_t)((uint64_t)v % modulus) : (int64_t)((uint64_t)v & (modulus - 1));
		int64_t left = (step > 0 ? (int64_t)modulus - 1 - rest : rest) / (step > 0 ? step : -step) + 1;

		terms = left < terms ? left : terms;
	}
	return terms;
}

static int any_negative(const struct motion *m)
{
	uint32_t lanes = m->active & m->a->known;

	if (m->a->uniform)
		lanes = lanes ? 1 : 0;
	for (; lanes; lanes &= lanes - 1)
		if (kc__read(kc__lane(m->a, (uint32_t)__builtin_ctz(lanes)), m->value->source_bits,
			     m->value->is_signed) < 0)
			return 1;
	return 0;
}

/*
 * a / modulus and a % modulus go on by step / modulus and by 0 where the
 * modulus divides the step. A step much smaller leaves the quotient as it is,
 * and moves the remainder, for a number of terms. What is left bends.
 */
static void divide_steps(struct motion *m, uint64_t modulus, int is_rest)
{
	uint16_t left = m->out->moves;

	kc__limit_range(m->w, m->a, m->value->source_bits, m->value->is_signed, m->active);
	for (; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		int64_t step = step_in(m->a, c);
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (size % modulus == 0) {
			set_step(m->out, c, is_rest ? 0 : step / (int64_t)modulus, m->value->bits);
		} else if (size <= modulus / TERMS_WORTH_A_WINDOW) {
			kc__limit_flow(m->w, c, terms_within(m, modulus, step),
				       (uint16_t)((m->a->moves | m->a->bends) & ~(1u << c)));
			set_step(m->out, c, is_rest ? step : 0, m->value->bits);
		} else {
			bend(m, c, modulus / kc__common_divisor(modulus, size));
		}
	}
}

/* The other operand, where it is one constant. */
static int is_fixed(const struct kc_lanes *lanes)
{
	return lanes->uniform && !(lanes->moves | lanes->bends);
}

static void shift_right(struct motion *m)
{
	uint64_t by = (uint64_t)m->b->v[0];

	if (!is_fixed(m->b) || by >= m->value->bits || by > 60)
		bend_all(m);
	else
		divide_steps(m, (uint64_t)1 << by, 0);
}

static void divide(struct motion *m)
{
	int64_t by = kc__read(m->b->v[0], m->value->source_bits, m->value->is_signed);

	/* Rounding towards 0 is another matter below 0. */
	if (!is_fixed(m->b) || by <= 0 || by > KC_STEP_MAX || any_negative(m)) {
		bend_all(m);
		return;
	}
	divide_steps(m, (uint64_t)by, m->value->op == KC_OP_REM);
	if (m->value->is_signed)
		for (uint16_t left = m->a->moves; left; left &= (uint16_t)(left - 1)) {
			uint32_t c = (uint32_t)__builtin_ctz(left);

			if (m->a->step[c] < 0)
				kc__limit_flow(m->w, c, terms_within(m, (uint64_t)1 << 62, m->a->step[c]),
					       (uint16_t)((m->a->moves | m->a->bends) & ~(1u << c)));
		}
}

/* a & 7, a & ~7: the rest of a division by 8, and what it leaves. */
static void mask_bits(struct motion *m)
{
	const struct kc_lanes *constant = is_fixed(m->b) ? m->b : m->a;
	struct motion of = *m;
	uint64_t mask = (uint64_t)constant->v[0];

	of.a = constant == m->b ? m->a : m->b;
	if (!is_fixed(constant)) {
		bend_all(m);
	} else if (mask + 1 && !(mask & (mask + 1)) && mask < (uint64_t)KC_STEP_MAX) {
		divide_steps(&of, mask + 1, 1);
	} else if (~mask + 1 && !(~mask & (~mask + 1)) && ~mask < (uint64_t)KC_STEP_MAX) {
		uint64_t modulus = ~mask + 1;

		for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
			uint32_t c = (uint32_t)__builtin_ctz(left);
			int64_t step = step_in(of.a, c);
			uint64_t size = (uint64_t)(step < 0 ? -step : step);

			if (size % modulus == 0) {
				set_step(m->out, c, step, m->value->bits);
			} else if (size <= modulus / TERMS_WORTH_A_WINDOW) {
				kc__limit_flow(m->w, c, terms_within(&of, modulus, step),
					       (uint16_t)((of.a->moves | of.a->bends) & ~(1u << c)));
				set_step(m->out, c, 0, m->value->bits);
			} else {
				bend(m, c, modulus / kc__common_divisor(modulus, size));
			}
		}
	} else {
		bend_all(m);
	}
}

/* a | 3 and a ^ 3 go on as a does where a's steps leave those bits alone. */
static void set_bits(struct motion *m)
{
	const struct kc_lanes *constant = is_fixed(m->b) ? m->b : m->a, *moving = constant == m->b ? m->a : m->b;
	uint64_t modulus = 1;

	if (!is_fixed(constant) || constant->v[0] < 0 || constant->v[0] >= (int64_t)1 << 32) {
		bend_all(m);
		return;
	}
	while (modulus <= (uint64_t)constant->v[0])
		modulus *= 2;
	for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		int64_t step = step_in(moving, c);
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (size % modulus)
			bend(m, c, modulus / kc__common_divisor(modulus, size));
		else
			set_step(m->out, c, step, m->value->bits);
	}
}

/* The high half of a product with a constant, as it is used to divide: constant until it steps. */
static void multiply_high(struct motion *m)
{
	const struct kc_lanes *constant = is_fixed(m->b) ? m->b : m->a, *moving = constant == m->b ? m->a : m->b;
	struct motion of = *m;
	struct kc_lanes scaled;
	struct kc_value low = *m->value;
	int64_t by = kc__read(constant->v[0], m->value->bits, m->value->is_signed);

	if (!is_fixed(constant) || m->value->bits != 32) {
		bend_all(m);
		return;
	}
	kc__limit_range(m->w, moving, 32, m->value->is_signed, m->active);
	scaled.known = moving->known;
	scaled.uniform = moving->uniform;
	scaled.plane = 0;
	for (uint32_t i = 0; i < (moving->uniform ? 1 : KC_WARP_LANES); i++)
		scaled.v[i] =
		    (int64_t)((uint64_t)kc__read(kc__lane(moving, i), 32, m->value->is_signed) * (uint64_t)by);
	low.source_bits = 64;
	of.value = &low;
	of.a = &scaled;
	for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		int64_t step;

		if (__builtin_mul_overflow(step_in(moving, c), by, &step) || step > KC_STEP_MAX ||
		    step < -KC_STEP_MAX) {
			bend(m, c, 0);
			continue;
		}
		kc__limit_flow(m->w, c, terms_within(&of, (uint64_t)1 << 32, step),
			       (uint16_t)((moving->moves | moving->bends) & ~(1u << c)));
		m->out->moves &= (uint16_t) ~(1u << c);
	}
}

/* Which of the two each lane takes does not change in the window; they must go on alike, or all take the same. */
static void choose_steps(struct motion *m, const struct kc_lanes *first, const struct kc_lanes *second, uint32_t firsts)
{
	uint32_t active = m->active & m->out->known;
	const struct kc_lanes *all = !(active & ~firsts) ? first : second;

	m->out->moves = all->moves;
	m->out->bends = all->bends;
	for (uint16_t left = all->moves; left; left &= (uint16_t)(left - 1))
		m->out->step[__builtin_ctz(left)] = all->step[__builtin_ctz(left)];
	if (active & firsts && active & ~firsts)
		blend_steps(m->out, first);
}

static void choose_extreme(struct motion *m)
{
	struct kc_value less = *m->value;
	uint32_t firsts = 0;

	less.op = KC_OP_COMPARE;
	less.compare = KC_PTX_LT;
	kc__limit_compare(m->w, &less, m->a, m->b, m->active);
	for (uint32_t i = 0; i < KC_WARP_LANES; i++) {
		int64_t a = kc__lane(m->a, i), b = kc__lane(m->b, i);

		firsts |= (uint32_t)((kc__compute(&less, a, b, 0) != 0) == (m->value->op == KC_OP_MIN)) << i;
	}
	choose_steps(m, m->a, m->b, firsts);
}

static void extend(struct motion *m)
{
	if (m->value->bits > m->value->source_bits)
		kc__limit_range(m->w, m->a, m->value->source_bits, m->value->is_signed, m->active);
	for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		set_step(m->out, c, kc__wrap(step_in(m->a, c), m->value->source_bits), m->value->bits);
	}
}

static void shift_left(struct motion *m)
{
	uint64_t by = (uint64_t)m->b->v[0];
	struct kc_lanes factor;

	if (!is_fixed(m->b) || by >= m->value->bits) {
		bend_all(m);
		return;
	}
	kc__set_uniform(&factor, (int64_t)((uint64_t)1 << by), KC_ALL_LANES);
	scale_steps(m, m->a, &factor);
}

static void move(struct motion *m)
{
	switch (m->value->op) {
	case KC_OP_ADD:
		add_steps(m, 1);
		break;
	case KC_OP_SUB:
		add_steps(m, -1);
		break;
	case KC_OP_MUL:
		multiply_steps(m);
		break;
	case KC_OP_SHL:
		shift_left(m);
		break;
	case KC_OP_SHR:
		shift_right(m);
		break;
	case KC_OP_DIV:
	case KC_OP_REM:
		divide(m);
		break;
	case KC_OP_AND:
		mask_bits(m);
		break;
	case KC_OP_OR:
	case KC_OP_XOR:
		set_bits(m);
		break;
	case KC_OP_NOT:
		for (uint16_t left = m->out->moves; left; left &= (uint16_t)(left - 1)) {
			uint32_t c = (uint32_t)__builtin_ctz(left);

			set_step(m->out, c, -step_in(m->a, c), m->value->bits);
		}
		break;
	case KC_OP_EXTEND:
		extend(m);
		break;
	case KC_OP_MIN:
	case KC_OP_MAX:
		choose_extreme(m);
		break;
	case KC_OP_MUL_HIGH:
		multiply_high(m);
		break;
	case KC_OP_COMPARE:
		kc__limit_compare(m->w, m->value, m->a, m->b, m->active);
		m->out->moves = m->out->bends = 0;
		break;
	default:
		bend_all(m);
		break;
	}
}

uint32_t kc__lanes_where(const struct kc_lanes *predicate, int negated)
{
	uint32_t lanes = 0;

	if (predicate->uniform)
		return (predicate->v[0] & 1) ^ negated ? KC_ALL_LANES : 0;
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		lanes |= (uint32_t)((predicate->v[i] & 1) ^ negated) << i;
	return lanes;
}

static void choose(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		   const struct kc_lanes *b, const struct kc_lanes *c, uint32_t active, struct kc_lanes *out)
{
	struct motion m = {w, value, b, c, active, out};
	uint32_t firsts = kc__lanes_where(a, 0);

	compute(value, a, b, c, out);
	out->known = a->known & ((firsts & b->known) | (~firsts & c->known));
	choose_steps(&m, b, c, firsts);
}

void kc__operate(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		 const struct kc_lanes *c, uint32_t active, struct kc_lanes *out)
{
	struct motion m = {w, value, a, b, active, out};

	if (value->op == KC_OP_SELECT) {
		choose(w, value, a, b, c, active, out);
		return;
	}
	out->known = a->known & b->known & c->known;
	out->moves = a->moves | b->moves | c->moves;
	out->bends = a->bends | b->bends | c->bends;
	out->moves &= (uint16_t)~out->bends;
	if (!(out->known & active)) {
		kc__set_uniform(out, 0, 0);
		return;
	}
	compute(value, a, b, c, out);
	if (value->op == KC_OP_COMPARE || out->moves)
		move(&m);
}
