#include "evaluate.h"

#include <string.h>

/* Of floating-point arithmetic on the lanes of a warp, beyond one. */
#define FLOAT_STEPS 9

/* out = scale * the counter of sum c */
void kc__set_counter(const struct kc_evaluation *e, uint32_t c, int64_t scale, struct kc_lanes *out)
{
	const struct kc_index *index = &e->counters[c];

	kc__set_uniform(out, index->at * scale, KC_ALL_LANES);
	if (!scale)
		return;
	out->unknown_in = index->unknown_in;
	out->affine_in = index->affine_in;
	for (uint32_t left = index->affine_in; left; left &= left - 1) {
		uint32_t other = (uint32_t)__builtin_ctz(left);

		out->step[other] = index->step[other] * scale;
	}
	if (index->end - index->at > 1) {
		out->affine_in |= 1u << c;
		out->step[c] = index->period * scale;
	}
}

static void thread_index(const struct kc_evaluation *e, uint32_t dimension, struct kc_lanes *out)
{
	const uint16_t *first = e->warps.thread[dimension];
	int64_t base;

	kc__set_counter(e, KC_AXES - 1 - dimension, e->warps.step[dimension], out);
	base = out->v[0];
	out->uniform = 0;
	if (e->warps.is_plane) {
		out->v[0] += first[0];
		out->column_step = first[1] - first[0];
		out->row_step = e->warps.row_log2 < KC_WARP_LANES_LOG2 ? first[1u << e->warps.row_log2] - first[0] : 0;
		out->row_log2 = e->warps.row_log2;
		out->uniform = !out->column_step && !out->row_step;
		out->plane = !out->uniform;
		return;
	}
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		out->v[i] = base + first[i];
	for (uint32_t i = 1; i < KC_WARP_LANES; i++)
		if (first[i] != first[0])
			return;
	out->uniform = 1;
}

static void special(const struct kc_evaluation *e, int64_t number, struct kc_lanes *out)
{
	switch (number) {
	case KC_PTX_TID_X:
	case KC_PTX_TID_Y:
	case KC_PTX_TID_Z:
		thread_index(e, (uint32_t)(number - KC_PTX_TID_X), out);
		break;
	case KC_PTX_NTID_X:
	case KC_PTX_NTID_Y:
	case KC_PTX_NTID_Z:
		kc__set_uniform(out, e->launch->block[number - KC_PTX_NTID_X], KC_ALL_LANES);
		break;
	case KC_PTX_CTAID_X:
	case KC_PTX_CTAID_Y:
	case KC_PTX_CTAID_Z:
		kc__set_counter(e, (uint32_t)(2 - (number - KC_PTX_CTAID_X)), 1, out);
		break;
	case KC_PTX_NCTAID_X:
	case KC_PTX_NCTAID_Y:
	case KC_PTX_NCTAID_Z:
		kc__set_uniform(out, e->launch->grid[number - KC_PTX_NCTAID_X], KC_ALL_LANES);
		break;
	case KC_PTX_LANEID:
		kc__set_uniform(out, 0, KC_ALL_LANES);
		out->uniform = 0;
		out->plane = 1;
		out->row_log2 = KC_WARP_LANES_LOG2;
		out->column_step = 1;
		out->row_step = 0;
		if (e->warps.is_plane && e->warps.row_log2 < KC_WARP_LANES_LOG2) {
			out->row_log2 = e->warps.row_log2;
			out->row_step = (int64_t)1 << e->warps.row_log2;
		}
		break;
	default:
		kc__set_uniform(out, 0, 0);
		break;
	}
}

/* Numbers that a double holds. Of more than VARIABLES_MAX some are not told apart. */
#define VARIABLES_FROM ((int64_t)1 << 52)
#define VARIABLES_APART ((int64_t)1 << 34)
#define VARIABLES_MAX (1u << 17)

int64_t kc__variable_address(const struct kc_value *variable)
{
	return VARIABLES_FROM + VARIABLES_APART * (variable->source[0] % VARIABLES_MAX);
}

/* An argument, or a part of one. An unknown pointer is assumed to be aligned, and far from all others. */
#define POINTERS_APART ((int64_t)1 << 40)

static void param(const struct kc_evaluation *e, const struct kc_value *v, struct kc_lanes *out)
{
	const struct kc_cost_argument *argument =
	    v->source[0] < e->launch->argument_count ? &e->launch->arguments[v->source[0]] : NULL;
	uint32_t bytes = v->bits / 8;
	int64_t value = 0;

	if (argument && argument->known && v->constant >= 0) {
		uint64_t offset = (uint64_t)v->constant, end = offset + (bytes ? bytes : 1);

		if (argument->bytes && end <= argument->length) {
			memcpy(&value, (const unsigned char *)argument->bytes + offset, bytes);
			kc__set_uniform(out, kc__wrap(value, v->bits), KC_ALL_LANES);
			return;
		}
		if (!argument->bytes && end <= sizeof(argument->value)) {
			value = (int64_t)(argument->value >> (8 * offset));
			kc__set_uniform(out, kc__wrap(value, v->bits), KC_ALL_LANES);
			return;
		}
	}
	if (v->is_pointer)
		kc__set_uniform(out, POINTERS_APART * (1 + v->source[0]) + v->constant / 8 * 256 * POINTERS_APART,
				KC_ALL_LANES);
	else
		kc__set_uniform(out, 0, 0);
}

static void evaluate(struct kc_evaluation *e, uint32_t value, uint32_t active)
{
	const struct kc_value *v = &e->f->values[value];
	struct kc_lanes *out = kc__slot(e, value);
	const struct kc_lanes *a;

	if (e->without_floats && v->op >= KC_OP_FLOAT_ADD) {
		kc__set_uniform(out, 0, 0);
		e->left_out = 1;
		return;
	}
	e->steps++;
	switch (v->op) {
	case KC_OP_CONSTANT:
	case KC_OP_SHARED:
		kc__set_uniform(out, v->constant, KC_ALL_LANES);
		return;
	case KC_OP_POINTER:
		kc__set_uniform(out, kc__variable_address(v) + v->constant, KC_ALL_LANES);
		return;
	case KC_OP_PARAM:
		param(e, v, out);
		return;
	case KC_OP_SPECIAL:
		special(e, v->constant, out);
		return;
	case KC_OP_PARAM_ADDRESS:
	case KC_OP_UNKNOWN:
		kc__set_uniform(out, 0, 0);
		return;
	default:
		break;
	}
	a = kc__slot(e, v->source[0]);
	kc__operate(&e->windows, v, a, v->count > 1 ? kc__slot(e, v->source[1]) : a,
		    v->count > 2 ? kc__slot(e, v->source[2]) : a, active, out);
	if (!out->uniform && !out->plane) /* each lane has its own value */
		e->steps += v->op >= KC_OP_FLOAT_ADD ? FLOAT_STEPS : 1;
}

void kc__evaluate_values(struct kc_evaluation *e, uint32_t first, uint32_t count, uint32_t active)
{
	for (uint32_t i = first; i < first + count && !kc__survey_is_stopped(e); i++)
		if (!kc__is_skipped(e, e->f->order[i]))
			evaluate(e, e->f->order[i], active);
}
