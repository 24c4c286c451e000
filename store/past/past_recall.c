#include "knowledge.h"
#include "past.h"

#include <math.h>
#include <string.h>

#define ELSEWHERE_WEIGHT 1.0 /* in measurements: what other machines measured of a launch shape counts as one here */

static void adopt_model(const struct kc_knowledge *knowledge, struct kc_engine_device *device)
{
	const struct kc_knowledge_device *model = kc_knowledge_device(knowledge, device->info);
	struct kc_lambda lambda;

	if (!model || !model->lambda.count)
		return;
	lambda = kc_knowledge_lambda(&model->lambda);
	kc_engine_adopt(&device->learned.levels[KC_UNIT_NOMINAL], NULL, &lambda, NULL, 0);
}

void kc_past_recall_device(const struct kc_beginning *from, const char *uuid, struct kc_engine *engine,
			   struct kc_engine_device *device)
{
	const struct kc_engine_device *known = kc_past_device(from->past, uuid);

	device->more = kc_knowledge_trees(from->knowledge, device->info);
	if (!known) {
		adopt_model(from->knowledge, device);
		return;
	}
	kc_engine_adopt(&device->learned.levels[KC_UNIT_NOMINAL], NULL, &known->learned.levels[KC_UNIT_NOMINAL].lambda,
			NULL, 0);
	device->learned.contention = known->learned.contention;
	device->learned.experience = known->learned.experience;
	engine->cells = known->learned.experience.cells;
	for (uint32_t kind = 0; kind < KC_ENGINE_COPY_KINDS; kind++)
		atomic_store(&device->learned.copy_ns_per_mib[kind],
			     atomic_load(&known->learned.copy_ns_per_mib[kind]));
}

static void adopt_sizes(const struct kc_knowledge *knowledge, const struct kc_code_identity *code,
			struct kc_engine_kernel *kernel)
{
	const struct kc_knowledge_kernel *there = kc_knowledge_kernel(knowledge, code, kernel->device->info);
	struct kc_scaling sizes;

	if (!there)
		return;
	kc_knowledge_sizes(knowledge, there, &sizes);
	kc_engine_adopt_sizes(kernel, &sizes);
}

void kc_past_recall_kernel(const struct kc_beginning *from, const struct kc_code_identity *code, const char *uuid,
			   struct kc_engine_kernel *kernel)
{
	const struct kc_engine_kernel *known = kc_past_kernel(from->past, code, uuid);

	if (!known) {
		adopt_sizes(from->knowledge, code, kernel);
		return;
	}
	atomic_store(&kernel->learned.measured, atomic_load(&known->learned.measured));
	kernel->learned.experience = known->learned.experience;
	kernel->learned.experience.standing.parent = &kernel->device->learned.experience.standing;
}

static void take_over(struct kc_learned *learned, const struct kc_work *work, const struct kc_past_shape *known)
{
	kc_engine_adopt(learned, work, known->lambda, known->work, known->kin != KC_PAST_SAME);
}

/* The past where it says more than the file: same, or the file has only related launches as well. Else what the file
 * has is in *there, or NULL: nothing is known. */
static void choose(const struct kc_beginning *from, const struct kc_past_query *query, struct kc_past_shape *known,
		   const struct kc_knowledge_entry **there, int *same)
{
	*there = NULL;
	kc_past_shape(from->past, query, known);
	if (known->kin == KC_PAST_SAME)
		return;
	*there = kc_knowledge_find(from->knowledge, query, same);
	if (known->kin && !*same)
		*there = NULL;
	if (*there)
		known->kin = KC_PAST_NONE;
}

void kc_past_recall_key(const struct kc_beginning *from, const struct kc_past_query *query, struct kc_engine_key *key)
{
	struct kc_past_query block_query = *query;
	struct kc_shape block = *query->dims;
	const struct kc_knowledge_entry *there;
	struct kc_past_shape known;
	struct kc_lambda lambda;
	int same;

	memset(block.grid, 0, sizeof(block.grid));
	block_query.dims = &block;
	block_query.arguments = NULL;
	choose(from, &block_query, &known, &there, &same);
	if (known.kin) /* in nominal units: launches were replayed without their code */
		take_over(&key->learned.levels[KC_UNIT_NOMINAL], NULL, &known);
	if (!there)
		return;
	lambda = kc_knowledge_lambda(&there->lambda);
	kc_engine_adopt(&key->learned.levels[KC_UNIT_NOMINAL], NULL, &lambda, NULL, !same);
}

void kc_past_recall_shape(const struct kc_beginning *from, const struct kc_past_query *query,
			  struct kc_engine_shape *shape)
{
	atomic_store(&shape->measured, kc_past_measured(from->past, &query->code, query->uuid, query->dims));
}

/* λ is of nominal work, which is other work on another GPU: the launch then takes as much longer as the BSP model says.
 * Where its work is counted here, it is what its nominal work on this GPU would be. 0: it cannot be told. */
static int work_there(const struct kc_knowledge_entry *there, int same, const struct kc_past_query *query,
		      const struct kc_work *here, struct kc_work *work)
{
	const struct kc_resources resources = {.registers = query->code.registers,
					       .static_shared_bytes = query->code.static_shared_bytes};

	*work = *here;
	if (same)
		work->unit_ns = there->unit_ns;
	return same || !here->counted ||
	       kc_work_init(work, query->device, &resources, query->dims, here->blocks_per_sm) == 0;
}

static void adopt_variant(const struct kc_knowledge_entry *there, int same, const struct kc_past_query *query,
			  struct kc_engine_variant *variant)
{
	struct kc_lambda lambda = kc_knowledge_lambda(&there->lambda);
	struct kc_work work;

	if (!work_there(there, same, query, &variant->work, &work))
		return;
	lambda.weight = fmin(lambda.weight, ELSEWHERE_WEIGHT);
	kc_engine_adopt(&variant->learned.level, &variant->work, &lambda, &work, !same);
	if (same && variant->work.counted)
		kc_engine_learn_known(variant);
}

void kc_past_recall_variant(const struct kc_beginning *from, const struct kc_past_query *query,
			    struct kc_engine_variant *variant)
{
	const struct kc_knowledge_entry *there;
	struct kc_past_shape known;
	int same;

	choose(from, query, &known, &there, &same);
	if (there)
		adopt_variant(there, same, query, variant);
	if (!known.kin)
		return;
	take_over(&variant->learned.level, &variant->work, &known);
	if (known.kin != KC_PAST_SAME)
		return;
	variant->name.launch = known.variant->name.launch;
	variant->learned.contention = known.variant->learned.contention;
	variant->learned.contention.parent = &variant->kernel->device->learned.contention;
	variant->learned.range = known.variant->learned.range;
	atomic_store(&variant->learned.solos, atomic_load(&known.variant->learned.solos));
	atomic_store(&variant->learned.measured, atomic_load(&known.variant->learned.measured));
	if (variant->work.counted && variant->learned.solos)
		kc_engine_learn_known(variant);
}
