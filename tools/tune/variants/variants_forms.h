/* What kerncast tune found, as text, JSON, CSV and in the format T4. Each returns an exit status. */
#ifndef KC_VARIANTS_FORMS_H
#define KC_VARIANTS_FORMS_H

#include "variant_rank.h"

int kc_variants_text(const struct kc_variants *variants, const struct kc_variant_ranking *ranking, unsigned top);
int kc_variants_json(const struct kc_variants *variants, const struct kc_variant_ranking *ranking);
int kc_variants_csv(const struct kc_variants *variants, const struct kc_variant_ranking *ranking);
int kc_variants_t4(const struct kc_variants *variants, const struct kc_variant_ranking *ranking);

#endif
