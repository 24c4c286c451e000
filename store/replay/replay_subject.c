#include "store/database/calibration.h"
#include "replay_internal.h"

#include <errno.h>
#include <regex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What stands for a device of which only a name is known: λ takes up its speed,
 * its SM count decides how kernels share it. */
#define ASSUMED "v100"

struct subject_table { /* by number, from 1 */
	void **at;
	size_t capacity;
};

struct kc__subject {
	struct kc_store *store;
	const struct kc_replay_options *options;
	regex_t exclude;
	struct kc_intern names;       /* codes ('c'), keys ('k'), shapes ('s') */
	struct subject_table by_name; /* what the names stand for */
	struct kc_ids shape_rows, device_rows;
	struct subject_table shapes;  /* by number of the row: several rows may be one shape */
	struct subject_table given;   /* by name of row and arguments ('g'): likewise */
	struct subject_table devices; /* by number of the row */
	struct kc__cursor shape_row, kernel_row;
	struct kc_cells *cells; /* the subject's own */
	struct kc_engine engine;
	const struct kc_past *past; /* NULL: nothing is taken over */
	int error;
};

static int fail(struct kc__subject *subject, int error)
{
	if (!subject->error)
		subject->error = error;
	return error;
}

/* number 0: no memory. NULL: likewise */
static void **slot_of(struct kc__subject *subject, struct subject_table *table, uint32_t number)
{
	if (!number) {
		fail(subject, -ENOMEM);
		return NULL;
	}
	if (number >= table->capacity) {
		size_t capacity = 2 * (size_t)number + 64;
		void **grown = realloc(table->at, capacity * sizeof(*grown));

		if (!grown) {
			fail(subject, -ENOMEM);
			return NULL;
		}
		memset(grown + table->capacity, 0, (capacity - table->capacity) * sizeof(*grown));
		table->at = grown;
		table->capacity = capacity;
	}
	return &table->at[number];
}

/* The object of this name, made of zeros where it is new. */
static void *named(struct kc__subject *subject, char kind, const void *key, size_t key_bytes, size_t bytes, int *is_new)
{
	void **slot = slot_of(subject, &subject->by_name, kc_intern(&subject->names, kind, key, key_bytes));

	if (!slot)
		return NULL;
	*is_new = !*slot;
	if (!*slot)
		*slot = calloc(1, bytes);
	if (!*slot)
		fail(subject, -ENOMEM);
	return *slot;
}

/* Not calloc: what is forgotten must cost no more than what was touched. */
static struct kc_cells *cells_new(void)
{
	void *cells =
	    mmap(NULL, kc_cells_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (cells == MAP_FAILED)
		return NULL;
	kc_cells_init(cells);
	return cells;
}

static void cells_forget(struct kc_cells *cells)
{
	if (madvise(cells, kc_cells_bytes(), MADV_DONTNEED))
		memset(cells, 0, kc_cells_bytes());
	kc_cells_init(cells);
}

static int exclude(struct kc__subject *subject, const char *pattern, char *why, size_t why_size)
{
	int rc = regcomp(&subject->exclude, pattern, REG_EXTENDED | REG_NOSUB);

	if (rc)
		regerror(rc, &subject->exclude, why, why_size);
	return rc ? -EINVAL : 0;
}

struct kc__subject *kc__subject_new(struct kc_store *s, const struct kc_replay_options *options, char *why,
				    size_t why_size)
{
	struct kc__subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		return NULL;
	subject->store = s;
	subject->options = options;
	subject->cells = subject->engine.cells = cells_new();
	if (!subject->cells)
		goto failed;
	if (options->exclude && exclude(subject, options->exclude, why, why_size))
		goto failed;
	return subject;
failed:
	if (subject->cells)
		munmap(subject->cells, kc_cells_bytes());
	free(subject);
	return NULL;
}

/* Objects made by named(), of this kind */
static void *object_of(const struct kc__subject *subject, size_t slot, char *kind)
{
	const struct kc_interned *name = &subject->names.slots[slot];

	if (!name->id || name->id >= subject->by_name.capacity)
		return NULL;
	*kind = name->at[0];
	return subject->by_name.at[name->id];
}

void kc__subject_free(struct kc__subject *subject)
{
	if (!subject)
		return;
	munmap(subject->cells, kc_cells_bytes());
	for (size_t i = 0; i < subject->names.capacity; i++) {
		char kind;
		void *object = object_of(subject, i, &kind);

		if (object && kind == 's')
			kc__past_free(&((struct kc__replay_shape *)object)->past);
		if (object && kind == 'c')
			free((char *)((struct kc__replay_kernel *)object)->identity.mangled);
		free(object);
	}
	for (size_t i = 0; i < subject->devices.capacity; i++)
		free(subject->devices.at[i]);
	free(subject->by_name.at);
	free(subject->shapes.at);
	free(subject->given.at);
	free(subject->devices.at);
	kc_ids_free(&subject->shape_rows);
	kc_ids_free(&subject->device_rows);
	kc__subject_leave(subject);
	kc_intern_free(&subject->names);
	if (subject->options->exclude)
		regfree(&subject->exclude);
	free(subject);
}

void kc__subject_leave(struct kc__subject *subject)
{
	sqlite3_finalize(subject->shape_row.stmt);
	sqlite3_finalize(subject->kernel_row.stmt);
	subject->shape_row.stmt = subject->kernel_row.stmt = NULL;
	subject->store = NULL;
}

void kc__subject_each(const struct kc__subject *subject, void (*fn)(struct kc__replay_shape *shape, void *arg),
		      void *arg)
{
	for (size_t i = 0; i < subject->names.capacity; i++) {
		char kind;
		void *object = object_of(subject, i, &kind);

		if (object && kind == 's')
			fn(object, arg);
	}
}

void kc__subject_recall(struct kc__subject *subject, const struct kc_past *past)
{
	subject->past = past;
}

struct kc_engine *kc__subject_engine(struct kc__subject *subject)
{
	return &subject->engine;
}

int kc__subject_error(const struct kc__subject *subject)
{
	return subject->error;
}

static sqlite3_stmt *ask(struct kc__subject *subject, struct kc__cursor *cursor, const char *sql, int64_t id)
{
	int found;

	cursor->sql = sql;
	found = kc__cursor_to(subject->store->db, cursor, id);
	if (found < 0)
		fail(subject, found);
	return found > 0 ? cursor->stmt : NULL;
}

/* Devices */

/* What was recorded has what was calibrated before; of an imported device it is known by name, whenever that was. */
static void take_row(struct kc__subject *subject, struct kc__replay_device *device, const struct kc_device_row *row)
{
	const struct kc_calibrated self = {.name = row->device.name};
	struct kc_calibration measured;

	device->info = row->device;
	if (!row->identified && kc_calibration_find(subject->store->db, &self, &measured) > 0)
		kc_device_calibrate(&device->info, &measured);
}

static void name_device(struct kc__subject *subject, struct kc__replay_device *device, int64_t row)
{
	struct kc__cursor cursor = {0};
	sqlite3_stmt *found =
	    ask(subject, &cursor,
		"SELECT iif(trim(uuid, '0') = '', name, uuid), id FROM device WHERE id >= ?1 ORDER BY id", row);

	if (found && sqlite3_column_text(found, 0))
		snprintf(device->name, sizeof(device->name), "%s", (const char *)sqlite3_column_text(found, 0));
	sqlite3_finalize(cursor.stmt);
}

static void know_device(struct kc__subject *subject, struct kc__replay_device *known, int64_t row)
{
	const struct kc_device *stand_in =
	    subject->options->device ? subject->options->device : kc_device_builtin(ASSUMED);
	struct kc_device_row device;
	int found = kc__query_device(subject->store, row, &device);

	if (found < 0)
		fail(subject, found);
	if (found > 0)
		take_row(subject, known, &device);
	name_device(subject, known, row);
	known->assumed = !kc__device_is_known(&known->info);
	if (known->assumed)
		snprintf(known->called, sizeof(known->called), "%s", known->info.name);
	else
		kc_device_complete(&known->info);
	known->impossible = row && (found <= 0 || (!known->assumed && !kc_device_is_possible(&known->info)));
	if (known->assumed || known->impossible) {
		known->info = *stand_in;
		kc_device_complete(&known->info);
	}
	kc_engine_device_init(&subject->engine, &known->engine, &known->info);
	kc_past_recall_device(subject->past, known->name, &subject->engine, &known->engine);
}

struct kc__replay_device *kc__subject_device(struct kc__subject *subject, int64_t row)
{
	void **slot = slot_of(subject, &subject->devices, kc_ids_number(&subject->device_rows, row));

	if (!slot)
		return NULL;
	if (!*slot) {
		*slot = calloc(1, sizeof(struct kc__replay_device));
		if (!*slot) {
			fail(subject, -ENOMEM);
			return NULL;
		}
		know_device(subject, *slot, row);
	}
	return *slot;
}

/* Kernels, keys, shapes */

enum { NAME, MANGLED, CODE_HASH, REGISTERS, STATIC_SHARED, LOCAL, MAX_THREADS }; /* columns */

static void read_code(struct kc__subject *subject, struct kc__replay_kernel *code, sqlite3_stmt *row)
{
	const char *name = (const char *)sqlite3_column_text(row, NAME);
	const char *mangled = (const char *)sqlite3_column_text(row, MANGLED);

	code->resources = (struct kc_resources){
	    .registers = (uint32_t)sqlite3_column_int64(row, REGISTERS),
	    .static_shared_bytes = (uint32_t)sqlite3_column_int64(row, STATIC_SHARED),
	    .local_bytes = (uint32_t)sqlite3_column_int64(row, LOCAL),
	    .max_threads_per_block = (uint32_t)sqlite3_column_int64(row, MAX_THREADS),
	};
	code->identity = (struct kc_code_identity){
	    .mangled = strdup(mangled ? mangled : ""),
	    .code_hash = (uint64_t)sqlite3_column_int64(row, CODE_HASH),
	    .registers = code->resources.registers,
	    .static_shared_bytes = code->resources.static_shared_bytes,
	};
	if (!code->identity.mangled)
		fail(subject, -ENOMEM);
	if (subject->options->exclude && name)
		code->excluded = regexec(&subject->exclude, name, 0, NULL, 0) == 0;
}

static struct kc__replay_kernel *code_of(struct kc__subject *subject, int64_t kernel, int64_t row,
					 struct kc__replay_device *device)
{
	int64_t key[2] = {kernel, row};
	int is_new;
	struct kc__replay_kernel *code = named(subject, 'c', key, sizeof(key), sizeof(*code), &is_new);
	sqlite3_stmt *found;

	if (!code || !is_new)
		return code;
	code->device = device;
	kc_engine_kernel_init(&code->engine, &device->engine);
	found = ask(
	    subject, &subject->kernel_row,
	    "SELECT name, mangled, code_hash, registers, static_shared_bytes, local_bytes, max_threads_per_block, id"
	    " FROM kernel WHERE id >= ?1 ORDER BY id",
	    kernel);
	code->missing = !found;
	if (found)
		read_code(subject, code, found);
	if (code->identity.mangled)
		kc_past_recall_kernel(subject->past, &code->identity, device->name, &code->engine);
	return code;
}

static struct kc_past_query query_of(const struct kc__replay_shape *shape, const struct kc_shape *dims,
				     const char *arguments)
{
	return (struct kc_past_query){
	    .code = shape->code->identity,
	    .uuid = shape->on->name,
	    .device = &shape->on->info,
	    .dims = dims,
	    .arguments = arguments,
	};
}

static struct kc_engine_key *key_of(struct kc__subject *subject, const struct kc__replay_shape *shape,
				    const struct kc_shape *dims)
{
	int64_t key[6] = {shape->kernel,  shape->device,  dims->block[0],
			  dims->block[1], dims->block[2], dims->dynamic_shared_bytes};
	int is_new;
	struct kc_engine_key *found = named(subject, 'k', key, sizeof(key), sizeof(*found), &is_new);

	if (found && is_new) {
		const struct kc_past_query query = query_of(shape, dims, NULL);

		kc_engine_key_init(found, &shape->code->engine);
		kc_past_recall_key(subject->past, &query, found);
	}
	return found;
}

static void name_shape(struct kc__replay_shape *shape, const struct kc_shape *dims, const char *arguments)
{
	if (!shape->code->identity.mangled)
		return;
	shape->name = kc_launch_name(shape->code->identity.mangled, dims, arguments);
	shape->engine.name.launch = kc_launch_identity(shape->name, &shape->code->identity, shape->on->name);
	shape->engine.name.shape = shape->launched->engine.name.launch;
}

static void fill_shape(struct kc__subject *subject, struct kc__replay_shape *shape, const struct kc_shape *dims,
		       const char *arguments, const struct kc_counts *counts, uint32_t blocks_per_sm)
{
	struct kc_past_query query;
	struct kc_engine_key *key;

	shape->unpredictable = KC_NO_ATTRIBUTES;
	shape->on = kc__subject_device(subject, shape->device);
	shape->code = shape->on ? code_of(subject, shape->kernel, shape->device, shape->on) : NULL;
	key = shape->code ? key_of(subject, shape, dims) : NULL;
	if (!key || shape->on->impossible || shape->code->missing)
		return;
	name_shape(shape, dims, arguments);
	shape->unpredictable = kc_engine_variant_init(&shape->engine, key, &shape->launched->whatever_given,
						      &shape->code->resources, dims, blocks_per_sm) == 0
				   ? KC_PREDICTED
				   : KC_DOES_NOT_FIT;
	if (counts && shape->unpredictable == KC_PREDICTED)
		kc_engine_variant_count(&shape->engine, counts);
	kc_engine_variant_name(&shape->engine, shape->engine.name);
	if (!subject->past || !shape->code->identity.mangled)
		return;
	query = query_of(shape, dims, arguments);
	if (shape->launched == shape)
		kc_past_recall_shape(subject->past, &query, &shape->whatever_given);
	if (shape->unpredictable == KC_PREDICTED)
		kc_past_recall_variant(subject->past, &query, &shape->engine);
}

struct shape_name {
	int64_t row[9];
	uint64_t arguments; /* hash; 0: not known */
};

static struct kc__replay_shape *read_shape(struct kc__subject *subject, int64_t id, const char *arguments,
					   const struct kc_counts *counts)
{
	sqlite3_stmt *row = ask(subject, &subject->shape_row,
				"SELECT kernel, device, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
				" dynamic_shared_bytes, blocks_per_sm, id FROM shape WHERE id >= ?1 ORDER BY id",
				id);
	struct shape_name name = {{0}, 0};
	struct kc_shape dims = {.cluster_blocks = 0};
	uint32_t blocks_per_sm;
	struct kc__replay_shape *shape;
	int is_new;

	if (!row)
		return NULL;
	for (int i = 0; i < 9; i++)
		name.row[i] = sqlite3_column_int64(row, i);
	name.arguments = arguments ? kc_fnv(KC_FNV_OFFSET, arguments, strlen(arguments)) : 0;
	blocks_per_sm = (uint32_t)sqlite3_column_int64(row, 9);
	for (int i = 0; i < 3; i++) {
		dims.grid[i] = (uint32_t)name.row[2 + i];
		dims.block[i] = (uint32_t)name.row[5 + i];
	}
	dims.dynamic_shared_bytes = (uint32_t)name.row[8];
	shape = named(subject, 's', &name, sizeof(name), sizeof(*shape), &is_new);
	if (!shape || !is_new)
		return shape;
	shape->dims = dims;
	shape->kernel = name.row[0];
	shape->device = name.row[1];
	shape->launched = arguments ? kc__subject_shape(subject, id, NULL, NULL) : shape;
	if (!shape->launched)
		return NULL;
	fill_shape(subject, shape, &dims, arguments, counts, blocks_per_sm);
	return shape;
}

/* Where the shape of this row and these arguments is kept. */
static void **shape_slot(struct kc__subject *subject, int64_t row, const char *arguments)
{
	if (!arguments)
		return slot_of(subject, &subject->shapes, kc_ids_number(&subject->shape_rows, row));
	return slot_of(subject, &subject->given,
		       kc_intern_two(&subject->names, 'g', &row, sizeof(row), arguments, strlen(arguments)));
}

struct kc__replay_shape *kc__subject_shape(struct kc__subject *subject, int64_t row, const char *arguments,
					   const struct kc_counts *counts)
{
	void **slot = shape_slot(subject, row, arguments);
	struct kc__replay_shape *shape = slot ? *slot : NULL;

	if (slot && !shape) {
		shape = read_shape(subject, row, arguments, counts);
		*shape_slot(subject, row, arguments) = shape; /* tables may have moved */
	}
	return shape;
}

static void forget_pasts(const struct kc_engine_device *device)
{
	for (const struct kc_engine_variant *v = device->measured; v; v = v->next_measured) {
		struct kc__replay_shape *shape =
		    (struct kc__replay_shape *)((char *)v - offsetof(struct kc__replay_shape, engine));

		kc__past_free(&shape->launched->past);
	}
}

/* Names stay with their ids, so what is forgotten is only what was learned. */
void kc__subject_forget(struct kc__subject *subject)
{
	cells_forget(subject->cells);
	for (size_t i = 0; i < subject->devices.capacity; i++) {
		struct kc__replay_device *device = subject->devices.at[i];

		if (!device)
			continue;
		forget_pasts(&device->engine);
		kc_engine_forget(&subject->engine, &device->engine);
	}
}
