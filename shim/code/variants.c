/*
 * Launch shapes: what one way of launching a kernel takes, found without a lock
 * and made at first sight.
 */
#include "variants.h"
#include "code_read.h"
#include "early.h"
#include "formulas.h"
#include "reader.h"
#include "shim/entry/real.h"
#include "shim/tables/memory.h"
#include "shim/tables/recall.h"
#include "shim/tables/tables.h"
#include "shim/worker/cupti/measuring.h"

#include <errno.h>

#define VARIANTS_MAX 2048u /* launch shapes of a kernel told apart by arguments */
#define ARGUMENTS_TEXT_BYTES 256u

/*
 * What a launch's effort is too little for is evaluated with more, in tens of
 * microseconds as a rule, 12 ms at most, twice that where floating-point
 * arithmetic decides. No such evaluation begins once all of them together have
 * taken CAREFUL_NS and the share below: a program that passes new arguments with
 * every launch soon has to do without, and floats then count as not known.
 */
#define CAREFUL_EFFORT 20000u
#define CAREFUL_NS 50000000ll /* to begin with, */
#define CAREFUL_SHARE 200     /* and one part in so many of the time since */

enum { SHAPE_WORDS = 4, KEY_WORDS }; /* of the key of a launch shape, and of one with its arguments */

static uint32_t ask_occupancy(CUfunction f, uint32_t threads, uint32_t dynamic_shared_bytes)
{
	CUresult(CUDAAPI * get)(int *, CUfunction, int, size_t) = (CUresult(CUDAAPI *)(
	    int *, CUfunction, int, size_t))kc__driver_symbol("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	int blocks = 0;

	if (!get || get(&blocks, f, (int)threads, dynamic_shared_bytes) != CUDA_SUCCESS || blocks < 0)
		return 0;
	return (uint32_t)blocks;
}

#define BUFFERS_MAX 16u

/* Memory that pointers among the arguments lead to. Returns how many there are. */
static uint32_t ask_buffers(const struct kc__kernel *kernel, const struct kc__formula *formula,
			    const struct kc__given *given, struct kc_cost_buffer buffers[BUFFERS_MAX])
{
	CUresult(CUDAAPI * get)(CUdeviceptr *, size_t *, CUdeviceptr) =
	    (CUresult(CUDAAPI *)(CUdeviceptr *, size_t *, CUdeviceptr))kc__driver_symbol("cuMemGetAddressRange_v2");
	uint32_t count = 0;

	for (uint32_t n = 0; get && n < formula->need_count && count < BUFFERS_MAX; n++) {
		struct kc_cost_buffer *buffer = &buffers[count];
		CUdeviceptr base;
		size_t bytes;

		if (!kc__formula_pointer(formula, n, given, buffer) ||
		    get(&base, &bytes, (CUdeviceptr)buffer->first) != CUDA_SUCCESS || !bytes)
			continue;
		buffer->first = base;
		buffer->bytes = bytes;
		buffer->is_large = bytes > kernel->device->info.l2_bytes;
		count++;
	}
	return count;
}

/* tables_lock held. */
static struct kc__key *key_of(struct kc__kernel *kernel, const struct kc_shape *dims)
{
	uint64_t key[3] = {kernel->id | (uint64_t)dims->dynamic_shared_bytes << 32,
			   dims->block[0] | (uint64_t)dims->block[1] << 32, dims->block[2]};
	struct kc__key *k = kc__find(&kc__shim.keys, key, 3);
	struct kc_past_query query;

	if (k || !(k = kc__fresh(&kc__shim.keys, sizeof(*k), key, 3)))
		return k;
	k->block = *dims;
	memset(k->block.grid, 0, sizeof(k->block.grid));
	query = kc__past_query_of(kernel, dims, NULL);
	kc_past_make_key(kc__recalled(), &query, &kernel->engine, &k->engine);
	kc__insert(&kc__shim.keys, k, 3);
	return k;
}

/* tables_lock held. variant_key: its first words are the launch shape's. */
static struct kc__shape *shape_of(const struct kc__kernel *kernel, const struct kc_shape *dims,
				  const uint64_t *variant_key)
{
	struct kc__shape *shape = kc__find(&kc__shim.shapes, variant_key, SHAPE_WORDS);
	struct kc_past_query query;

	if (shape || !(shape = kc__fresh(&kc__shim.shapes, sizeof(*shape), variant_key, SHAPE_WORDS)))
		return shape;
	query = kc__past_query_of(kernel, dims, NULL);
	kc_past_recall_shape(kc__recalled(), &query, &shape->measured);
	kc__insert(&kc__shim.shapes, shape, SHAPE_WORDS);
	return shape;
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
static int evaluate(struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		    struct kc_counts *counts)
{
	int rc = kc__formulas_count(formula, dims, given, KC_COST_EFFORT_LAUNCH, counts);
	int64_t since_ns;

	if (rc != -EAGAIN)
		return rc;
	since_ns = kc__now_ns() - kc__shim.header->monotonic_ns;
	if (kc__shim.careful_ns <= CAREFUL_NS + since_ns / CAREFUL_SHARE) {
		kc__shim.careful_ns -= kc__processor_ns();
		rc = kc__formulas_count(formula, dims, given, CAREFUL_EFFORT, counts);
		kc__shim.careful_ns += kc__processor_ns();
	}
	return rc == -EAGAIN ? kc__formulas_count(formula, dims, given, KC_COST_EFFORT_INTEGERS, counts) : rc;
}

/* So that a replay counts the same work without the code. tables_lock held. */
static void put_work(const struct kc__variant *variant, const struct kc_counts *counts)
{
	const struct kc_shape *dims = &variant->dims;
	struct kc_work_entry entry = {
	    .kernel = variant->kernel->id,
	    .device = variant->kernel->device->ordinal,
	    .blocks_per_sm = variant->blocks_per_sm,
	    .dynamic_shared_bytes = dims->dynamic_shared_bytes,
	    .arguments = variant->arguments,
	    .count = KC_WORK_NUMBERS,
	};

	for (int i = 0; i < 3; i++) {
		entry.grid[i] = dims->grid[i];
		entry.block[i] = (uint16_t)dims->block[i];
	}
	kc_work_numbers(counts, entry.numbers);
	kc_journal_put(kc__shim.journal, KC_KIND_WORK, &entry, sizeof(entry));
}

/* tables_lock held. text: what the arguments are. */
static void count_work(struct kc__variant *variant, struct kc__formula *formula, const struct kc__given *given,
		       char text[ARGUMENTS_TEXT_BYTES])
{
	struct kc_counts counts;
	int rc;

	kc__arguments_tell(formula, given, text, ARGUMENTS_TEXT_BYTES);
	if (*text)
		variant->arguments = put_arguments(text);
	rc = evaluate(formula, &variant->dims, given, &counts);
	if (rc == -ENODATA) /* for the next launch shape */
		kc__code_wanted(variant->kernel);
	else if (!rc && kc_engine_variant_count(&variant->engine, &counts) == 0)
		put_work(variant, &counts);
}

/* tables_lock held. */
static void *memory(size_t bytes, void *unused)
{
	(void)unused;
	return kc__arena(bytes);
}

/* tables_lock held. */
static bool variant_fill(struct kc__variant *variant, struct kc__kernel *kernel, const struct kc_shape *dims,
			 uint32_t blocks_per_sm)
{
	struct kc__key *key = key_of(kernel, dims);
	struct kc__shape *shape = key ? shape_of(kernel, dims, variant->key) : NULL;

	if (!shape)
		return false;
	variant->kernel = kernel;
	variant->dims = *dims;
	if (kc_engine_variant_init(&variant->engine, &key->engine, &shape->measured, &kernel->resources, dims,
				   blocks_per_sm))
		variant->unpredictable = KC_DOES_NOT_FIT;
	variant->blocks_per_sm = (uint16_t)variant->engine.work.blocks_per_sm;
	return true;
}

/* Launches of this shape made before the code was read, with these arguments as far as
 * is known: what becomes known of them later is about this variant. tables_lock held. */
static void succeed(struct kc__variant *variant, const struct kc__formula *formula)
{
	struct kc__variant *before;
	struct kc__packed packed;
	struct kc__given given;
	uint64_t key[KEY_WORDS];

	memcpy(key, variant->key, sizeof(key));
	key[KEY_WORDS - 1] = 0;
	before = kc__find(&kc__shim.variants, key, KEY_WORDS);
	if (!before || !kc__early_given(before, &packed, &given) ||
	    kc__arguments_key(formula, &given) != variant->key[KEY_WORDS - 1])
		return;
	before->successor = variant;
}

struct making {
	struct kc__kernel *kernel;
	uint32_t blocks_per_sm;
	const struct kc_shape *dims;
	const uint64_t *key;
	struct kc__formula *formula;
	const struct kc__given *given;
	bool launched;            /* that is what it is made for */
	struct kc__variant *made; /* NULL: there is no room for it */
};

/* tables_lock held. */
static void make(void *making)
{
	struct making *m = making;
	struct kc__variant *variant = kc__fresh(&kc__shim.variants, sizeof(*variant), m->key, KEY_WORDS);
	char arguments[ARGUMENTS_TEXT_BYTES] = "";
	struct kc_past_query query;

	if (!variant || !variant_fill(variant, m->kernel, m->dims, m->blocks_per_sm))
		return;
	if (m->formula && !variant->unpredictable)
		count_work(variant, m->formula, m->given, arguments);
	else if (!variant->unpredictable)
		kc__early_keep(variant, m->given);
	m->kernel->variants += m->formula != NULL;
	variant->launch_name = kc_launch_name(m->kernel->name, m->dims, arguments);
	kc_engine_variant_name(&variant->engine, kc__name_of(m->kernel, m->dims, arguments));
	query = kc__past_query_of(m->kernel, &variant->dims, arguments);
	if (!variant->unpredictable)
		kc_past_make_variant(kc__recalled(), &query, memory, NULL, &variant->engine);
	if (variant->engine.work.counted)
		succeed(variant, m->formula);
	variant->awaits_first =
	    m->launched && !variant->unpredictable && !atomic_load(&variant->engine.learned.measured);
	if (variant->awaits_first)
		kc__flush_new_shape(kc__now_ns());
	variant->id = ++kc__shim.variant_count;
	atomic_store_explicit(&kc__shim.variant_by_id[variant->id], variant, memory_order_release);
	kc__insert(&kc__shim.variants, variant, KEY_WORDS);
	m->made = variant;
}

/* tables_lock held. */
static struct kc__variant *found_or_made(struct making *making)
{
	struct kc__variant *variant = kc__find(&kc__shim.variants, making->key, KEY_WORDS);

	if (variant)
		return variant;
	kc__deep(make, making);
	return making->made;
}

static bool has_key(const struct kc__variant *variant, const uint64_t key[KEY_WORDS])
{
	const uint64_t *own = variant->key;

	return !((own[0] ^ key[0]) | (own[1] ^ key[1]) | (own[2] ^ key[2]) | (own[3] ^ key[3]) | (own[4] ^ key[4]));
}

static __attribute__((noinline)) struct kc__variant *find_other(struct kc__kernel *kernel,
								const uint64_t key[KEY_WORDS])
{
	struct kc__variant *variant = kc__find(&kc__shim.variants, key, KEY_WORDS);

	if (variant)
		atomic_store_explicit(&kernel->latest, variant, memory_order_release);
	return variant;
}

static inline struct kc__variant *find(struct kc__kernel *kernel, const uint64_t key[KEY_WORDS])
{
	struct kc__variant *variant = atomic_load_explicit(&kernel->latest, memory_order_acquire);

	return variant && has_key(variant, key) ? variant : find_other(kernel, key);
}

__attribute__((hot)) bool kc__variant_is_outdated(const struct kc__variant *variant)
{
	return !variant->key[KEY_WORDS - 1] && atomic_load_explicit(&variant->kernel->formula, memory_order_acquire) &&
	       variant->kernel->variants < VARIANTS_MAX;
}

/* A launch shape that is new as far as is known. Its key is of the kernel's formula by then. */
static struct kc__variant *find_or_make(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
					const struct kc__given *given, uint64_t key[KEY_WORDS])
{
	struct kc_cost_buffer buffers[BUFFERS_MAX];
	struct kc__given with = *given;
	struct kc__formula *formula;
	struct kc__variant *variant;
	struct making making;

	if (!atomic_load_explicit(&kernel->reading_done, memory_order_acquire)) {
		kc__code_meet(kernel);
		kc__reader_await(kernel);
	}
	formula = atomic_load_explicit(&kernel->formula, memory_order_acquire);
	if (formula && kernel->variants >= VARIANTS_MAX)
		formula = NULL;
	key[KEY_WORDS - 1] = formula ? kc__arguments_key(formula, given) : 0;
	if ((variant = find(kernel, key)))
		return variant;
	if (formula) {
		with.buffers = buffers;
		with.buffer_count = ask_buffers(kernel, formula, given, buffers);
	}
	making = (struct making){
	    .kernel = kernel,
	    .blocks_per_sm =
		ask_occupancy(f, dims->block[0] * dims->block[1] * dims->block[2], dims->dynamic_shared_bytes),
	    .dims = dims,
	    .key = key,
	    .formula = formula,
	    .given = &with,
	    .launched = true,
	};
	pthread_mutex_lock(&kc__shim.tables_lock);
	variant = found_or_made(&making);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return variant;
}

__attribute__((hot)) struct kc__variant *kc__variant_of(struct kc__kernel *kernel, CUfunction f,
							const struct kc_shape *dims, const struct kc__given *given)
{
	struct kc__formula *formula = atomic_load_explicit(&kernel->formula, memory_order_acquire);
	uint64_t key[KEY_WORDS] = {
	    kernel->id | (uint64_t)dims->dynamic_shared_bytes << 32, dims->grid[0] | (uint64_t)dims->grid[1] << 32,
	    dims->grid[2] | (uint64_t)dims->block[0] << 32, dims->block[1] | (uint64_t)dims->block[2] << 32,
	    formula ? kc__arguments_key(formula, given) : 0};
	struct kc__variant *variant = find(kernel, key);

	return __builtin_expect(variant != NULL, 1) ? variant : find_or_make(kernel, f, dims, given, key);
}

void kc__variant_prepare(struct kc__variant *before, struct kc__formula *formula)
{
	struct kc__packed packed;
	struct kc__given given;
	uint64_t key[KEY_WORDS];

	if (before->unpredictable || !kc__early_given(before, &packed, &given))
		return;
	memcpy(key, before->key, sizeof(key));
	key[KEY_WORDS - 1] = kc__arguments_key(formula, &given);
	found_or_made(&(struct making){
	    .kernel = before->kernel,
	    .blocks_per_sm = before->blocks_per_sm,
	    .dims = &before->dims,
	    .key = key,
	    .formula = formula,
	    .given = &given,
	});
}
