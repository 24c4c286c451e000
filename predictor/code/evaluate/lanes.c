#include "lanes.h"

#include <string.h>

void kc__set_uniform(struct kc_lanes *out, int64_t value, uint32_t known)
{
	out->known = known;
	out->affine_in = out->unknown_in = 0;
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

/* Gives each lane of a uniform value or a plane its own v. */
static void expand(struct kc_lanes *lanes)
{
	int64_t v[KC_WARP_LANES];

	if (!lanes->uniform && !lanes->plane)
		return;
	write_out(lanes, v);
	memcpy(lanes->v, v, sizeof(v));
	lanes->uniform = lanes->plane = 0;
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
		kc__keep_common_steps(out, from);
		return;
	}
	expand(out);
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		out->v[i] = mask >> i & 1 ? kc__lane(from, i) : out->v[i];
	out->known = (out->known & ~mask) | (from->known & mask);
	kc__keep_common_steps(out, from);
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

/* Frequent operations, written so that the compiler vectorizes them. 0: it is another operation. */
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

uint32_t kc__lanes_where(const struct kc_lanes *predicate, int negated)
{
	uint32_t lanes = 0;

	if (predicate->uniform)
		return (predicate->v[0] & 1) ^ negated ? KC_ALL_LANES : 0;
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		lanes |= (uint32_t)((predicate->v[i] & 1) ^ negated) << i;
	return lanes;
}

static void choose(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		   const struct kc_lanes *c, uint32_t active, struct kc_lanes *out)
{
	uint32_t firsts = kc__lanes_where(a, 0);

	compute(value, a, b, c, out);
	out->known = a->known & ((firsts & b->known) | (~firsts & c->known));
	kc__choose_steps(out, b, c, firsts, active);
}

/* A lane that is not active has no value to read. */
static void broadcast(const struct kc_value *value, const struct kc_lanes *a, uint32_t active, struct kc_lanes *out)
{
	uint32_t lane = (uint32_t)value->constant;

	kc__set_uniform(out, kc__lane(a, lane), a->known & active & 1u << lane ? KC_ALL_LANES : 0);
	out->affine_in = a->affine_in;
	out->unknown_in = a->unknown_in;
	memcpy(out->step, a->step, sizeof(out->step));
}

void kc__operate(struct kc_windows *w, const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		 const struct kc_lanes *c, uint32_t active, struct kc_lanes *out)
{
	if (value->op == KC_OP_SELECT) {
		choose(value, a, b, c, active, out);
		return;
	}
	if (value->op == KC_OP_BROADCAST) {
		broadcast(value, a, active, out);
		return;
	}
	out->known = a->known & b->known & c->known;
	out->affine_in = a->affine_in | b->affine_in | c->affine_in;
	out->unknown_in = a->unknown_in | b->unknown_in | c->unknown_in;
	out->affine_in &= ~out->unknown_in;
	if (!(out->known & active)) {
		kc__set_uniform(out, 0, 0);
		return;
	}
	compute(value, a, b, c, out);
	if (value->op == KC_OP_COMPARE || value->op == KC_OP_COMPARE_FLOAT || out->affine_in)
		kc__find_steps(w, value, a, b, active, out);
}
