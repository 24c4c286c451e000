/* What is said of steps that nothing tells: those that were found, and how, or that there are none. */
#ifndef KC_STEP_SEARCHES_H
#define KC_STEP_SEARCHES_H

#include "store/query/steps/step_use.h"

#include <jansson.h>

/* One line for each period, below the table. */
void kc_step_searches_print(const struct kc_steps_report *steps);
/* The message where there are no steps. Returns KC_EXIT_FAILED. */
int kc_steps_missing(const char *database, const struct kc_steps_report *steps);
/* An array with an object for each process; null: nothing was searched for, or there are too many launches. */
json_t *kc_json_step_searches(const struct kc_steps_report *steps);

#endif
