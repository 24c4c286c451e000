/* A filter (store/query/filter.h) as people and programs read it. */
#ifndef KC_FILTER_SHOWN_H
#define KC_FILTER_SHOWN_H

#include "store/query/filter.h"

#include <jansson.h>
#include <stddef.h>

#define KC_FILTER_TEXT_BYTES 1024u
#define KC_NO_STEPS "no steps are told, and none were found by what repeats"

/* What was chosen: `kernel matches "saxpy", stream 3`. */
char *kc_filter_text(const struct kc_filter_choice *choice, char *out, size_t size);
/* "Filter: kernel matches "saxpy", stream 3: 1,203 of 9,329 launches" on stdout, without a line end. */
void kc_filter_print(const struct kc_filter *filter);
/* What the steps of a filter are, once it has looked at the launches: " (steps not told, but found by what repeats)";
 * "": no steps were chosen, or they are told. */
const char *kc_filter_steps_text(const struct kc_filter *filter);
/* The same as "told", "found", "nested" or "none"; null: no steps were chosen, or filter is NULL. */
json_t *kc_filter_steps_json(const struct kc_filter *filter);
/* "none", "told", "found", "nested"; NULL: it was not asked. */
const char *kc_filter_steps_word(enum kc_steps_are are);
/* What was chosen, as an object; null: nothing. */
json_t *kc_filter_choice_json(const struct kc_filter_choice *choice);
/* The same with how many launches match, of how many; filter NULL: null. */
json_t *kc_filter_json(const struct kc_filter *filter);

#endif
