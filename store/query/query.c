#include "query.h"
#include "rows.h"
#include "store/database/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 4, 5))) static int complain(int rc, char *why, size_t size, const char *format, ...)
{
	va_list arguments;

	if (why && size) {
		va_start(arguments, format);
		vsnprintf(why, size, format, arguments);
		va_end(arguments);
	}
	return rc;
}

static int first_number(sqlite3_stmt *row, void *arg)
{
	int64_t *value = arg;

	value[0] = sqlite3_column_int64(row, 0);
	value[1] = sqlite3_column_int64(row, 1);
	value[2] = sqlite3_column_int64(row, 2);
	return 0;
}

int kc_query_select(struct kc_store *s, const char *which, struct kc_selection *out, char *why, size_t why_size)
{
	struct kc_selection number;
	int64_t range[3] = {0}, found[3] = {0};
	char *end;
	int rc = kc__select(s, NULL, "SELECT min(id), max(id), count(*) FROM run", first_number, range);

	if (rc)
		return complain(rc, why, why_size, "the runs cannot be read: %s", strerror(-rc));
	if (range[2] == 0)
		return complain(-ENOENT, why, why_size, "nothing recorded: there is no run in this database");
	*out = (struct kc_selection){range[1], range[1]};
	if (!which || !strcmp(which, "latest"))
		return 0;
	*out = (struct kc_selection){range[0], range[1]};
	if (!strcmp(which, "all"))
		return 0;
	errno = 0;
	number.first_run = number.last_run = strtoll(which, &end, 10);
	if (end == which || *end || errno)
		return complain(-EINVAL, why, why_size, "%s is not a run: give a number, latest or all", which);
	rc = kc__select(s, &number, "SELECT count(*), 0, 0 FROM run WHERE id BETWEEN ?1 AND ?2", first_number, found);
	if (rc)
		return complain(rc, why, why_size, "the runs cannot be read: %s", strerror(-rc));
	if (found[0] == 0)
		return complain(-ENOENT, why, why_size, "no run %s: this database has runs %lld to %lld", which,
				(long long)range[0], (long long)range[1]);
	*out = number;
	return 0;
}

const char *kc_not_asked_name(uint32_t reason)
{
	static const char *const names[KC_NOT_ASKED_COUNT] = {
	    [KC_ASKED] = "",
	    [KC_NOT_ASKED_KERNEL] = "kernel",
	    [KC_NOT_ASKED_EVERY] = "every",
	    [KC_NOT_ASKED_BEFORE] = "before",
	    [KC_NOT_ASKED_AFTER] = "after",
	    [KC_NOT_ASKED_STOPPED] = "stopped",
	};

	return reason < KC_NOT_ASKED_COUNT ? names[reason] : "unknown";
}

static int add_device(sqlite3_stmt *row, void *arg)
{
	struct kc_device_row *device = kc__list_add(arg, sizeof(*device));

	if (!device)
		return -ENOMEM;
	kc__device_row_read(row, device);
	return 0;
}

int kc__query_devices_of(struct kc_store *s, const struct kc_selection *selection, struct kc_device_row **devices,
			 size_t *count)
{
	static const char all[] = KC__DEVICE_COLUMNS " ORDER BY id";
	static const char of_runs[] =
	    KC__DEVICE_COLUMNS " WHERE id IN (SELECT d.device FROM process_device d JOIN process p"
			       " ON p.id = d.process WHERE p.run BETWEEN ?1 AND ?2) ORDER BY id";
	struct kc__list list = {0};
	int rc = kc__select(s, selection, selection ? of_runs : all, add_device, &list);

	if (rc) {
		free(list.at);
		list = (struct kc__list){0};
	}
	*devices = list.at;
	*count = list.count;
	return rc;
}

int kc_query_devices(struct kc_store *s, struct kc_device_row **devices, size_t *count)
{
	return kc__query_devices_of(s, NULL, devices, count);
}
