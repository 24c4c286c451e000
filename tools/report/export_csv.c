#include "tools/output/csv.h"
#include "export.h"

#include <errno.h>
#include <sqlite3.h>

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

static int put_rows(sqlite3_stmt *row, int columns, struct kc_filter *filter, struct kc_csv *csv)
{
	int rc, matches;

	while ((rc = sqlite3_step(row)) == SQLITE_ROW && !ferror(csv->to)) {
		matches = kc_filter_row(filter, row, columns);
		if (matches < 0)
			return matches;
		if (!matches)
			continue;
		for (int i = 0; i < columns; i++)
			field(csv, row, i);
		kc_csv_end_row(csv);
	}
	return rc == SQLITE_DONE || ferror(csv->to) ? 0 : kc__export_error(rc);
}

int kc_export_csv(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter, FILE *to)
{
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
	for (int i = 0; i < columns; i++)
		kc_csv_text(&csv, sqlite3_column_name(row, i));
	kc_csv_end_row(&csv);
	rc = put_rows(row, columns, filter, &csv);
	sqlite3_finalize(row);
	return rc;
}
