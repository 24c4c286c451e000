#include "formula.h"

/*
 * Bits of a value that are 0 whatever is launched. Compilers write a sum as a bitwise or where its sides have no bit in
 * common, as a block's first index and a thread's within it; such an or becomes a sum again, which steps as its
 * sides do. (LLVM, from which Triton makes PTX, does so wherever it can: "or disjoint" of its language reference.)
 */

/* Values that are looked at for one answer, loops' variables around each other, and values behind one another. */
#define LOOKS_MAX 64u
#define VARIABLES_MAX 8u
#define DEPTH_MAX 8u

#define THREADS_LOG2 10u  /* of a block along x and y at most (CUDA programming guide, Compute Capabilities) */
#define THREADS_Z_LOG2 6u /* along z */
#define LANES_LOG2 5u     /* of a warp */

struct looking {
	const struct kc_formula *f;
	uint32_t looks, variable_count;
	uint32_t variables[VARIABLES_MAX]; /* whose own steps are being looked at */
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t at_most(uint32_t log2)
{
	return smaller(log2, KC_ALIGNED_LOG2_MAX);
}

static uint32_t log2_of(int64_t constant)
{
	return constant ? at_most((uint32_t)__builtin_ctzll((uint64_t)constant)) : KC_ALIGNED_LOG2_MAX;
}

static uint32_t aligned(struct looking *l, uint32_t value);

static uint32_t joined_alignment(struct looking *l, uint32_t phi)
{
	uint32_t least = KC_ALIGNED_LOG2_MAX, count;
	const uint32_t *from = kc__sources(l->f, &l->f->values[phi], &count);

	if (l->variable_count == VARIABLES_MAX || !count)
		return 0;
	l->variables[l->variable_count++] = phi;
	for (uint32_t n = 0; n < count; n++)
		least = smaller(least, aligned(l, from[n]));
	l->variable_count--;
	return least;
}

/* A variable of a loop is taken to be a multiple of all powers while its own steps are looked at: as no operation below
 * has a result that is less aligned than both the variable and that result were so, the answer is one by induction. */
static uint32_t aligned(struct looking *l, uint32_t value)
{
	const struct kc_value *v = &l->f->values[value];
	uint32_t log2[KC_SOURCES_MAX] = {0};

	if (v->op == KC_OP_CONSTANT || v->op == KC_OP_SHARED)
		return log2_of(v->constant);
	for (uint32_t n = 0; n < l->variable_count; n++)
		if (l->variables[n] == value)
			return KC_ALIGNED_LOG2_MAX;
	if (++l->looks > LOOKS_MAX || v->op == KC_OP_UNKNOWN)
		return 0;
	if (v->op == KC_OP_PHI)
		return joined_alignment(l, value);
	for (uint32_t n = 0; n < v->count; n++)
		log2[n] = aligned(l, v->source[n]);
	switch (v->op) {
	case KC_OP_EXTEND:
	case KC_OP_EXIT_VALUE:
		return log2[0];
	case KC_OP_ADD:
	case KC_OP_SUB:
	case KC_OP_OR:
	case KC_OP_XOR:
	case KC_OP_MIN:
	case KC_OP_MAX:
		return smaller(log2[0], log2[1]);
	case KC_OP_AND:
		return log2[0] > log2[1] ? log2[0] : log2[1];
	case KC_OP_MUL:
		return at_most(log2[0] + log2[1]);
	case KC_OP_SHL:
		v = &l->f->values[v->source[1]];
		return v->op == KC_OP_CONSTANT && v->constant >= 0 ? at_most(log2[0] + at_most((uint32_t)v->constant))
								   : log2[0];
	case KC_OP_SELECT:
		return smaller(log2[1], log2[2]);
	default:
		return 0;
	}
}

uint32_t kc__aligned_log2(const struct kc_formula *f, uint32_t value)
{
	return aligned(&(struct looking){.f = f}, value);
}

static uint64_t lowest(uint32_t bits)
{
	return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

static uint64_t zeros_of_special(int64_t special)
{
	switch (special) {
	case KC_PTX_TID_X:
	case KC_PTX_TID_Y:
		return ~lowest(THREADS_LOG2);
	case KC_PTX_TID_Z:
		return ~lowest(THREADS_Z_LOG2);
	case KC_PTX_LANEID:
		return ~lowest(LANES_LOG2);
	default:
		return 0;
	}
}

static uint64_t zeros_extended(const struct kc_value *v, uint64_t zeros)
{
	uint64_t kept = zeros & lowest(v->source_bits), above = ~lowest(v->source_bits);

	return !v->is_signed || zeros >> (v->source_bits - 1) & 1 ? kept | above : kept;
}

static uint64_t zeros_shifted(const struct kc_value *v, uint64_t zeros, uint64_t by)
{
	uint64_t within = zeros | ~lowest(v->bits);

	if (by >= v->bits)
		return 0;
	if (v->op == KC_OP_SHL)
		return zeros << by | lowest((uint32_t)by);
	return !v->is_signed || zeros >> (v->bits - 1) & 1 ? within >> by | ~(UINT64_MAX >> by) : 0;
}

/* Bits of the lowest v->bits that are 0; those above say nothing. */
static uint64_t zeros_in(struct looking *l, uint32_t value, uint32_t depth)
{
	const struct kc_value *v = &l->f->values[value];
	uint64_t zeros[KC_SOURCES_MAX] = {0};
	const struct kc_value *by;

	if (v->op == KC_OP_CONSTANT)
		return ~(uint64_t)v->constant;
	if (v->op == KC_OP_SPECIAL)
		return zeros_of_special(v->constant);
	if (v->op == KC_OP_PHI || v->op == KC_OP_ADD || v->op == KC_OP_SUB || v->op == KC_OP_MUL)
		return lowest(aligned(l, value));
	if (!depth || ++l->looks > LOOKS_MAX)
		return 0;
	for (uint32_t n = 0; n < v->count; n++)
		zeros[n] = zeros_in(l, v->source[n], depth - 1);
	switch (v->op) {
	case KC_OP_AND:
		return zeros[0] | zeros[1];
	case KC_OP_OR:
	case KC_OP_XOR:
		return zeros[0] & zeros[1];
	case KC_OP_SELECT:
		return zeros[1] & zeros[2];
	case KC_OP_EXTEND:
		return zeros_extended(v, zeros[0]);
	case KC_OP_SHL:
	case KC_OP_SHR:
		by = &l->f->values[v->source[1]];
		return by->op == KC_OP_CONSTANT ? zeros_shifted(v, zeros[0], (uint64_t)by->constant) : 0;
	default:
		return 0;
	}
}

static int is_disjoint(const struct kc_formula *f, const struct kc_value *v)
{
	uint64_t first = zeros_in(&(struct looking){.f = f}, v->source[0], DEPTH_MAX);
	uint64_t second = zeros_in(&(struct looking){.f = f}, v->source[1], DEPTH_MAX);

	return !(~(first | second) & lowest(v->bits));
}

void kc__make_sums(struct kc_formula *f)
{
	for (uint32_t n = 0; n < f->value_count; n++) {
		struct kc_value *v = &f->values[n];

		if ((v->op == KC_OP_OR || v->op == KC_OP_XOR) && v->bits >= 32 && is_disjoint(f, v))
			v->op = KC_OP_ADD;
	}
}
