/*
 * The steps of processes (table `step`), and which of them a launch belongs to:
 * the one that began last before the launch call, whatever thread made it, if it
 * had not ended by then.
 */
#ifndef KC_STEPS_H
#define KC_STEPS_H

#include "store/database/store.h"
#include "store/query/rows.h"

#include <stdint.h>

struct kc_step {
	int64_t process, number;
	int64_t start_ns,
	    end_ns;  /* since the start of the process; of one that is damaged, the end is before the start */
	int is_open; /* 1: the process called nothing after it, so its end is not known: end_ns is that of its last call
		      */
};

/* By process and start. Starts as zeros. */
struct kc_steps {
	struct kc__list all; /* struct kc_step */
};

/* selection: NULL: of all runs. 0 or -errno. */
int kc_steps_load(struct kc_store *s, const struct kc_selection *selection, struct kc_steps *out);
void kc_steps_free(struct kc_steps *steps);
/* 1: the run of the process tells steps, of this process or another; 0: steps may be searched for (step_search.h);
 * -errno. */
int kc_steps_are_told(struct kc_store *s, int64_t process);

static inline const struct kc_step *kc_step_at(const struct kc_steps *steps, size_t i)
{
	return (const struct kc_step *)steps->all.at + i;
}

/* How many begin before this one would, or with it. */
size_t kc_steps_before(const struct kc_steps *steps, int64_t process, int64_t start_ns);
/* From its start to its end, on the host, in ns; NAN: its end is not known, or before its start. */
double kc_step_time(const struct kc_step *step);
/* The step of a launch call; NULL: it belongs to none. */
const struct kc_step *kc_steps_find(const struct kc_steps *steps, int64_t process, int64_t launched_ns);

#endif
