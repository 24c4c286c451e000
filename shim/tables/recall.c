/*
 * What earlier runs of this program taught: read from the database before the
 * first launch, and taken over by each device, kernel and launch shape as it is
 * met.
 */
#include "loaded_code.h"

#include "store/replay/past.h"

#include <string.h>

#define LAUNCHES_MAX 8192u /* the newest: some 20 ms */

static struct kc_past *past; /* set before recording begins, then only read */

static void believe(struct kc__learned *learned)
{
	learned->last = kc_lambda_belief(&learned->lambda, 0);
	kc__belief_write(&learned->cell, &learned->last);
}

static void recall_device(struct kc__device *device)
{
	struct kc_past_device known;

	if (!device->known || !kc_past_device(past, device->uuid, &known))
		return;
	kc_lambda_adopt(&device->learned[KC__UNIT_NOMINAL].lambda, NULL, known.lambda, NULL);
	believe(&device->learned[KC__UNIT_NOMINAL]);
	device->contention = *known.contention;
	device->experience = *known.experience;
	kc__shim.cells = known.experience->cells;
	for (uint32_t kind = 0; kind <= KC_MEMSET; kind++)
		atomic_store(&device->copy_ns_per_mib[kind], known.copy_rates[kind]);
}

static void load(void *unused)
{
	const struct kc_past_options options = {
	    .executable = kc__shim.header->executable,
	    .launches_max = LAUNCHES_MAX,
	};

	(void)unused;
	kc_past_load(kc__shim.options.db, &options, &past);
}

void kc__recall_begin(void)
{
	past = NULL;
	if (!kc__shim.options.fresh)
		kc__on_own_thread(load, NULL);
	for (int i = 0; i < kc__shim.device_count; i++)
		recall_device(&kc__shim.devices[i]);
	for (int i = 0; i < kc__shim.device_count; i++)
		kc__shim.devices[i].experience.cells = kc__shim.cells;
}

static struct kc_code_identity identity_of(const struct kc__kernel *kernel)
{
	return (struct kc_code_identity){
	    .mangled = kernel->name,
	    .code_hash = kernel->code ? kernel->code->key[0] : 0,
	    .registers = kernel->resources.registers,
	    .static_shared_bytes = kernel->resources.static_shared_bytes,
	};
}

struct kc_name kc__name_of(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments)
{
	const struct kc_code_identity code = identity_of(kernel);
	const char *uuid = kernel->device->uuid;

	return (struct kc_name){
	    .launch = kc_launch_identity(kc_launch_name(kernel->name, dims, arguments), &code, uuid),
	    .shape = kc_launch_identity(kc_launch_name(kernel->name, dims, NULL), &code, uuid),
	};
}

static enum kc_past_kin ask(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments,
			    struct kc_past_shape *known)
{
	const struct kc_past_query query = {
	    .code = identity_of(kernel),
	    .uuid = kernel->device->uuid,
	    .device = &kernel->device->info,
	    .dims = dims,
	    .arguments = arguments,
	};

	kc_past_shape(past, &query, known);
	return known->kin;
}

void kc__recall_kernel(struct kc__kernel *kernel)
{
	const struct kc_code_identity code = identity_of(kernel);
	struct kc_past_kernel known;

	if (kc_past_kernel(past, &code, kernel->device->uuid, &known)) {
		atomic_store(&kernel->measured, known.measured);
		kernel->experience = *known.experience;
		kernel->experience.standing.parent = &kernel->device->experience.standing;
	}
}

static void take_over(struct kc__learned *learned, const struct kc_work *work, const struct kc_past_shape *known)
{
	if (known->kin == KC_PAST_SAME)
		kc_lambda_adopt(&learned->lambda, work, known->lambda, known->work);
	else
		kc_lambda_suppose(&learned->lambda, work, known->lambda, known->work);
	believe(learned);
}

/* In nominal units: launches were replayed without their code. */
void kc__recall_key(struct kc__key *key, const struct kc_shape *dims)
{
	struct kc_shape block = *dims;
	struct kc_past_shape known;

	memset(block.grid, 0, sizeof(block.grid));
	if (ask(key->kernel, &block, NULL, &known))
		take_over(&key->learned[KC__UNIT_NOMINAL], NULL, &known);
}

void kc__recall_shape(struct kc__shape *shape, const char *arguments)
{
	struct kc_past_shape known;

	if (shape->unpredictable || !ask(shape->kernel, &shape->dims, arguments, &known))
		return;
	take_over(&shape->learned, &shape->work, &known);
	if (known.kin != KC_PAST_SAME)
		return;
	shape->name.launch = known.identity;
	shape->contention = *known.contention;
	shape->contention.parent = &shape->kernel->device->contention;
	atomic_store(&shape->solos, known.solos);
	atomic_store(&shape->measured, known.measured);
	if (shape->work.counted && known.solos)
		kc__learn_known(shape);
}
