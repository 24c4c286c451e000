/*
 * What the files behind cost.h share.
 */
#ifndef KC_READ_H
#define KC_READ_H

#include "formula.h"

const struct kc_formula *kc__cost_formula(const struct kc_cost *cost);

/* All of a formula, into an arena for what is needed meanwhile; what is to stay, into another. */
int kc__read_formula(struct kc_formula *f, struct kc_arena *arena, const struct kc_ptx_module *module,
		     const struct kc_ptx_function *kernel, struct kc_refusal *refusal);
int kc__pack_formula(struct kc_formula *to, struct kc_arena *arena, const struct kc_formula *from);
/* Also marks parameters that are pointers. */
int kc__find_needs(struct kc_formula *f, const struct kc_ptx_function *kernel, struct kc_arena *arena,
		   struct kc_cost_need **all, uint32_t *count);

#endif
