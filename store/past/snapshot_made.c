#include "snapshot.h"

#include "store/common/ids/ids.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNMET_MAX 64u                /* runs that did not launch a kernel, after which it is no longer carried over */
#define OWN_BYTES ((size_t)14 << 20) /* likewise: what this run has learned */
#define CARRIED_BYTES ((size_t)8 << 20) /* of tables and values: what earlier runs met alone is added up to here */
#define NOWHERE UINT32_MAX

struct rows { /* of one table, in the order in which they came */
	uint8_t *at;
	uint32_t count, capacity;
	size_t bytes;      /* of a record */
	struct kc_ids ids; /* of identities: number - 1 is the place */
};

struct kc_snapshot_maker {
	struct rows devices, kernels, keys, shapes, variants;
	uint8_t *values;
	size_t values_bytes, values_capacity;
	int error;
};

struct kc_snapshot_maker *kc_snapshot_begin(void)
{
	struct kc_snapshot_maker *maker = calloc(1, sizeof(*maker));

	if (!maker)
		return NULL;
	maker->devices.bytes = sizeof(struct kc_snapshot_device);
	maker->kernels.bytes = sizeof(struct kc_snapshot_kernel);
	maker->keys.bytes = sizeof(struct kc_snapshot_key);
	maker->shapes.bytes = sizeof(struct kc_snapshot_shape);
	maker->variants.bytes = sizeof(struct kc_snapshot_variant);
	return maker;
}

static void free_rows(struct rows *rows)
{
	free(rows->at);
	kc_ids_free(&rows->ids);
}

void kc_snapshot_drop(struct kc_snapshot_maker *maker)
{
	if (!maker)
		return;
	free_rows(&maker->devices);
	free_rows(&maker->kernels);
	free_rows(&maker->keys);
	free_rows(&maker->shapes);
	free_rows(&maker->variants);
	free(maker->values);
	free(maker);
}

static void *row_at(const struct rows *rows, uint32_t place)
{
	return rows->at + place * rows->bytes;
}

/* The place of the row with this identity; *is_new: it was made, as zeros. NOWHERE: no memory. */
static uint32_t place_of(struct kc_snapshot_maker *maker, struct rows *rows, uint64_t identity, int *is_new)
{
	uint32_t number = kc_ids_number(&rows->ids, (int64_t)identity);

	*is_new = number > rows->count;
	if (number && *is_new && rows->count == rows->capacity) {
		uint32_t more = rows->capacity ? 2 * rows->capacity : 64;
		uint8_t *grown = realloc(rows->at, more * rows->bytes);

		if (grown) {
			rows->at = grown;
			rows->capacity = more;
		}
	}
	if (!number || (*is_new && rows->count == rows->capacity)) {
		maker->error = -ENOMEM;
		return NOWHERE;
	}
	if (*is_new)
		memset(row_at(rows, rows->count++), 0, rows->bytes);
	return number - 1;
}

static uint8_t *room_for(struct kc_snapshot_maker *maker, size_t bytes)
{
	size_t capacity = maker->values_capacity ? maker->values_capacity : 65536;
	uint8_t *grown;

	while (capacity - maker->values_bytes < bytes)
		capacity *= 2;
	if (capacity > maker->values_capacity) {
		grown = realloc(maker->values, capacity);
		if (!grown) {
			maker->error = -ENOMEM;
			return NULL;
		}
		maker->values = grown;
		maker->values_capacity = capacity;
	}
	return maker->values + maker->values_bytes;
}

static struct kc_snapshot_value put_value(struct kc_snapshot_maker *maker, const void *value, size_t bytes)
{
	struct kc_snapshot_value put = {(uint32_t)maker->values_bytes, 0};
	uint8_t *room = room_for(maker, kc__value_most(bytes));

	if (room)
		put.bytes = (uint32_t)kc__value_encode(value, bytes, room);
	maker->values_bytes += put.bytes;
	return put;
}

/* Pointers, and what follows from λ, are made anew by who recalls it. */
static void detach_level(struct kc_learned *learned)
{
	learned->lambda.parent = NULL;
	learned->last.factor = learned->last.width = 0;
	learned->last.state = 0;
	memset(&learned->published, 0, sizeof(learned->published));
}

static uint32_t add_device(struct kc_snapshot_maker *maker, const struct kc_snapshot_entry *entry)
{
	const struct kc_engine_device *device = entry->variant->kernel->device;
	static const struct kc_code_identity none = {.mangled = ""};
	struct kc_device_learned learned;
	struct kc_snapshot_device *row;
	int is_new;
	uint32_t place = place_of(maker, &maker->devices, kc_launch_identity(0, &none, entry->uuid), &is_new);

	if (place == NOWHERE || !is_new)
		return place;
	learned = device->learned;
	for (int unit = 0; unit < KC_UNITS; unit++)
		detach_level(&learned.levels[unit]);
	kc_contention_detach(&learned.contention);
	learned.experience.cells = NULL;
	row = row_at(&maker->devices, place);
	strncpy(row->uuid, entry->uuid, sizeof(row->uuid) - 1);
	row->cc_major = device->info->cc_major;
	row->cc_minor = device->info->cc_minor;
	row->learned = put_value(maker, &learned, sizeof(learned));
	return place;
}

static uint32_t add_kernel(struct kc_snapshot_maker *maker, const struct kc_snapshot_entry *entry)
{
	const struct kc_engine_kernel *kernel = entry->variant->kernel;
	uint64_t name = kc_snapshot_kernel_name(entry->code.mangled);
	struct kc_kernel_learned learned;
	struct kc_snapshot_kernel *row;
	int is_new;
	uint32_t place = place_of(maker, &maker->kernels, kc_launch_identity(name, &entry->code, entry->uuid), &is_new),
		 device;

	if (place == NOWHERE || !is_new)
		return place;
	device = add_device(maker, entry);
	learned = kernel->learned;
	learned.experience.standing.parent = NULL;
	row = row_at(&maker->kernels, place);
	row->name = name;
	row->code_hash = entry->code.code_hash;
	row->registers = entry->code.registers;
	row->static_shared_bytes = entry->code.static_shared_bytes;
	row->device = device;
	row->learned = put_value(maker, &learned, sizeof(learned));
	if (kernel->by_arguments)
		row->arguments = put_value(maker, kernel->by_arguments, sizeof(*kernel->by_arguments));
	return place;
}

static void add_key(struct kc_snapshot_maker *maker, const struct kc_snapshot_entry *entry, uint32_t kernel)
{
	uint64_t name = kc_snapshot_key_name(entry->code.mangled, entry->dims);
	struct kc_key_learned learned;
	struct kc_snapshot_key *row;
	int is_new;
	uint32_t place = place_of(maker, &maker->keys, kc_launch_identity(name, &entry->code, entry->uuid), &is_new);

	if (place == NOWHERE || !is_new)
		return;
	learned = entry->variant->key->learned;
	for (int unit = 0; unit < KC_UNITS; unit++)
		detach_level(&learned.levels[unit]);
	row = row_at(&maker->keys, place);
	row->name = name;
	row->kernel = kernel;
	row->learned = put_value(maker, &learned, sizeof(learned));
}

static uint32_t add_shape(struct kc_snapshot_maker *maker, const struct kc_snapshot_entry *entry, uint32_t kernel)
{
	uint64_t name = kc_launch_name(entry->code.mangled, entry->dims, NULL);
	struct kc_snapshot_shape *row;
	int is_new;
	uint32_t place = place_of(maker, &maker->shapes, kc_launch_identity(name, &entry->code, entry->uuid), &is_new);

	if (place == NOWHERE || !is_new)
		return place;
	row = row_at(&maker->shapes, place);
	row->name = name;
	row->kernel = kernel;
	row->measured = atomic_load(entry->variant->shape_measured);
	return place;
}

static size_t tables_bytes(const struct kc_snapshot_maker *maker)
{
	return maker->devices.count * maker->devices.bytes + maker->kernels.count * maker->kernels.bytes +
	       maker->keys.count * maker->keys.bytes + maker->shapes.count * maker->shapes.bytes +
	       maker->variants.count * maker->variants.bytes;
}

int kc_snapshot_add(struct kc_snapshot_maker *maker, const struct kc_snapshot_entry *entry)
{
	const struct kc_engine_variant *variant = entry->variant;
	struct kc_variant_learned learned = variant->learned;
	struct kc_snapshot_variant *row;
	uint32_t kernel, shape, place;
	int is_new;

	if (tables_bytes(maker) + maker->values_bytes > OWN_BYTES)
		return maker->error;
	kernel = add_kernel(maker, entry);
	shape = add_shape(maker, entry, kernel);
	add_key(maker, entry, kernel);
	place = place_of(maker, &maker->variants,
			 kc_launch_identity(entry->name, &entry->code, entry->uuid) ^ (uint64_t)shape << 32, &is_new);
	if (maker->error || !is_new)
		return maker->error;
	detach_level(&learned.level);
	kc_contention_detach(&learned.contention);
	row = row_at(&maker->variants, place);
	*row = (struct kc_snapshot_variant){
	    .name = entry->name,
	    .unit_ns = variant->work.unit_ns,
	    .counted = variant->work.counted,
	    .shape = shape,
	};
	row->learned = put_value(maker, &learned, sizeof(learned));
	return maker->error;
}

/* What is known from before of entries that were not met */

static int has_room(const struct kc_snapshot_maker *maker)
{
	return !maker->error && tables_bytes(maker) + maker->values_bytes < CARRIED_BYTES;
}

static struct kc_snapshot_value carry_value(struct kc_snapshot_maker *maker, const struct kc_snapshot *before,
					    struct kc_snapshot_value value)
{
	struct kc_snapshot_value put = {(uint32_t)maker->values_bytes, 0};
	uint8_t *room = value.bytes ? room_for(maker, value.bytes) : NULL;

	if (!room)
		return put;
	memcpy(room, before->values + value.at, value.bytes);
	maker->values_bytes += value.bytes;
	put.bytes = value.bytes;
	return put;
}

static uint64_t identity_of(const struct kc_snapshot *before, uint64_t name, uint32_t kernel)
{
	const struct kc_snapshot_kernel *at = &before->kernels[kernel];
	const struct kc_code_identity code = {
	    .code_hash = at->code_hash,
	    .registers = at->registers,
	    .static_shared_bytes = at->static_shared_bytes,
	};

	return kc_launch_identity(name, &code, before->devices[at->device].uuid);
}

static uint32_t carry_device(struct kc_snapshot_maker *maker, const struct kc_snapshot *before, uint32_t i)
{
	static const struct kc_code_identity none = {.mangled = ""};
	const struct kc_snapshot_device *from = &before->devices[i];
	struct kc_snapshot_value learned;
	struct kc_snapshot_device *row;
	int is_new;
	uint32_t place = place_of(maker, &maker->devices, kc_launch_identity(0, &none, from->uuid), &is_new);

	if (place == NOWHERE || !is_new)
		return place;
	learned = carry_value(maker, before, from->learned);
	row = row_at(&maker->devices, place);
	*row = *from;
	row->learned = learned;
	return place;
}

static uint32_t carry_kernel(struct kc_snapshot_maker *maker, const struct kc_snapshot *before, uint32_t i, int earlier)
{
	const struct kc_snapshot_kernel *from = &before->kernels[i];
	struct kc_snapshot_kernel *row;
	uint32_t place, device;
	int is_new;

	if (!has_room(maker))
		return NOWHERE;
	if (from->unmet >= UNMET_MAX && !kc_ids_find(&maker->kernels.ids, (int64_t)identity_of(before, from->name, i)))
		return NOWHERE;
	place = place_of(maker, &maker->kernels, identity_of(before, from->name, i), &is_new);
	if (place == NOWHERE || !is_new)
		return place;
	device = carry_device(maker, before, from->device);
	row = row_at(&maker->kernels, place);
	*row = *from;
	row->device = device;
	row->unmet = from->unmet + (earlier != 0);
	row->learned = carry_value(maker, before, from->learned);
	row->arguments = carry_value(maker, before, from->arguments);
	return place;
}

static void carry_key(struct kc_snapshot_maker *maker, const struct kc_snapshot *before, uint32_t i,
		      const uint32_t *kernels)
{
	const struct kc_snapshot_key *from = &before->keys[i];
	struct kc_snapshot_key *row;
	uint32_t place;
	int is_new;

	if (kernels[from->kernel] == NOWHERE || !has_room(maker))
		return;
	place = place_of(maker, &maker->keys, identity_of(before, from->name, from->kernel), &is_new);
	if (place == NOWHERE || !is_new)
		return;
	row = row_at(&maker->keys, place);
	row->name = from->name;
	row->kernel = kernels[from->kernel];
	row->learned = carry_value(maker, before, from->learned);
}

static void carry_variant(struct kc_snapshot_maker *maker, const struct kc_snapshot *before,
			  const struct kc_snapshot_variant *from, uint32_t shape, uint64_t identity)
{
	struct kc_snapshot_variant *row;
	int is_new;
	uint32_t place = place_of(maker, &maker->variants, identity ^ (uint64_t)shape << 32, &is_new);

	if (place == NOWHERE || !is_new)
		return;
	row = row_at(&maker->variants, place);
	*row = *from;
	row->shape = shape;
	row->learned = carry_value(maker, before, from->learned);
}

static void carry_shape(struct kc_snapshot_maker *maker, const struct kc_snapshot *before, uint32_t i,
			const uint32_t *kernels)
{
	const struct kc_snapshot_shape *from = &before->shapes[i];
	struct kc_snapshot_shape *row;
	uint32_t place;
	int is_new;

	if (kernels[from->kernel] == NOWHERE || !has_room(maker))
		return;
	place = place_of(maker, &maker->shapes, identity_of(before, from->name, from->kernel), &is_new);
	if (place == NOWHERE)
		return;
	if (is_new) {
		row = row_at(&maker->shapes, place);
		row->name = from->name;
		row->kernel = kernels[from->kernel];
		row->measured = from->measured;
	}
	for (uint32_t v = from->first; v < from->first + from->count; v++)
		carry_variant(maker, before, &before->variants[v], place,
			      identity_of(before, before->variants[v].name, from->kernel));
}

void kc_snapshot_carry(struct kc_snapshot_maker *maker, const struct kc_snapshot *from, int earlier)
{
	uint32_t *kernels = malloc((from->head->kernels + 1) * sizeof(*kernels));

	if (!kernels) {
		maker->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < from->head->kernels; i++)
		kernels[i] = carry_kernel(maker, from, i, earlier);
	for (uint32_t i = 0; i < from->head->keys; i++)
		carry_key(maker, from, i, kernels);
	for (uint32_t i = 0; i < from->head->shapes; i++)
		carry_shape(maker, from, i, kernels);
	free(kernels);
}

/* Into the order of their names */

struct ranks {
	uint32_t *order, *rank; /* the place of the i-th; and the other way round */
};

struct sorted {
	uint64_t group, name;
	uint32_t place;
};

KC_ORDER(by_name, struct sorted, KC_UP(group) ?: KC_UP(name) ?: KC_UP(place))

/* shapes: of variants, the ranks of theirs; else NULL. */
static int rank_rows(const struct rows *rows, const uint32_t *shapes, struct ranks *out)
{
	struct sorted *sorted = malloc((rows->count + 1) * sizeof(*sorted));

	out->order = malloc((2 * (size_t)rows->count + 1) * sizeof(*out->order));
	if (!sorted || !out->order) {
		free(sorted);
		return -ENOMEM;
	}
	out->rank = out->order + rows->count;
	for (uint32_t i = 0; i < rows->count; i++) {
		const struct kc_snapshot_variant *variant = row_at(rows, i);

		memcpy(&sorted[i].name, row_at(rows, i), sizeof(sorted[i].name));
		sorted[i].group = shapes ? shapes[variant->shape] : 0;
		sorted[i].place = i;
	}
	qsort(sorted, rows->count, sizeof(*sorted), by_name);
	for (uint32_t i = 0; i < rows->count; i++) {
		out->order[i] = sorted[i].place;
		out->rank[sorted[i].place] = i;
	}
	free(sorted);
	return 0;
}

struct layout {
	struct ranks kernels, keys, shapes, variants;
};

static int rank_all(const struct kc_snapshot_maker *maker, struct layout *layout)
{
	int rc = rank_rows(&maker->kernels, NULL, &layout->kernels);

	if (rc == 0)
		rc = rank_rows(&maker->keys, NULL, &layout->keys);
	if (rc == 0)
		rc = rank_rows(&maker->shapes, NULL, &layout->shapes);
	if (rc == 0)
		rc = rank_rows(&maker->variants, layout->shapes.rank, &layout->variants);
	return rc;
}

static void free_layout(struct layout *layout)
{
	free(layout->kernels.order);
	free(layout->keys.order);
	free(layout->shapes.order);
	free(layout->variants.order);
}

static uint8_t *write_rows(uint8_t *at, const struct rows *rows, const uint32_t *order)
{
	for (uint32_t i = 0; i < rows->count; i++)
		memcpy(at + i * rows->bytes, row_at(rows, order ? order[i] : i), rows->bytes);
	return at + rows->count * rows->bytes;
}

/* Places in other tables, as these are now. */
static void link_rows(uint8_t *tables, const struct kc_snapshot_maker *maker, const struct layout *layout)
{
	uint8_t *at =
	    tables + maker->devices.count * maker->devices.bytes + maker->kernels.count * maker->kernels.bytes;
	struct kc_snapshot_key *keys = (void *)at;
	struct kc_snapshot_shape *shapes = (void *)(at + maker->keys.count * maker->keys.bytes);
	struct kc_snapshot_variant *variants = (void *)(shapes + maker->shapes.count);

	for (uint32_t i = 0; i < maker->keys.count; i++)
		keys[i].kernel = layout->kernels.rank[keys[i].kernel];
	for (uint32_t i = 0; i < maker->shapes.count; i++)
		shapes[i].kernel = layout->kernels.rank[shapes[i].kernel];
	for (uint32_t i = 0; i < maker->variants.count; i++) {
		variants[i].shape = layout->shapes.rank[variants[i].shape];
		shapes[variants[i].shape].count++;
	}
	for (uint32_t i = 1; i < maker->shapes.count; i++)
		shapes[i].first = shapes[i - 1].first + shapes[i - 1].count;
}

static int write_all(const struct kc_snapshot_maker *maker, const struct layout *layout, const void *cells,
		     size_t cells_bytes, void **bytes, size_t *size)
{
	struct kc_snapshot_head *head;
	uint8_t *at;

	*size = sizeof(*head) + tables_bytes(maker) + kc__snapshot_padded(maker->values_bytes) +
		kc__snapshot_padded(cells_bytes);
	if (*size > KC_SNAPSHOT_BYTES_MAX)
		return -EFBIG;
	*bytes = head = calloc(1, *size);
	if (!head)
		return -ENOMEM;
	*head = (struct kc_snapshot_head){
	    .magic = KC_SNAPSHOT_MAGIC,
	    .layout = kc_snapshot_layout(),
	    .bytes = *size,
	    .devices = maker->devices.count,
	    .kernels = maker->kernels.count,
	    .keys = maker->keys.count,
	    .shapes = maker->shapes.count,
	    .variants = maker->variants.count,
	    .values_bytes = (uint32_t)maker->values_bytes,
	    .cells_bytes = (uint32_t)cells_bytes,
	};
	at = write_rows((uint8_t *)(head + 1), &maker->devices, NULL);
	at = write_rows(at, &maker->kernels, layout->kernels.order);
	at = write_rows(at, &maker->keys, layout->keys.order);
	at = write_rows(at, &maker->shapes, layout->shapes.order);
	at = write_rows(at, &maker->variants, layout->variants.order);
	link_rows((uint8_t *)(head + 1), maker, layout);
	memcpy(at, maker->values, maker->values_bytes);
	if (cells_bytes)
		memcpy(at + kc__snapshot_padded(maker->values_bytes), cells, cells_bytes);
	kc__snapshot_seal(head);
	return 0;
}

int kc_snapshot_end(struct kc_snapshot_maker *maker, const struct kc_snapshot *before, const struct kc_cells *cells,
		    void **bytes, size_t *size)
{
	struct layout layout = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
	size_t cells_bytes = 0;
	void *saved = NULL;
	int rc = maker->error;

	*bytes = NULL;
	*size = 0;
	if (rc || !maker->variants.count) {
		kc_snapshot_drop(maker);
		return rc;
	}
	if (before)
		kc_snapshot_carry(maker, before, 1);
	if (cells && (saved = malloc(kc_cells_saved_most())))
		cells_bytes = kc_cells_save(cells, saved);
	rc = maker->error ? maker->error : rank_all(maker, &layout);
	if (rc == 0)
		rc = write_all(maker, &layout, saved, cells_bytes, bytes, size);
	if (rc == -EFBIG) /* what is known of launch shapes before what is known of what they came after */
		rc = write_all(maker, &layout, NULL, 0, bytes, size);
	free_layout(&layout);
	free(saved);
	kc_snapshot_drop(maker);
	return rc;
}
