/* What is read of a process beside its operations. */
#include "replay_load.h"
#include "store/common/growing.h"
#include "store/query/rows.h"
#include "predictor/math/order.h"

#include <stdlib.h>
#include <string.h>

/* Calls fn for each row of a process, up to max of them. 0 or -errno. */
static int each_row(struct kc__loader *loader, enum kc__load which, int64_t process, uint32_t max,
		    int (*fn)(sqlite3_stmt *row, void *into), void *into)
{
	sqlite3 *db = loader->store->db;
	sqlite3_stmt *row = kc__loader_ask(loader, which);
	int rc = SQLITE_OK, failed = 0;

	if (!row)
		return kc__errno(db, sqlite3_errcode(db));
	sqlite3_bind_int64(row, 1, process);
	sqlite3_bind_int64(row, 2, max);
	while (!failed && (rc = sqlite3_step(row)) == SQLITE_ROW)
		failed = fn(row, into);
	if (!failed)
		failed = kc__errno(db, rc);
	sqlite3_reset(row);
	return failed;
}

static uint32_t event_kind(const char *name)
{
	for (uint32_t kind = KC_EVENT_NONE + 1; name && kind < KC_ORDER_EVENT_COUNT; kind++) {
		if (!strcmp(name, kc_order_event_name(kind)))
			return kind;
	}
	return KC_EVENT_NONE;
}

static int add_event(sqlite3_stmt *row, void *into)
{
	struct kc__recorded_events *events = into;
	int64_t number = sqlite3_column_int64(row, 0);
	int rc = KC_ROOM(events->at, events->capacity, events->count);

	if (rc || number <= 0 || number > KC_EVENTS_MAX)
		return rc;
	events->at[events->count++] =
	    (struct kc__recorded_event){.number = (uint64_t)number,
					.kind = event_kind((const char *)sqlite3_column_text(row, 1)),
					.kernel = sqlite3_column_int64(row, 2),
					.time_ns = kc__time_at(row, 3),
					.device = sqlite3_column_int64(row, 4)};
	return 0;
}

int kc__events_load(struct kc__loader *loader, int64_t process, struct kc__recorded_events *events)
{
	events->count = 0;
	return each_row(loader, KC__LOAD_EVENTS, process, KC__EVENTS_MAX, add_event, events);
}

void kc__events_free(struct kc__recorded_events *events)
{
	free(events->at);
	*events = (struct kc__recorded_events){0};
}

int kc__began_with_load(struct kc__loader *loader, int64_t process, struct kc_past_entry *began_with, int *found)
{
	sqlite3 *db = loader->store->db;
	sqlite3_stmt *row = kc__loader_ask(loader, KC__LOAD_PAST);
	int rc;

	*began_with = (struct kc_past_entry){0};
	if (!row)
		return kc__errno(db, sqlite3_errcode(db));
	sqlite3_bind_int64(row, 1, process);
	rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		began_with->source = sqlite3_column_int64(row, 0);
		began_with->checksum = (uint64_t)sqlite3_column_int64(row, 1);
		began_with->prior = (uint64_t)sqlite3_column_int64(row, 2);
	}
	if (began_with->source <= 0)
		began_with->source = 0;
	*found = rc == SQLITE_ROW && (began_with->source || began_with->checksum || !began_with->prior);
	sqlite3_reset(row);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}

static int add_counted(sqlite3_stmt *row, void *into)
{
	struct kc__counted_work *work = into;
	int rc = KC_ROOM(work->at, work->capacity, work->count);

	if (rc)
		return rc;
	if (kc__column_counts(row, 2, &work->at[work->count].counts)) {
		work->refused++;
		return 0;
	}
	work->at[work->count].shape = sqlite3_column_int64(row, 0);
	work->at[work->count].arguments = sqlite3_column_int64(row, 1);
	work->count++;
	return 0;
}

int kc__counted_work_load(struct kc__loader *loader, int64_t process, struct kc__counted_work *work)
{
	work->count = work->refused = 0;
	return each_row(loader, KC__LOAD_COUNTED_WORK, process, KC__COUNTED_MAX, add_counted, work);
}

void kc__counted_work_free(struct kc__counted_work *work)
{
	free(work->at);
	*work = (struct kc__counted_work){0};
}

KC_ORDER(by_shape, struct kc__counted_launch, KC_UP(shape) ?: KC_UP(arguments))

const struct kc_counts *kc__counted_work_find(const struct kc__counted_work *work, int64_t shape, int64_t arguments)
{
	struct kc__counted_launch key = {.shape = shape, .arguments = arguments};
	const struct kc__counted_launch *found = NULL;

	if (work->count)
		found = bsearch(&key, work->at, work->count, sizeof(key), by_shape);
	return found ? &found->counts : NULL;
}

int kc__graphs_measured(struct kc__loader *loader, int64_t process, int *found)
{
	sqlite3 *db = loader->store->db;
	sqlite3_stmt *row = kc__loader_ask(loader, KC__LOAD_GRAPHS_MEASURED);
	int rc;

	if (!row)
		return kc__errno(db, sqlite3_errcode(db));
	sqlite3_bind_int64(row, 1, process << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(row, 2, process << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	rc = sqlite3_step(row);
	*found = rc == SQLITE_ROW;
	sqlite3_reset(row);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}

int kc__shortfall_load(struct kc__loader *loader, int64_t process, int *chosen, int *incomplete, int *graphs_whole)
{
	sqlite3 *db = loader->store->db;
	sqlite3_stmt *row = kc__loader_ask(loader, KC__LOAD_SHORTFALL);
	int rc;

	if (!row)
		return kc__errno(db, sqlite3_errcode(db));
	sqlite3_bind_int64(row, 1, process);
	rc = sqlite3_step(row);
	*chosen = sqlite3_column_int(row, 0);
	*incomplete = sqlite3_column_int(row, 1);
	*graphs_whole = sqlite3_column_int(row, 2);
	sqlite3_reset(row);
	return rc == SQLITE_ROW ? 0 : kc__errno(db, rc);
}
