/* Gives new entries what earlier runs taught of them. tables_lock is held, except for kc__recall_begin(). */
#ifndef KC_SHIM_TABLES_RECALL_H
#define KC_SHIM_TABLES_RECALL_H

#include "shim/shim.h"
#include "store/common/identity.h"

struct kc_snapshot;

void kc__recall_begin(void); /* devices are known, recording has not begun */
void kc__recall_kernel(struct kc__kernel *kernel);
void kc__recall_arguments(struct kc__kernel *kernel); /* by_arguments has just been given to it */
struct kc_code_identity kc__identity_of(const struct kc__kernel *kernel);
int64_t kc__recalled_source(void);                     /* whose snapshot that was: rowid in `process`; 0: none */
const struct kc_snapshot *kc__recalled_snapshot(void); /* what the process began with; NULL: nothing */
struct kc_past_text;
const struct kc_past_text *kc__recalled_text(const struct kc__kernel *kernel); /* NULL: none */
struct kc_name kc__name_of(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments);
void kc__recall_key(struct kc__key *key, const struct kc__kernel *kernel, const struct kc_shape *dims);
void kc__recall_shape(struct kc__shape *shape, const struct kc__kernel *kernel, const struct kc_shape *dims);
void kc__recall_variant(struct kc__variant *variant, const char *arguments);

#endif
