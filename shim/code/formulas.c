#include "formulas.h"
#include "shim/tables/memory.h"

#include <errno.h>
#include <stdlib.h>

struct scratch {
	void *at;
	size_t bytes;
};

static struct {
	struct kc__formula *first; /* those with a cost; tables_lock */
	size_t bytes;              /* of their costs. Reader */
	uint64_t uses;             /* tables_lock */
	struct scratch scratch;    /* of launches; tables_lock */
	pthread_mutex_t held;      /* none gives way; before the other locks */
} formulas = {.held = PTHREAD_MUTEX_INITIALIZER};

/* Of the share: in whole pages for all formulas together, and for the scratch. false: there is not enough. */
static bool take(size_t before, size_t after)
{
	size_t had = kc__whole_pages(before), wanted = kc__whole_pages(after);

	if (wanted > had)
		return kc__share_take(KC__SHARE_CODE, wanted - had);
	kc__share_give(KC__SHARE_CODE, had - wanted);
	return true;
}

/* The one evaluated the longest time ago. */
static struct kc_cost *take_oldest(void)
{
	struct kc__formula **oldest = NULL, *formula;
	struct kc_cost *cost = NULL;

	pthread_mutex_lock(&kc__shim.tables_lock);
	for (struct kc__formula **at = &formulas.first; *at; at = &(*at)->next)
		if (!oldest || (*at)->used < (*oldest)->used)
			oldest = at;
	if (oldest) {
		formula = *oldest;
		*oldest = formula->next;
		cost = formula->cost;
		formula->cost = NULL;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return cost;
}

static bool drop_oldest(void)
{
	struct kc_cost *cost;

	kc__formulas_hold();
	cost = take_oldest();
	kc__formulas_release();
	if (!cost)
		return false;
	kc__formulas_cancel(cost);
	kc_cost_free(cost);
	return true;
}

/* What was in it is not needed: each evaluation begins anew. tables_lock held. */
static bool enlarge(struct scratch *scratch, size_t bytes)
{
	void *larger;

	if (bytes <= scratch->bytes)
		return true;
	if (!take(scratch->bytes, bytes))
		return false;
	larger = malloc(bytes);
	if (!larger) {
		take(bytes, scratch->bytes);
		return false;
	}
	free(scratch->at);
	scratch->at = larger;
	scratch->bytes = bytes;
	return true;
}

/* One attempt, as things are. */
static bool take_room(size_t bytes, size_t scratch_bytes)
{
	bool enlarged;

	if (formulas.bytes + bytes > KC__FORMULAS_BYTES || !take(formulas.bytes, formulas.bytes + bytes))
		return false;
	pthread_mutex_lock(&kc__shim.tables_lock);
	enlarged = enlarge(&formulas.scratch, scratch_bytes);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (!enlarged)
		take(formulas.bytes + bytes, formulas.bytes);
	else
		formulas.bytes += bytes;
	return enlarged;
}

bool kc__formulas_make_room(const struct kc_cost *cost)
{
	size_t bytes = kc_cost_bytes(cost), scratch = kc_cost_scratch_bytes(cost), have = formulas.scratch.bytes;
	size_t more = kc__whole_pages(scratch > have ? scratch : have) - kc__whole_pages(have);

	/* Nothing gives way where that would not be enough. */
	if (bytes > KC__FORMULAS_BYTES ||
	    kc__whole_pages(bytes) + more > kc__share_left(KC__SHARE_CODE) + kc__whole_pages(formulas.bytes))
		return false;
	while (!take_room(bytes, scratch))
		if (!drop_oldest())
			return false;
	return true;
}

void kc__formulas_cancel(const struct kc_cost *cost)
{
	take(formulas.bytes, formulas.bytes - kc_cost_bytes(cost));
	formulas.bytes -= kc_cost_bytes(cost);
}

void kc__formulas_add(struct kc__formula *formula, struct kc_cost *cost)
{
	formula->cost = cost;
	formula->used = ++formulas.uses;
	formula->next = formulas.first;
	formulas.first = formula;
}

void kc__formulas_hold(void)
{
	pthread_mutex_lock(&formulas.held);
}

void kc__formulas_release(void)
{
	pthread_mutex_unlock(&formulas.held);
}

size_t kc__formulas_bytes(void)
{
	return formulas.bytes;
}

void kc__formulas_yield(size_t bytes)
{
	if (kc__share_left(KC__SHARE_CODE) + kc__whole_pages(formulas.bytes) < bytes)
		return;
	while (kc__share_left(KC__SHARE_CODE) < bytes && drop_oldest())
		;
}

bool kc__formulas_drop(void)
{
	bool any = false;

	while (drop_oldest())
		any = true;
	return any;
}

int kc__formulas_count(struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		       uint32_t effort, struct kc_counts *counts)
{
	formula->used = ++formulas.uses;
	return kc__formula_counts(formula, dims, given, effort, formulas.scratch.at, counts);
}

int kc__formulas_count_later(const struct kc__formula *formula, const struct kc_shape *dims,
			     const struct kc__given *given, uint32_t effort, struct kc_counts *counts)
{
	size_t bytes = formula->cost ? kc_cost_scratch_bytes(formula->cost) : 0;
	void *scratch;
	int rc;

	if (bytes && !kc__share_take(KC__SHARE_CODE, bytes))
		return -ENOMEM;
	scratch = bytes ? malloc(bytes) : NULL;
	rc = kc__formula_counts(formula, dims, given, effort, scratch, counts);
	free(scratch);
	if (bytes)
		kc__share_give(KC__SHARE_CODE, bytes);
	return rc;
}

/* The parent's memory stays as it is: one of its threads may have been using it. */
void kc__formulas_forget(void)
{
	pthread_mutex_init(&formulas.held, NULL);
	formulas.first = NULL;
	formulas.bytes = 0;
	formulas.scratch = (struct scratch){0};
}
