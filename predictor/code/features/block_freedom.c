#include "block_freedom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16u /* in which registers are followed through copies, against the order of the text */

enum kind {
	PLAIN,
	TID,
	NTID,
	CTAID,  /* and blocks of whole grids before it */
	NCTAID, /* or a multiple */
	BASE,   /* CTAID · %ntid */
};

struct value {
	uint8_t kind, dimension;
};

struct reading {
	const struct kc_ptx_module *module;
	const struct kc_ptx_function *kernel;
	struct value *values; /* by register */
	uint8_t *writes;      /* by register: 0, 1, or 2 for more */
	struct kc_block_freedom *out;
};

static void fix(struct kc_block_freedom *out, unsigned dimension)
{
	static const char names[] = "xyz";

	if (!*out->why)
		snprintf(out->why, sizeof(out->why),
			 "the code uses threadIdx.%1$c, blockIdx.%1$c or blockDim.%1$c by itself", names[dimension]);
	out->fixed[dimension] = 1;
}

static void fix_all(struct kc_block_freedom *out, const char *why)
{
	if (!(out->fixed[0] && out->fixed[1] && out->fixed[2]) || !*out->why)
		snprintf(out->why, sizeof(out->why), "%s", why);
	memset(out->fixed, 1, sizeof(out->fixed));
}

/* --- threads that work together */

/* Between the lanes of a warp or the threads of a block, or of which it is not known what it does. */
static const char *cooperation(const struct kc_ptx_instruction *i)
{
	switch (i->opcode) {
	case KC_PTX_BAR:
	case KC_PTX_BARRIER:
		return "the threads of a block wait for each other";
	case KC_PTX_ACTIVEMASK:
	case KC_PTX_ELECT:
	case KC_PTX_MATCH:
	case KC_PTX_REDUX:
	case KC_PTX_SHFL:
	case KC_PTX_VOTE:
	case KC_PTX_LDMATRIX:
	case KC_PTX_STMATRIX:
	case KC_PTX_MMA:
	case KC_PTX_WGMMA:
	case KC_PTX_WMMA:
		return "the threads of a warp work together";
	case KC_PTX_CP:
		return "the code copies into shared memory";
	case KC_PTX_CALL:
		return "the code calls a function";
	case KC_PTX_OTHER:
		return "the code has an instruction that is not known";
	default:
		return i->space == KC_PTX_SHARED ? "the code uses shared memory" : NULL;
	}
}

/* --- places of threads */

static int special_of(uint32_t number, struct value *out)
{
	static const uint8_t kinds[] = {TID, NTID, CTAID, NCTAID};

	if (number < KC_PTX_TID_X || number > KC_PTX_NCTAID_Z)
		return 0;
	*out = (struct value){kinds[(number - KC_PTX_TID_X) / 3], (uint8_t)((number - KC_PTX_TID_X) % 3)};
	return 1;
}

static struct value value_of(const struct reading *r, const struct kc_ptx_operand *operand)
{
	struct value out = {0};

	if (operand->kind == KC_PTX_REGISTER ||
	    (operand->kind == KC_PTX_ADDRESS && operand->base == KC_PTX_BASE_REGISTER))
		return r->values[operand->number];
	if (operand->kind == KC_PTX_SPECIAL)
		special_of(operand->number, &out);
	return out;
}

static int are(struct value a, uint8_t kind, struct value b, uint8_t other)
{
	return a.dimension == b.dimension &&
	       ((a.kind == kind && b.kind == other) || (a.kind == other && b.kind == kind));
}

/* %ntid · %nctaid is how many threads there are. */
static int multiply(struct value a, struct value b, struct value *out)
{
	if (are(a, CTAID, b, NTID)) {
		*out = (struct value){BASE, a.dimension};
		return 1;
	}
	if ((a.kind == NCTAID && b.kind == PLAIN) || (a.kind == PLAIN && b.kind == NCTAID)) {
		*out = a.kind == NCTAID ? a : b;
		return 1;
	}
	return are(a, NCTAID, b, NTID);
}

/* (%nctaid · k + %ctaid) · %ntid + %tid is a thread's place k times as many threads further on as there are. */
static int add(struct value a, struct value b, struct value *out)
{
	if (are(a, CTAID, b, NCTAID) || are(a, NCTAID, b, NCTAID)) {
		*out = a.kind == CTAID ? a : b;
		return 1;
	}
	return are(a, BASE, b, TID);
}

/* The value of an instruction's result. 1; 0: it uses a place in another way. */
static int result_of(const struct reading *r, const struct kc_ptx_instruction *i, struct value *out)
{
	struct value of[3] = {{0}}, product = {0};

	*out = (struct value){0};
	for (unsigned k = 0; k < 3 && k + i->results < i->operand_count; k++)
		of[k] = value_of(r, &i->operands[k + i->results]);
	if (i->guard != KC_PTX_NO_REGISTER || i->results != 1 || (i->flags & KC_PTX_HIGH))
		return 0;
	switch (i->opcode) {
	case KC_PTX_MOV:
	case KC_PTX_CVT:
		*out = of[0];
		return kc_ptx_type_bytes(i->type) >= sizeof(uint32_t);
	case KC_PTX_MUL:
		return multiply(of[0], of[1], out);
	case KC_PTX_SHL:
		*out = of[0];
		return of[0].kind == NCTAID && of[1].kind == PLAIN;
	case KC_PTX_ADD:
		return add(of[0], of[1], out);
	case KC_PTX_MAD:
		if (!multiply(of[0], of[1], &product))
			return 0;
		return product.kind == PLAIN ? of[2].kind == PLAIN : add(product, of[2], out);
	default:
		return 0;
	}
}

/* --- instructions */

static int is_combined(const struct reading *r, const struct kc_ptx_instruction *i, struct value *result)
{
	return result_of(r, i, result) && i->operands[0].kind == KC_PTX_REGISTER &&
	       (result->kind == PLAIN || r->writes[i->operands[0].number] == 1);
}

/* Whether registers hold something else than before. */
static int follow(struct reading *r)
{
	int changed = 0;

	for (uint32_t at = 0; at < r->kernel->instruction_count; at++) {
		const struct kc_ptx_instruction *i = &r->kernel->instructions[at];
		struct value result, *held;

		if (!is_combined(r, i, &result) || result.kind == PLAIN)
			continue;
		held = &r->values[i->operands[0].number];
		changed |= held->kind != result.kind || held->dimension != result.dimension;
		*held = result;
	}
	return changed;
}

static void count_writes(struct reading *r, const struct kc_ptx_operand *operand)
{
	for (unsigned k = 0; operand->kind == KC_PTX_VECTOR && k < operand->count; k++)
		count_writes(r, &operand->elements[k]);
	if (operand->kind == KC_PTX_REGISTER && r->writes[operand->number] < 2)
		r->writes[operand->number]++;
}

static int is_shared(const struct reading *r, const struct kc_ptx_operand *operand)
{
	int is_symbol =
	    (operand->kind == KC_PTX_SYMBOL || operand->kind == KC_PTX_ADDRESS) && operand->base == KC_PTX_BASE_SYMBOL;
	const struct kc_ptx_variable *variable =
	    is_symbol ? kc_ptx_symbol(r->module, r->kernel, operand->number) : NULL;

	return variable && variable->space == KC_PTX_SHARED;
}

static void look_at_operand(struct reading *r, const struct kc_ptx_operand *operand, int is_combined)
{
	struct value place = value_of(r, operand);

	for (unsigned k = 0; operand->kind == KC_PTX_VECTOR && k < operand->count; k++)
		look_at_operand(r, &operand->elements[k], is_combined);
	if (operand->kind == KC_PTX_SPECIAL && place.kind == PLAIN && operand->number != KC_PTX_WARP_SIZE)
		fix_all(r->out, "the code asks for more than a thread's place");
	if (is_shared(r, operand))
		fix_all(r->out, "the code uses shared memory");
	if (!is_combined && place.kind != PLAIN)
		fix(r->out, place.dimension);
}

/* %nctaid is combined with %ntid alone. */
static void note_threads(struct reading *r, const struct kc_ptx_instruction *i)
{
	for (unsigned k = i->results; k < i->operand_count; k++) {
		struct value place = value_of(r, &i->operands[k]);

		if (place.kind == NCTAID)
			r->out->counted[place.dimension] = 1;
	}
}

static void look_at(struct reading *r, const struct kc_ptx_instruction *i)
{
	const char *why = cooperation(i);
	struct value result;
	int combined = is_combined(r, i, &result);

	if (combined && result.kind != NCTAID)
		note_threads(r, i);
	if (why)
		fix_all(r->out, why);
	for (unsigned k = i->results; k < i->operand_count; k++)
		look_at_operand(r, &i->operands[k], combined);
	if (i->guard != KC_PTX_NO_REGISTER && r->values[i->guard].kind != PLAIN)
		fix(r->out, r->values[i->guard].dimension);
}

static void look_at_all(struct reading *r)
{
	const struct kc_ptx_function *kernel = r->kernel;
	unsigned rounds = 0;

	for (uint32_t at = 0; at < kernel->instruction_count; at++)
		for (unsigned k = 0; k < kernel->instructions[at].results; k++)
			count_writes(r, &kernel->instructions[at].operands[k]);
	while (follow(r) && rounds < ROUNDS)
		rounds++;
	if (rounds == ROUNDS)
		fix_all(r->out, "the code is too intricate");
	for (uint32_t at = 0; at < kernel->instruction_count; at++)
		look_at(r, &kernel->instructions[at]);
}

/* A block of as many threads in each dimension as are told, 1 where they are not. */
static uint32_t threads_of(const uint32_t max_threads[3])
{
	uint64_t threads = 1;

	if (!max_threads[0])
		return 0;
	for (unsigned d = 0; d < 3; d++)
		threads *= max_threads[d] ? max_threads[d] : 1;
	return threads < UINT32_MAX ? (uint32_t)threads : UINT32_MAX;
}

int kc_block_freedom(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
		     struct kc_block_freedom *out)
{
	struct reading r = {
	    .module = module,
	    .kernel = kernel,
	    .values = calloc(kernel->register_count + 1u, sizeof(*r.values)),
	    .writes = calloc(kernel->register_count + 1u, sizeof(*r.writes)),
	    .out = out,
	};
	int rc = r.values && r.writes ? 0 : -ENOMEM;

	*out = (struct kc_block_freedom){.max_threads = threads_of(kernel->max_threads)};
	if (kernel->is_shape_required)
		fix_all(out, "the code asks for blocks of this size");
	if (rc == 0)
		look_at_all(&r);
	free(r.values);
	free(r.writes);
	return rc;
}
