/*
 * What algebra.c and algebra_rules.c share: how terms are put together, and how
 * sums with conditions in them get shorter.
 */
#ifndef KC_ALGEBRA_RULES_H
#define KC_ALGEBRA_RULES_H

#include "algebra.h"

/* In the order in which they stand in a sum; 0: the same but for their number. */
int kc__compare_terms(const void *a, const void *b);
const struct kc_sum *kc__of_atom(struct kc_algebra *g, uint32_t atom);
void kc__drop_factor(struct kc_term *term, uint32_t n);
/* Takes terms in any order; like ones become one. */
const struct kc_sum *kc__collect(struct kc_algebra *g, struct kc_term *terms, uint32_t count);

int kc__is_condition(const struct kc_algebra *g, uint32_t atom);
/* What the terms come to when some are put together; NULL: none can be. Changes them. */
const struct kc_sum *kc__join_terms(struct kc_algebra *g, struct kc_term *terms, uint32_t count);
/* Conditions that cannot hold together; and without those that follow from another. */
int kc__is_contradiction(struct kc_algebra *g, const struct kc_term *term);
void kc__tidy_term(struct kc_algebra *g, struct kc_term *term);

#endif
