/* Entries of the engine: made, with what was learned of them elsewhere or before, and followed by others. */
#include "predictor/engine_counters.h"

#include <math.h>

static void believe(struct kc_learned *learned, uint32_t state)
{
	learned->last = kc_lambda_belief(&learned->lambda, state);
	kc_published_write(&learned->published, &learned->last);
}

static void learned_init(struct kc_learned *learned, struct kc_lambda *parent)
{
	static const struct kc_belief none = {0};

	kc_lambda_init(&learned->lambda, parent);
	learned->last = none;
	kc_published_write(&learned->published, &none);
}

/* What was believed in an earlier run is believed from the first launch on. */
static void recall_level(struct kc_learned *learned, struct kc_lambda *parent)
{
	const struct kc_belief *last = &learned->last;

	learned->lambda.parent = parent;
	learned->published = (struct kc_published){0};
	learned->last =
	    last->count ? kc_belief_of(last->log_lambda, last->half_width, last->count, 0) : (struct kc_belief){0};
	kc_published_write(&learned->published, &learned->last);
}

static struct kc_cells *cells_of(const struct kc_engine *engine)
{
	return kc_lacks(engine->without, KC_LAYER_CONTEXTS) ? NULL : engine->cells;
}

void kc_engine_device_init(const struct kc_engine *engine, struct kc_engine_device *device,
			   const struct kc_device *info)
{
	*device = (struct kc_engine_device){.info = info};
	for (int unit = 0; unit < KC_UNITS; unit++)
		learned_init(&device->learned.levels[unit], NULL);
	kc_contention_init(&device->learned.contention, NULL);
	kc_device_experience_init(&device->learned.experience, cells_of(engine));
	kc_rivals_init(&device->learned.rivals);
}

void kc_engine_recall_device(const struct kc_engine *engine, struct kc_engine_device *device,
			     const struct kc_device_learned *from)
{
	device->learned = *from;
	for (int unit = 0; unit < KC_UNITS; unit++)
		recall_level(&device->learned.levels[unit], NULL);
	kc_contention_attach(&device->learned.contention, NULL);
	device->learned.experience.cells = cells_of(engine);
	device->learned.experience.standing.parent = NULL;
	kc__add_lesson(device);
}

void kc_engine_kernel_init(struct kc_engine_kernel *kernel, struct kc_engine_device *device, const char *name)
{
	kernel->device = device;
	kc_kernel_experience_init(&kernel->learned.experience, &device->learned.experience);
	kc_scaling_init(&kernel->learned.scaling);
	kernel->by_arguments = NULL;
	kc_name_read(&kernel->name, name);
}

void kc_engine_recall_kernel(struct kc_engine_kernel *kernel, const struct kc_kernel_learned *from)
{
	kernel->learned = *from;
	kernel->learned.experience.standing.parent = &kernel->device->learned.experience.standing;
	if (from->scaling.count)
		kc__add_one(&kernel->scalings);
}

static void begin_key(struct kc_engine_key *key)
{
	for (int unit = 0; unit < KC_UNITS; unit++)
		learned_init(&key->learned.levels[unit], &key->kernel->device->learned.levels[unit].lambda);
}

void kc_engine_key_init(struct kc_engine_key *key, struct kc_engine_kernel *kernel)
{
	key->kernel = kernel;
	begin_key(key);
}

void kc_engine_recall_key(struct kc_engine_key *key, const struct kc_key_learned *from)
{
	key->learned = *from;
	for (int unit = 0; unit < KC_UNITS; unit++)
		recall_level(&key->learned.levels[unit], &key->kernel->device->learned.levels[unit].lambda);
	if (from->sizes.count)
		kc__add_one(&key->sizes_generation);
}

static void begin_variant(struct kc_engine_variant *variant)
{
	variant->asked.request.device = NULL;
	learned_init(&variant->learned.level, &variant->key->learned.levels[variant->work.counted].lambda);
	kc_contention_init(&variant->learned.contention, &variant->kernel->device->learned.contention);
}

static void ask_prior(struct kc_engine_variant *variant, const struct kc_shape *dims)
{
	const struct kc_engine_kernel *kernel = variant->kernel;

	variant->prior_log_ns = kc_prior_log_ns(kernel->device->info, &variant->work, dims, &kernel->name);
	if (kc_prior_knows(&kernel->name) && variant->work.registers) /* 0: a trace that does not tell them */
		variant->scale.log_guess_ns = logf((float)KC_PRIOR_LEAST_NS + expf(variant->prior_log_ns));
}

int kc_engine_variant_init(struct kc_engine_variant *variant, struct kc_engine_key *key,
			   _Atomic uint32_t *shape_measured, const struct kc_resources *resources,
			   const struct kc_shape *dims, uint32_t blocks_per_sm)
{
	int rc;

	variant->kernel = key->kernel;
	variant->key = key;
	variant->shape_measured = shape_measured;
	rc = kc_work_init(&variant->work, key->kernel->device->info, resources, dims, blocks_per_sm);
	variant->scale = kc_scaling_size(&variant->work, dims);
	variant->numbers.count = 0;
	if (!rc)
		ask_prior(variant, dims);
	begin_variant(variant);
	return rc;
}

int kc_engine_variant_count(struct kc_engine_variant *variant, const struct kc_counts *counts)
{
	int rc = kc_work_count(&variant->work, variant->kernel->device->info, counts, &variant->size);

	if (rc)
		return rc;
	begin_variant(variant);
	return 0;
}

size_t kc_engine_variant_given(struct kc_engine_variant *variant, const char *arguments)
{
	if (variant->work.counted)
		return 0;
	kc_arguments_read(&variant->numbers, arguments);
	return variant->numbers.count && !variant->kernel->by_arguments ? sizeof(*variant->kernel->by_arguments) : 0;
}

void kc_engine_variant_name(struct kc_engine_variant *variant, struct kc_name name)
{
	variant->name = name;
	if (variant->work.counted) /* which says more than what launches with other arguments took */
		variant->name.shape = 0;
}

void kc_engine_adopt(struct kc_learned *learned, const struct kc_work *work, const struct kc_lambda *from,
		     const struct kc_work *from_work, int related)
{
	if (related)
		kc_lambda_start_from_related(&learned->lambda, work, from, from_work);
	else
		kc_lambda_copy(&learned->lambda, work, from, from_work);
	believe(learned, 0);
}

static int is_in_units_of(const struct kc_work *work, const struct kc_work *other)
{
	return work->counted == other->counted && !(work->unit_ns < other->unit_ns) &&
	       !(work->unit_ns > other->unit_ns);
}

void kc_engine_recall_variant(struct kc_engine_variant *variant, const struct kc_variant_learned *from,
			      const struct kc_work *from_work)
{
	struct kc_lambda *parent = &variant->key->learned.levels[variant->work.counted].lambda;

	variant->learned = *from;
	kc_contention_attach(&variant->learned.contention, &variant->kernel->device->learned.contention);
	variant->learned.level.lambda.parent = parent;
	kc_lambda_copy(&variant->learned.level.lambda, &variant->work, &from->level.lambda, from_work);
	recall_level(&variant->learned.level, parent);
	if (variant->learned.level.lambda.count && !is_in_units_of(&variant->work, from_work))
		believe(&variant->learned.level, 0);
	if (variant->work.counted && !from_work->counted && kc__count_of(&variant->learned.solos))
		kc_engine_learn_known(variant);
}

void kc_engine_adopt_sizes(struct kc_engine_kernel *kernel, const struct kc_scaling *sizes)
{
	if (!sizes->count)
		return;
	kernel->learned.scaling = *sizes;
	kc__add_one(&kernel->scalings);
	kc__add_lesson(kernel->device);
}

void kc_engine_succeed(struct kc_engine_variant *variant, struct kc_engine_variant *before)
{
	struct kc_belief belief;

	if (variant->learned.level.lambda.count)
		return;
	variant->learned.contention = before->learned.contention;
	atomic_store(&variant->learned.solos, atomic_load(&before->learned.solos));
	atomic_store(&variant->learned.measured, atomic_load(&before->learned.measured));
	kc__add_lesson(variant->kernel->device);
	if (!before->learned.level.lambda.count)
		return;
	kc_lambda_copy(&variant->learned.level.lambda, &variant->work, &before->learned.level.lambda, &before->work);
	kc_published_read(&before->learned.level.published, &belief);
	believe(&variant->learned.level, belief.state);
}

int kc_engine_early_count(struct kc_engine_early *early, const struct kc_engine_variant *variant,
			  const struct kc_counts *counts)
{
	early->work = variant->work;
	early->counted =
	    early->measured_ns > 0 && !kc_work_count(&early->work, variant->kernel->device->info, counts, &early->size);
	return early->counted;
}

void kc_engine_early_teach(struct kc_engine *engine, const struct kc_engine_variant *variant,
			   struct kc_engine_early *early)
{
	if (!early->counted)
		return;
	kc_engine_learn_size(engine, variant->key, &early->work, &early->size, early->measured_ns);
	*early = (struct kc_engine_early){0};
}
