#include "past.h"

#include <string.h>

void kc_past_recall_device(const struct kc_past *past, const char *uuid, struct kc_engine *engine,
			   struct kc_engine_device *device)
{
	const struct kc_engine_device *known = kc_past_device(past, uuid);

	if (!known)
		return;
	kc_engine_adopt(&device->learned[KC_UNIT_NOMINAL], NULL, &known->learned[KC_UNIT_NOMINAL].lambda, NULL, 0);
	device->contention = known->contention;
	device->experience = known->experience;
	kc_margins_restart(&device->experience.margins);
	engine->cells = known->experience.cells;
	for (uint32_t kind = 0; kind < KC_ENGINE_COPY_KINDS; kind++)
		atomic_store(&device->copy_ns_per_mib[kind], atomic_load(&known->copy_ns_per_mib[kind]));
}

void kc_past_recall_kernel(const struct kc_past *past, const struct kc_code_identity *code, const char *uuid,
			   struct kc_engine_kernel *kernel)
{
	const struct kc_engine_kernel *known = kc_past_kernel(past, code, uuid);

	if (!known)
		return;
	atomic_store(&kernel->measured, atomic_load(&known->measured));
	kernel->experience = known->experience;
	kernel->experience.standing.parent = &kernel->device->experience.standing;
}

static void take_over(struct kc_learned *learned, const struct kc_work *work, const struct kc_past_shape *known)
{
	kc_engine_adopt(learned, work, known->lambda, known->work, known->kin != KC_PAST_SAME);
}

void kc_past_recall_key(const struct kc_past *past, const struct kc_past_query *query, struct kc_engine_key *key)
{
	struct kc_past_query block_query = *query;
	struct kc_shape block = *query->dims;
	struct kc_past_shape known;

	memset(block.grid, 0, sizeof(block.grid));
	block_query.dims = &block;
	block_query.arguments = NULL;
	kc_past_shape(past, &block_query, &known);
	if (known.kin) /* in nominal units: launches were replayed without their code */
		take_over(&key->learned[KC_UNIT_NOMINAL], NULL, &known);
}

void kc_past_recall_shape(const struct kc_past *past, const struct kc_past_query *query, struct kc_engine_shape *shape)
{
	atomic_store(&shape->measured, kc_past_measured(past, &query->code, query->uuid, query->dims));
}

void kc_past_recall_variant(const struct kc_past *past, const struct kc_past_query *query,
			    struct kc_engine_variant *variant)
{
	struct kc_past_shape known;

	kc_past_shape(past, query, &known);
	if (!known.kin)
		return;
	take_over(&variant->learned, &variant->work, &known);
	if (known.kin != KC_PAST_SAME)
		return;
	variant->name.launch = known.variant->name.launch;
	variant->contention = known.variant->contention;
	variant->contention.parent = &variant->kernel->device->contention;
	variant->range = known.variant->range;
	atomic_store(&variant->solos, atomic_load(&known.variant->solos));
	atomic_store(&variant->measured, atomic_load(&known.variant->measured));
	if (variant->work.counted && variant->solos)
		kc_engine_learn_known(variant);
}
