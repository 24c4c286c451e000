#include "calibrated.h"
#include "tools/command.h"
#include "tools/system/database.h"
#include "device_spec.h"

#include "store/database/devices/calibration.h"
#include "store/query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#define WHY_BYTES 512u

static int by_spec(const char *what, struct kc_device *device)
{
	char why[WHY_BYTES];
	int rc = kc_device_spec(what, device, why, sizeof(why));

	if (rc == 0)
		return KC_EXIT_OK;
	kc_error("%s", why);
	return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
}

/* The newest row of that name. 1: there is one; 0; or -errno. */
static int find_recorded(struct kc_store *store, const char *what, struct kc_device *device)
{
	struct kc_device_row *rows = NULL;
	size_t count = 0;
	int rc = kc_query_devices(store, &rows, &count);

	for (size_t i = count; rc == 0 && i; i--) {
		if (strcasecmp(rows[i - 1].device.name, what) != 0)
			continue;
		*device = rows[i - 1].device;
		kc_device_complete(device);
		rc = 1;
	}
	free(rows);
	return rc;
}

static int find_calibration(struct kc_store *store, struct kc_device *device)
{
	const struct kc_calibrated self = {.name = device->name};
	struct kc_calibration measured;
	int rc = kc_calibration_find(kc_store_db(store), &self, &measured);

	if (rc > 0)
		kc_device_calibrate(device, &measured);
	return rc;
}

static int by_database(struct kc_store *store, const char *database, const char *what, struct kc_device *device)
{
	int recorded = find_recorded(store, what, device), calibrated, status;

	if (recorded == 0 && (status = by_spec(what, device)) != KC_EXIT_OK)
		return status;
	calibrated = recorded < 0 ? recorded : find_calibration(store, device);
	if (calibrated < 0) {
		kc_database_unreadable(database, calibrated);
		return KC_EXIT_FAILED;
	}
	if (recorded || calibrated)
		return KC_EXIT_OK;
	kc_error(
	    "%s knows nothing of %s; `kerncast devices %s` lists its devices, `kerncast calibrate %s` measures one",
	    database, device->name, database, database);
	return KC_EXIT_FAILED;
}

int kc_calibrated_device(const char *what, const char *database, struct kc_device *device)
{
	struct kc_store *store;
	int status;

	if (!database)
		return by_spec(what, device);
	store = kc_database_read(database);
	if (!store)
		return KC_EXIT_FAILED;
	status = by_database(store, database, what, device);
	kc_store_close(store);
	return status;
}
