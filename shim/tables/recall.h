/* What earlier runs taught, for new entries. tables_lock is held, except for kc__recall_begin(). */
#ifndef KC_SHIM_TABLES_RECALL_H
#define KC_SHIM_TABLES_RECALL_H

#include "shim/shim.h"
#include "store/past/past.h"

void kc__recall_begin(void);                   /* devices are known, recording has not begun */
const struct kc_beginning *kc__recalled(void); /* what entries are made with: kc_past_make_*() */
struct kc_past_query kc__past_query_of(const struct kc__kernel *kernel, const struct kc_shape *dims,
				       const char *arguments);
struct kc_code_identity kc__identity_of(const struct kc__kernel *kernel);
int64_t kc__recalled_source(void);                     /* whose snapshot that was: rowid in `process`; 0: none */
const struct kc_snapshot *kc__recalled_snapshot(void); /* what the process began with; NULL: nothing */
const struct kc_past_text *kc__recalled_text(const struct kc__kernel *kernel); /* NULL: none */
struct kc_name kc__name_of(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments);

#endif
