#include "store/database/internal.h"

#include <string.h>

#define SKETCH 9 /* its parameter comes after those of the key and before those of the sums */

static void bind_key(sqlite3_stmt *stmt, const struct kc__rollup_key *key)
{
	sqlite3_bind_int64(stmt, 1, key->run);
	sqlite3_bind_int64(stmt, 2, key->process);
	sqlite3_bind_int64(stmt, 3, key->kernel);
	sqlite3_bind_int64(stmt, 4, key->stream);
	sqlite3_bind_int64(stmt, 5, key->model);
	sqlite3_bind_int64(stmt, 6, key->concurrency_case);
	sqlite3_bind_int64(stmt, 7, key->novelty);
	sqlite3_bind_int64(stmt, 8, key->overlap);
}

static void bind_sums(sqlite3_stmt *stmt, const struct kc__sums *sums)
{
	int i = SKETCH + 1;

#define BIND(name) sqlite3_bind_int64(stmt, i++, (int64_t)sums->name);
	KC__COUNT_SUMS(BIND)
#undef BIND
#define BIND(name) sqlite3_bind_double(stmt, i++, sums->name);
	KC__REAL_SUMS(BIND)
#undef BIND
}

void kc__sums_read(struct kc__sums *sums, sqlite3_stmt *row, int i)
{
#define READ(name) sums->name = (uint64_t)sqlite3_column_int64(row, i++);
	KC__COUNT_SUMS(READ)
#undef READ
#define READ(name) sums->name = sqlite3_column_double(row, i++);
	KC__REAL_SUMS(READ)
#undef READ
}

static int add_row(struct kc__rollups *rollups, struct kc__rollup *rollup, sqlite3_stmt *row)
{
	uint64_t counts[KC_SKETCH_BUCKETS] = {0};
	struct kc__sums stored;
	int rc = 0;

	rollup->row = sqlite3_column_int64(row, 0);
	/* A damaged sketch loses its quantiles, not the launches. */
	if (kc_sketch_add(counts, sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1)) == 0) {
		for (uint32_t i = 0; rc == 0 && i < KC_SKETCH_BUCKETS; i++)
			if (counts[i])
				rc = kc__rollup_count(rollups, rollup, i, (uint32_t)counts[i]);
	}
	kc__sums_read(&stored, row, 2);
	kc__sums_add(&rollup->sums, &stored);
	return rc;
}

/* Adds what an earlier handle has written, or this one before it forgot its roll-ups. */
static int add_stored(struct kc_store *s, struct kc__rollup *rollup)
{
	sqlite3_stmt *find = kc__statement(s, KC__FIND_ROLLUP);
	int rc;

	if (!find)
		return kc__errno(s->db, sqlite3_errcode(s->db));
	bind_key(find, &rollup->key);
	rc = sqlite3_step(find);
	rc = rc == SQLITE_ROW ? add_row(&s->rollups, rollup, find) : kc__errno(s->db, rc);
	sqlite3_reset(find);
	return rc;
}

static int store_one(struct kc_store *s, struct kc__rollup *rollup)
{
	uint8_t encoded[KC_SKETCH_ENCODED_MAX];
	int rc = rollup->row ? 0 : add_stored(s, rollup);
	sqlite3_stmt *stmt;
	size_t bytes;

	if (rc)
		return rc;
	bytes = kc_sketch_encode(&rollup->sketch, encoded);
	stmt = kc__statement(s, rollup->row ? KC__UPDATE_ROLLUP : KC__ADD_ROLLUP);
	if (stmt) {
		if (rollup->row)
			sqlite3_bind_int64(stmt, 1, rollup->row);
		else
			bind_key(stmt, &rollup->key);
		sqlite3_bind_blob(stmt, SKETCH, encoded, (int)bytes, SQLITE_STATIC);
		bind_sums(stmt, &rollup->sums);
	}
	rc = kc__run(s, stmt);
	if (rc == 0 && !rollup->row)
		rollup->row = sqlite3_last_insert_rowid(s->db);
	rollup->is_changed = 0;
	return rc;
}

int kc__rollups_store(struct kc_store *s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->rollups.count; i++) {
		if (s->rollups.at[i]->is_changed)
			rc = store_one(s, s->rollups.at[i]);
	}
	return rc;
}
