/*
 * A kernel's code is read once it has been launched, and its first launches
 * run meanwhile. What the first one of a shape was given is kept until then.
 */
#include "early.h"
#include "formulas.h"
#include "reader.h"
#include "variants.h"
#include "shim/tables/tables.h"
#include "shim/worker/learn.h"

#include <string.h>

#define EARLY_MAX_BYTES 1024u /* of one argument list */
/* Of an evaluation: 12 ms at most; 3 ms once those of the process have taken a fifth of a second and one
 * part in a hundred of the time since it began. */
#define EFFORT 20000u
#define LITTLE_EFFORT 600u
#define EFFORT_NS 200000000ll
#define EFFORT_SHARE 100

struct kc__early {
	struct kc__variant *variant;
	struct kc__early *next, *next_made;
	_Atomic int64_t predicted_at_ns; /* of the launch; 0: not made yet */
	struct kc_engine_early launch;   /* formulas are held for this and the rest */
	size_t bytes;
	char block[];
};

/* Of a variant whose first launch's arguments cannot be kept. */
static struct kc__early lost;

void kc__early_keep(struct kc__variant *variant, const struct kc__given *given)
{
	struct kc__kernel *kernel = variant->kernel;
	_Alignas(16) char block[EARLY_MAX_BYTES];
	size_t bytes;

	if (atomic_load_explicit(&kernel->reading_done, memory_order_acquire))
		return;
	bytes = kc__arguments_pack(&kernel->parameters, given, block, sizeof(block));
	if (bytes || (kernel->parameters.known && !kernel->parameters.count))
		variant->early = kc__arena(sizeof(*variant->early) + bytes);
	if (!variant->early) {
		variant->early = &lost;
		return;
	}
	variant->early->variant = variant;
	variant->early->bytes = bytes;
	memcpy(variant->early->block, block, bytes);
	variant->early->next = kernel->early;
	kernel->early = variant->early;
}

bool kc__early_is_lost(const struct kc__variant *variant)
{
	return variant->early == &lost;
}

static bool is_kept(const struct kc__variant *variant)
{
	return variant->early && variant->early != &lost;
}

bool kc__early_made(struct kc__variant *variant, int64_t predicted_at_ns)
{
	struct kc__early *early = variant->early;
	struct kc__kernel *kernel = variant->kernel;

	if (!is_kept(variant))
		return false;
	if (early->predicted_at_ns || atomic_load_explicit(&kernel->formula, memory_order_relaxed))
		return true;
	early->predicted_at_ns = predicted_at_ns;
	early->next_made = kernel->early_made;
	kernel->early_made = early;
	return true;
}

bool kc__early_is(const struct kc__variant *variant, int64_t predicted_at_ns)
{
	return is_kept(variant) && atomic_load(&variant->early->predicted_at_ns) == predicted_at_ns;
}

struct kc__variant *kc__early_successor(const struct kc__variant *variant)
{
	struct kc__variant *successor;

	pthread_mutex_lock(&kc__shim.tables_lock);
	successor = variant->successor;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return successor;
}

bool kc__early_given(const struct kc__variant *variant, struct kc__packed *packed, struct kc__given *given)
{
	if (!is_kept(variant))
		return false;
	*given = kc__given_packed(packed, variant->early->block, variant->early->bytes);
	return true;
}

static int evaluate(const struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		    struct kc_counts *counts)
{
	int64_t began_ns = kc__now_ns(), *spent_ns = &kc__shim.reading.evaluated_ns;
	bool is_much = *spent_ns > EFFORT_NS + (began_ns - kc__shim.header->monotonic_ns) / EFFORT_SHARE;
	int rc = kc__formulas_count_later(formula, dims, given, is_much ? LITTLE_EFFORT : EFFORT, counts);

	*spent_ns += kc__now_ns() - began_ns;
	return rc;
}

/* What the code says of such a launch: as it was counted for the launches after it, or with more effort. */
static bool count(struct kc__early *early)
{
	const struct kc__variant *variant = early->variant, *successor = kc__early_successor(variant);
	struct kc__formula *formula = atomic_load_explicit(&variant->kernel->formula, memory_order_acquire);
	struct kc_engine_early *launch = &early->launch;
	struct kc_counts counts;
	struct kc__packed packed;
	struct kc__given given;

	launch->counted = 0;
	if (!formula || launch->measured_ns <= 0)
		return false;
	if (successor && successor->engine.work.counted) {
		launch->work = successor->engine.work;
		launch->size = successor->engine.size;
		launch->counted = 1;
	} else if (kc__early_given(variant, &packed, &given) &&
		   evaluate(formula, &variant->dims, &given, &counts) == 0) {
		kc_engine_early_count(launch, &variant->engine, &counts);
	}
	return launch->counted;
}

bool kc__early_measured(struct kc__variant *variant, int64_t predicted_at_ns, int64_t measured_ns)
{
	if (!kc__early_is(variant, predicted_at_ns))
		return false;
	variant->early->launch.measured_ns = measured_ns;
	return count(variant->early);
}

void kc__early_teach(struct kc__variant *variant)
{
	kc_engine_early_teach(&kc__shim.engine, &variant->engine, &variant->early->launch);
}

void kc__early_teach_all(struct kc__kernel *kernel)
{
	for (struct kc__early *e = kernel->early_made; e; e = e->next_made)
		kc__early_teach(e->variant);
}

const struct kc__early *kc__early_prepare(struct kc__kernel *kernel, struct kc__formula *formula)
{
	const struct kc__early *newest;

	pthread_mutex_lock(&kc__shim.tables_lock);
	newest = kernel->early;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	for (const struct kc__early *e = newest; e; e = e->next) {
		pthread_mutex_lock(&kc__shim.tables_lock);
		kc__variant_prepare(e->variant, formula);
		pthread_mutex_unlock(&kc__shim.tables_lock);
	}
	return newest;
}

void kc__early_prepare_rest(struct kc__kernel *kernel, struct kc__formula *formula, const struct kc__early *prepared)
{
	for (const struct kc__early *e = kernel->early; e != prepared; e = e->next)
		kc__variant_prepare(e->variant, formula);
}

void kc__early_succeed(struct kc__kernel *kernel)
{
	for (struct kc__early *e = kernel->early_made; e; e = e->next_made) {
		if (e->variant->successor)
			kc_engine_succeed(&e->variant->successor->engine, &e->variant->engine);
	}
}

void kc__early_settle(struct kc__kernel *kernel)
{
	pthread_mutex_lock(&kc__shim.tables_lock);
	atomic_store_explicit(&kernel->reading_done, 1, memory_order_release); /* the list grows no more */
	pthread_mutex_unlock(&kc__shim.tables_lock);
	kc__reader_answer(kernel);
	kc__formulas_hold();
	for (struct kc__early *e = kernel->early; e; e = e->next)
		count(e);
	if (atomic_load_explicit(&kernel->formula, memory_order_acquire))
		kc__learn_sizes(kernel);
	kc__formulas_release();
}
