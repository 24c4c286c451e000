#include "calibration.h"
#include "store/database/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME, UUID, SIMULATED, OVERHEAD, EMPTY, GAP, BANDWIDTH, ARITHMETIC };
static const char newest_first[] = "SELECT d.name, d.uuid, c.simulated, c.launch_overhead_ns, c.empty_kernel_ns,"
				   " c.launch_gap_ns, c.copy_bytes_per_s, c.flops_per_s"
				   " FROM calibration c JOIN device d ON d.id = c.device"
				   " ORDER BY c.time_unix_ns DESC, c.id DESC";

/* meant: the built-in device that the wanted name means; NULL: none. */
static int is_named(const char *name, const char *wanted, const struct kc_device *meant, int simulated)
{
	return !strcasecmp(name, wanted) || (!simulated && meant && kc_device_builtin_meant(name) == meant);
}

static int is_device(sqlite3_stmt *row, const struct kc_calibrated *device, const struct kc_device *meant)
{
	const char *name = (const char *)sqlite3_column_text(row, NAME);
	const char *text = (const char *)sqlite3_column_text(row, UUID);
	char uuid[2 * KC_UUID_BYTES + 1];

	if (!name || !is_named(name, device->name, meant, sqlite3_column_int(row, SIMULATED)))
		return 0;
	if (!device->uuid)
		return 1;
	kc_uuid_text(device->uuid, uuid);
	return text && !strcmp(text, uuid);
}

static double value(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}

int kc_calibration_find(sqlite3 *db, const struct kc_calibrated *device, struct kc_calibration *out)
{
	const struct kc_device *meant = kc_device_builtin_meant(device->name);
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(db, newest_first, -1, &row, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW && !is_device(row, device, meant))
		rc = SQLITE_OK;
	if (rc == SQLITE_ROW)
		*out = (struct kc_calibration){
		    .launch_overhead_ns = value(row, OVERHEAD),
		    .empty_kernel_ns = value(row, EMPTY),
		    .launch_gap_ns = value(row, GAP),
		    .copy_bytes_per_s = value(row, BANDWIDTH),
		    .flops_per_s = value(row, ARITHMETIC),
		};
	sqlite3_finalize(row);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}
