#include "internal.h"
#include "store/common/growing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* When they have so many, these tables are emptied and filled again from the database. */
#define MAX_SHAPES 8192u
#define MAX_LOCAL_ROWS 16384u
#define FIRST_SHAPES 256u

/* The place in the table for the row of a local id; NULL: no memory. */
static int64_t *place_of(struct kc__local_rows *rows, uint32_t local)
{
	uint32_t number;

	if (rows->ids.count >= MAX_LOCAL_ROWS && !kc_ids_find(&rows->ids, local)) {
		kc_ids_clear(&rows->ids);
		memset(rows->at, 0, rows->capacity * sizeof(*rows->at));
	}
	number = kc_ids_number(&rows->ids, local);
	if (!number)
		return NULL;
	if (KC_ROOM(rows->at, rows->capacity, number))
		return NULL;
	return &rows->at[number];
}

static int64_t look_up(struct kc_store *s, enum kc__statement which, uint32_t local)
{
	sqlite3_stmt *stmt = kc__statement(s, which);
	int64_t row = 0;
	int rc;

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, local);
	}
	rc = kc__run_value(s, stmt, &row);
	return rc ? rc : row;
}

static int64_t local_row(struct kc_store *s, struct kc__local_rows *rows, enum kc__statement which, uint32_t local)
{
	int64_t *row;

	if (local == 0)
		return 0;
	row = place_of(rows, local);
	if (!row)
		return -ENOMEM;
	if (*row <= 0)
		*row = look_up(s, which, local);
	return *row;
}

int64_t kc__kernel_row(struct kc_store *s, uint32_t local)
{
	return local_row(s, &s->dictionary.kernels, KC__LOCAL_KERNEL, local);
}

void kc__kernel_row_forget(struct kc_store *s, uint32_t local)
{
	uint32_t number = kc_ids_find(&s->dictionary.kernels.ids, local);

	if (number)
		s->dictionary.kernels.at[number] = 0;
}

int64_t kc__stream_row(struct kc_store *s, uint32_t local)
{
	return local_row(s, &s->dictionary.streams, KC__LOCAL_STREAM, local);
}

int64_t kc__device_row(struct kc_store *s, uint32_t ordinal)
{
	int64_t *row;

	if (ordinal >= sizeof(s->dictionary.devices) / sizeof(s->dictionary.devices[0]))
		return 0;
	row = &s->dictionary.devices[ordinal];
	if (*row <= 0)
		*row = look_up(s, KC__LOCAL_DEVICE, ordinal);
	return *row;
}

static uint64_t hash(const struct kc__shape_slot *key)
{
	const uint64_t words[] = {
	    (uint64_t)key->kernel << 16 ^ (uint64_t)key->device,
	    (uint64_t)key->shape.grid[0] << 32 | key->shape.grid[1],
	    (uint64_t)key->shape.grid[2] << 32 | key->shape.dynamic_shared_bytes,
	    (uint64_t)key->shape.block[0] << 40 | (uint64_t)key->shape.block[1] << 20 | key->shape.block[2],
	    key->blocks_per_sm,
	};
	uint64_t h = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		h = (h ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio */
		h ^= h >> 32;
	}
	return h;
}

static int same(const struct kc__shape_slot *a, const struct kc__shape_slot *b)
{
	return a->kernel == b->kernel && a->device == b->device && a->blocks_per_sm == b->blocks_per_sm &&
	       memcmp(&a->shape, &b->shape, sizeof(a->shape)) == 0;
}

static struct kc__shape_slot *find_shape(struct kc__shape_slot *shapes, size_t capacity,
					 const struct kc__shape_slot *key)
{
	size_t i = hash(key) & (capacity - 1);

	while (shapes[i].row && !same(&shapes[i], key))
		i = (i + 1) & (capacity - 1);
	return &shapes[i];
}

static void forget_shapes(struct kc__dictionary *d)
{
	free(d->shapes);
	d->shapes = NULL;
	d->shape_count = d->shape_capacity = 0;
}

static int grow_shapes(struct kc__dictionary *d)
{
	size_t capacity = d->shape_capacity ? d->shape_capacity * 2 : FIRST_SHAPES;
	struct kc__shape_slot *shapes = calloc(capacity, sizeof(*shapes));

	if (!shapes)
		return -ENOMEM;
	for (size_t i = 0; i < d->shape_capacity; i++) {
		if (d->shapes[i].row)
			*find_shape(shapes, capacity, &d->shapes[i]) = d->shapes[i];
	}
	free(d->shapes);
	d->shapes = shapes;
	d->shape_capacity = capacity;
	return 0;
}

static void bind_shape(sqlite3_stmt *stmt, const struct kc__shape_slot *key)
{
	sqlite3_bind_int64(stmt, 1, key->kernel);
	sqlite3_bind_int64(stmt, 2, key->device);
	for (int i = 0; i < 3; i++) {
		sqlite3_bind_int64(stmt, 3 + i, key->shape.grid[i]);
		sqlite3_bind_int64(stmt, 6 + i, key->shape.block[i]);
	}
	sqlite3_bind_int64(stmt, 9, key->shape.dynamic_shared_bytes);
	sqlite3_bind_int64(stmt, 10, key->blocks_per_sm);
}

static int64_t shape_in_table(struct kc_store *s, const struct kc__shape_slot *key)
{
	sqlite3_stmt *find = kc__statement(s, KC__FIND_SHAPE), *add = kc__statement(s, KC__ADD_SHAPE);
	int64_t row = 0;
	int rc;

	if (find)
		bind_shape(find, key);
	rc = kc__run_value(s, find, &row);
	if (rc || row)
		return rc ? rc : row;
	if (add)
		bind_shape(add, key);
	rc = kc__run(s, add);
	return rc ? rc : sqlite3_last_insert_rowid(s->db);
}

int64_t kc__shape_row(struct kc_store *s, const struct kc_launch *launch)
{
	return kc__shape_row_of(s, kc__kernel_row(s, launch->kernel), launch);
}

int64_t kc__shape_row_of(struct kc_store *s, int64_t kernel, const struct kc_launch *launch)
{
	struct kc__dictionary *d = &s->dictionary;
	struct kc__shape_slot key, *slot;

	memset(&key, 0, sizeof(key));
	key.kernel = kernel;
	key.device = kc__device_row(s, launch->device);
	if (key.kernel < 0 || key.device < 0)
		return key.kernel < 0 ? key.kernel : key.device;
	for (int i = 0; i < 3; i++) {
		key.shape.grid[i] = launch->grid[i];
		key.shape.block[i] = launch->block[i];
	}
	key.shape.dynamic_shared_bytes = launch->dynamic_shared_bytes;
	key.blocks_per_sm = launch->blocks_per_sm;
	if (d->shape_count >= MAX_SHAPES)
		forget_shapes(d);
	if (d->shape_count * 2 >= d->shape_capacity && grow_shapes(d))
		return -ENOMEM;
	slot = find_shape(d->shapes, d->shape_capacity, &key);
	if (!slot->row) {
		key.row = shape_in_table(s, &key);
		if (key.row < 0)
			return key.row;
		*slot = key;
		d->shape_count++;
	}
	return slot->row;
}

static void forget_rows(struct kc__local_rows *rows)
{
	kc_ids_free(&rows->ids);
	free(rows->at);
}

void kc__dictionary_clear(struct kc__dictionary *d)
{
	forget_rows(&d->kernels);
	forget_rows(&d->streams);
	forget_shapes(d);
	memset(d, 0, sizeof(*d));
}
