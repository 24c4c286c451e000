/*
 * Which launches were made in steps of these numbers, as `report --by step` numbers them: the steps that the run of a
 * process tells (table `step`), or where it tells none, those that are found in the process by what repeats
 * (found_steps.h).
 *
 * A process is searched when the first of its launches is met. While that is done, all of its launches are in memory,
 * some 80 bytes each.
 */
#ifndef KC_STEP_MATCH_H
#define KC_STEP_MATCH_H

#include "store/database/store.h"

#include <stdint.h>

struct kc_filter_spans;
struct kc_step_match;

/* Of the processes that were asked about: the last of these that holds for one. */
enum kc_steps_are {
	KC_STEPS_ARE_NOT_ASKED,
	KC_STEPS_ARE_NONE,
	KC_STEPS_ARE_TOLD,
	KC_STEPS_ARE_FOUND,
	KC_STEPS_ARE_NESTED, /* found, as outer and inner repeats, either of which may be the steps */
};

/* asked must outlive it. 0 or -errno. Free it with kc_step_match_free(). */
int kc_step_match_new(struct kc_store *s, const struct kc_filter_spans *asked, struct kc_step_match **out);
void kc_step_match_free(struct kc_step_match *match);

/* launched_ns: since the start of the process. 1: it was made in one of them; 0; -errno. */
int kc_step_match(struct kc_step_match *match, int64_t process, int64_t launched_ns);
enum kc_steps_are kc_step_match_are(const struct kc_step_match *match);

#endif
