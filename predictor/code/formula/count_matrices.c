#include "counting.h"
#include "predictor/device/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A matrix that ldmatrix or stmatrix moves has eight rows of 16 bytes, each at the address that a lane gives. */
#define MATRIX_ROWS 8u
#define MATRIX_ROW_BYTES 16u

int kc__count_matrices(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *address = kc__address_operand(i);
	uint32_t matrices = strstr(i->spelling, ".x4") ? 4 : strstr(i->spelling, ".x2") ? 2 : 1;

	if (!address) {
		plan->issues++;
		return 0;
	}
	return kc__count_access_at(r, plan, point,
				   i->opcode == KC_PTX_LDMATRIX ? KC_COUNT_OF_LD_SHARED : KC_COUNT_OF_ST_SHARED,
				   kc__address_value(r, point, address), MATRIX_ROW_BYTES, matrices * MATRIX_ROWS, 1);
}

/*
 * wmma.load and wmma.store move a tile of lines, each line adjacent in memory. The
 * PTX ISA leaves to the architecture which lane moves what. As ptxas 13.0 does it
 * for sm_80 and sm_86 (nvdisasm): lane l moves part l % 4 of line l / 4 of eight
 * lines, 4 bytes of a and b, two elements of c and d. Lines that run across those
 * of the multiplication are moved element by element unless they have 16 bits:
 * lane l element l / 4 of one of four lines. From shared memory, a and b of up to
 * 16 bits are loaded by ldmatrix.
 */
struct tile {
	uint32_t lines, line_bytes;
	uint32_t element_bits;
	uint32_t part_bytes; /* that a lane moves at a time */
	uint8_t is_across, is_operand, is_store;
};

/* ".m16n16k16" */
static int read_shape(const char *spelling, uint32_t shape[3])
{
	const char *at = spelling;

	while ((at = strstr(at, ".m"))) {
		char *end = (char *)(uintptr_t)(at + 1);

		at += 2;
		for (uint32_t d = 0; d < 3; d++) {
			if (*end != "mnk"[d])
				break;
			shape[d] = (uint32_t)strtoul(end + 1, &end, 10);
			if (d == 2)
				return shape[0] && shape[1] && shape[2] && shape[0] <= 256 && shape[1] <= 256 &&
				       shape[2] <= 256;
		}
	}
	return 0;
}

static uint32_t element_bits(const struct kc_ptx_instruction *i)
{
	if (strstr(i->spelling, ".b1"))
		return 1;
	return strstr(i->spelling, ".s4") || strstr(i->spelling, ".u4") ? 4 : 8 * kc_ptx_type_bytes(i->type);
}

/* 0: it is none that is known. */
static int read_tile(const struct kc_ptx_instruction *i, struct tile *tile)
{
	uint32_t shape[3] = {0}, rows, columns;
	int by_columns = strstr(i->spelling, ".col") != NULL, b = strstr(i->spelling, ".load.b.") != NULL;

	*tile = (struct tile){.is_operand = b || strstr(i->spelling, ".load.a."),
			      .is_store = strstr(i->spelling, ".store.") != NULL,
			      .element_bits = element_bits(i)};
	if (!read_shape(i->spelling, shape) || !tile->element_bits)
		return 0;
	rows = b ? shape[2] : shape[0];
	columns = b || !tile->is_operand ? shape[1] : shape[2];
	tile->lines = by_columns ? columns : rows;
	tile->line_bytes = (by_columns ? rows : columns) * tile->element_bits / 8;
	tile->is_across = tile->element_bits != 16 && by_columns != b;
	if (tile->is_across)
		tile->part_bytes = tile->element_bits / 8;
	else if (tile->is_operand)
		tile->part_bytes = tile->element_bits == 64 ? 8 : 4;
	else
		tile->part_bytes = 2 * tile->element_bits / 8;
	return tile->part_bytes != 0;
}

/* --- addresses: of the tile, of a lane in it */

static uint32_t operate(struct kc__formula_reader *r, enum kc_op op, uint32_t a, uint32_t b)
{
	if (a == KC_NO_VALUE || b == KC_NO_VALUE)
		return KC_NO_VALUE;
	return kc__value(
	    r, (struct kc_value){.op = (uint8_t)op, .bits = 64, .source_bits = 64, .count = 2, .source = {a, b}});
}

static uint32_t with_number(struct kc__formula_reader *r, enum kc_op op, uint32_t a, int64_t number)
{
	return operate(r, op, a, kc__constant(r, number, 64));
}

/* Bytes from one line to the next. */
static uint32_t line_stride(struct kc__formula_reader *r, const struct kc_cfg_point *point, const struct tile *tile)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *stride = i->operand_count > 2 ? &i->operands[2] : NULL;
	uint32_t elements;

	if (!stride)
		return kc__constant(r, tile->line_bytes, 64);
	if (stride->kind == KC_PTX_INTEGER)
		return kc__constant(r, stride->value * tile->element_bits / 8, 64);
	if (stride->kind != KC_PTX_REGISTER)
		return kc__value(
		    r, (struct kc_value){
			   .op = KC_OP_UNKNOWN, .bits = 64, .constant = KC_UNKNOWN_INSTRUCTION, .offset = i->offset});
	elements = kc__register_value(r, point, kc__register_number(&r->f->cfg, point, stride->number));
	if (elements == KC_NO_VALUE)
		return elements;
	elements = kc__value(
	    r,
	    (struct kc_value){
		.op = KC_OP_EXTEND, .bits = 64, .source_bits = 32, .is_signed = 1, .count = 1, .source = {elements}});
	elements = with_number(r, KC_OP_MUL, elements, tile->element_bits);
	return with_number(r, KC_OP_SHR, elements, 3);
}

/* Of a lane's number: its bits from `first` on, `count` of them. */
static uint32_t lane_bits(struct kc__formula_reader *r, uint32_t first, uint32_t count)
{
	uint32_t lane = kc__value(r, (struct kc_value){.op = KC_OP_SPECIAL, .bits = 32, .constant = KC_PTX_LANEID});

	return with_number(r, KC_OP_AND, with_number(r, KC_OP_SHR, lane, first), ((int64_t)1 << count) - 1);
}

/* The address of a lane: which line and byte it begins with, as values. */
static uint32_t place(struct kc__formula_reader *r, uint32_t address, uint32_t stride, uint32_t line, uint32_t byte)
{
	return operate(r, KC_OP_ADD, operate(r, KC_OP_ADD, address, operate(r, KC_OP_MUL, line, stride)), byte);
}

/* How the lanes of a warp lie over the tile in one request. */
struct request {
	uint32_t first;             /* address of each lane in the first one: value */
	uint32_t lines, line_bytes; /* that it covers */
	uint32_t lines_apart;       /* from one of its lines to the next; those between have requests of their own */
	uint32_t part_bytes, lanes;
};

static struct request part_request(struct kc__formula_reader *r, const struct tile *tile, uint32_t address,
				   uint32_t stride)
{
	struct request q = {
	    .lines = 8, .lines_apart = 1, .line_bytes = 4 * tile->part_bytes, .part_bytes = tile->part_bytes};

	q.lanes = KC_WARP_LANES;
	q.first = place(r, address, stride, lane_bits(r, 2, 3),
			with_number(r, KC_OP_MUL, lane_bits(r, 0, 2), tile->part_bytes));
	return q;
}

static struct request element_request(struct kc__formula_reader *r, const struct tile *tile, uint32_t address,
				      uint32_t stride)
{
	struct request q = {.line_bytes = 8 * tile->part_bytes, .part_bytes = tile->part_bytes};

	if (tile->is_operand)
		q.lines_apart = tile->part_bytes < 4 ? 4 / tile->part_bytes : 1;
	else
		q.lines_apart = 2;
	q.lines = 4 * q.lines_apart;
	q.lanes = KC_WARP_LANES;
	q.first = place(r, address, stride, with_number(r, KC_OP_MUL, lane_bits(r, 0, 2), q.lines_apart),
			with_number(r, KC_OP_MUL, lane_bits(r, 2, 3), tile->part_bytes));
	return q;
}

static struct request matrix_request(struct kc__formula_reader *r, const struct tile *tile, uint32_t address,
				     uint32_t stride)
{
	uint32_t lines_log2 = tile->lines < 16 ? 3 : 4, beside = KC_WARP_LANES >> lines_log2;
	struct request q = {.lines = 1u << lines_log2, .lines_apart = 1, .part_bytes = MATRIX_ROW_BYTES};

	if (beside > tile->line_bytes / MATRIX_ROW_BYTES)
		beside = tile->line_bytes / MATRIX_ROW_BYTES;
	q.line_bytes = beside * MATRIX_ROW_BYTES;
	q.lanes = beside * q.lines;
	q.first = place(r, address, stride, lane_bits(r, 0, lines_log2),
			with_number(r, KC_OP_MUL, lane_bits(r, lines_log2, 5 - lines_log2), MATRIX_ROW_BYTES));
	return q;
}

static uint32_t counter_of_tile(const struct tile *tile, int is_shared)
{
	if (is_shared)
		return tile->is_store ? KC_COUNT_OF_ST_SHARED : KC_COUNT_OF_LD_SHARED;
	return tile->is_store ? KC_COUNT_OF_ST_GLOBAL : KC_COUNT_OF_LD_GLOBAL;
}

static int count_requests(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
			  const struct tile *tile, const struct request *q, uint32_t stride, uint32_t counter)
{
	int rc = 0;

	for (uint32_t line = 0; line < tile->lines && !rc; line++) {
		uint32_t within = line % q->lines;
		uint32_t at = with_number(r, KC_OP_MUL, stride, line);

		if (within >= q->lines_apart)
			continue;
		at = operate(r, KC_OP_ADD, q->first, at);
		for (uint32_t byte = 0; byte < tile->line_bytes && !rc; byte += q->line_bytes)
			rc = kc__count_access_at(r, plan, point, counter, with_number(r, KC_OP_ADD, at, byte),
						 q->part_bytes, q->lanes, 1);
	}
	return rc;
}

int kc__count_tile(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point)
{
	const struct kc_ptx_instruction *i = point->instruction;
	const struct kc_ptx_operand *operand = kc__address_operand(i);
	int is_shared = kc__space_of(r, point, operand) == KC_PTX_SHARED;
	uint32_t address = kc__address_value(r, point, operand), stride;
	struct request q;
	struct tile tile;

	if (!read_tile(i, &tile))
		return kc__count_access(r, plan, point, counter_of_tile(&tile, is_shared), NULL, 16, 1);
	stride = line_stride(r, point, &tile);
	if (address == KC_NO_VALUE || stride == KC_NO_VALUE)
		return -ENOMEM;
	if (i->space == KC_PTX_SHARED && tile.is_operand && tile.element_bits <= 16 && !tile.is_across &&
	    tile.line_bytes >= MATRIX_ROW_BYTES)
		q = matrix_request(r, &tile, address, stride);
	else if (tile.is_across)
		q = element_request(r, &tile, address, stride);
	else
		q = part_request(r, &tile, address, stride);
	return count_requests(r, plan, point, &tile, &q, stride, counter_of_tile(&tile, is_shared));
}
