/* What kerncast whatif found, as text, JSON and CSV. Each returns an exit status. */
#ifndef KC_WHATIF_FORMS_H
#define KC_WHATIF_FORMS_H

#include "whatif_search.h"

/* top: kernels in the text; 0: a usual number of them. The other forms have all. */
int kc_whatif_text(const struct kc_whatif *w, unsigned top);
int kc_whatif_json(const struct kc_whatif *w);
int kc_whatif_csv(const struct kc_whatif *w);

#endif
