/*
 * Databases for fuzz targets: a sound one with two processes that used one of everything, and changes to it.
 *
 * A list of changes is read from an input. Each begins with a byte that says what is done, and a byte each for the
 * table, the column and the row (a row's place in its table), all modulo how many there are:
 *
 *   PUT      the row is written again with another value in that column; where the column is of the table's key, both
 *            are there afterwards
 *   DELETE   all rows go that have the same value there
 *   REPEAT   copies, in each of which the value is larger by one than in the one before; 2 bytes: how many
 *   BYTES    there are no more changes of rows; the rest of the input changes bytes of the file: 3 bytes offset, 1 byte
 *            length (0: the file ends there), and the bytes
 */
#ifndef KC_DATABASE_FUZZING_H
#define KC_DATABASE_FUZZING_H

#include "cuda_tests/fuzz/fuzzing.h"
#include "store/database/store.h"
#include "store/database/upkeep/recovery.h"
#include "store/journal/recording_fuzzing.h"

#include <sqlite3.h>
#include <unistd.h>

enum kc_fuzz_change { KC_FUZZ_PUT, KC_FUZZ_DELETE, KC_FUZZ_REPEAT, KC_FUZZ_BYTES, KC_FUZZ_CHANGES };

#define KC_FUZZ_CHANGES_MAX 16u
#define KC_FUZZ_COPIES_MAX 4096u
#define KC_FUZZ_TABLES_MAX 48u
#define KC_FUZZ_COLUMNS_MAX 48u
#define KC_FUZZ_PAGE_BYTES "1024" /* small: so is the file, and a changed byte matters more often */

struct kc_fuzz_table {
	char *name;
	char *columns[KC_FUZZ_COLUMNS_MAX];
	uint32_t count;
};

struct kc_fuzz_database {
	sqlite3 *db; /* in memory: its changes are undone after each input, so that it is opened and parsed once */
	struct kc_fuzz_table tables[KC_FUZZ_TABLES_MAX];
	uint32_t count;
};

static inline void kc_fuzz_run(sqlite3 *db, const char *sql)
{
	KC_FUZZ_MUST(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

/* Runs this on the file at path, which is made if need be. */
static inline void kc_fuzz_prepare(const char *path, const char *sql)
{
	sqlite3 *db;

	KC_FUZZ_MUST(sqlite3_open(path, &db) == SQLITE_OK);
	kc_fuzz_run(db, sql);
	sqlite3_close(db);
}

static inline char *kc_fuzz_text(sqlite3_stmt *row, int column)
{
	char *text = strdup((const char *)sqlite3_column_text(row, column));

	KC_FUZZ_MUST(text);
	return text;
}

/* Copies the file at path into memory. */
static inline sqlite3 *kc_fuzz_load(const char *path)
{
	sqlite3 *file, *db;
	sqlite3_backup *copy;

	KC_FUZZ_MUST(sqlite3_open(path, &file) == SQLITE_OK && sqlite3_open(":memory:", &db) == SQLITE_OK);
	copy = sqlite3_backup_init(db, "main", file, "main");
	KC_FUZZ_MUST(copy && sqlite3_backup_step(copy, -1) == SQLITE_DONE);
	sqlite3_backup_finish(copy);
	sqlite3_close(file);
	return db;
}

static inline void kc_fuzz_know_database(const char *path, struct kc_fuzz_database *out)
{
	static const char columns[] = "SELECT m.name, x.name FROM sqlite_schema m, pragma_table_info(m.name) x"
				      " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, x.cid";
	sqlite3_stmt *row;

	kc_fuzz_prepare(path, "PRAGMA journal_mode = DELETE; PRAGMA page_size = " KC_FUZZ_PAGE_BYTES "; VACUUM");
	out->db = kc_fuzz_load(path);
	KC_FUZZ_MUST(sqlite3_prepare_v2(out->db, columns, -1, &row, NULL) == SQLITE_OK);
	while (sqlite3_step(row) == SQLITE_ROW) {
		struct kc_fuzz_table *table = &out->tables[out->count ? out->count - 1 : 0];

		if (!out->count || strcmp(table->name, (const char *)sqlite3_column_text(row, 0))) {
			KC_FUZZ_MUST(out->count < KC_FUZZ_TABLES_MAX);
			table = &out->tables[out->count++];
			table->name = kc_fuzz_text(row, 0);
		}
		KC_FUZZ_MUST(table->count < KC_FUZZ_COLUMNS_MAX);
		table->columns[table->count++] = kc_fuzz_text(row, 1);
	}
	sqlite3_finalize(row);
}

static inline void kc_fuzz_put_database(const char *path, struct kc_fuzz_file file)
{
	static const char *const beside[] = {"-wal", "-shm", "-journal"};
	char name[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, beside[i]);
		unlink(name);
	}
	kc_fuzz_write(path, file.bytes, file.length);
}

static inline struct kc_fuzz_file kc_fuzz_empty_database(const char *path)
{
	struct kc_store *store;

	KC_FUZZ_MUST(kc_store_open(path, KC_STORE_WRITE, &store, NULL, 0) == 0);
	kc_store_close(store);
	return kc_fuzz_read(path);
}

static inline void kc_fuzz_import(const char *path, uint64_t pid_start, int64_t source)
{
	static struct kc_fuzz_recording recording;
	struct kc_recovered recovered;
	char journal[PATH_MAX + 16], why[256];

	kc_fuzz_record(&recording, pid_start, source);
	snprintf(journal, sizeof(journal), "%s.%u-%u.kcj", path, KC_FUZZ_NO_PID, (unsigned)pid_start);
	kc_fuzz_write(journal, &recording, sizeof(recording));
	KC_FUZZ_MUST(kc_recover(path, true, &recovered, why, sizeof(why)) == 0 && recovered.processes == 1);
}

/* The second process began with what the first had taught. */
static inline void kc_fuzz_sound_database(const char *path, struct kc_fuzz_database *out)
{
	static const char rest[] =
	    "INSERT INTO calibration(device, time_unix_ns, launch_overhead_ns, empty_kernel_ns, launch_gap_ns,"
	    " copy_bytes_per_s, flops_per_s, repeats, simulated) VALUES (1, 5, 4000, 900, 1000, 1e12, 1e13, 100, 0);"
	    "INSERT INTO sweep_kernel VALUES (1, '', '_Z5scalePff', 0);"
	    "INSERT INTO sweep VALUES (1, 1, 64, 1, 1, 1000, 20000, 3, 16, 32, 0), (1, 1, 256, 1, 1, 1000, 21000, 3, "
	    "8, 32, 0);"
	    "INSERT INTO basis VALUES (1, 64, 0.7, 2), (1, 256, 0.7, 2);"
	    "INSERT INTO basis_training VALUES (7, 2, 1, 1, 0.1)";

	kc_fuzz_import(path, 1, 0);
	kc_fuzz_import(path, 2, 1);
	kc_fuzz_prepare(path, rest);
	kc_fuzz_know_database(path, out);
}

/* --- changes */

/* A value: 1 byte for the kind, then what the kind needs. */
static inline void kc_fuzz_bind(sqlite3_stmt *stmt, int i, struct kc_fuzz_input *input)
{
	uint8_t kind = kc_fuzz_byte(input), small;
	int64_t whole;
	double real;
	char text[256];

	switch (kind % 8) {
	case 0:
		sqlite3_bind_null(stmt, i);
		break;
	case 1:
		sqlite3_bind_int64(stmt, i, (int8_t)kc_fuzz_byte(input));
		break;
	case 2:
		kc_fuzz_take(input, &whole, sizeof(whole));
		sqlite3_bind_int64(stmt, i, whole);
		break;
	case 3: /* near a power of two */
		small = kc_fuzz_byte(input);
		whole = (int64_t)((UINT64_C(1) << (small & 63)) - (small >> 7));
		sqlite3_bind_int64(stmt, i, small & 64 ? (int64_t) - (uint64_t)whole : whole);
		break;
	case 4:
		kc_fuzz_take(input, &real, sizeof(real));
		sqlite3_bind_double(stmt, i, real);
		break;
	case 5:
	case 6:
		small = kc_fuzz_byte(input);
		kc_fuzz_take(input, text, small);
		if (kind % 8 == 5)
			sqlite3_bind_text(stmt, i, text, small, SQLITE_TRANSIENT);
		else
			sqlite3_bind_blob(stmt, i, text, small, SQLITE_TRANSIENT);
		break;
	default:
		sqlite3_bind_zeroblob(stmt, i, 1 << kc_fuzz_byte(input) % 22);
	}
}

/* "a, b, ?1, d": what stands for the column at place is written there. */
static inline char *kc_fuzz_columns(const struct kc_fuzz_table *table, uint32_t place, const char *instead)
{
	sqlite3_str *out = sqlite3_str_new(NULL);

	for (uint32_t i = 0; i < table->count; i++) {
		if (i == place)
			sqlite3_str_appendf(out, i ? ", %s" : "%s", instead);
		else
			sqlite3_str_appendf(out, i ? ", \"%w\"" : "\"%w\"", table->columns[i]);
	}
	return sqlite3_str_finish(out);
}

/* ?1: a value; ?2: the row's place; ?3: how many. */
static inline char *kc_fuzz_statement(enum kc_fuzz_change change, const struct kc_fuzz_table *table, uint32_t column)
{
	char *instead = sqlite3_mprintf(change == KC_FUZZ_PUT ? "?1" : "\"%w\" + n.i", table->columns[column]);
	char *columns = kc_fuzz_columns(table, column, instead), *sql;

	if (change == KC_FUZZ_PUT)
		sql = sqlite3_mprintf("INSERT OR REPLACE INTO \"%w\" SELECT %s FROM \"%w\" LIMIT 1 OFFSET ?2",
				      table->name, columns, table->name);
	else if (change == KC_FUZZ_DELETE)
		sql =
		    sqlite3_mprintf("DELETE FROM \"%w\" WHERE \"%w\" IS (SELECT \"%w\" FROM \"%w\" LIMIT 1 OFFSET ?2)",
				    table->name, table->columns[column], table->columns[column], table->name);
	else
		sql = sqlite3_mprintf(
		    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?3)"
		    " INSERT OR REPLACE INTO \"%w\" SELECT %s FROM (SELECT * FROM \"%w\" LIMIT 1 OFFSET ?2), n",
		    table->name, columns, table->name);
	sqlite3_free(columns);
	sqlite3_free(instead);
	return sql;
}

static inline void kc_fuzz_change_rows(const struct kc_fuzz_database *sound, enum kc_fuzz_change change,
				       struct kc_fuzz_input *input)
{
	const struct kc_fuzz_table *table = &sound->tables[kc_fuzz_byte(input) % sound->count];
	uint32_t column = kc_fuzz_byte(input) % table->count;
	char *sql = kc_fuzz_statement(change, table, column);
	sqlite3_stmt *stmt = NULL;
	uint16_t copies = 0;

	KC_FUZZ_MUST(sqlite3_prepare_v2(sound->db, sql, -1, &stmt, NULL) == SQLITE_OK);
	sqlite3_bind_int(stmt, 2, kc_fuzz_byte(input));
	if (change == KC_FUZZ_PUT)
		kc_fuzz_bind(stmt, 1, input);
	if (change == KC_FUZZ_REPEAT)
		kc_fuzz_take(input, &copies, sizeof(copies));
	sqlite3_bind_int(stmt, 3, copies % KC_FUZZ_COPIES_MAX);
	sqlite3_step(stmt); /* what a constraint refuses is not done */
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static inline void kc_fuzz_change_bytes(struct kc_fuzz_file *file, struct kc_fuzz_input *input)
{
	while (input->left && file->length) {
		uint32_t offset = 0;
		size_t length;

		kc_fuzz_take(input, &offset, 3);
		offset %= (uint32_t)file->length;
		length = kc_fuzz_byte(input);
		if (length == 0)
			file->length = offset;
		else
			kc_fuzz_take(input, file->bytes + offset,
				     length < file->length - offset ? length : file->length - offset);
	}
}

/* Writes the sound database to path, with the changes of the input. */
static inline void kc_fuzz_changed_database(const char *path, const struct kc_fuzz_database *sound,
					    struct kc_fuzz_input *input)
{
	enum kc_fuzz_change change = KC_FUZZ_PUT;
	struct kc_fuzz_file file;
	sqlite3_int64 length;

	kc_fuzz_run(sound->db, "BEGIN");
	for (uint32_t i = 0; input->left && change != KC_FUZZ_BYTES && i < KC_FUZZ_CHANGES_MAX; i++) {
		change = kc_fuzz_byte(input) % KC_FUZZ_CHANGES;
		if (change != KC_FUZZ_BYTES)
			kc_fuzz_change_rows(sound, change, input);
	}
	file.bytes = sqlite3_serialize(sound->db, "main", &length, 0);
	KC_FUZZ_MUST(file.bytes);
	file.length = (size_t)length;
	kc_fuzz_run(sound->db, "ROLLBACK");
	if (change == KC_FUZZ_BYTES)
		kc_fuzz_change_bytes(&file, input);
	kc_fuzz_put_database(path, file);
	sqlite3_free(file.bytes);
}

#endif
