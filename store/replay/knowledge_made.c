#include "knowledge_made.h"

#include "knowledge_layout.h"
#include "store/replay/replay_internal.h"
#include "store/query/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Within what a file may hold (knowledge_check.c). */
#define LOG_LAMBDA_MAX 40.0
#define VARIANCE_MAX 100.0

static int fail(struct kc_knowledge_made *made, int error)
{
	if (!made->error)
		made->error = error;
	return error;
}

/* The place of a key; *is_new: it was not there before. UINT32_MAX: no memory. */
static uint32_t place_of(struct kc_knowledge_made *made, struct kc_intern *intern, const void *key, size_t bytes,
			 int *is_new)
{
	uint32_t before = intern->count, number = kc_intern(intern, 0, key, bytes);

	*is_new = intern->count != before;
	if (!number)
		fail(made, -ENOMEM);
	return number ? number - 1 : UINT32_MAX;
}

/* One more of zeros; NULL: no memory. */
static void *grow(struct kc_knowledge_made *made, struct kc__made_rows *rows, size_t bytes)
{
	enum { FIRST = 64 };
	void *at;

	if (rows->count == rows->capacity) {
		uint32_t more = rows->capacity ? 2 * rows->capacity : FIRST;

		at = realloc(rows->at, more * bytes);
		if (!at) {
			fail(made, -ENOMEM);
			return NULL;
		}
		rows->at = at;
		rows->capacity = more;
	}
	at = (char *)rows->at + rows->count++ * bytes;
	memset(at, 0, bytes);
	return at;
}

/* 1: this object of the database that is being read was not pooled before. */
static int is_fresh(struct kc_knowledge_made *made, const void *object)
{
	struct {
		uint64_t database;
		const void *object;
	} key = {made->databases, object};
	int is_new;

	return place_of(made, &made->pooled, &key, sizeof(key), &is_new) != UINT32_MAX && is_new;
}

static uint32_t sum_of(uint32_t a, uint32_t b)
{
	uint64_t sum = (uint64_t)a + b;

	return sum < KC_KNOWLEDGE_COUNT_MAX ? (uint32_t)sum : KC_KNOWLEDGE_COUNT_MAX;
}

/* Mean and variance of all measurements together. log_value: that of from, in the units of into. */
static void pool(struct kc_knowledge_lambda *into, const struct kc_lambda *from, double log_value)
{
	double n = (double)into->count + from->count, a = into->count / n, b = from->count / n;
	double apart = log_value - into->log_value;

	if (!from->count || !(fabs(log_value) <= LOG_LAMBDA_MAX))
		return;
	into->log_value = a * into->log_value + b * log_value;
	into->variance = fmin(a * into->variance + b * from->variance + a * b * apart * apart, VARIANCE_MAX);
	into->weight = fmax(into->weight, from->weight);
	into->count = sum_of(into->count, from->count);
	into->spread_count = sum_of(into->spread_count, from->spread_count);
}

/* Devices, kernels */

static uint32_t device_of(struct kc_knowledge_made *made, const struct kc__replay_device *from)
{
	const struct kc_device *info = &from->info;
	struct kc_knowledge_device row = {
	    .cc_major = info->cc_major,
	    .cc_minor = info->cc_minor,
	    .sm_count = info->sm_count,
	    .cores_per_sm = info->cores_per_sm,
	    .clock_khz = info->clock_khz,
	    .simulated = info->simulated != 0,
	    .memory_bytes_per_s = info->memory_bytes_per_s,
	};
	const struct kc_lambda *lambda = &from->engine.learned.levels[KC_UNIT_NOMINAL].lambda;
	struct kc_knowledge_device *device;
	int is_new;
	uint32_t place;

	memcpy(row.name, info->name, strnlen(info->name, sizeof(row.name) - 1));
	place = place_of(made, &made->device_names, &row, sizeof(row), &is_new);
	device = place == UINT32_MAX ? NULL
		 : is_new            ? grow(made, &made->devices, sizeof(*device))
				     : (struct kc_knowledge_device *)made->devices.at + place;
	if (!device)
		return UINT32_MAX;
	if (is_new)
		*device = row;
	if (is_fresh(made, from))
		pool(&device->lambda, lambda, lambda->log_value);
	return place;
}

static void pool_sizes(struct kc_scaling *into, const struct kc_scaling *from)
{
	for (uint32_t i = 0; i < from->count; i++)
		kc_scaling_learn(into, &from->points[i].size, (int64_t)lround(exp((double)from->points[i].log_ns)));
}

static uint32_t kernel_of(struct kc_knowledge_made *made, const struct kc__replay_kernel *from, uint32_t device)
{
	static const struct kc_shape none = {0};
	const struct kc_code_identity *code = &from->identity;
	const uint64_t key[] = {kc_launch_name(code->mangled, &none, NULL), code->code_hash,
				(uint64_t)code->registers << 32 | code->static_shared_bytes, device};
	int is_new;
	uint32_t place = place_of(made, &made->kernel_names, key, sizeof(key), &is_new);
	struct kc__made_kernel *kernel;

	if (place == UINT32_MAX)
		return place;
	kernel =
	    is_new ? grow(made, &made->kernels, sizeof(*kernel)) : (struct kc__made_kernel *)made->kernels.at + place;
	if (!kernel)
		return UINT32_MAX;
	if (is_new) {
		kernel->row = (struct kc_knowledge_kernel){.name = key[0],
							   .code_hash = code->code_hash,
							   .registers = code->registers,
							   .static_shared_bytes = code->static_shared_bytes,
							   .device = device};
		kernel->place = place;
		kernel->mangled = strdup(code->mangled);
		if (!kernel->mangled)
			fail(made, -ENOMEM);
	}
	if (is_fresh(made, from))
		pool_sizes(&kernel->sizes, &from->engine.learned.scaling);
	return place;
}

/* Entries */

/* UINT32_MAX: there is nothing to say, or no memory. */
static uint32_t add_entry(struct kc_knowledge_made *made, uint64_t name, uint32_t kernel, int whole,
			  const struct kc_work *work, const struct kc_lambda *lambda)
{
	const uint64_t key[] = {name, kernel};
	struct kc__made_entry *entry;
	uint32_t place;
	int is_new;

	if (!lambda->count || !(work->unit_ns > 0) || !(fabs(lambda->log_value) <= LOG_LAMBDA_MAX))
		return UINT32_MAX;
	place = place_of(made, &made->entry_names, key, sizeof(key), &is_new);
	if (place == UINT32_MAX)
		return place;
	entry = is_new ? grow(made, &made->entries, sizeof(*entry)) : (struct kc__made_entry *)made->entries.at + place;
	if (!entry)
		return UINT32_MAX;
	if (is_new)
		entry->row = (struct kc_knowledge_entry){.name = name,
							 .kernel = kernel,
							 .whole = whole != 0,
							 .unit_ns = work->unit_ns,
							 .launch_ns = work->launch_ns};
	/* λ of a block shape is the same number for any grid. */
	pool(&entry->row.lambda, lambda, lambda->log_value + (whole ? log(entry->row.unit_ns / work->unit_ns) : 0));
	return place;
}

/* Where the arguments of a launch are not known, they are taken to be the only ones known of its launch shape. */
static void note_given(struct kc_knowledge_made *made, uint64_t whatever_given, uint32_t kernel, uint32_t entry)
{
	const uint64_t key[] = {whatever_given, kernel};
	int is_new;
	uint32_t place = place_of(made, &made->given_names, key, sizeof(key), &is_new);
	struct kc__made_given *given;

	if (place == UINT32_MAX)
		return;
	given = is_new ? grow(made, &made->given, sizeof(*given)) : (struct kc__made_given *)made->given.at + place;
	if (!given)
		return;
	if (is_new)
		*given = (struct kc__made_given){whatever_given, kernel, entry, 0};
	given->several |= given->entry != entry;
}

static void take_shape(struct kc__replay_shape *shape, void *arg)
{
	struct kc_knowledge_made *made = arg;
	const char *mangled = shape->code ? shape->code->identity.mangled : NULL;
	const struct kc_engine_variant *variant = &shape->engine;
	struct kc_shape block = shape->dims;
	uint32_t device, kernel, entry;

	if (shape->on && shape->on->foreign) {
		made->foreign_gpu++;
		return;
	}
	if (!mangled || !variant->learned.measured || !variant->name.launch || shape->unpredictable != KC_PREDICTED)
		return;
	if (shape->on->assumed && !shape->on->by_capability) {
		made->unknown_gpu++;
		return;
	}
	device = device_of(made, shape->on);
	kernel = device == UINT32_MAX ? UINT32_MAX : kernel_of(made, shape->code, device);
	if (kernel == UINT32_MAX)
		return;
	((struct kc__made_kernel *)made->kernels.at)[kernel].row.measured += variant->learned.measured;
	memset(block.grid, 0, sizeof(block.grid));
	if (is_fresh(made, variant->key))
		add_entry(made, kc_launch_name(mangled, &block, NULL), kernel, 0, &variant->work,
			  &variant->key->learned.levels[KC_UNIT_NOMINAL].lambda);
	entry = add_entry(made, shape->name, kernel, 1, &variant->work, &variant->learned.level.lambda);
	if (entry != UINT32_MAX && shape->launched != shape)
		note_given(made, kc_launch_name(mangled, &shape->dims, NULL), kernel, entry);
}

/* Databases */

struct process_list {
	struct kc_knowledge_made *made;
	struct kc__made_rows parts; /* kc__part */
};

static int add_process(sqlite3_stmt *row, void *arg)
{
	struct process_list *list = arg;
	struct kc__part *part = grow(list->made, &list->parts, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*part = (struct kc__part){sqlite3_column_int64(row, 0), 0, KC_SEQUENCE_MASK};
	return 0;
}

static int replay_all(struct kc_knowledge_made *made, struct kc_store *s, const struct process_list *list)
{
	struct kc__replay_knowledge *knowledge;
	int rc = kc__replay_parts(s, list->parts.at, list->parts.count, &knowledge);

	if (rc)
		return rc;
	made->databases++;
	kc__knowledge_each(knowledge, take_shape, made);
	kc__knowledge_free(knowledge);
	return made->error;
}

int kc_knowledge_made_add(struct kc_knowledge_made *made, struct kc_store *s)
{
	struct process_list list = {.made = made};
	int rc = kc__select(s, NULL, "SELECT id FROM process ORDER BY source NOT NULL, started_unix_ns, id",
			    add_process, &list);

	if (rc == 0)
		rc = replay_all(made, s, &list);
	free(list.parts.at);
	return rc;
}

struct kc_knowledge_made *kc_knowledge_made_new(int anonymous)
{
	struct kc_knowledge_made *made = calloc(1, sizeof(*made));

	if (made)
		made->anonymous = anonymous;
	return made;
}

void kc_knowledge_made_free(struct kc_knowledge_made *made)
{
	if (!made)
		return;
	for (uint32_t i = 0; i < made->kernels.count; i++)
		free(((struct kc__made_kernel *)made->kernels.at)[i].mangled);
	free(made->devices.at);
	free(made->kernels.at);
	free(made->entries.at);
	free(made->given.at);
	kc_intern_free(&made->device_names);
	kc_intern_free(&made->kernel_names);
	kc_intern_free(&made->entry_names);
	kc_intern_free(&made->given_names);
	kc_intern_free(&made->pooled);
	free(made);
}
