/*
 * Steps of processes that tell none, found by what repeats (found_steps.h).
 *
 *   kc_step_search   what was found in one process
 */
#ifndef KC_STEP_SEARCH_H
#define KC_STEP_SEARCH_H

#include "found_steps.h"
#include "store/database/store.h"
#include "store/query/rows.h"

struct kc_step_search {
	int64_t process;
	enum kc_steps_verdict verdict;
	struct kc_repeat outer, inner; /* without `at`, which is NULL */
};

/* Searches the launches and copies of a process. Adds its repeats to both lists, in which nothing is of a later
 * process: struct kc_step, from number 1, each up to the call after it. outer: only where the verdict is
 * that they are steps, or that they are nested; inner: only where they are nested. left: rows that may still be read.
 * 0; -E2BIG: there are more; -errno. */
int kc_step_search(struct kc_store *s, int64_t process, uint64_t *left, struct kc__list *outer, struct kc__list *inner,
		   struct kc_step_search *out);

#endif
