#include "local_cells.h"
#include "registers.h"

#include <errno.h>
#include <string.h>

/* Limits on what is followed. Compiled code needs three rounds at most; with more than that many bytes of variables
 * none of them is followed. An array's elements are limited because each access with an index is a choice between all
 * of them. */
#define ROUNDS_MAX 16u
#define LOCAL_BYTES_MAX 65536u
#define PARAM_BYTES (LOCAL_BYTES_MAX + 1) /* of a parameter, until its end is known */
#define ALL_BYTES_MAX (1u << 18)
#define ALL_CELLS_MAX 8192u
#define CHOICES_MAX 4096u
#define ADDRESSES_APART ((int64_t)1 << 20)

enum pointer_kind { NO_POINTER, EXACT, INDEXED };

struct pointer {
	uint8_t kind;
	uint8_t is_mixed; /* the register holds other values too */
	uint32_t local;
	int64_t offset;
};

struct tracer {
	struct kc_cfg *cfg;
	struct kc_cells *cells;
	struct kc_arena *arena;
	struct pointer *of; /* by register */
	uint8_t *escaped;   /* by variable */
	uint8_t *in_parts;  /* by variable: it is written or read other than as a whole */
	uint8_t *is_param;  /* by variable */
	uint8_t *elements;  /* by variable: the size of the elements that are indexed; 0: none */
	uint32_t *indexed;  /* by variable: how many accesses are */
	uint32_t *ends;     /* by variable: the first byte behind its accesses; an indexed one counts as at offset 0 */
	uint32_t capacity;
	int changed;
};

static const struct pointer no_pointer = {.kind = NO_POINTER};

/* The register that stands for a variable. */
static uint32_t own_place(const struct kc_cfg *cfg, uint32_t call, uint32_t number)
{
	return cfg->calls[call].registers + cfg->calls[call].function->register_count + number;
}

static int is_kernel_param(const struct kc_cfg_point *point, const struct kc_ptx_operand *operand)
{
	return operand->base == KC_PTX_BASE_PARAM && !point->call;
}

static uint32_t place_of(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			 const struct kc_ptx_operand *symbol)
{
	return is_kernel_param(point, symbol) ? own_place(cfg, 0, cfg->calls[0].function->local_count + symbol->number)
					      : kc__param_register(cfg, point, symbol);
}

static uint32_t local_of(const struct kc_cells *cells, uint32_t place)
{
	return place == KC_NO_REGISTER ? KC_NO_CELL : cells->local_of[place];
}

/* --- where addresses go */

static void escape(struct tracer *t, const struct pointer *p)
{
	if (p->kind == NO_POINTER || t->escaped[p->local])
		return;
	t->escaped[p->local] = 1;
	t->changed = 1;
}

static struct pointer indexed(struct pointer p)
{
	p.kind = p.kind == NO_POINTER ? NO_POINTER : INDEXED;
	p.offset = 0;
	return p;
}

static struct pointer moved(struct pointer p, int64_t by)
{
	return p.kind == EXACT && __builtin_add_overflow(p.offset, by, &p.offset) ? indexed(p) : p;
}

static struct pointer pointer_of(const struct tracer *t, const struct kc_cfg_point *point,
				 const struct kc_ptx_operand *operand)
{
	uint32_t local;

	if (operand->kind == KC_PTX_REGISTER ||
	    (operand->kind == KC_PTX_ADDRESS && operand->base == KC_PTX_BASE_REGISTER)) {
		struct pointer p = t->of[kc__register_number(t->cfg, point, operand->number)];

		return operand->kind == KC_PTX_ADDRESS ? moved(p, operand->value) : p;
	}
	if (operand->kind != KC_PTX_SYMBOL && !(operand->kind == KC_PTX_ADDRESS && operand->base != KC_PTX_BASE_NUMBER))
		return no_pointer;
	local = local_of(t->cells, place_of(t->cfg, point, operand));
	return local == KC_NO_CELL ? no_pointer
				   : (struct pointer){.kind = EXACT, .local = local, .offset = operand->value};
}

/* The register may hold what it held before, or p. */
static void join(struct tracer *t, uint32_t number, struct pointer p)
{
	struct pointer *to = &t->of[number], before = *to;

	if (p.kind == NO_POINTER) {
		to->is_mixed = 1;
	} else if (to->kind == NO_POINTER) {
		p.is_mixed = to->is_mixed | p.is_mixed;
		*to = p;
	} else if (to->local != p.local) {
		escape(t, to);
		escape(t, &p);
	} else if (to->kind == INDEXED || p.kind == INDEXED || to->offset != p.offset) {
		to->kind = INDEXED;
		to->is_mixed |= p.is_mixed;
		to->offset = 0;
	} else {
		to->is_mixed |= p.is_mixed;
	}
	t->changed |= before.kind != to->kind || before.is_mixed != to->is_mixed;
}

/* a + b or, negative, a - b. The difference of two addresses is none. */
static struct pointer sum(struct tracer *t, const struct kc_cfg_point *point, const struct kc_ptx_operand *a,
			  const struct kc_ptx_operand *b, int negative)
{
	struct pointer p = pointer_of(t, point, a), q = pointer_of(t, point, b);

	if (p.kind && q.kind && negative && p.local == q.local)
		return no_pointer;
	if (q.kind && (p.kind || negative)) {
		escape(t, &p);
		escape(t, &q);
		return no_pointer;
	}
	if (q.kind)
		return a->kind == KC_PTX_INTEGER ? moved(q, a->value) : indexed(q);
	if (b->kind != KC_PTX_INTEGER)
		return indexed(p);
	return b->value == INT64_MIN ? indexed(p) : moved(p, negative ? -b->value : b->value);
}

/* Uses of an address that are not followed. */
static void escape_operands(struct tracer *t, const struct kc_cfg_point *point, uint32_t first)
{
	const struct kc_ptx_instruction *i = point->instruction;

	for (uint32_t n = first; n < i->operand_count; n++) {
		const struct kc_ptx_operand *operand = &i->operands[n];
		struct pointer p = pointer_of(t, point, operand);

		escape(t, &p);
		for (uint32_t e = 0; operand->kind == KC_PTX_VECTOR && e < operand->count; e++) {
			p = pointer_of(t, point, &operand->elements[e]);
			escape(t, &p);
		}
	}
}

/* A parameter that is passed as a whole holds an address as a register does. */
static uint32_t whole_place(const struct tracer *t, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *address = kc__address_operand(i);

	if (i->space != KC_PTX_PARAM || !address || address->value || i->vector != 1 ||
	    (address->base != KC_PTX_BASE_SYMBOL && address->base != KC_PTX_BASE_PARAM))
		return KC_NO_REGISTER;
	return kc__param_register(t->cfg, point, address);
}

static void join_results(struct tracer *t, const struct kc_cfg_point *point, struct pointer p)
{
	uint32_t registers[KC__REGISTERS_MAX], count = kc__writes(t->cfg, point, registers);

	for (uint32_t n = 0; n < count; n++)
		join(t, registers[n], p);
}

static void trace_load(struct tracer *t, const struct kc_cfg_point *point)
{
	uint32_t place = whole_place(t, point);

	join_results(t, point, place == KC_NO_REGISTER ? no_pointer : t->of[place]);
}

static void trace_store(struct tracer *t, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	uint32_t place = whole_place(t, point);

	if (place == KC_NO_REGISTER)
		escape_operands(t, point, 1);
	else if (i->operand_count > 1)
		join(t, place, pointer_of(t, point, &i->operands[1]));
}

/* A call that is not inlined reads its parameters, and the addresses in them. */
static void trace_call(struct tracer *t, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;

	if (point->target != KC_NO_POINT)
		return;
	for (uint32_t n = 0; n < i->operand_count; n++)
		for (uint32_t e = 0; i->operands[n].kind == KC_PTX_VECTOR && e < i->operands[n].count; e++) {
			const struct kc_ptx_operand *passed = &i->operands[n].elements[e];
			uint32_t place =
			    passed->kind == KC_PTX_SYMBOL ? kc__param_register(t->cfg, point, passed) : KC_NO_REGISTER;
			struct pointer p = place == KC_NO_REGISTER ? pointer_of(t, point, passed) : t->of[place];

			escape(t, &p);
		}
	join_results(t, point, no_pointer);
}

static void trace(struct tracer *t, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *o = i->operands;

	switch (i->opcode) {
	case KC_PTX_MOV:
	case KC_PTX_CVTA:
		if (i->operand_count == 2 && o[0].kind == KC_PTX_REGISTER && o[1].kind != KC_PTX_VECTOR) {
			join_results(t, point, pointer_of(t, point, &o[1]));
			return;
		}
		break;
	case KC_PTX_ADD:
	case KC_PTX_SUB:
		if (i->operand_count == 3) {
			join_results(t, point, sum(t, point, &o[1], &o[2], i->opcode == KC_PTX_SUB));
			return;
		}
		break;
	case KC_PTX_MAD:
		if (i->operand_count == 4 && !pointer_of(t, point, &o[1]).kind && !pointer_of(t, point, &o[2]).kind) {
			join_results(t, point, indexed(pointer_of(t, point, &o[3])));
			return;
		}
		break;
	case KC_PTX_SELP:
		if (i->operand_count == 4) {
			join_results(t, point, pointer_of(t, point, &o[1]));
			join_results(t, point, pointer_of(t, point, &o[2]));
			return;
		}
		break;
	case KC_PTX_SETP:
		join_results(t, point, no_pointer);
		return;
	case KC_PTX_LD:
	case KC_PTX_LDU:
		trace_load(t, point);
		return;
	case KC_PTX_ST:
		trace_store(t, point);
		return;
	case KC_PTX_CALL:
		trace_call(t, point);
		return;
	default:
		break;
	}
	escape_operands(t, point, i->results);
	join_results(t, point, no_pointer);
}

static void trace_all(struct tracer *t)
{
	unsigned round = 0;

	do {
		t->changed = 0;
		for (uint32_t p = 0; p < t->cfg->point_count; p++)
			trace(t, &t->cfg->points[p]);
	} while (t->changed && ++round < ROUNDS_MAX);
	for (uint32_t n = 0; n < t->cfg->register_count; n++)
		if (t->of[n].is_mixed)
			escape(t, &t->of[n]);
	if (round == ROUNDS_MAX)
		memset(t->escaped, 1, t->cells->local_count);
}

/* --- variables and accesses */

static int is_followable(const struct kc_ptx_variable *variable)
{
	return variable->space == KC_PTX_LOCAL || variable->space == KC_PTX_PARAM;
}

/* Lists a parameter of the kernel whose address the instruction computes with. */
static void list_param(struct tracer *t, const struct kc_cfg_point *point)
{
	struct kc_cells *cells = t->cells;
	const struct kc_ptx_function *kernel = t->cfg->calls[0].function;

	for (uint32_t n = 0; n < point->instruction->operand_count; n++) {
		const struct kc_ptx_operand *operand = &point->instruction->operands[n];
		uint32_t place = operand->kind == KC_PTX_SYMBOL && is_kernel_param(point, operand)
				     ? place_of(t->cfg, point, operand)
				     : KC_NO_REGISTER;

		if (place == KC_NO_REGISTER || cells->local_of[place] != KC_NO_CELL ||
		    kernel->params[operand->number].bytes > LOCAL_BYTES_MAX)
			continue;
		cells->locals[cells->local_count].bytes = kernel->params[operand->number].bytes;
		cells->locals[cells->local_count].param = operand->number;
		cells->local_of[place] = cells->local_count++;
	}
}

static int list_locals(struct tracer *t)
{
	struct kc_cells *cells = t->cells;
	struct kc_cfg *cfg = t->cfg;
	uint32_t count = cfg->calls[0].function->param_count;

	for (uint32_t c = 0; c < cfg->call_count; c++)
		for (uint32_t n = 0; n < cfg->calls[c].function->local_count; n++)
			count += is_followable(&cfg->calls[c].function->locals[n]);
	if (!count)
		return 0;
	cells->locals = kc_arena_array(t->arena, count, sizeof(*cells->locals));
	cells->local_of = kc_arena_array(t->arena, (size_t)cfg->register_count + 1, sizeof(*cells->local_of));
	if (!cells->locals || !cells->local_of)
		return -ENOMEM;
	memset(cells->local_of, 0xff, ((size_t)cfg->register_count + 1) * sizeof(*cells->local_of));
	for (uint32_t c = 0; c < cfg->call_count; c++)
		for (uint32_t n = 0; n < cfg->calls[c].function->local_count; n++) {
			const struct kc_ptx_variable *variable = &cfg->calls[c].function->locals[n];

			if (!is_followable(variable))
				continue;
			cells->local_of[own_place(cfg, c, n)] = cells->local_count;
			cells->locals[cells->local_count].param = KC_NO_CELL;
			cells->locals[cells->local_count].bytes = variable->space == KC_PTX_PARAM ? PARAM_BYTES
								  : variable->bytes <= LOCAL_BYTES_MAX
								      ? (uint32_t)variable->bytes
								      : 0;
			cells->local_count++;
		}
	for (uint32_t p = 0; p < cfg->point_count; p++)
		list_param(t, &cfg->points[p]);
	return 0;
}

static int is_param(const struct tracer *t, uint32_t local)
{
	return t->cells->locals[local].param != KC_NO_CELL;
}

static int is_moved_size(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Registers the access that a load or store is, if its address is that of a variable. */
static int record(struct tracer *t, uint32_t point)
{
	struct kc_cells *cells = t->cells;
	const struct kc_ptx_instruction *i = t->cfg->points[point].instruction;
	const struct kc_ptx_operand *address = kc__address_operand(i);
	struct pointer p = address ? pointer_of(t, &t->cfg->points[point], address) : no_pointer;
	uint32_t bytes = kc_ptx_type_bytes(i->type), all = bytes * i->vector;
	int rc;

	if (p.kind == NO_POINTER)
		return 0;
	if (is_param(t, p.local) && (i->opcode != KC_PTX_LD || i->space != KC_PTX_PARAM)) {
		t->escaped[p.local] = 1;
		return 0;
	}
	if (!is_moved_size(bytes) ||
	    (p.kind == EXACT && (p.offset < 0 || (uint64_t)p.offset > cells->locals[p.local].bytes ||
				 all > cells->locals[p.local].bytes - (uint64_t)p.offset))) {
		t->escaped[p.local] = 1;
		return 0;
	}
	rc = kc_arena_grow(t->arena, &cells->accesses, &t->capacity, cells->access_count, sizeof(*cells->accesses));
	if (rc)
		return rc;
	t->is_param[p.local] |= i->space == KC_PTX_PARAM;
	t->in_parts[p.local] |= i->space != KC_PTX_PARAM || p.kind != EXACT || p.offset || i->vector != 1;
	if (p.kind == INDEXED) {
		uint8_t known = t->elements[p.local];

		t->elements[p.local] = known && known < bytes ? known : (uint8_t)bytes;
		t->indexed[p.local]++;
	}
	cells->access_of[point] = cells->access_count;
	cells->accesses[cells->access_count++] = (struct kc_access){.local = p.local,
								    .offset = p.kind == EXACT ? (uint32_t)p.offset : 0,
								    .is_indexed = p.kind == INDEXED,
								    .element_bytes = (uint8_t)bytes,
								    .elements = i->vector};
	return 0;
}

static int record_all(struct tracer *t)
{
	struct kc_cells *cells = t->cells;
	int rc = 0;

	cells->access_of = kc_arena_array(t->arena, t->cfg->point_count, sizeof(*cells->access_of));
	if (!cells->access_of)
		return -ENOMEM;
	memset(cells->access_of, 0xff, t->cfg->point_count * sizeof(*cells->access_of));
	for (uint32_t p = 0; p < t->cfg->point_count && !rc; p++) {
		uint32_t opcode = t->cfg->points[p].instruction->opcode;

		if (opcode == KC_PTX_LD || opcode == KC_PTX_ST)
			rc = record(t, p);
	}
	return rc;
}

/* --- cells */

/* A call's parameter has no stated length here. It ends behind the access that reaches farthest; where it is indexed
 * that is not known, and it keeps PARAM_BYTES, too many to be followed. */
static void find_ends(struct tracer *t)
{
	struct kc_cells *cells = t->cells;

	for (uint32_t a = 0; a < cells->access_count; a++) {
		const struct kc_access *access = &cells->accesses[a];
		uint32_t end = access->offset + (uint32_t)access->element_bytes * access->elements;

		if (t->ends[access->local] < end)
			t->ends[access->local] = end;
	}
	for (uint32_t n = 0; n < cells->local_count; n++)
		if (cells->locals[n].bytes == PARAM_BYTES && !t->elements[n])
			cells->locals[n].bytes = t->ends[n];
}

static int is_to_be_followed(const struct tracer *t, uint32_t number)
{
	const struct kc_local *local = &t->cells->locals[number];
	uint32_t elements = t->elements[number] ? local->bytes / t->elements[number] : 0;

	return !t->escaped[number] && t->in_parts[number] && local->bytes && elements <= KC_ELEMENTS_MAX &&
	       (uint64_t)elements * t->indexed[number] <= CHOICES_MAX;
}

/* Cuts what one access touches into cells of 1, 2, 4 or 8 bytes, as long as other accesses allow. */
static void refine(struct kc_local *local, uint32_t from, uint32_t bytes)
{
	for (uint32_t at = from, end; at < from + bytes; at = end) {
		uint32_t size = 8;

		for (end = at + 1; end < from + bytes && !local->cell_at[end];)
			end++;
		while (size > end - at || (at - from) % size)
			size /= 2;
		end = at + size;
		local->cell_at[end] = 1;
	}
}

static void refine_all(struct tracer *t)
{
	for (uint32_t n = 0; n < t->cells->local_count; n++) {
		struct kc_local *local = &t->cells->locals[n];
		uint32_t size = t->elements[n];

		for (uint32_t at = 0; local->cell_at && size && at + size <= local->bytes; at += size)
			refine(local, at, size);
	}
	for (uint32_t a = 0; a < t->cells->access_count; a++) {
		const struct kc_access *access = &t->cells->accesses[a];
		struct kc_local *local = &t->cells->locals[access->local];

		for (uint32_t e = 0; local->cell_at && !access->is_indexed && e < access->elements; e++)
			refine(local, access->offset + e * access->element_bytes, access->element_bytes);
	}
}

static int start_cells(struct tracer *t)
{
	uint64_t all = 0;

	for (uint32_t n = 0; n < t->cells->local_count; n++) {
		struct kc_local *local = &t->cells->locals[n];

		if (is_param(t, n) || !is_to_be_followed(t, n) || all + local->bytes > ALL_BYTES_MAX)
			continue;
		all += local->bytes;
		local->cell_at = kc_arena_array(t->arena, (size_t)local->bytes + 1, sizeof(*local->cell_at));
		if (!local->cell_at)
			return -ENOMEM;
		local->cell_at[0] = 1;
		for (uint32_t at = 0; t->elements[n] && at < local->bytes; at += t->elements[n])
			local->cell_at[at] = 1;
	}
	for (uint32_t a = 0; a < t->cells->access_count; a++) {
		const struct kc_access *access = &t->cells->accesses[a];
		struct kc_local *local = &t->cells->locals[access->local];

		for (uint32_t e = 0; local->cell_at && !access->is_indexed && e <= access->elements; e++)
			local->cell_at[access->offset + e * access->element_bytes] = 1;
	}
	refine_all(t);
	return 0;
}

/* 1: an instruction may touch all of its cells. */
static int is_moved_whole(const struct tracer *t, uint32_t number)
{
	return t->elements[number] || t->is_param[number];
}

static int number_cells(struct tracer *t)
{
	uint32_t all = 0;

	for (uint32_t n = 0; n < t->cells->local_count; n++) {
		struct kc_local *local = &t->cells->locals[n];
		uint32_t count = 0;

		for (uint32_t at = 0; local->cell_at && at < local->bytes; at++) {
			uint32_t begins = local->cell_at[at];

			local->cell_at[at] = begins ? count : KC_NO_CELL;
			count += begins;
		}
		if (!count || (count > KC_CELLS_MAX && is_moved_whole(t, n)) || all + count > ALL_CELLS_MAX ||
		    t->cfg->register_count > KC_NO_REGISTER - count - 1)
			continue;
		local->starts = kc_arena_array(t->arena, (size_t)count + 1, sizeof(*local->starts));
		if (!local->starts)
			return -ENOMEM;
		for (uint32_t at = 0; at < local->bytes; at++)
			if (local->cell_at[at] != KC_NO_CELL)
				local->starts[local->cell_at[at]] = at;
		local->starts[count] = local->bytes;
		local->cell_count = count;
		local->first_register = t->cfg->register_count;
		local->address = (n + 1) * ADDRESSES_APART;
		t->cfg->register_count += count;
		all += count;
	}
	return 0;
}

/* Parameters of the kernel need an address where they are indexed. */
static void place_params(struct tracer *t)
{
	for (uint32_t n = 0; n < t->cells->local_count; n++)
		if (is_param(t, n) && t->elements[n] && is_to_be_followed(t, n))
			t->cells->locals[n].address = (n + 1) * ADDRESSES_APART;
}

int kc__find_cells(struct kc_cfg *cfg, struct kc_arena *arena)
{
	struct kc_cells *cells = kc_arena_array(arena, 1, sizeof(*cells));
	struct tracer t = {.cfg = cfg, .cells = cells, .arena = arena};
	int rc = cells ? list_locals(&t) : -ENOMEM;

	if (rc || !cells->local_count)
		return rc;
	t.of = kc_arena_array(arena, (size_t)cfg->register_count + 1, sizeof(*t.of));
	t.escaped = kc_arena_array(arena, 4 * (size_t)cells->local_count, 1);
	t.indexed = kc_arena_array(arena, 2 * (size_t)cells->local_count, sizeof(*t.indexed));
	if (!t.of || !t.escaped || !t.indexed)
		return -ENOMEM;
	t.ends = t.indexed + cells->local_count;
	t.in_parts = t.escaped + cells->local_count;
	t.elements = t.in_parts + cells->local_count;
	t.is_param = t.elements + cells->local_count;
	trace_all(&t);
	rc = record_all(&t);
	if (rc)
		return rc;
	find_ends(&t);
	place_params(&t);
	rc = start_cells(&t);
	rc = rc ? rc : number_cells(&t);
	cfg->cells = cells;
	return rc;
}

const struct kc_local *kc__followed_local(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
					  const struct kc_ptx_operand *symbol)
{
	uint32_t number =
	    cfg->cells && cfg->cells->local_of ? local_of(cfg->cells, place_of(cfg, point, symbol)) : KC_NO_CELL;

	return number == KC_NO_CELL || !cfg->cells->locals[number].address ? NULL : &cfg->cells->locals[number];
}
