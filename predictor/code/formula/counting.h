/*
 * What an instruction counts, shared by the files that find it: count.c;
 * count_copies.c for those that copy between memories; count_matrices.c for
 * those that load and store matrices; count_atomics.c.
 */
#ifndef KC_COUNTING_H
#define KC_COUNTING_H

#include "registers.h"

/* enum kc_ptx_space: that of a generic address is shared memory where it was computed from an address there. */
uint32_t kc__space_of(struct kc__formula_reader *r, const struct kc_cfg_point *point,
		      const struct kc_ptx_operand *address);
/* The n-th operand in brackets; NULL: there are fewer. */
const struct kc_ptx_operand *kc__nth_address(const struct kc_ptx_instruction *i, uint32_t nth);

/* Each adds an event. first: whether it stands for the instruction, of which it may be the second. 0, -ENOMEM.
 * kc__count_access: an access of `bytes` per lane to memory; address NULL: it is not known. kc__count_access_at: the
 * same by the first `lanes` of a warp, at the address that is a value's; KC_NO_VALUE: no memory. kc__count_threads:
 * amounts per thread; counter2 KC_COUNTER_COUNT: there is none. */
int kc__count_access(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		     uint32_t counter, const struct kc_ptx_operand *address, uint32_t bytes, int first);
int kc__count_access_at(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
			uint32_t counter, uint32_t address, uint32_t bytes, uint32_t lanes, int first);
int kc__count_threads(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point,
		      uint32_t counter, float amount, uint32_t counter2, float amount2, int first);

/* Adds one of the instruction's type to a counter of `counted`, and to that of its width. */
void kc__count_float(const struct kc_ptx_instruction *i, uint32_t counter, float *counted);

/* --- count_matrices.c: ldmatrix and stmatrix; wmma.load and wmma.store. 0, -ENOMEM */

int kc__count_matrices(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point);
int kc__count_tile(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point);

/* --- count_atomics.c: atom and red. 0, -ENOMEM */

int kc__count_atomic(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point);

/* --- compiled/unrolled.c: requests of constant memory in loops that are unrolled as a whole count as none. After ssa.c
 */

void kc__drop_fixed_requests(struct kc_formula *f);

/* --- compiled/join_loads.c: loads of words that ptxas makes one load become one. After ssa.c */

void kc__join_loads(struct kc_formula *f);

/* --- compiled/expand.c: counts an instruction that becomes another one, several or none in the machine code, as ptxas
 * compiles it for that architecture (86 of sm_86). 0: it is one of those that count.c has by opcode. */

int kc__expand(const struct kc_ptx_instruction *i, uint32_t target, float *counted);

/* --- compiled/contract.c: finds what becomes one multiply-add. 0, -ENOMEM */

enum kc__contracted {
	KC__NOT_CONTRACTED,
	KC__IN_ANOTHER, /* a product, or logic on predicates: no instruction of its own */
	KC__AS_FMA,     /* a sum */
};
int kc__find_contractions(struct kc__formula_reader *r);

/* --- compiled/predicates.c: finds what is part of a comparison. After contract.c. 0, -ENOMEM */

int kc__find_joined_predicates(struct kc__formula_reader *r);

/* --- divergence.c: sets `lanes`. 0, -ENOMEM. Then, 1: lanes take a branch on the register together; it is the same in
 * all lanes; in all threads of the launch */

int kc__find_divergence(struct kc__formula_reader *r);
int kc__goes_together(const struct kc__formula_reader *r, uint32_t number);
int kc__is_alike(const struct kc__formula_reader *r, uint32_t number);
int kc__is_common(const struct kc__formula_reader *r, uint32_t number);

/* --- chain.c: sets the chains of the blocks' plans. 0, -ENOMEM */

int kc__find_chains(struct kc__formula_reader *r);

/* --- count_copies.c: 0, -ENOMEM */

int kc__count_copy(struct kc__formula_reader *r, struct kc_block_plan *plan, const struct kc_cfg_point *point);

/*
 * The PTX does not tell how large a tensor's box is, but a barrier that waits for
 * copies is told how many bytes they are (expect_tx), and is complete when as many
 * have arrived (complete_tx): over the launch, the sums are equal. Where all that
 * completes bytes are bulk copies from global memory to one block each, the bytes
 * are those that barriers expect, and are counted there in place of the copies'.
 * Copies to several blocks at once (multicast) arrive more often than they are
 * read, and what comes from elsewhere is not read from global memory: in kernels
 * that have any of these nothing is concluded.
 */
void kc__find_expected_bytes(struct kc__formula_reader *r); /* sets expects_bytes */
int kc__count_expected_bytes(struct kc__formula_reader *r, struct kc_block_plan *plan,
			     const struct kc_cfg_point *point);

#endif
