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

static void recall_device(struct kc__device *device)
{
	const struct kc_engine_device *known = device->known ? kc_past_device(past, device->uuid) : NULL;

	if (!known)
		return;
	kc_engine_adopt(&device->engine.learned[KC_UNIT_NOMINAL], NULL, &known->learned[KC_UNIT_NOMINAL].lambda, NULL,
			0);
	device->engine.contention = known->contention;
	device->engine.experience = known->experience;
	kc__shim.engine.cells = known->experience.cells;
	for (uint32_t kind = 0; kind < KC_ENGINE_COPY_KINDS; kind++)
		atomic_store(&device->engine.copy_ns_per_mib[kind], atomic_load(&known->copy_ns_per_mib[kind]));
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

/* What the process begins with, for a replay of it. */
static void put_parts(void)
{
	struct kc_past_entry part;

	for (uint32_t place = 0; kc_past_part(past, place, &part); place++)
		kc_journal_put(kc__shim.journal, KC_KIND_PAST, &part, sizeof(part));
	if (past)
		kc__learn_event(KC_EVENT_PAST, NULL);
}

void kc__recall_begin(void)
{
	past = NULL;
	if (!kc__shim.options.fresh)
		kc__on_own_thread(load, NULL);
	put_parts();
	for (int i = 0; i < kc__shim.device_count; i++)
		recall_device(&kc__shim.devices[i]);
	for (int i = 0; i < kc__shim.device_count; i++)
		kc__shim.devices[i].engine.experience.cells = kc__shim.engine.cells;
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
	const struct kc_engine_kernel *known = kc_past_kernel(past, &code, kernel->device->uuid);

	if (!known)
		return;
	atomic_store(&kernel->engine.measured, atomic_load(&known->measured));
	kernel->engine.experience = known->experience;
	kernel->engine.experience.standing.parent = &kernel->device->engine.experience.standing;
}

static void take_over(struct kc_learned *learned, const struct kc_work *work, const struct kc_past_shape *known)
{
	kc_engine_adopt(learned, work, known->lambda, known->work, known->kin != KC_PAST_SAME);
}

/* In nominal units: launches were replayed without their code. */
void kc__recall_key(struct kc__key *key, const struct kc__kernel *kernel, const struct kc_shape *dims)
{
	struct kc_shape block = *dims;
	struct kc_past_shape known;

	memset(block.grid, 0, sizeof(block.grid));
	if (ask(kernel, &block, NULL, &known))
		take_over(&key->engine.learned[KC_UNIT_NOMINAL], NULL, &known);
}

void kc__recall_shape(struct kc__shape *shape, const struct kc__kernel *kernel, const struct kc_shape *dims)
{
	const struct kc_code_identity code = identity_of(kernel);

	atomic_store(&shape->engine.measured, kc_past_measured(past, &code, kernel->device->uuid, dims));
}

void kc__recall_variant(struct kc__variant *variant, const char *arguments)
{
	struct kc_engine_variant *engine = &variant->engine;
	struct kc_past_shape known;

	if (variant->unpredictable || !ask(variant->kernel, &variant->dims, arguments, &known))
		return;
	take_over(&engine->learned, &engine->work, &known);
	if (known.kin != KC_PAST_SAME)
		return;
	engine->name.launch = known.variant->name.launch;
	engine->contention = known.variant->contention;
	engine->contention.parent = &variant->kernel->device->engine.contention;
	atomic_store(&engine->solos, atomic_load(&known.variant->solos));
	atomic_store(&engine->measured, atomic_load(&known.variant->measured));
	if (engine->work.counted && engine->solos)
		kc_engine_learn_known(engine);
}
