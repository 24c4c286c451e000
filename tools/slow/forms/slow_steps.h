/*
 * Which steps of a run were slow, and why: what the launches in each lost, by cause, beside its time on the host and
 * how much longer that is than the median of its process's steps.
 *
 *   kc_slow_step_row   a step, an outer or inner repeat, or what a process launched in none
 *   kc_slow_steps      those of the run
 */
#ifndef KC_SLOW_STEPS_H
#define KC_SLOW_STEPS_H

#include "slow_fields.h"
#include "store/query/steps/known_steps.h"

struct kc_slow_step_row {
	enum kc_step_level level;
	enum kc_steps_are are;   /* of its process */
	int64_t process, number; /* number -1: in no step */
	double time_ns;          /* from its start to its end, on the host; NAN: in no step, or its end is not known */
	double longer_ns;        /* than the median; likewise */
	struct kc_slow_sum measured, lost; /* launches that were made in it */
	double causes_ns[KC_SLOW_CAUSES];
	/* of these, as they are told */
	const char *name, *cause, *why; /* cause, why: NULL: nothing was lost */
	double cause_ns;
	char text[KC_PROCESS_NAME_BYTES + 64];
};

struct kc_slow_steps {
	enum kc_steps_are are;
	struct kc__list list; /* struct kc_slow_step_row, in view->order; KC_SORT_NONE: by time lost */
};

extern const struct kc_fields kc_slow_step_fields;

/* Of all launches that match. 0 or -errno; *out is to be freed either way. */
int kc_slow_steps(const struct kc_slow_view *view, struct kc_slow_steps *out);
void kc_slow_steps_free(struct kc_slow_steps *steps);

#endif
