#include "launch_demand.h"

#include "store/database/devices/device_row.h"
#include "store/database/internal.h"
#include "store/query/rows.h"

#include <errno.h>
#include <stdlib.h>

#define LAUNCH                                                                                                         \
	"SELECT s.device, s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.dynamic_shared_bytes,"      \
	" s.blocks_per_sm, k.registers, k.static_shared_bytes, k.local_bytes, k.max_threads_per_block, w.counts"       \
	" FROM launch_row r JOIN shape s ON s.id = r.shape JOIN kernel k ON k.id = s.kernel"                           \
	" LEFT JOIN work w ON w.process = r.id >> ?2 AND w.shape = r.shape AND w.arguments = coalesce(r.arguments, 0)" \
	" WHERE r.id = ?1"

/* A GPU of another maker is none of those built in. */
static const struct kc_device *stand_in(const struct kc_device *device, const struct kc_device *otherwise)
{
	const struct kc_device *meant = *device->name ? kc_device_builtin_meant(device->name) : NULL;

	if (kc_device_is_foreign(device->name))
		return NULL;
	return meant ? meant : otherwise;
}

/* 0, -ENODATA or another -errno. */
static int find_device(struct kc_store *s, int64_t id, const struct kc_device *otherwise, struct kc_device *device)
{
	struct kc_device_row row = {0};
	int rc = kc__device_row_load(s, id, &row);

	if (rc < 0)
		return rc;
	*device = row.device;
	if (!device->sm_count || !device->clock_khz) {
		const struct kc_device *other = stand_in(device, otherwise);

		if (!other)
			return -ENODATA;
		kc_device_assume(device, other);
	}
	kc_device_complete(device);
	return kc_device_is_possible(device) ? 0 : -ENODATA;
}

static int read_launch(struct kc_store *s, sqlite3_stmt *row, const struct kc_device *otherwise,
		       struct kc_launch_demand *out)
{
	const struct kc_shape shape = {
	    .grid = {kc__column_u32(row, 1), kc__column_u32(row, 2), kc__column_u32(row, 3)},
	    .block = {kc__column_u32(row, 4), kc__column_u32(row, 5), kc__column_u32(row, 6)},
	    .dynamic_shared_bytes = kc__column_u32(row, 7),
	};
	const struct kc_resources resources = {kc__column_u32(row, 9), kc__column_u32(row, 10), kc__column_u32(row, 11),
					       kc__column_u32(row, 12)};
	int rc;

	out->device_id = sqlite3_column_int64(row, 0);
	rc = find_device(s, out->device_id, otherwise, &out->device);
	if (rc < 0)
		return rc;
	if (kc_work_init(&out->work, &out->device, &resources, &shape, kc__column_u32(row, 8)))
		return -ENODATA;
	out->is_counted = sqlite3_column_type(row, 13) == SQLITE_BLOB && !kc__column_counts(row, 13, &out->counts);
	return 0;
}

int kc_launch_demand(struct kc_store *s, int64_t id, const struct kc_device *otherwise, struct kc_launch_demand *out)
{
	sqlite3_stmt *row;
	int rc = sqlite3_prepare_v2(s->db, LAUNCH, -1, &row, NULL);

	*out = (struct kc_launch_demand){0};
	if (rc != SQLITE_OK)
		return kc__errno(s->db, rc);
	sqlite3_bind_int64(row, 1, id);
	sqlite3_bind_int(row, 2, KC_SEQUENCE_BITS);
	rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		rc = read_launch(s, row, otherwise, out);
	else
		rc = rc == SQLITE_DONE ? -ENODATA : kc__errno(s->db, rc);
	sqlite3_finalize(row);
	return rc;
}

/* --- what it was made of */

/* The file of a library is known where a process noted it (`code_place`); a kernel of no module, or of one that is
 * called as the program, is in the program. */
#define CODE                                                                                                           \
	"SELECT k.mangled, coalesce((SELECT path FROM code_place c WHERE c.code_hash = k.code_hash AND c.piece = 0),"  \
	" CASE WHEN coalesce(k.module, '') = '' OR p.executable LIKE '%/' || k.module THEN p.executable END, ''),"     \
	" k.module, k.code, a.text, s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z,"                    \
	" s.dynamic_shared_bytes, k.registers, k.static_shared_bytes, k.local_bytes, k.max_threads_per_block"          \
	" FROM launch_row r JOIN shape s ON s.id = r.shape JOIN kernel k ON k.id = s.kernel"                           \
	" JOIN process p ON p.id = r.id >> ?2"                                                                         \
	" LEFT JOIN arguments a ON a.process = p.id AND a.local = r.arguments WHERE r.id = ?1"

static int read_code(sqlite3_stmt *row, struct kc_launch_code *out)
{
	*out = (struct kc_launch_code){
	    .mangled = kc__column_text(row, 0),
	    .path = kc__column_text(row, 1),
	    .module = kc__column_text(row, 2),
	    .state = kc__column_text(row, 3),
	    .arguments = kc__column_text(row, 4),
	    .shape = {.grid = {kc__column_u32(row, 5), kc__column_u32(row, 6), kc__column_u32(row, 7)},
		      .block = {kc__column_u32(row, 8), kc__column_u32(row, 9), kc__column_u32(row, 10)},
		      .dynamic_shared_bytes = kc__column_u32(row, 11)},
	    .resources = {kc__column_u32(row, 12), kc__column_u32(row, 13), kc__column_u32(row, 14),
			  kc__column_u32(row, 15)},
	};
	return out->mangled && out->path && out->module && out->state && out->arguments ? 0 : -ENOMEM;
}

int kc_launch_code(struct kc_store *s, int64_t id, struct kc_launch_code *out)
{
	sqlite3_stmt *row;
	int rc = sqlite3_prepare_v2(s->db, CODE, -1, &row, NULL);

	*out = (struct kc_launch_code){0};
	if (rc != SQLITE_OK)
		return kc__errno(s->db, rc);
	sqlite3_bind_int64(row, 1, id);
	sqlite3_bind_int(row, 2, KC_SEQUENCE_BITS);
	rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		rc = read_code(row, out);
	else
		rc = rc == SQLITE_DONE ? -ENODATA : kc__errno(s->db, rc);
	sqlite3_finalize(row);
	return rc;
}

void kc_launch_code_free(struct kc_launch_code *code)
{
	free(code->mangled);
	free(code->path);
	free(code->module);
	free(code->state);
	free(code->arguments);
	*code = (struct kc_launch_code){0};
}
