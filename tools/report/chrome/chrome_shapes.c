#include "chrome_shapes.h"
#include "tools/report/export.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL, DEVICE, SMS, NAME, GRID, BLOCK = GRID + 3, SHARED_BYTES = BLOCK + 3 };

static const char sql[] =
    "SELECT s.kernel, s.device, d.sm_count, k.name, s.grid_x, s.grid_y, s.grid_z, s.block_x,"
    " s.block_y, s.block_z, s.dynamic_shared_bytes FROM shape s"
    " LEFT JOIN kernel k ON k.id = s.kernel LEFT JOIN device d ON d.id = s.device WHERE s.id = ?1";

static int64_t blocks_of(sqlite3_stmt *row, int first)
{
	int64_t blocks = 1;

	for (int i = 0; i < 3; i++) {
		int64_t count = sqlite3_column_int64(row, first + i);

		if (count <= 0)
			return 0;
		if (__builtin_mul_overflow(blocks, count, &blocks))
			return INT64_MAX;
	}
	return blocks;
}

static void put_dimensions(struct kc__chrome_text *text, const char *key, sqlite3_stmt *row, int i)
{
	int64_t x = sqlite3_column_int64(row, i), y = sqlite3_column_int64(row, i + 1),
		z = sqlite3_column_int64(row, i + 2);

	if (x <= 0 || y <= 0 || z <= 0)
		return;
	kc__chrome_key(text, key);
	kc__chrome_put(text, "\"");
	kc__chrome_put_integer(text, x);
	kc__chrome_put(text, "x");
	kc__chrome_put_integer(text, y);
	kc__chrome_put(text, "x");
	kc__chrome_put_integer(text, z);
	kc__chrome_put(text, "\"");
}

/* The text so far, which is begun anew. NULL: no memory. */
static char *take(struct kc__chrome_text *text)
{
	char *out = text->failed ? NULL : strndup(text->used ? text->at : "", text->used);

	text->used = 0;
	return out;
}

static int describe(sqlite3_stmt *row, int is_there, struct kc__chrome_shape *out)
{
	const char *name = is_there ? (const char *)sqlite3_column_text(row, NAME) : NULL;
	struct kc__chrome_text text = {0};

	kc__chrome_put_string(&text, name ? name : "unknown");
	out->name = take(&text);
	if (is_there) {
		out->kernel = sqlite3_column_int64(row, KERNEL);
		out->device = sqlite3_column_int64(row, DEVICE);
		out->device_sms = sqlite3_column_int64(row, SMS);
		out->blocks = blocks_of(row, GRID);
		put_dimensions(&text, "grid", row, GRID);
		put_dimensions(&text, "block", row, BLOCK);
		if (sqlite3_column_int64(row, GRID) > 0 && sqlite3_column_type(row, SHARED_BYTES) == SQLITE_INTEGER)
			kc__chrome_number(&text, "dynamic_shared_bytes", sqlite3_column_int64(row, SHARED_BYTES));
	}
	out->sizes = take(&text);
	free(text.at);
	return out->name && out->sizes ? 0 : -ENOMEM;
}

static int add(struct kc__chrome_shapes *shapes, struct kc_store *store, int64_t id)
{
	size_t capacity = shapes->capacity ? 2 * shapes->capacity : 64;
	struct kc__chrome_shape *at = shapes->at;
	int rc = SQLITE_OK, described;

	if (shapes->count == shapes->capacity) {
		at = reallocarray(at, capacity, sizeof(*at));
		if (!at)
			return -ENOMEM;
		shapes->at = at;
		shapes->capacity = capacity;
	}
	if (!shapes->read)
		rc = sqlite3_prepare_v2(kc_store_db(store), sql, -1, &shapes->read, NULL);
	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(shapes->read, 1, id);
	rc = sqlite3_step(shapes->read);
	at += shapes->count++;
	*at = (struct kc__chrome_shape){0};
	described = describe(shapes->read, rc == SQLITE_ROW, at);
	sqlite3_reset(shapes->read);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? described : kc__export_error(rc);
}

int kc__chrome_shape_of(struct kc__chrome_shapes *shapes, struct kc_store *store, int64_t row,
			const struct kc__chrome_shape **out)
{
	uint32_t number = kc_ids_number(&shapes->ids, row);
	int rc = number == 0 ? -ENOMEM : number > shapes->count ? add(shapes, store, row) : 0;

	*out = rc == 0 ? shapes->at + number - 1 : NULL;
	return rc;
}

void kc__chrome_shapes_free(struct kc__chrome_shapes *shapes)
{
	for (size_t i = 0; i < shapes->count; i++) {
		free(shapes->at[i].name);
		free(shapes->at[i].sizes);
	}
	free(shapes->at);
	kc_ids_free(&shapes->ids);
	sqlite3_finalize(shapes->read);
}
