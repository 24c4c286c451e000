/*
 * From the PTX of a kernel to its formula.
 */
#ifndef KC_FORMULA_READ_H
#define KC_FORMULA_READ_H

#include "formula.h"

/* cost.c */
struct kc_cost;
const struct kc_formula *kc__cost_formula(const struct kc_cost *cost);

/* Builds a formula in an arena, along with everything that is needed only meanwhile. follows_memory: values are
 * followed through a thread's own memory, which may take several times as much memory here. 0; -ENOTSUP: *refusal says
 * why; -ENOMEM. */
int kc__read_formula(struct kc_formula *f, struct kc_arena *arena, const struct kc_ptx_module *module,
		     const struct kc_ptx_function *kernel, int follows_memory, struct kc_refusal *refusal);
/* needs.c: the parameters that counts depend on. Marks those that are pointers. 0, -ENOMEM. */
int kc__find_needs(struct kc_formula *f, const struct kc_ptx_function *kernel, struct kc_arena *arena,
		   struct kc_cost_need **all, uint32_t *count);

#endif
