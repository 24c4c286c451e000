#include "knowledge.h"
#include "past.h"
#include "snapshot.h"

#include <math.h>
#include <string.h>

#define ALIKE_MAX 4096u      /* records of one name that are looked at: a launch waits meanwhile */
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

void kc_past_recall_cells(const struct kc_beginning *from, struct kc_cells *cells)
{
	const struct kc_snapshot *snapshot = kc_past_snapshot(from->past);

	if (snapshot && snapshot->head->cells_bytes)
		kc_cells_load(cells, snapshot->cells, snapshot->head->cells_bytes);
}

void kc_past_recall_device(const struct kc_beginning *from, const char *uuid, const struct kc_engine *engine,
			   struct kc_engine_device *device)
{
	const struct kc_snapshot *snapshot = kc_past_snapshot(from->past);
	struct kc_device_learned learned;

	if (snapshot && kc_snapshot_device(snapshot, uuid, &learned))
		kc_engine_recall_device(engine, device, &learned);
	else
		adopt_model(from->knowledge, device);
}

static int is_code(const struct kc_snapshot_kernel *kernel, const struct kc_code_identity *code)
{
	return kernel->code_hash == code->code_hash && kernel->registers == code->registers &&
	       kernel->static_shared_bytes == code->static_shared_bytes;
}

static int is_on(const struct kc_snapshot *s, const struct kc_snapshot_kernel *kernel, const char *uuid)
{
	return !strcmp(s->devices[kernel->device].uuid, uuid);
}

/* Of this very code on this very device. */
static const struct kc_snapshot_kernel *find_kernel(const struct kc_snapshot *s, const struct kc_code_identity *code,
						    const char *uuid)
{
	uint64_t name = kc_snapshot_kernel_name(code->mangled);
	const struct kc_snapshot_kernel *at = s ? kc_snapshot_kernels(s, name) : NULL;

	for (uint32_t n = 0; n < ALIKE_MAX && at && at < s->kernels + s->head->kernels && at->name == name; n++, at++)
		if (is_code(at, code) && is_on(s, at, uuid))
			return at;
	return NULL;
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

void kc_past_make_kernel(const struct kc_beginning *from, const struct kc_code_identity *code, const char *uuid,
			 struct kc_engine_device *device, struct kc_engine_kernel *kernel)
{
	const struct kc_snapshot *snapshot = kc_past_snapshot(from->past);
	const struct kc_snapshot_kernel *known = find_kernel(snapshot, code, uuid);
	struct kc_kernel_learned learned;

	kc_engine_kernel_init(kernel, device, code->mangled);
	if (known && kc_snapshot_kernel(snapshot, known, &learned))
		kc_engine_recall_kernel(kernel, &learned);
	else
		adopt_sizes(from->knowledge, code, kernel);
}

/* What the past has of launches like those asked for. */
struct candidate {
	enum kc_past_kin kin; /* NONE: nothing is known, and the rest is not set */
	const struct kc_snapshot_key *key;
	const struct kc_snapshot_variant *variant;
};

static enum kc_past_kin kin_of(const struct kc_snapshot *s, uint32_t kernel, const struct kc_past_query *query)
{
	const struct kc_snapshot_kernel *at = &s->kernels[kernel];
	const struct kc_snapshot_device *on = &s->devices[at->device];
	const struct kc_device there = {.cc_major = on->cc_major, .cc_minor = on->cc_minor};

	if (is_on(s, at, query->uuid))
		return is_code(at, &query->code) ? KC_PAST_SAME : KC_PAST_RELATED;
	return kc_curve_relatedness(&there, query->device) ? KC_PAST_RELATED : KC_PAST_NONE;
}

/* The more, the better one to go by: the same device before the same code, that before known arguments. */
static int closeness(const struct kc_snapshot *s, uint32_t kernel, const struct kc_past_query *query, int given)
{
	const struct kc_snapshot_kernel *at = &s->kernels[kernel];

	return 4 * is_on(s, at, query->uuid) + 2 * is_code(at, &query->code) + given;
}

static struct candidate find_key(const struct kc_snapshot *s, const struct kc_past_query *query)
{
	uint64_t name = kc_snapshot_key_name(query->code.mangled, query->dims);
	const struct kc_snapshot_key *at = s ? kc_snapshot_keys(s, name) : NULL;
	struct candidate best = {KC_PAST_NONE, NULL, NULL};
	int closest = -1;

	for (uint32_t n = 0; n < ALIKE_MAX && at && at < s->keys + s->head->keys && at->name == name; n++, at++) {
		enum kc_past_kin kin = kin_of(s, at->kernel, query);
		int close = closeness(s, at->kernel, query, 0);

		if (!kin || close < closest)
			continue;
		best = (struct candidate){kin, at, NULL};
		closest = close;
	}
	return best;
}

/* Launches whose arguments are known match any that are not: nothing is known where these are several. */
static struct candidate find_variant(const struct kc_snapshot *s, const struct kc_past_query *query)
{
	uint64_t bare = kc_launch_name(query->code.mangled, query->dims, NULL);
	uint64_t name = kc_launch_name(query->code.mangled, query->dims, query->arguments);
	const struct kc_snapshot_shape *shape = s ? kc_snapshot_shapes(s, bare) : NULL;
	struct candidate best = {KC_PAST_NONE, NULL, NULL};
	int closest = -1, several = 0;
	uint32_t n = 0;

	for (; shape && shape < s->shapes + s->head->shapes && shape->name == bare && n < ALIKE_MAX; shape++, n++) {
		enum kc_past_kin kin = kin_of(s, shape->kernel, query);

		for (uint32_t i = 0; kin && i < shape->count && n < ALIKE_MAX; i++, n++) {
			const struct kc_snapshot_variant *at = &s->variants[shape->first + i];
			int close = closeness(s, shape->kernel, query, at->name != bare);

			if ((name != bare && at->name != name) || close < closest)
				continue;
			several = close == closest && (several || at->name != best.variant->name);
			best = (struct candidate){kin, NULL, at};
			closest = close;
		}
	}
	if (several)
		best.kin = KC_PAST_NONE;
	return best;
}

/* The past where it says more than the file: same, or the file has only related launches as well. Else what the file
 * has is in *there, or NULL: nothing is known. */
static void choose(const struct kc_beginning *from, const struct kc_past_query *query, struct candidate *known,
		   const struct kc_knowledge_entry **there, int *same)
{
	*there = NULL;
	if (known->kin == KC_PAST_SAME)
		return;
	*there = kc_knowledge_find(from->knowledge, query, same);
	if (known->kin && !*same)
		*there = NULL;
	if (*there)
		known->kin = KC_PAST_NONE;
}

/* Of related launches: in nominal units alone, as code that is read says more than other launches do. */
static void recall_key(const struct kc_snapshot *s, const struct candidate *known, struct kc_engine_key *key)
{
	const struct kc_lambda *lambda;
	struct kc_key_learned learned;

	if (!kc_snapshot_key(s, known->key, &learned))
		return;
	lambda = &learned.levels[KC_UNIT_NOMINAL].lambda;
	if (known->kin == KC_PAST_SAME)
		kc_engine_recall_key(key, &learned);
	else if (lambda->count)
		kc_engine_adopt(&key->learned.levels[KC_UNIT_NOMINAL], NULL, lambda, NULL, 1);
}

void kc_past_make_key(const struct kc_beginning *from, const struct kc_past_query *query,
		      struct kc_engine_kernel *kernel, struct kc_engine_key *key)
{
	struct kc_past_query block_query = *query;
	struct kc_shape block = *query->dims;
	const struct kc_knowledge_entry *there;
	struct candidate known;
	struct kc_lambda lambda;
	int same;

	kc_engine_key_init(key, kernel);
	memset(block.grid, 0, sizeof(block.grid));
	block_query.dims = &block;
	block_query.arguments = NULL;
	known = find_key(kc_past_snapshot(from->past), query);
	choose(from, &block_query, &known, &there, &same);
	if (known.kin)
		recall_key(kc_past_snapshot(from->past), &known, key);
	if (!there)
		return;
	lambda = kc_knowledge_lambda(&there->lambda);
	kc_engine_adopt(&key->learned.levels[KC_UNIT_NOMINAL], NULL, &lambda, NULL, !same);
}

void kc_past_recall_shape(const struct kc_beginning *from, const struct kc_past_query *query,
			  _Atomic uint32_t *measured)
{
	const struct kc_snapshot *s = kc_past_snapshot(from->past);
	uint64_t name = kc_launch_name(query->code.mangled, query->dims, NULL);
	const struct kc_snapshot_shape *at = s ? kc_snapshot_shapes(s, name) : NULL;

	for (uint32_t n = 0; n < ALIKE_MAX && at && at < s->shapes + s->head->shapes && at->name == name; n++, at++)
		if (kin_of(s, at->kernel, query) == KC_PAST_SAME)
			atomic_store(measured, at->measured);
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

static void recall_arguments(const struct kc_snapshot *s, const struct kc_past_query *query,
			     struct kc_arguments_fit *fit)
{
	const struct kc_snapshot_kernel *known = find_kernel(s, &query->code, query->uuid);

	if (known && !kc_snapshot_arguments(s, known, fit))
		*fit = (struct kc_arguments_fit){0};
}

static void recall_variant(const struct kc_snapshot *s, const struct candidate *known,
			   const struct kc_past_query *query, struct kc_engine_variant *variant)
{
	const struct kc_work work = {.unit_ns = known->variant->unit_ns, .counted = known->variant->counted};
	struct kc_variant_learned learned;

	if (!kc_snapshot_variant(s, known->variant, &learned))
		return;
	if (known->kin != KC_PAST_SAME) {
		if (learned.level.lambda.count)
			kc_engine_adopt(&variant->learned.level, &variant->work, &learned.level.lambda, &work, 1);
		return;
	}
	kc_engine_recall_variant(variant, &learned, &work);
	/* Launches whose arguments were not known are those whose contexts are known by that name. */
	variant->name.launch = kc_launch_identity(known->variant->name, &query->code, query->uuid);
}

void kc_past_make_variant(const struct kc_beginning *from, const struct kc_past_query *query,
			  void *(*memory)(size_t bytes, void *arg), void *arg, struct kc_engine_variant *variant)
{
	const struct kc_snapshot *snapshot = kc_past_snapshot(from->past);
	size_t bytes = kc_engine_variant_given(variant, query->arguments);
	struct candidate known = find_variant(snapshot, query);
	const struct kc_knowledge_entry *there;
	int same;

	if (bytes && (variant->kernel->by_arguments = memory(bytes, arg)))
		recall_arguments(snapshot, query, variant->kernel->by_arguments);
	choose(from, query, &known, &there, &same);
	if (there)
		adopt_variant(there, same, query, variant);
	if (known.kin)
		recall_variant(snapshot, &known, query, variant);
}
