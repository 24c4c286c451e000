/*
 * A kernel's code is read once it has been launched, and its first launches
 * run meanwhile. What the first one of a shape was given is kept until then.
 */
#include "kernel_formula.h"

#include <string.h>

#define EARLY_MAX_BYTES 1024u /* of one argument list */
#define EFFORT 1000000u       /* of an evaluation on the worker: 30 ms at most */

struct kc__early {
	struct kc__shape *shape;
	struct kc__early *next;
	_Atomic int64_t predicted_at_ns; /* of the launch; 0: not made yet */
	int64_t measured_ns;             /* worker */
	size_t bytes;
	char block[];
};

void kc__early_keep(struct kc__shape *shape, const struct kc__given *given)
{
	struct kc__kernel *kernel = shape->kernel;
	_Alignas(16) char block[EARLY_MAX_BYTES];
	size_t bytes;

	if (atomic_load_explicit(&kernel->reading_done, memory_order_acquire))
		return;
	bytes = kc__arguments_pack(&kernel->parameters, given, block, sizeof(block));
	if (bytes || (kernel->parameters.known && !kernel->parameters.count))
		shape->early = kc__arena(sizeof(*shape->early) + bytes);
	if (!shape->early)
		return;
	shape->early->shape = shape;
	shape->early->bytes = bytes;
	memcpy(shape->early->block, block, bytes);
	shape->early->next = kernel->early;
	kernel->early = shape->early;
}

void kc__early_made(struct kc__shape *shape, int64_t predicted_at_ns)
{
	int64_t none = 0;

	if (shape->early)
		atomic_compare_exchange_strong(&shape->early->predicted_at_ns, &none, predicted_at_ns);
}

bool kc__early_given(const struct kc__shape *shape, struct kc__packed *packed, struct kc__given *given)
{
	if (!shape->early)
		return false;
	*given = kc__given_packed(packed, shape->early->block, shape->early->bytes);
	return true;
}

/* Its time teaches as if it had been predicted from the code. */
static void count(struct kc__early *early)
{
	struct kc__shape *shape = early->shape;
	struct kc__formula *formula = atomic_load_explicit(&shape->kernel->formula, memory_order_acquire);
	struct kc_work work = shape->work;
	struct kc_curve_point size;
	struct kc_counts counts;
	struct kc__packed packed;
	struct kc__given given;

	if (!formula || early->measured_ns <= 0 || !kc__early_given(shape, &packed, &given) ||
	    kc__formula_counts(formula, &shape->dims, &given, EFFORT, &counts) ||
	    kc_work_count(&work, &shape->kernel->device->info, &counts, &size))
		return;
	kc__learn_size(shape, &work, &size, early->measured_ns);
	early->measured_ns = 0;
}

void kc__early_measured(struct kc__shape *shape, int64_t predicted_at_ns, int64_t measured_ns)
{
	if (!shape->early || atomic_load(&shape->early->predicted_at_ns) != predicted_at_ns)
		return;
	shape->early->measured_ns = measured_ns;
	count(shape->early);
}

void kc__early_prepare(struct kc__kernel *kernel, const struct kc__formula *formula)
{
	struct kc__early *first;

	pthread_mutex_lock(&kc__shim.tables_lock);
	first = kernel->early;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	for (struct kc__early *e = first; e; e = e->next)
		kc__shape_prepare(e->shape, formula);
}

void kc__early_settle(struct kc__kernel *kernel)
{
	pthread_mutex_lock(&kc__shim.tables_lock);
	atomic_store_explicit(&kernel->reading_done, 1, memory_order_release); /* the list grows no more */
	pthread_mutex_unlock(&kc__shim.tables_lock);
	for (struct kc__early *e = kernel->early; e; e = e->next)
		count(e);
}
