/*
 * How terms are combined, and how sums with conditions become shorter. Shared by
 * algebra.c, algebra_rules.c and algebra_write.c.
 */
#ifndef KC_ALGEBRA_RULES_H
#define KC_ALGEBRA_RULES_H

#include "algebra.h"

/* Order of terms in a sum; 0: they have the same atoms. */
int kc__compare_terms(const void *a, const void *b);
const struct kc_sum *kc__of_atom(struct kc_algebra *g, uint32_t atom);
void kc__drop_factor(struct kc_term *term, uint32_t n);
/* Sum of the terms, in any order; those with the same atoms become one. */
const struct kc_sum *kc__collect(struct kc_algebra *g, struct kc_term *terms, uint32_t count);

int kc__is_condition(const struct kc_algebra *g, uint32_t atom);
/* Combines terms by the rules for conditions and indices, and changes `terms` in doing so. NULL: no rule applies. */
const struct kc_sum *kc__join_terms(struct kc_algebra *g, struct kc_term *terms, uint32_t count);
/* 1: conditions of the term exclude each other. kc__tidy_term removes conditions that follow from others. */
int kc__is_contradiction(struct kc_algebra *g, const struct kc_term *term);
void kc__tidy_term(struct kc_algebra *g, struct kc_term *term);

#endif
