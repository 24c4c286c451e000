#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Past this the table is emptied and refilled from the database. */
#define MAX_SHAPES 16384u
#define FIRST_SHAPES 256u

static int make_room(int64_t **rows, size_t *capacity, uint32_t local)
{
	size_t wanted = *capacity ? *capacity : 64;
	int64_t *grown;

	while (wanted <= local)
		wanted *= 2;
	if (wanted == *capacity)
		return 0;
	grown = realloc(*rows, wanted * sizeof(**rows));
	if (!grown)
		return -ENOMEM;
	memset(grown + *capacity, 0, (wanted - *capacity) * sizeof(**rows));
	*rows = grown;
	*capacity = wanted;
	return 0;
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

/* Ids are counted up from 1 by the process: a larger one comes from a broken journal. */
#define LOCAL_MAX (1u << 22)

static int64_t local_row(struct kc_store *s, int64_t **rows, size_t *capacity, enum kc__statement which, uint32_t local)
{
	int rc;

	if (local == 0 || local > LOCAL_MAX)
		return 0;
	if (local < *capacity && (*rows)[local] > 0)
		return (*rows)[local];
	rc = make_room(rows, capacity, local);
	if (rc)
		return rc;
	(*rows)[local] = look_up(s, which, local);
	return (*rows)[local];
}

int64_t kc__kernel_row(struct kc_store *s, uint32_t local)
{
	return local_row(s, &s->dictionary.kernels, &s->dictionary.kernel_capacity, KC__LOCAL_KERNEL, local);
}

int64_t kc__stream_row(struct kc_store *s, uint32_t local)
{
	return local_row(s, &s->dictionary.streams, &s->dictionary.stream_capacity, KC__LOCAL_STREAM, local);
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
	struct kc__dictionary *d = &s->dictionary;
	struct kc__shape_slot key, *slot;

	memset(&key, 0, sizeof(key));
	key.kernel = kc__kernel_row(s, launch->kernel);
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

void kc__dictionary_clear(struct kc__dictionary *d)
{
	free(d->kernels);
	free(d->streams);
	forget_shapes(d);
	memset(d, 0, sizeof(*d));
}
