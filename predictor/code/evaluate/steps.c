#include "lanes.h"

static int64_t step_in(const struct kc_lanes *lanes, uint32_t c)
{
	return lanes->affine_in >> c & 1 ? lanes->step[c] : 0;
}

static void set_step(struct kc_lanes *out, uint32_t c, int64_t step, uint32_t bits)
{
	uint32_t bit = 1u << c;

	step = kc__wrap(step, bits);
	out->affine_in &= ~bit;
	if (step > KC_STEP_MAX || step < -KC_STEP_MAX) {
		out->unknown_in |= bit;
	} else if (step) {
		out->affine_in |= bit;
		out->step[c] = step;
	}
}

void kc__keep_common_steps(struct kc_lanes *out, const struct kc_lanes *from)
{
	uint32_t differ = 0;

	for (uint32_t left = out->affine_in | from->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		if (step_in(out, c) != step_in(from, c))
			differ |= 1u << c;
	}
	out->unknown_in |= from->unknown_in | differ;
	out->affine_in &= ~out->unknown_in;
}

struct stepping {
	struct kc_windows *w;
	const struct kc_value *value;
	const struct kc_lanes *a, *b;
	uint32_t active;
	struct kc_lanes *out;
};

static void forget_all_steps(struct stepping *m)
{
	m->out->unknown_in |= m->out->affine_in;
	m->out->affine_in = 0;
}

static void forget_step(struct stepping *m, uint32_t c, uint64_t period)
{
	m->out->unknown_in |= 1u << c;
	m->out->affine_in &= ~(1u << c);
	if (period)
		kc__want_period(m->w, c, period);
}

static void add_steps(struct stepping *m, int sign)
{
	for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		set_step(m->out, c, step_in(m->a, c) + sign * step_in(m->b, c), m->value->bits);
	}
}

static void scale_steps(struct stepping *m, const struct kc_lanes *scaled, int64_t by)
{
	for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		set_step(m->out, c, (int64_t)((uint64_t)step_in(scaled, c) * (uint64_t)by), m->value->bits);
	}
}

static void multiply_steps(struct stepping *m)
{
	int is_first = (m->a->affine_in | m->a->unknown_in) != 0;
	const struct kc_lanes *scaled = is_first ? m->a : m->b, *by = is_first ? m->b : m->a;

	if (!by->uniform || (by->affine_in | by->unknown_in))
		forget_all_steps(m);
	else
		scale_steps(m, scaled, by->v[0]);
}

/* Terms until `a`, in some lane, passes a multiple of `modulus`. */
static int64_t terms_within(const struct stepping *m, uint64_t modulus, int64_t step)
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

static int any_negative(const struct stepping *m)
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
 * Steps of a / modulus, of a % modulus, or of a without that remainder. Where the
 * modulus divides the step of a, they are step / modulus, 0, and step. Where the
 * step is much smaller than the modulus, only the remainder changes for a number
 * of terms, by the step. Otherwise the next term is unknown.
 */
enum part { QUOTIENT, REMAINDER, MULTIPLE };

static void split_steps(struct stepping *m, uint64_t modulus, enum part part)
{
	for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		int64_t step = step_in(m->a, c);
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (size % modulus == 0) {
			int64_t multiple = part == QUOTIENT ? step / (int64_t)modulus : step;

			set_step(m->out, c, part == REMAINDER ? 0 : multiple, m->value->bits);
		} else if (size <= modulus / TERMS_WORTH_A_WINDOW) {
			kc__limit_flow(m->w, c, terms_within(m, modulus, step), m->a->affine_in | m->a->unknown_in);
			set_step(m->out, c, part == REMAINDER ? step : 0, m->value->bits);
		} else {
			forget_step(m, c, modulus / kc__common_divisor(modulus, size));
		}
	}
}

static void divide_steps(struct stepping *m, uint64_t modulus, enum part part)
{
	kc__limit_range(m->w, m->a, m->value->source_bits, m->value->is_signed, m->active);
	split_steps(m, modulus, part);
}

/* The same number in all lanes and terms. */
static int is_constant(const struct kc_lanes *lanes)
{
	return lanes->uniform && !(lanes->affine_in | lanes->unknown_in);
}

static void shift_right(struct stepping *m)
{
	uint64_t by = (uint64_t)m->b->v[0];

	if (!is_constant(m->b) || by >= m->value->bits || by > 60)
		forget_all_steps(m);
	else
		divide_steps(m, (uint64_t)1 << by, QUOTIENT);
}

static void divide(struct stepping *m)
{
	int64_t by = kc__read(m->b->v[0], m->value->source_bits, m->value->is_signed);

	/* Division rounds towards 0, so that below 0 the rules of divide_steps do not hold. */
	if (!is_constant(m->b) || by <= 0 || by > KC_STEP_MAX || any_negative(m)) {
		forget_all_steps(m);
		return;
	}
	divide_steps(m, (uint64_t)by, m->value->op == KC_OP_REM ? REMAINDER : QUOTIENT);
	if (m->value->is_signed)
		for (uint32_t left = m->a->affine_in; left; left &= left - 1) {
			uint32_t c = (uint32_t)__builtin_ctz(left);

			if (m->a->step[c] < 0)
				kc__limit_flow(m->w, c, terms_within(m, (uint64_t)1 << 62, m->a->step[c]),
					       m->a->affine_in | m->a->unknown_in);
		}
}

/* a & 7 is the remainder of a division by 8; a & ~7 is a without it. */
static void mask_bits(struct stepping *m)
{
	const struct kc_lanes *constant = is_constant(m->b) ? m->b : m->a;
	struct stepping of = *m;
	uint64_t mask = (uint64_t)constant->v[0];

	of.a = constant == m->b ? m->a : m->b;
	if (!is_constant(constant)) {
		forget_all_steps(m);
	} else if (mask + 1 && !(mask & (mask + 1)) && mask < (uint64_t)KC_STEP_MAX) {
		divide_steps(&of, mask + 1, REMAINDER);
	} else if (~mask + 1 && !(~mask & (~mask + 1)) && ~mask < (uint64_t)KC_STEP_MAX) {
		split_steps(&of, ~mask + 1, MULTIPLE);
	} else {
		forget_all_steps(m);
	}
}

/* a | 3 and a ^ 3 step as a does if a's steps do not change those bits. */
static void set_bits(struct stepping *m)
{
	const struct kc_lanes *constant = is_constant(m->b) ? m->b : m->a, *moving = constant == m->b ? m->a : m->b;
	uint64_t modulus = 1;

	if (!is_constant(constant) || constant->v[0] < 0 || constant->v[0] >= (int64_t)1 << 32) {
		forget_all_steps(m);
		return;
	}
	while (modulus <= (uint64_t)constant->v[0])
		modulus *= 2;
	for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		int64_t step = step_in(moving, c);
		uint64_t size = (uint64_t)(step < 0 ? -step : step);

		if (size % modulus)
			forget_step(m, c, modulus / kc__common_divisor(modulus, size));
		else
			set_step(m->out, c, step, m->value->bits);
	}
}

/* The high half of a product with a constant, as compilers use it to divide: it stays the same for a number of terms.
 */
static void multiply_high(struct stepping *m)
{
	const struct kc_lanes *constant = is_constant(m->b) ? m->b : m->a, *moving = constant == m->b ? m->a : m->b;
	struct stepping of = *m;
	struct kc_lanes scaled;
	struct kc_value low = *m->value;
	int64_t by = kc__read(constant->v[0], m->value->bits, m->value->is_signed);

	if (!is_constant(constant) || m->value->bits != 32) {
		forget_all_steps(m);
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
	for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);
		int64_t step;

		if (__builtin_mul_overflow(step_in(moving, c), by, &step) || step > KC_STEP_MAX ||
		    step < -KC_STEP_MAX) {
			forget_step(m, c, 0);
			continue;
		}
		if (step)
			kc__limit_flow(m->w, c, terms_within(&of, (uint64_t)1 << 32, step),
				       moving->affine_in | moving->unknown_in);
		m->out->affine_in &= ~(1u << c);
	}
}

void kc__choose_steps(struct kc_lanes *out, const struct kc_lanes *first, const struct kc_lanes *second,
		      uint32_t firsts, uint32_t active)
{
	const struct kc_lanes *all;

	active &= out->known;
	all = !(active & ~firsts) ? first : second;
	out->affine_in = all->affine_in;
	out->unknown_in = all->unknown_in;
	for (uint32_t left = all->affine_in; left; left &= left - 1)
		out->step[__builtin_ctz(left)] = all->step[__builtin_ctz(left)];
	if (active & firsts && active & ~firsts)
		kc__keep_common_steps(out, first);
}

static void choose_extreme(struct stepping *m)
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
	kc__choose_steps(m->out, m->a, m->b, firsts, m->active);
}

static void extend(struct stepping *m)
{
	if (m->value->bits > m->value->source_bits)
		kc__limit_range(m->w, m->a, m->value->source_bits, m->value->is_signed, m->active);
	for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		set_step(m->out, c, kc__wrap(step_in(m->a, c), m->value->source_bits), m->value->bits);
	}
}

static void shift_left(struct stepping *m)
{
	uint64_t by = (uint64_t)m->b->v[0];

	if (!is_constant(m->b) || by >= m->value->bits)
		forget_all_steps(m);
	else
		scale_steps(m, m->a, (int64_t)((uint64_t)1 << by));
}

/* The outcome may be another one in the next term of each sum in which a side changes. */
static void take_one_by_one(struct stepping *m)
{
	for (uint32_t left = m->out->affine_in | m->out->unknown_in; left; left &= left - 1)
		kc__limit_flow(m->w, (uint32_t)__builtin_ctz(left), 1, 0);
	m->out->affine_in = m->out->unknown_in = 0;
}

static void find_steps(struct stepping *m)
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
		for (uint32_t left = m->out->affine_in; left; left &= left - 1) {
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
		m->out->affine_in = m->out->unknown_in = 0;
		break;
	case KC_OP_COMPARE_FLOAT:
		take_one_by_one(m);
		break;
	default:
		forget_all_steps(m);
		break;
	}
}

void kc__find_steps(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a,
		    const struct kc_lanes *b, uint32_t active, struct kc_lanes *out)
{
	find_steps(&(struct stepping){w, value, a, b, active, out});
}
