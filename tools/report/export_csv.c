#include "tools/output/csv.h"
#include "export.h"

#include "store/query/names.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#define GPUS_MOST 64u

static void field(struct kc_csv *csv, sqlite3_stmt *row, int i)
{
	switch (sqlite3_column_type(row, i)) {
	case SQLITE_INTEGER:
		kc_csv_integer(csv, sqlite3_column_int64(row, i));
		break;
	case SQLITE_FLOAT:
		kc_csv_real(csv, sqlite3_column_double(row, i));
		break;
	default:
		kc_csv_text(csv, (const char *)sqlite3_column_text(row, i));
		break;
	}
}

int kc__export_error(int sqlite_rc)
{
	switch (sqlite_rc & 0xff) { /* the primary code, without the extended part */
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

/* --- what the report calls the process and the GPU of a launch */

struct gpu {
	int64_t device; /* its row; 0: none */
	char name[KC_GPU_NAME_BYTES];
};

struct places {
	struct kc_store *store;
	const struct kc_selection *selection;
	int process_column, device_column;
	int64_t process; /* of the launch before: launches come process by process; 0: none */
	char process_name[KC_PROCESS_NAME_BYTES];
	struct gpu gpus[GPUS_MOST]; /* met before, by their rows; another may have taken the place of one */
};

/* gpu_name: holds until the next row. */
static int find_places(struct places *places, sqlite3_stmt *row, const char **gpu_name)
{
	int64_t process = sqlite3_column_int64(row, places->process_column),
		device = sqlite3_column_int64(row, places->device_column), pid;
	struct gpu *gpu = places->gpus + (uint64_t)device % GPUS_MOST;
	int rc = 0;

	if (process != places->process)
		rc = kc_process_name(places->store, process, &pid, places->process_name);
	if (rc == 0 && device != gpu->device)
		rc = kc_gpu_name(places->store, places->selection, device, gpu->name);
	places->process = process;
	gpu->device = device;
	*gpu_name = gpu->name;
	return rc;
}

static void name_columns(struct places *places, sqlite3_stmt *row, int columns, struct kc_csv *csv)
{
	for (int i = 0; i < columns; i++) {
		const char *name = sqlite3_column_name(row, i);

		if (!strcmp(name, "process"))
			places->process_column = i;
		if (!strcmp(name, "device"))
			places->device_column = i;
		kc_csv_text(csv, name);
	}
	kc_csv_text(csv, "process_name");
	kc_csv_text(csv, "gpu");
	kc_csv_end_row(csv);
}

static int put_rows(sqlite3_stmt *row, int columns, struct kc_filter *filter, struct places *places, struct kc_csv *csv)
{
	const char *gpu;
	int rc, matches;

	while ((rc = sqlite3_step(row)) == SQLITE_ROW && !ferror(csv->to)) {
		matches = kc_filter_row(filter, row, columns);
		if (matches < 0)
			return matches;
		if (!matches)
			continue;
		matches = find_places(places, row, &gpu);
		if (matches < 0)
			return matches;
		for (int i = 0; i < columns; i++)
			field(csv, row, i);
		kc_csv_text(csv, places->process_name);
		kc_csv_text(csv, gpu);
		kc_csv_end_row(csv);
	}
	return rc == SQLITE_DONE || ferror(csv->to) ? 0 : kc__export_error(rc);
}

int kc_export_csv(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter, FILE *to)
{
	struct places places = {.store = store, .selection = selection};
	struct kc_csv csv = {.to = to};
	sqlite3_stmt *row;
	int rc, columns;

	rc = sqlite3_prepare_v2(
	    kc_store_db(store),
	    "SELECT l.*, k.name AS kernel_name, " KC__EXPORT_FILTER(
		"l", "l.kernel") " FROM launch l LEFT JOIN kernel k ON k.id = l.kernel"
				 " LEFT JOIN process p ON p.id = l.process WHERE l.run BETWEEN ?1 AND ?2",
	    -1, &row, NULL);
	if (rc != SQLITE_OK)
		return kc__export_error(rc);
	sqlite3_bind_int64(row, 1, selection->first_run);
	sqlite3_bind_int64(row, 2, selection->last_run);
	columns = sqlite3_column_count(row) - KC__EXPORT_FILTER_COLUMNS;
	name_columns(&places, row, columns, &csv);
	rc = put_rows(row, columns, filter, &places, &csv);
	sqlite3_finalize(row);
	return rc;
}
