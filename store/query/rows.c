#include "rows.h"
#include "query.h"
#include "store/database/internal.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *kc__column_text(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return strdup(text ? text : "");
}

uint32_t kc__column_u32(sqlite3_stmt *row, int i)
{
	int64_t value = sqlite3_column_int64(row, i);

	return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

int kc__select(struct kc_store *s, const struct kc_selection *selection, const char *sql,
	       int (*fn)(sqlite3_stmt *row, void *arg), void *arg)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &row, NULL);
	int stopped = 0;

	if (rc != SQLITE_OK)
		return kc__errno(s->db, rc);
	if (selection) {
		sqlite3_bind_int64(row, 1, selection->first_run);
		sqlite3_bind_int64(row, 2, selection->last_run);
	}
	while (!stopped && (rc = sqlite3_step(row)) == SQLITE_ROW)
		stopped = fn(row, arg);
	if (!stopped)
		stopped = kc__errno(s->db, rc);
	sqlite3_finalize(row);
	return stopped;
}

void *kc__list_add(struct kc__list *list, size_t size)
{
	void *entry;

	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;
		void *at = realloc(list->at, capacity * size);

		if (!at)
			return NULL;
		list->at = at;
		list->capacity = capacity;
	}
	entry = (char *)list->at + list->count++ * size;
	memset(entry, 0, size);
	return entry;
}

int kc__column_counts(sqlite3_stmt *row, int i, struct kc_counts *counts)
{
	uint64_t bytes[KC_WORK_NUMBERS] = {0};
	double numbers[KC_WORK_NUMBERS];
	const void *blob = sqlite3_column_blob(row, i);
	int size = sqlite3_column_bytes(row, i);

	/* A later version may count more; it puts these first. */
	if (!blob || size < (int)(KC_WORK_NUMBERS_MIN * sizeof(*bytes)) ||
	    size > (int)(KC_WORK_NUMBERS_MAX * sizeof(*bytes)) || size % (int)sizeof(*bytes))
		return -EINVAL;
	memcpy(bytes, blob, (size_t)size < sizeof(bytes) ? (size_t)size : sizeof(bytes));
	for (size_t k = 0; k < KC_WORK_NUMBERS; k++)
		bytes[k] = le64toh(bytes[k]);
	memcpy(numbers, bytes, sizeof(numbers));
	return kc_work_counts(numbers, KC_WORK_NUMBERS, counts);
}
