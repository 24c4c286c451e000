#include "store/database/devices/calibration.h"
#include "store/database/devices/device_row.h"
#include "replay_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Stands for a device of which nothing is known: λ makes up for the wrong speed, but the SM count decides how kernels
 * share the device. */
#define ASSUMED "v100"
/* Of the tables of a name, about, besides its text. */
#define NAME_BYTES 64u

struct knowledge_table { /* by number, from 1 */
	void **at;
	size_t capacity;
};

struct kc__replay_knowledge {
	struct kc_store *store;
	const struct kc_device *stand_in; /* for devices that the database does not describe; NULL: by what it tells */
	const struct kc__replay_observer *observer;
	struct kc_intern names;         /* of kernels ('c'), kernels with a block shape ('k'), and launch shapes on a
					 * model of GPU ('w'), launch shapes ('s') */
	struct knowledge_table by_name; /* the objects with these names */
	struct kc_ids shape_rows, device_rows;
	struct knowledge_table shapes;  /* by number of the row; several rows may be the same shape */
	struct knowledge_table given;   /* by name of row and arguments ('g'); likewise */
	struct knowledge_table devices; /* by number of the row */
	struct kc__cursor shape_row, kernel_row;
	struct kc_cells *cells; /* its own, to be unmapped */
	struct kc_engine engine;
	struct kc_beginning from; /* what learning begins with */
	int error;
};

static int fail(struct kc__replay_knowledge *knowledge, int error)
{
	if (!knowledge->error)
		knowledge->error = error;
	return error;
}

/* 0 or -ENOMEM */
static int take(struct kc__replay_knowledge *knowledge, size_t bytes)
{
	return kc__take(knowledge->store, bytes);
}

/* number 0: there was no memory for a number. NULL: no memory. */
static void **slot_of(struct kc__replay_knowledge *knowledge, struct knowledge_table *table, uint32_t number)
{
	if (!number) {
		fail(knowledge, -ENOMEM);
		return NULL;
	}
	if (number >= table->capacity) {
		size_t capacity = 2 * (size_t)number + 64;
		void **grown = take(knowledge, (capacity - table->capacity) * sizeof(*grown))
				   ? NULL
				   : realloc(table->at, capacity * sizeof(*grown));

		if (!grown) {
			fail(knowledge, -ENOMEM);
			return NULL;
		}
		memset(grown + table->capacity, 0, (capacity - table->capacity) * sizeof(*grown));
		table->at = grown;
		table->capacity = capacity;
	}
	return &table->at[number];
}

/* The object of this name, made of zeros where it is new. */
static void *named(struct kc__replay_knowledge *knowledge, char kind, const void *key, size_t key_bytes, size_t bytes,
		   int *is_new)
{
	void **slot = slot_of(knowledge, &knowledge->by_name, kc_intern(&knowledge->names, kind, key, key_bytes));

	if (!slot)
		return NULL;
	*is_new = !*slot;
	if (!*slot && !take(knowledge, NAME_BYTES + key_bytes + bytes))
		*slot = calloc(1, bytes);
	if (!*slot)
		fail(knowledge, -ENOMEM);
	return *slot;
}

/* Mapped, so that what is never written costs no memory. */
static struct kc_cells *cells_new(void)
{
	void *cells =
	    mmap(NULL, kc_cells_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (cells == MAP_FAILED)
		return NULL;
	kc_cells_init(cells);
	return cells;
}

struct kc__replay_knowledge *kc__knowledge_new(struct kc_store *s, const struct kc_device *device,
					       const struct kc__replay_observer *observer)
{
	struct kc__replay_knowledge *knowledge = calloc(1, sizeof(*knowledge));

	if (!knowledge)
		return NULL;
	knowledge->store = s;
	knowledge->stand_in = device;
	knowledge->observer = observer;
	knowledge->cells = knowledge->engine.cells = cells_new();
	if (!knowledge->cells) {
		free(knowledge);
		return NULL;
	}
	return knowledge;
}

static void forget_observed(const struct kc__replay_knowledge *knowledge, struct kc__replay_shape *shape)
{
	if (knowledge->observer)
		knowledge->observer->forgotten(shape);
}

/* Objects made by named(), of this kind */
static void *object_of(const struct kc__replay_knowledge *knowledge, size_t slot, char *kind)
{
	const struct kc_interned *name = &knowledge->names.slots[slot];

	if (!name->id || name->id >= knowledge->by_name.capacity)
		return NULL;
	*kind = name->at[0];
	return knowledge->by_name.at[name->id];
}

/* Several rows may have one. */
static void free_devices(struct kc__replay_knowledge *knowledge)
{
	for (size_t i = 0; i < knowledge->devices.capacity; i++) {
		const struct kc__replay_device *device = knowledge->devices.at[i];

		if (device && kc_ids_find(&knowledge->device_rows, device->row) != i)
			knowledge->devices.at[i] = NULL;
	}
	for (size_t i = 0; i < knowledge->devices.capacity; i++)
		free(knowledge->devices.at[i]);
}

static void free_code(struct kc__replay_kernel *code)
{
	free((char *)code->identity.mangled);
	free(code->engine.by_arguments);
}

void kc__knowledge_free(struct kc__replay_knowledge *knowledge)
{
	if (!knowledge)
		return;
	munmap(knowledge->cells, kc_cells_bytes());
	for (size_t i = 0; i < knowledge->names.capacity; i++) {
		char kind;
		void *object = object_of(knowledge, i, &kind);

		if (object && kind == 's')
			forget_observed(knowledge, object);
		if (object && kind == 'c')
			free_code(object);
		free(object);
	}
	free_devices(knowledge);
	free(knowledge->by_name.at);
	free(knowledge->shapes.at);
	free(knowledge->given.at);
	free(knowledge->devices.at);
	kc_ids_free(&knowledge->shape_rows);
	kc_ids_free(&knowledge->device_rows);
	kc__knowledge_leave(knowledge);
	kc_intern_free(&knowledge->names);
	free(knowledge);
}

void kc__knowledge_leave(struct kc__replay_knowledge *knowledge)
{
	sqlite3_finalize(knowledge->shape_row.stmt);
	sqlite3_finalize(knowledge->kernel_row.stmt);
	knowledge->shape_row.stmt = knowledge->kernel_row.stmt = NULL;
	knowledge->store = NULL;
}

void kc__knowledge_each(const struct kc__replay_knowledge *knowledge,
			void (*fn)(struct kc__replay_shape *shape, void *arg), void *arg)
{
	for (size_t i = 0; i < knowledge->names.capacity; i++) {
		char kind;
		void *object = object_of(knowledge, i, &kind);

		if (object && kind == 's')
			fn(object, arg);
	}
}

void kc__knowledge_recall(struct kc__replay_knowledge *knowledge, const struct kc_beginning *from)
{
	knowledge->from = *from;
	kc_past_recall_cells(from, knowledge->cells);
	kc_cells_take_over(knowledge->cells);
}

struct kc_engine *kc__knowledge_engine(struct kc__replay_knowledge *knowledge)
{
	return &knowledge->engine;
}

int kc__knowledge_error(const struct kc__replay_knowledge *knowledge)
{
	return knowledge->error;
}

static sqlite3_stmt *ask(struct kc__replay_knowledge *knowledge, struct kc__cursor *cursor, const char *sql, int64_t id)
{
	int found;

	cursor->sql = sql;
	found = kc__cursor_to(knowledge->store->db, cursor, id);
	if (found < 0)
		fail(knowledge, found);
	return found > 0 ? cursor->stmt : NULL;
}

/* Devices */

/* What was recorded has what was calibrated before; of an imported device it is known by name, whenever that was. */
static void take_row(struct kc__replay_knowledge *knowledge, struct kc__replay_device *device,
		     const struct kc_device_row *row)
{
	const struct kc_calibrated self = {.name = row->device.name};
	struct kc_calibration measured;

	device->info = row->device;
	device->identified = row->identified;
	device->imported = row->imported;
	snprintf(device->name, sizeof(device->name), "%.63s", row->identified ? row->uuid : row->device.name);
	if (!row->identified && kc_calibration_find(knowledge->store->db, &self, &measured) > 0)
		kc_device_calibrate(&device->info, &measured);
}

/* A device that is told to stand for it; else one of the compute capability that the database or the name tells. */
static const struct kc_device *stand_in_of(const struct kc__replay_knowledge *knowledge,
					   struct kc__replay_device *known)
{
	uint32_t cc_major = known->info.cc_major, cc_minor = known->info.cc_minor;

	if (knowledge->stand_in)
		return knowledge->stand_in;
	known->by_capability = cc_major || kc_device_capability_of(known->called, &cc_major, &cc_minor) == 0;
	if (!known->by_capability)
		return kc_device_builtin(ASSUMED);
	known->info.cc_major = cc_major;
	known->info.cc_minor = cc_minor;
	return kc_device_builtin_like(cc_major, cc_minor);
}

static void assume(const struct kc__replay_knowledge *knowledge, struct kc__replay_device *known)
{
	known->stand_in = stand_in_of(knowledge, known);
	if (known->by_capability)
		kc_device_assume(&known->info, known->stand_in);
	if (!known->by_capability || !kc_device_is_possible(&known->info)) {
		known->info = *known->stand_in;
		kc_device_complete(&known->info);
	}
}

static void describe_device(struct kc__replay_knowledge *knowledge, struct kc__replay_device *known, int64_t row)
{
	struct kc_device_row device;
	int found = kc__device_row_load(knowledge->store, row, &device);

	if (found < 0)
		fail(knowledge, found);
	if (found > 0)
		take_row(knowledge, known, &device);
	known->row = row;
	known->foreign = !knowledge->stand_in && kc_device_is_foreign(known->info.name);
	known->assumed = known->foreign || !kc__device_is_known(&known->info);
	if (known->assumed)
		snprintf(known->called, sizeof(known->called), "%s", known->info.name);
	else
		kc_device_complete(&known->info);
	known->impossible = row && (found <= 0 || (!known->assumed && !kc_device_is_possible(&known->info)));
	if (known->impossible)
		known->info = (struct kc_device){.cc_major = 0};
	if (known->assumed || known->impossible)
		assume(knowledge, known);
}

/* GPUs of one model in imported traces are known as one: what one of them taught of kernels and sizes serves on all.
 * Recorded processes learned of each by itself. NULL: it is the first of its kind. */
static struct kc__replay_device *alike(const struct kc__replay_knowledge *knowledge,
				       const struct kc__replay_device *device)
{
	for (size_t i = 0; device->imported && i < knowledge->devices.capacity; i++) {
		struct kc__replay_device *other = knowledge->devices.at[i];

		if (other && other != device && other->imported && !strcmp(other->name, device->name) &&
		    other->impossible == device->impossible &&
		    !memcmp(&other->info, &device->info, sizeof(device->info)))
			return other;
	}
	return NULL;
}

static struct kc__replay_device *know_device(struct kc__replay_knowledge *knowledge, int64_t row)
{
	struct kc__replay_device *known = take(knowledge, sizeof(*known)) ? NULL : calloc(1, sizeof(*known)), *other;

	if (!known) {
		fail(knowledge, -ENOMEM);
		return NULL;
	}
	describe_device(knowledge, known, row);
	other = alike(knowledge, known);
	if (other) {
		free(known);
		return other;
	}
	kc_engine_device_init(&knowledge->engine, &known->engine, &known->info);
	kc_past_recall_device(&knowledge->from, known->name, &knowledge->engine, &known->engine);
	return known;
}

struct kc__replay_device *kc__knowledge_device(struct kc__replay_knowledge *knowledge, int64_t row)
{
	void **slot = slot_of(knowledge, &knowledge->devices, kc_ids_number(&knowledge->device_rows, row));

	if (slot && !*slot)
		*slot = know_device(knowledge, row);
	return slot ? *slot : NULL;
}

/* Kernels, keys, shapes */

enum { MANGLED, CODE_HASH, REGISTERS, STATIC_SHARED, LOCAL, MAX_THREADS }; /* columns */

/* row NULL: the database has none. 0 or -ENOMEM. */
static int read_code(struct kc__replay_knowledge *knowledge, struct kc__replay_kernel *code, sqlite3_stmt *row)
{
	const char *mangled = row ? (const char *)sqlite3_column_text(row, MANGLED) : NULL;

	code->missing = !row;
	code->identity.mangled = strdup(mangled ? mangled : "");
	if (!code->identity.mangled || take(knowledge, strlen(code->identity.mangled)))
		return fail(knowledge, -ENOMEM);
	if (!row)
		return 0;
	code->resources = (struct kc_resources){
	    .registers = (uint32_t)sqlite3_column_int64(row, REGISTERS),
	    .static_shared_bytes = (uint32_t)sqlite3_column_int64(row, STATIC_SHARED),
	    .local_bytes = (uint32_t)sqlite3_column_int64(row, LOCAL),
	    .max_threads_per_block = (uint32_t)sqlite3_column_int64(row, MAX_THREADS),
	};
	code->identity.code_hash = (uint64_t)sqlite3_column_int64(row, CODE_HASH);
	code->identity.registers = code->resources.registers;
	code->identity.static_shared_bytes = code->resources.static_shared_bytes;
	return 0;
}

static struct kc__replay_kernel *code_of(struct kc__replay_knowledge *knowledge, int64_t kernel,
					 struct kc__replay_device *device)
{
	int64_t key[2] = {kernel, device->row};
	int is_new;
	struct kc__replay_kernel *code = named(knowledge, 'c', key, sizeof(key), sizeof(*code), &is_new);
	sqlite3_stmt *found;

	if (!code || !is_new)
		return code && code->device ? code : NULL;
	found = ask(knowledge, &knowledge->kernel_row,
		    "SELECT mangled, code_hash, registers, static_shared_bytes, local_bytes, max_threads_per_block, id"
		    " FROM kernel WHERE id >= ?1 ORDER BY id",
		    kernel);
	if (read_code(knowledge, code, found))
		return NULL;
	code->device = device;
	kc_past_make_kernel(&knowledge->from, &code->identity, device->name, &device->engine, &code->engine);
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

static struct kc_engine_key *key_of(struct kc__replay_knowledge *knowledge, const struct kc__replay_shape *shape,
				    const struct kc_shape *dims)
{
	int64_t key[6] = {shape->kernel,  shape->on->row, dims->block[0],
			  dims->block[1], dims->block[2], dims->dynamic_shared_bytes};
	int is_new;
	struct kc_engine_key *found = named(knowledge, 'k', key, sizeof(key), sizeof(*found), &is_new);

	if (found && is_new) {
		const struct kc_past_query query = query_of(shape, dims, NULL);

		kc_past_make_key(&knowledge->from, &query, &shape->code->engine, found);
	}
	return found;
}

/* What a launch came after says how long it takes on that GPU alone, whatever else those of one model share. */
static void name_shape(struct kc__replay_shape *shape, const struct kc_shape *dims, const char *arguments)
{
	char gpu[2 * sizeof(shape->on->name)];

	if (shape->device == shape->on->row)
		snprintf(gpu, sizeof(gpu), "%s", shape->on->name);
	else
		snprintf(gpu, sizeof(gpu), "%s, row %" PRId64, shape->on->name, shape->device);
	shape->name = kc_launch_name(shape->code->identity.mangled, dims, arguments);
	shape->engine.name.launch = kc_launch_identity(shape->name, &shape->code->identity, gpu);
	shape->engine.name.shape =
	    kc_launch_identity(kc_launch_name(shape->code->identity.mangled, dims, NULL), &shape->code->identity, gpu);
}

/* A launch of a trace ran. If it does not fit the device, less is known of that than it seems. */
static int init_variant(struct kc__replay_shape *shape, struct kc_engine_key *key, const struct kc_shape *dims,
			uint32_t blocks_per_sm)
{
	_Atomic uint32_t *measured = shape->launched->shape_measured;
	struct kc_resources resources = shape->code->resources;
	struct kc_shape clamped = *dims;
	int rc = kc_engine_variant_init(&shape->engine, key, measured, &resources, dims, blocks_per_sm);

	if (rc != -ERANGE || (shape->on->identified && !shape->on->assumed))
		return rc;
	shape->beyond = kc_work_clamp(&shape->on->info, &resources, &clamped);
	return kc_engine_variant_init(&shape->engine, key, measured, &resources, &clamped, 0);
}

static void *memory(size_t bytes, void *knowledge)
{
	void *zeros = take(knowledge, bytes) ? NULL : calloc(1, bytes);

	if (!zeros)
		fail(knowledge, -ENOMEM);
	return zeros;
}

static void fill_shape(struct kc__replay_knowledge *knowledge, struct kc__replay_shape *shape,
		       const struct kc_shape *dims, const char *arguments, const struct kc_counts *counts,
		       uint32_t blocks_per_sm)
{
	struct kc_past_query query;
	struct kc_engine_key *key;

	shape->unpredictable = KC_NO_ATTRIBUTES;
	shape->code = code_of(knowledge, shape->kernel, shape->on);
	key = shape->code ? key_of(knowledge, shape, dims) : NULL;
	if (!key || shape->on->impossible || shape->code->missing)
		return;
	if (shape->on->foreign) {
		shape->unpredictable = KC_NO_DEVICE;
		return;
	}
	name_shape(shape, dims, arguments);
	shape->unpredictable = init_variant(shape, key, dims, blocks_per_sm) ? KC_DOES_NOT_FIT : KC_PREDICTED;
	if (counts && shape->unpredictable == KC_PREDICTED)
		kc_engine_variant_count(&shape->engine, counts);
	kc_engine_variant_name(&shape->engine, shape->engine.name);
	query = query_of(shape, dims, arguments);
	if (shape->launched == shape)
		kc_past_recall_shape(&knowledge->from, &query, shape->shape_measured);
	if (shape->unpredictable == KC_PREDICTED)
		kc_past_make_variant(&knowledge->from, &query, memory, knowledge, &shape->engine);
}

struct shape_name {
	int64_t row[9];
	uint64_t arguments; /* hash; 0: not known */
};

static struct kc__replay_shape *read_shape(struct kc__replay_knowledge *knowledge, int64_t id, const char *arguments,
					   const struct kc_counts *counts)
{
	sqlite3_stmt *row = ask(knowledge, &knowledge->shape_row,
				"SELECT kernel, device, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
				" dynamic_shared_bytes, blocks_per_sm, id FROM shape WHERE id >= ?1 ORDER BY id",
				id);
	struct shape_name name = {{0}, 0};
	struct kc_shape dims = {.cluster_blocks = 0};
	uint32_t blocks_per_sm;
	struct kc__replay_device *on;
	struct kc__replay_shape *shape;
	int is_new;

	if (!row)
		return NULL;
	for (int i = 0; i < 9; i++)
		name.row[i] = sqlite3_column_int64(row, i);
	on = kc__knowledge_device(knowledge, name.row[1]);
	if (!on)
		return NULL;
	name.arguments = arguments ? kc_fnv(KC_FNV_OFFSET, arguments, strlen(arguments)) : 0;
	blocks_per_sm = (uint32_t)sqlite3_column_int64(row, 9);
	for (int i = 0; i < 3; i++) {
		dims.grid[i] = (uint32_t)name.row[2 + i];
		dims.block[i] = (uint32_t)name.row[5 + i];
	}
	dims.dynamic_shared_bytes = (uint32_t)name.row[8];
	shape = named(knowledge, 's', &name, sizeof(name), sizeof(*shape), &is_new);
	if (!shape || !is_new)
		return shape;
	shape->dims = dims;
	shape->kernel = name.row[0];
	shape->device = name.row[1];
	shape->on = on;
	shape->launched = arguments ? kc__knowledge_shape(knowledge, id, NULL, NULL) : shape;
	if (!shape->launched)
		return NULL;
	name.row[1] = on->row;
	name.arguments = 0;
	shape->shape_measured = shape->launched != shape ? shape->launched->shape_measured
							 : named(knowledge, 'w', &name, sizeof(name),
								 sizeof(*shape->shape_measured), &is_new);
	if (!shape->shape_measured)
		return NULL;
	fill_shape(knowledge, shape, &dims, arguments, counts, blocks_per_sm);
	return shape;
}

/* Where the shape of this row and these arguments is kept. */
static void **shape_slot(struct kc__replay_knowledge *knowledge, int64_t row, const char *arguments)
{
	if (!arguments)
		return slot_of(knowledge, &knowledge->shapes, kc_ids_number(&knowledge->shape_rows, row));
	return slot_of(knowledge, &knowledge->given,
		       kc_intern_two(&knowledge->names, 'g', &row, sizeof(row), arguments, strlen(arguments)));
}

struct kc__replay_shape *kc__knowledge_shape(struct kc__replay_knowledge *knowledge, int64_t row, const char *arguments,
					     const struct kc_counts *counts)
{
	void **slot = shape_slot(knowledge, row, arguments);
	struct kc__replay_shape *shape = slot ? *slot : NULL;

	if (slot && !shape && !take(knowledge, NAME_BYTES + (arguments ? strlen(arguments) : 0))) {
		shape = read_shape(knowledge, row, arguments, counts);
		*shape_slot(knowledge, row, arguments) = shape; /* tables may have moved */
	}
	return shape;
}
