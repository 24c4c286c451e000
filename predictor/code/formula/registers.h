/*
 * Which registers of the kernel an instruction touches.
 *
 * Registers are numbered as in kc_call: those of an inlined function come after
 * those of its caller.
 */
#ifndef KC_REGISTERS_H
#define KC_REGISTERS_H

#include "formula.h"

#define KC__REGISTERS_MAX 272u

/* Each fills `registers` and returns how many there are. kc__writes: registers written. kc__reads: those that the
 * results are computed from; none if they do not become values. kc__operand_registers: all source operands. kc__roots:
 * those that control flow, addresses, sizes of copies or the bytes that barriers expect depend on. */
uint32_t kc__writes(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t registers[KC__REGISTERS_MAX]);
uint32_t kc__reads(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t registers[KC__REGISTERS_MAX]);
uint32_t kc__operand_registers(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			       uint32_t registers[KC__REGISTERS_MAX]);
uint32_t kc__roots(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t registers[KC__REGISTERS_MAX]);

/* 1: its results become values of the formula. */
int kc__is_translated(const struct kc_cfg *cfg, const struct kc_cfg_point *point);
/* translate_lanes.c: 1: shfl whose source lane is given by an index; elect. */
int kc__is_read_from_a_lane(const struct kc_ptx_instruction *i);
int kc__is_elected(const struct kc_ptx_instruction *i);
/* 1: an integer, bit or predicate type of at most 64 bits. */
int kc__is_integer_type(uint32_t type);
/* 1: a floating-point type whose values are followed. */
int kc__is_compared_float(uint32_t type);
/* translate_float.c: 1: arithmetic on such, or a conversion, whose result PTX defines to the last bit. */
int kc__is_float_operation(const struct kc_ptx_instruction *i);
/* The first operand in brackets; NULL: there is none. */
const struct kc_ptx_operand *kc__address_operand(const struct kc_ptx_instruction *i);
/* mbarrier.expect_tx and the like: how many bytes the barrier waits for. NULL: it is another instruction. */
const struct kc_ptx_operand *kc__expected_bytes(const struct kc_ptx_instruction *i);
uint32_t kc__register_number(const struct kc_cfg *cfg, const struct kc_cfg_point *point, uint32_t number);
/* The register that stands for a parameter or a returned value of an inlined function; KC_NO_REGISTER. */
uint32_t kc__param_register(const struct kc_cfg *cfg, const struct kc_cfg_point *point,
			    const struct kc_ptx_operand *operand);

#endif
