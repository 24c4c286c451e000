#include "step_match.h"
#include "step_search.h"
#include "steps.h"

#include "store/common/ids/ids.h"
#include "store/query/filter.h"

#include <errno.h>
#include <stdlib.h>

/* The steps of a process whose run tells none. */
struct found {
	enum kc_steps_are are;
	struct kc_steps steps, inner;
};

struct kc_step_match {
	struct kc_store *store;
	const struct kc_filter_spans *asked;
	struct kc_steps told; /* of all processes */
	struct kc_ids processes;
	struct kc__list found; /* struct found, by the numbers of processes less 1 */
	int64_t latest;        /* process that was asked about, and the place of what was found in it */
	size_t latest_place;
	enum kc_steps_are are;
};

int kc_step_match_new(struct kc_store *s, const struct kc_filter_spans *asked, struct kc_step_match **out)
{
	struct kc_step_match *match = calloc(1, sizeof(*match));
	int rc;

	*out = match;
	if (!match)
		return -ENOMEM;
	match->store = s;
	match->asked = asked;
	rc = kc_steps_load(s, NULL, &match->told);
	if (rc) {
		kc_step_match_free(match);
		*out = NULL;
	}
	return rc;
}

void kc_step_match_free(struct kc_step_match *match)
{
	struct found *found;

	if (!match)
		return;
	found = match->found.at;
	for (size_t i = 0; i < match->found.count; i++) {
		kc_steps_free(&found[i].steps);
		kc_steps_free(&found[i].inner);
	}
	free(match->found.at);
	kc_ids_free(&match->processes);
	kc_steps_free(&match->told);
	free(match);
}

static int search(struct kc_step_match *match, int64_t process, struct found *out)
{
	uint64_t left = UINT64_MAX;
	struct kc_step_search search;
	int rc = kc_step_search(match->store, process, &left, &out->steps.all, &out->inner.all, &search);

	if (rc)
		return rc;
	out->are = search.verdict == KC_STEPS_NESTED  ? KC_STEPS_ARE_NESTED
		   : search.verdict == KC_STEPS_FOUND ? KC_STEPS_ARE_FOUND
						      : KC_STEPS_ARE_NONE;
	return 0;
}

static int learn_process(struct kc_step_match *match, int64_t process)
{
	struct found *found = kc__list_add(&match->found, sizeof(*found));
	int told, rc = 0;

	if (!found)
		return -ENOMEM;
	*found = (struct found){.are = KC_STEPS_ARE_TOLD};
	told = kc_steps_are_told(match->store, process);
	if (told == 0)
		rc = search(match, process, found);
	if (found->are > match->are)
		match->are = found->are;
	return told < 0 ? told : rc;
}

/* Sets latest and latest_place. 0 or -errno. */
static int enter_process(struct kc_step_match *match, int64_t process)
{
	uint32_t number;
	int rc = 0;

	if (process == match->latest)
		return 0;
	number = kc_ids_number(&match->processes, process);
	if (!number)
		return -ENOMEM;
	if (number > match->found.count)
		rc = learn_process(match, process);
	match->latest = process;
	match->latest_place = number - 1;
	return rc;
}

static int is_asked(const struct kc_filter_spans *asked, const struct kc_step *step, int inner)
{
	for (uint32_t i = 0; step && i < asked->count; i++)
		if (asked->each[i].inner == inner && step->number >= asked->each[i].first &&
		    step->number <= asked->each[i].last)
			return 1;
	return 0;
}

int kc_step_match(struct kc_step_match *match, int64_t process, int64_t launched_ns)
{
	const struct found *found;
	const struct kc_steps *steps;
	int rc = enter_process(match, process);

	if (rc)
		return rc;
	found = (const struct found *)match->found.at + match->latest_place;
	steps = found->are == KC_STEPS_ARE_TOLD ? &match->told : &found->steps;
	return is_asked(match->asked, kc_steps_find(steps, process, launched_ns), 0) ||
	       is_asked(match->asked, kc_steps_find(&found->inner, process, launched_ns), 1);
}

enum kc_steps_are kc_step_match_are(const struct kc_step_match *match)
{
	return match->are;
}
