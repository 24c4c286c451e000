/*
 * Memory of a thread that is followed as if it were registers: arrays and structs
 * on its stack (.local), and parameters of inlined functions that are written and
 * read in parts. A parameter of the kernel that is loaded from at an index is
 * listed as well; nothing writes it, so that it has no cells.
 *
 *   kc_cells     all of the kernel
 *   kc_local     a variable, cut into cells so that each access touches whole
 *                cells. A cell is numbered like a register
 *   kc_access    a load or store of such a variable
 *
 * A variable is followed only if every use of its address is known: as the address
 * of a load or store, or as a sum or a choice that is the address of one. If its
 * address is stored, passed to a call that is not inlined, or computed with
 * otherwise, its contents are unknown. Within the variable the place of an access
 * may depend on values: an array's index.
 */
#ifndef KC_LOCAL_CELLS_H
#define KC_LOCAL_CELLS_H

#include "predictor/code/flow/cfg.h"

#define KC_NO_CELL UINT32_MAX
/* Limits of a variable that is followed: cells; and elements of an array with an index that is no constant. */
#define KC_CELLS_MAX 256u
#define KC_ELEMENTS_MAX 64u

struct kc_local {
	uint32_t bytes;
	uint32_t first_register; /* of its cells */
	uint32_t cell_count;     /* 0: it is a parameter of the kernel, or not followed */
	uint32_t *starts;        /* of each cell, in bytes; one more for the end */
	uint32_t *cell_at;       /* offset → the cell that begins there; KC_NO_CELL */
	int64_t address;         /* that stands for its first byte in values of the formula; 0: it is not followed */
	uint32_t param;          /* of the kernel; KC_NO_CELL: it is none */
};

struct kc_access {
	uint32_t local;
	uint32_t offset; /* in bytes, if it is not indexed */
	uint8_t is_indexed;
	uint8_t element_bytes, elements;
};

struct kc_cells {
	struct kc_local *locals;
	uint32_t local_count;
	uint32_t *local_of;  /* register of a variable (kc_cfg_param_register) → its number; KC_NO_CELL */
	uint32_t *access_of; /* point → access; KC_NO_CELL */
	struct kc_access *accesses;
	uint32_t access_count;
};

/* Finds the variables that can be followed and numbers their cells as registers. 0, -ENOMEM. */
int kc__find_cells(struct kc_cfg *cfg, struct kc_arena *arena);

/* The load or store that the point is, of a variable in local memory or one that is followed; NULL: it is none. */
static inline const struct kc_access *kc__any_access(const struct kc_cfg *cfg, const struct kc_cfg_point *point)
{
	uint32_t access = cfg->cells && cfg->cells->access_of ? cfg->cells->access_of[point - cfg->points] : KC_NO_CELL;

	return access == KC_NO_CELL ? NULL : &cfg->cells->accesses[access];
}

/* The same; NULL if the variable is not followed. */
static inline const struct kc_access *kc__access(const struct kc_cfg *cfg, const struct kc_cfg_point *point)
{
	const struct kc_access *access = kc__any_access(cfg, point);

	return access && cfg->cells->locals[access->local].address ? access : NULL;
}

/* The variable that a symbol is, if it is followed; NULL. */
const struct kc_local *kc__followed_local(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
					  const struct kc_ptx_operand *symbol);

/* Cells of the variable from that byte on that an access of so many bytes touches: the first; *count: how many. */
static inline uint32_t kc__cells_at(const struct kc_local *local, uint32_t offset, uint32_t bytes, uint32_t *count)
{
	uint32_t cell = local->cell_at[offset], n = 0;

	while (cell + n < local->cell_count && local->starts[cell + n] < offset + bytes)
		n++;
	*count = n;
	return cell;
}

#endif
