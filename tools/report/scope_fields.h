/* Ranges and operators as rows, and the list of what is told of them, in text, JSON, CSV. */
#ifndef KC_SCOPE_FIELDS_H
#define KC_SCOPE_FIELDS_H

#include "report_forms.h"

/* Whether --by range or --by operator has something to print. 0; KC_EXIT_FAILED after a message. */
int kc_scopes_check(const struct kc_report_view *view);
/* Of --by range and --by operator. 0; -ENOMEM; KC_EXIT_FAILED after a message. */
int kc_scopes_by(const struct kc_report_view *view, size_t most, int csv);
/* null: too many launches to be read. */
json_t *kc_json_scopes(const struct kc_scopes_report *scopes);

#endif
