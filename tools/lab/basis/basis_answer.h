/*
 * `kerncast-lab basis predict`: the printed answer.
 */
#ifndef KC_TOOLS_BASIS_ANSWER_H
#define KC_TOOLS_BASIS_ANSWER_H

#include "basis_question.h"

/* Prints. An exit status. */
int kc_basis_answer(const struct kc_basis_question *question, const struct kc_basis_known *known, int json);

#endif
