/* Steps as rows, and the list of what is told of them, in text, JSON, CSV. */
#ifndef KC_STEP_FIELDS_H
#define KC_STEP_FIELDS_H

#include "report_forms.h"
#include "tools/output/fields.h"

/* The fields of a step: struct kc_step_use. */
extern const struct kc_fields kc_step_fields;

/* Whether --by step has something to print. 0; KC_EXIT_FAILED after a message. */
int kc_steps_check(const struct kc_report_view *view);
/* Of --by step. 0; -ENOMEM; KC_EXIT_FAILED after a message. */
int kc_steps_by(const struct kc_report_view *view, size_t most, int csv);
/* Those that are told, and those that were found where none are. null: too many launches to be read; found ones were
 * not searched for. */
json_t *kc_json_steps(const struct kc_steps_report *steps);
json_t *kc_json_found_steps(const struct kc_steps_report *steps);

#endif
