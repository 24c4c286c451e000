/* What kerncast pairs found, as text, JSON and CSV. Each returns an exit status. */
#ifndef KC_PAIRS_FORMS_H
#define KC_PAIRS_FORMS_H

#include "pair_search.h"

int kc_pairs_text(const struct kc_pair_search *search);
int kc_pairs_json(const struct kc_pair_search *search);
int kc_pairs_csv(const struct kc_pair_search *search);

#endif
