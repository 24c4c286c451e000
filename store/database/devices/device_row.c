#include "device_row.h"
#include "store/database/internal.h"

#include <stdio.h>

/* What no device has comes out as more than any has (kc_device_is_possible). */
static uint32_t attribute(sqlite3_stmt *row, int i)
{
	int64_t value = sqlite3_column_int64(row, i);

	return value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint64_t amount(sqlite3_stmt *row, int i)
{
	int64_t value = sqlite3_column_int64(row, i);

	return value < 0 ? UINT64_MAX : (uint64_t)value;
}

static void take_text(sqlite3_stmt *row, int i, char *out, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	snprintf(out, size, "%s", text ? text : "");
}

void kc__device_row_read(sqlite3_stmt *row, struct kc_device_row *device)
{
	struct kc_device *d = &device->device;

	device->id = sqlite3_column_int64(row, 0);
	device->driver_version = attribute(row, 1);
	take_text(row, 2, d->name, sizeof(d->name));
	d->simulated = sqlite3_column_int64(row, 3) != 0;
	d->memory_bytes_per_s = amount(row, 4);
	d->memory_bytes = amount(row, 5);
	uint32_t *const numbers[] = {
	    &d->cc_major,
	    &d->cc_minor,
	    &d->sm_count,
	    &d->cores_per_sm,
	    &d->warp_size,
	    &d->clock_khz,
	    &d->memory_clock_khz,
	    &d->memory_bus_bits,
	    &d->l2_bytes,
	    &d->max_threads_per_block,
	    &d->max_threads_per_sm,
	    &d->max_blocks_per_sm,
	    &d->registers_per_sm,
	    &d->registers_per_block,
	    &d->shared_per_sm_bytes,
	    &d->shared_per_block_bytes,
	    &d->shared_per_block_optin_bytes,
	    &d->shared_reserved_per_block_bytes,
	    &d->copy_engines,
	    &d->hardware_queues,
	    &d->launch_overhead_ns,
	    &d->launch_gap_ns,
	    &d->empty_kernel_ns,
	};
	const int first = 6, count = sizeof(numbers) / sizeof(numbers[0]);

	for (int i = 0; i < count; i++)
		*numbers[i] = attribute(row, first + i);
	d->copy_bytes_per_s = amount(row, first + count);
	d->flops_per_s = amount(row, first + count + 1);
	device->imported = sqlite3_column_int(row, first + count + 2);
	take_text(row, first + count + 3, device->uuid, sizeof(device->uuid));
	take_text(row, first + count + 4, device->bus, sizeof(device->bus));
	device->identified = *device->uuid && !device->imported;
}

int kc__device_row_load(struct kc_store *s, int64_t id, struct kc_device_row *out)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, KC__DEVICE_COLUMNS " WHERE id = ?1", -1, &row, NULL);

	*out = (struct kc_device_row){0};
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(row, 1, id);
		rc = sqlite3_step(row);
	}
	if (rc == SQLITE_ROW)
		kc__device_row_read(row, out);
	sqlite3_finalize(row);
	return rc == SQLITE_ROW ? 1 : kc__errno(s->db, rc);
}
