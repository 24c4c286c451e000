/*
 * The steps of processes, as `report --by step` numbers them: those that the run of a process tells (table `step`), or
 * where it tells none, those that are found in the process by what repeats (found_steps.h).
 *
 * A process is searched when it is asked about for the first time. While that is done, all of its launches are in
 * memory, some 80 bytes each.
 */
#ifndef KC_KNOWN_STEPS_H
#define KC_KNOWN_STEPS_H

#include "store/database/store.h"

#include <stddef.h>
#include <stdint.h>

struct kc_known_steps;
struct kc_step; /* steps.h */

/* Of the processes that were asked about: the last of these that holds for one. */
enum kc_steps_are {
	KC_STEPS_ARE_NOT_ASKED,
	KC_STEPS_ARE_NONE,
	KC_STEPS_ARE_TOLD,
	KC_STEPS_ARE_FOUND,
	KC_STEPS_ARE_NESTED, /* found, as outer and inner repeats, either of which may be the steps */
};

enum kc_step_level { KC_STEP_OUTER, KC_STEP_INNER, KC_STEP_LEVELS };

/* The steps of a process, by start. Inner ones are there only where they are nested; outer ones are all others, too. */
struct kc_steps_of {
	enum kc_steps_are are; /* of this process */
	const struct kc_step *at[KC_STEP_LEVELS];
	size_t count[KC_STEP_LEVELS];
};

/* 0 or -errno. Free it with kc_known_steps_free(). */
int kc_known_steps_new(struct kc_store *s, struct kc_known_steps **out);
void kc_known_steps_free(struct kc_known_steps *known);

/* *out holds until that is freed. 0 or -errno. */
int kc_known_steps(struct kc_known_steps *known, int64_t process, struct kc_steps_of *out);
enum kc_steps_are kc_known_steps_are(const struct kc_known_steps *known);
/* Which of them holds a launch call, at this time since the start of the process (steps.h); NULL: none. */
const struct kc_step *kc_step_of_call(const struct kc_steps_of *of, enum kc_step_level level, int64_t launched_ns);
/* "step", "outer repeat", "inner repeat" */
const char *kc_step_word(enum kc_steps_are are, enum kc_step_level level);

#endif
