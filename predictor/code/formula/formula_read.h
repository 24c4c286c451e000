/*
 * What the files behind cost.h share.
 */
#ifndef KC_READ_H
#define KC_READ_H

#include "formula.h"

const struct kc_formula *kc__cost_formula(const struct kc_cost *cost);

/* Reads all of a formula, into an arena that also holds what is needed only meanwhile. */
int kc__read_formula(struct kc_formula *f, struct kc_arena *arena, const struct kc_ptx_module *module,
		     const struct kc_ptx_function *kernel, struct kc_refusal *refusal);
/* Also marks parameters that are pointers. */
int kc__find_needs(struct kc_formula *f, const struct kc_ptx_function *kernel, struct kc_arena *arena,
		   struct kc_cost_need **all, uint32_t *count);

#endif
