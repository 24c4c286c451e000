/*
 * Launch shapes: what one way of launching a kernel takes, found without a lock
 * and made at first sight.
 */
#include "kernel_formula.h"
#include "tables.h"

#include <errno.h>

#define VARIANTS_MAX 2048u /* launch shapes of a kernel told apart by arguments */
#define ARGUMENTS_TEXT_BYTES 256u

/*
 * What a launch's effort is too little for is evaluated with more, in tens of
 * microseconds as a rule, as long as all of that together takes no more than
 * this: a program that passes new arguments with every launch soon has to do
 * without.
 */
#define CAREFUL_EFFORT 20000u
#define CAREFUL_NS 20000000ll /* to begin with, */
#define CAREFUL_SHARE 200     /* and one part in so many of the time since */

enum { KEY_WORDS = 5 }; /* of struct kc__shape */

static uint32_t ask_occupancy(CUfunction f, uint32_t threads, uint32_t dynamic_shared_bytes)
{
	CUresult(CUDAAPI * get)(int *, CUfunction, int, size_t) = (CUresult(CUDAAPI *)(
	    int *, CUfunction, int, size_t))kc__driver_symbol("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	int blocks = 0;

	if (!get || get(&blocks, f, (int)threads, dynamic_shared_bytes) != CUDA_SUCCESS || blocks < 0)
		return 0;
	return (uint32_t)blocks;
}

/* tables_lock held. */
static struct kc__key *key_of(struct kc__kernel *kernel, const struct kc_shape *dims)
{
	uint64_t key[3] = {kernel->id | (uint64_t)dims->dynamic_shared_bytes << 32,
			   dims->block[0] | (uint64_t)dims->block[1] << 32, dims->block[2]};
	struct kc__key *k = kc__find(&kc__shim.keys, key, 3);

	if (k || !(k = kc__fresh(&kc__shim.keys, sizeof(*k), key, 3)))
		return k;
	k->kernel = kernel;
	for (int unit = 0; unit < KC__UNITS; unit++)
		kc_lambda_init(&k->learned[unit].lambda, &kernel->device->learned[unit].lambda);
	kc__recall_key(k, dims);
	kc__insert(&kc__shim.keys, k, 3);
	return k;
}

/* What a launch worked on goes into the journal before the launch. tables_lock held. */
static uint32_t put_arguments(const char *text)
{
	char buffer[sizeof(struct kc_arguments_entry) + ARGUMENTS_TEXT_BYTES];
	struct kc_arguments_entry entry = {.id = ++kc__shim.argument_count};
	size_t bytes = strlen(text) + 1;

	memcpy(buffer, &entry, sizeof(entry));
	memcpy(buffer + sizeof(entry), text, bytes);
	kc_journal_put(kc__shim.journal, KC_KIND_ARGUMENTS, buffer, sizeof(entry) + bytes);
	return entry.id;
}

/* tables_lock held. */
static int evaluate(const struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		    struct kc_counts *counts)
{
	static int64_t spent_ns;
	int rc = kc__formula_counts(formula, dims, given, KC_COST_EFFORT_LAUNCH, counts);
	int64_t began_ns;

	if (rc != -EAGAIN)
		return rc;
	began_ns = kc__now_ns();
	if (spent_ns > CAREFUL_NS + (began_ns - kc__shim.header->monotonic_ns) / CAREFUL_SHARE)
		return rc;
	rc = kc__formula_counts(formula, dims, given, CAREFUL_EFFORT, counts);
	spent_ns += kc__now_ns() - began_ns;
	return rc;
}

/* tables_lock held. text: what the arguments are. */
static void count_work(struct kc__shape *shape, const struct kc__formula *formula, const struct kc__given *given,
		       char text[ARGUMENTS_TEXT_BYTES])
{
	struct kc_counts counts;

	kc__arguments_tell(formula, given, text, ARGUMENTS_TEXT_BYTES);
	if (*text)
		shape->arguments = put_arguments(text);
	if (!evaluate(formula, &shape->dims, given, &counts))
		kc_work_count(&shape->work, &shape->kernel->device->info, &counts, &shape->size);
}

/* tables_lock held. */
static bool shape_fill(struct kc__shape *shape, struct kc__kernel *kernel, const struct kc_shape *dims,
		       uint32_t blocks_per_sm)
{
	shape->lambda_key = key_of(kernel, dims);
	if (!shape->lambda_key)
		return false;
	shape->kernel = kernel;
	shape->dims = *dims;
	if (kc_work_init(&shape->work, &kernel->device->info, &kernel->resources, dims, blocks_per_sm))
		shape->unpredictable = KC_DOES_NOT_FIT;
	kc_contention_init(&shape->contention, &kernel->device->contention);
	shape->scale = kc_scaling_size(&shape->work, dims);
	return true;
}

/* Launches of this shape made before the code was read, with these arguments as far as
 * is known: what they taught holds. tables_lock held. */
static void succeed(struct kc__shape *shape, const struct kc__formula *formula)
{
	struct kc__shape *before;
	struct kc__packed packed;
	struct kc__given given;
	struct kc_belief belief;
	uint64_t key[KEY_WORDS];

	memcpy(key, shape->key, sizeof(key));
	key[KEY_WORDS - 1] = 0;
	before = kc__find(&kc__shim.shapes, key, KEY_WORDS);
	if (!before || !kc__early_given(before, &packed, &given) ||
	    kc__arguments_key(formula, &given) != shape->key[KEY_WORDS - 1])
		return;
	before->successor = shape;
	if (shape->learned.lambda.count) /* earlier runs taught more */
		return;
	shape->contention = before->contention;
	atomic_store(&shape->solos, atomic_load(&before->solos));
	atomic_store(&shape->measured, atomic_load(&before->measured));
	if (!before->learned.lambda.count)
		return;
	kc_lambda_adopt(&shape->learned.lambda, &shape->work, &before->learned.lambda, &before->work);
	kc__belief_read(&before->learned.cell, &belief);
	belief = kc_lambda_belief(&shape->learned.lambda, belief.state);
	kc__belief_write(&shape->learned.cell, &belief);
}

static struct kc__shape *shape_make(struct kc__kernel *kernel, uint32_t blocks_per_sm, const struct kc_shape *dims,
				    const uint64_t *key, const struct kc__formula *formula,
				    const struct kc__given *given)
{
	char arguments[ARGUMENTS_TEXT_BYTES] = "";
	struct kc__shape *shape;

	pthread_mutex_lock(&kc__shim.tables_lock);
	shape = kc__find(&kc__shim.shapes, key, KEY_WORDS);
	if (shape || !(shape = kc__fresh(&kc__shim.shapes, sizeof(*shape), key, KEY_WORDS)))
		goto out;
	if (!shape_fill(shape, kernel, dims, blocks_per_sm)) {
		shape = NULL;
		goto out;
	}
	if (formula && !shape->unpredictable)
		count_work(shape, formula, given, arguments);
	else if (!shape->unpredictable)
		kc__early_keep(shape, given);
	kernel->variants += formula != NULL;
	kc_lambda_init(&shape->learned.lambda, &shape->lambda_key->learned[shape->work.counted].lambda);
	shape->name = kc__name_of(kernel, dims, arguments);
	kc__recall_shape(shape, arguments);
	if (shape->work.counted) /* what other arguments took says less than the work does */
		shape->name.shape = 0;
	if (shape->work.counted)
		succeed(shape, formula);
	shape->id = ++kc__shim.shape_count;
	atomic_store_explicit(&kc__shim.shape_by_id[shape->id], shape, memory_order_release);
	kc__insert(&kc__shim.shapes, shape, KEY_WORDS);
out:
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return shape;
}

struct kc__shape *kc__shape_of(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
			       const struct kc__given *given)
{
	const struct kc__formula *formula = atomic_load_explicit(&kernel->formula, memory_order_acquire);
	uint64_t key[KEY_WORDS] = {
	    kernel->id | (uint64_t)dims->dynamic_shared_bytes << 32, dims->grid[0] | (uint64_t)dims->grid[1] << 32,
	    dims->grid[2] | (uint64_t)dims->block[0] << 32, dims->block[1] | (uint64_t)dims->block[2] << 32,
	    formula ? kc__arguments_key(formula, given) : 0};
	struct kc__shape *shape = kc__find(&kc__shim.shapes, key, KEY_WORDS);

	if (shape)
		return shape;
	if (formula && kernel->variants >= VARIANTS_MAX) {
		formula = NULL;
		key[KEY_WORDS - 1] = 0;
		if ((shape = kc__find(&kc__shim.shapes, key, KEY_WORDS)))
			return shape;
	}
	return shape_make(
	    kernel, ask_occupancy(f, dims->block[0] * dims->block[1] * dims->block[2], dims->dynamic_shared_bytes),
	    dims, key, formula, given);
}

void kc__shape_prepare(struct kc__shape *before, const struct kc__formula *formula)
{
	struct kc__packed packed;
	struct kc__given given;
	uint64_t key[KEY_WORDS];

	if (before->unpredictable || !kc__early_given(before, &packed, &given))
		return;
	memcpy(key, before->key, sizeof(key));
	key[KEY_WORDS - 1] = kc__arguments_key(formula, &given);
	shape_make(before->kernel, before->work.blocks_per_sm, &before->dims, key, formula, &given);
}
