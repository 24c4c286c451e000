#include "known_steps.h"
#include "step_search.h"
#include "steps.h"

#include "store/common/ids/ids.h"

#include <errno.h>
#include <stdlib.h>

/* The steps of a process whose run tells none. */
struct searched {
	enum kc_steps_are are;
	struct kc_steps steps[KC_STEP_LEVELS];
};

struct kc_known_steps {
	struct kc_store *store;
	struct kc_steps told; /* of all processes */
	struct kc_ids ids;
	struct kc__list processes; /* struct searched, by their numbers less 1 */
	int64_t latest;            /* process that was asked about, and its steps */
	struct kc_steps_of latest_steps;
	enum kc_steps_are are;
};

int kc_known_steps_new(struct kc_store *s, struct kc_known_steps **out)
{
	struct kc_known_steps *known = calloc(1, sizeof(*known));
	int rc;

	*out = known;
	if (!known)
		return -ENOMEM;
	known->store = s;
	rc = kc_steps_load(s, NULL, &known->told);
	if (rc) {
		kc_known_steps_free(known);
		*out = NULL;
	}
	return rc;
}

void kc_known_steps_free(struct kc_known_steps *known)
{
	struct searched *searched;

	if (!known)
		return;
	searched = known->processes.at;
	for (size_t i = 0; i < known->processes.count; i++)
		for (int level = 0; level < KC_STEP_LEVELS; level++)
			kc_steps_free(&searched[i].steps[level]);
	free(known->processes.at);
	kc_ids_free(&known->ids);
	kc_steps_free(&known->told);
	free(known);
}

static int search(struct kc_known_steps *known, int64_t process, struct searched *out)
{
	uint64_t left = UINT64_MAX;
	struct kc_step_search search;
	int rc = kc_step_search(known->store, process, &left, &out->steps[KC_STEP_OUTER].all,
				&out->steps[KC_STEP_INNER].all, &search);

	if (rc)
		return rc;
	out->are = search.verdict == KC_STEPS_NESTED  ? KC_STEPS_ARE_NESTED
		   : search.verdict == KC_STEPS_FOUND ? KC_STEPS_ARE_FOUND
						      : KC_STEPS_ARE_NONE;
	return 0;
}

static int learn_process(struct kc_known_steps *known, int64_t process)
{
	struct searched *searched = kc__list_add(&known->processes, sizeof(*searched));
	int told, rc = 0;

	if (!searched)
		return -ENOMEM;
	*searched = (struct searched){.are = KC_STEPS_ARE_TOLD};
	told = kc_steps_are_told(known->store, process);
	if (told == 0)
		rc = search(known, process, searched);
	if (searched->are > known->are)
		known->are = searched->are;
	return told < 0 ? told : rc;
}

/* Those of the process among all that are told. */
static void set_told(const struct kc_steps *told, int64_t process, struct kc_steps_of *out)
{
	size_t first = kc_steps_before(told, process, INT64_MIN), after = kc_steps_before(told, process + 1, INT64_MIN);

	out->at[KC_STEP_OUTER] = told->all.count ? kc_step_at(told, first) : NULL;
	out->count[KC_STEP_OUTER] = after - first;
}

static struct kc_steps_of steps_of(const struct kc_known_steps *known, const struct searched *searched, int64_t process)
{
	struct kc_steps_of out = {.are = searched->are};

	for (int level = 0; level < KC_STEP_LEVELS; level++) {
		out.at[level] = searched->steps[level].all.at;
		out.count[level] = searched->steps[level].all.count;
	}
	if (searched->are == KC_STEPS_ARE_TOLD)
		set_told(&known->told, process, &out);
	return out;
}

int kc_known_steps(struct kc_known_steps *known, int64_t process, struct kc_steps_of *out)
{
	uint32_t number;
	int rc = 0;

	if (process != known->latest) {
		number = kc_ids_number(&known->ids, process);
		if (!number)
			return -ENOMEM;
		if (number > known->processes.count)
			rc = learn_process(known, process);
		if (rc)
			return rc;
		known->latest = process;
		known->latest_steps =
		    steps_of(known, (const struct searched *)known->processes.at + number - 1, process);
	}
	*out = known->latest_steps;
	return 0;
}

enum kc_steps_are kc_known_steps_are(const struct kc_known_steps *known)
{
	return known->are;
}

const struct kc_step *kc_step_of_call(const struct kc_steps_of *of, enum kc_step_level level, int64_t launched_ns)
{
	const struct kc_steps steps = {{.at = (void *)of->at[level], .count = of->count[level]}};

	return of->count[level] ? kc_steps_find(&steps, of->at[level]->process, launched_ns) : NULL;
}

const char *kc_step_word(enum kc_steps_are are, enum kc_step_level level)
{
	if (level == KC_STEP_INNER)
		return "inner repeat";
	return are == KC_STEPS_ARE_NESTED ? "outer repeat" : "step";
}
