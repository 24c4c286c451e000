/*
 * The memory that cost formulas take: KC__FORMULAS_BYTES at most, and beside that as
 * much as the evaluation of the largest one needed so far. Where a new one has no
 * room, what was evaluated the longest time ago gives way. Its kernel's launch
 * shapes keep what was counted for them; for a new one, the code is read again.
 */
#ifndef KC_SHIM_FORMULAS_H
#define KC_SHIM_FORMULAS_H

#include "kernel_formula.h"

#define KC__FORMULAS_BYTES ((size_t)3 << 20)
#define KC__FORMULA_BYTES ((size_t)1 << 20) /* of one kernel */

/* These four: the reader. Takes room for a formula, and for evaluating it, from KC__SHARE_CODE; others give way where
 * that helps. false: there is not enough. */
bool kc__formulas_make_room(const struct kc_cost *cost);
void kc__formulas_cancel(const struct kc_cost *cost); /* the room is not needed after all */
/* So many formulas give way that the share has `bytes` left; none, where all of them would not be enough. */
void kc__formulas_yield(size_t bytes);
/* All give way, as other code cannot be read otherwise. false: there were none. */
bool kc__formulas_drop(void);
size_t kc__formulas_bytes(void); /* of all of them */
/* tables_lock held: the formula, for which there is room, can be evaluated from now on. */
void kc__formulas_add(struct kc__formula *formula, struct kc_cost *cost);

/* In between no formula gives way, and one thread at a time takes early launches into account. No other lock is held.
 */
void kc__formulas_hold(void);
void kc__formulas_release(void);

/* The formula's value for a launch that is being made. tables_lock held. */
int kc__formulas_count(struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		       uint32_t effort, struct kc_counts *counts);
/* The same for a launch made before, without that lock. Formulas are held. */
int kc__formulas_count_later(const struct kc__formula *formula, const struct kc_shape *dims,
			     const struct kc__given *given, uint32_t effort, struct kc_counts *counts);
void kc__formulas_forget(void); /* fork child */

#endif
