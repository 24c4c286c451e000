/*
 * Which registers of the kernel an instruction touches.
 *
 * Registers are numbered as in a kc_call: a called function's own ones stand
 * behind those of its caller, and what is passed and returned stays where the
 * caller has it.
 */
#ifndef KC_REGISTERS_H
#define KC_REGISTERS_H

#include "formula.h"

#define KC__REGISTERS_MAX 272u

/* Those it writes; those its results are computed from, none where what it computes is not followed; all its operands
 * are made of; those by which control flow and addresses depend on it. Each returns how many. */
uint32_t kc__writes(const struct kc_cfg *cfg, const struct kc_point *point, uint32_t registers[KC__REGISTERS_MAX]);
uint32_t kc__reads(const struct kc_cfg *cfg, const struct kc_point *point, uint32_t registers[KC__REGISTERS_MAX]);
uint32_t kc__operand_registers(const struct kc_cfg *cfg, const struct kc_point *point,
			       uint32_t registers[KC__REGISTERS_MAX]);
uint32_t kc__roots(const struct kc_cfg *cfg, const struct kc_point *point, uint32_t registers[KC__REGISTERS_MAX]);

/* Whether what it computes is followed. */
int kc__is_followed(const struct kc_ptx_instruction *i);
int kc__is_whole(uint32_t type);
/* The first operand in brackets; NULL: none. */
const struct kc_ptx_operand *kc__address_operand(const struct kc_ptx_instruction *i);
uint32_t kc__register_number(const struct kc_cfg *cfg, const struct kc_point *point, uint32_t number);
/* Where parameters of a called function, or what it returns, are read and written. */
uint32_t kc__place_of(const struct kc_cfg *cfg, const struct kc_point *point, const struct kc_ptx_operand *operand);

#endif
