#include "merge.h"
#include "store/database/internal.h"
#include "store/database/schema.h"

#include <errno.h>
#include <string.h>

#define SLACK_NS "60000000000" /* by which the clocks of hosts may differ */

/* Ids of the other database, and of this one. fresh: its rows are to be copied; grown: instead of those here. m_added:
 * runs that kc_store_merge() has added; m_place: where in the order of time each of them belongs. */
static const char maps[] = "CREATE TEMP TABLE IF NOT EXISTS m_run(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_process(old INTEGER PRIMARY KEY, new INTEGER NOT NULL,"
			   " fresh INTEGER NOT NULL, grown INTEGER NOT NULL);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_added(run INTEGER PRIMARY KEY);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_place(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_device(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_kernel(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_shape(old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			   "CREATE TEMP TABLE IF NOT EXISTS m_stream(old INTEGER PRIMARY KEY, new INTEGER NOT NULL)";
static const char forget_maps[] = "DELETE FROM temp.m_run; DELETE FROM temp.m_process; DELETE FROM temp.m_device;"
				  "DELETE FROM temp.m_kernel; DELETE FROM temp.m_shape; DELETE FROM temp.m_stream";

#define NEW(what) "(SELECT new FROM temp.m_" #what " WHERE old = t." #what ")"
#define NEW_OR_0(what) "coalesce(" NEW(what) ", 0)"
#define OF_COLUMN " JOIN temp.m_process p ON p.old = t.process AND p.fresh"
#define OF_ROWID " JOIN temp.m_process p ON p.old = t.id >> 40 AND p.fresh"
#define NEW_ROWID                                                                                                      \
	{                                                                                                              \
		"id", "p.new << 40 | (t.id & 1099511627775)"                                                           \
	}
_Static_assert(KC_SEQUENCE_BITS == 40, "row ids");

/* Rows of a table: all columns as they are, but for some; those with NULL in their place are left out. */
struct copy {
	const char *table, *joined;
	const char *columns[6][2];
};

/* What both databases may have. */
static const struct copy kernels = {"kernel", "", {{"id", NULL}}};
static const struct copy shapes = {
    "shape", "", {{"id", NULL}, {"kernel", NEW_OR_0(kernel)}, {"device", NEW_OR_0(device)}}};

/* What belongs to processes. */
static const struct copy owned[] = {
    {"process", " JOIN temp.m_process p ON p.old = t.id AND p.fresh", {{"id", "p.new"}, {"run", NEW(run)}}},
    {"process_device", OF_COLUMN, {{"process", "p.new"}, {"device", NEW_OR_0(device)}}},
    {"process_kernel", OF_COLUMN, {{"process", "p.new"}, {"kernel", NEW_OR_0(kernel)}}},
    {"stream",
     OF_COLUMN " JOIN temp.m_stream n ON n.old = t.id",
     {{"id", "n.new"}, {"process", "p.new"}, {"device", NEW(device)}}},
    {"call_site", OF_COLUMN, {{"process", "p.new"}}},
    {"arguments", OF_COLUMN, {{"process", "p.new"}}},
    {"ledger", OF_COLUMN, {{"process", "p.new"}}},
    {"engine_event", OF_COLUMN, {{"process", "p.new"}, {"kernel", NEW(kernel)}, {"device", NEW(device)}}},
    {"work", OF_COLUMN, {{"process", "p.new"}, {"shape", NEW_OR_0(shape)}}},
    {"learned", OF_COLUMN, {{"process", "p.new"}}},
    {"past", OF_COLUMN, {{"process", "p.new"}, {"source", "(SELECT new FROM temp.m_process WHERE old = t.source)"}}},
    {"rollup",
     OF_COLUMN,
     {{"id", NULL},
      {"run", "(SELECT run FROM main.process WHERE id = p.new)"},
      {"process", "p.new"},
      {"kernel", NEW_OR_0(kernel)},
      {"stream", NEW_OR_0(stream)}}},
    {"message", OF_ROWID, {NEW_ROWID, {"process", "p.new"}}},
    {"lambda_row", OF_ROWID, {NEW_ROWID, {"shape", NEW(shape)}}},
    {"stream_call", OF_ROWID, {NEW_ROWID, {"stream", NEW(stream)}, {"device", NEW(device)}}},
    {"operator", OF_COLUMN, {{"process", "p.new"}}},
    {"launched_by", OF_ROWID, {NEW_ROWID}},
    {"step", OF_COLUMN, {{"process", "p.new"}}},
    {"scope", OF_COLUMN, {{"process", "p.new"}}},
    {"launched_in", OF_ROWID, {NEW_ROWID}},
    {"gpu_state", OF_ROWID, {NEW_ROWID, {"device", NEW_OR_0(device)}}},
    {"transfer", OF_ROWID, {NEW_ROWID, {"process", "p.new"}, {"device", NEW(device)}, {"stream", NEW(stream)}}},
    {"launch_row", OF_ROWID, {NEW_ROWID, {"shape", NEW(shape)}, {"stream", NEW(stream)}}},
    {"code_place", "", {{0}}},
    {"kernel_text", " JOIN temp.m_kernel k ON k.old = t.kernel", {{"kernel", "k.new"}}},
    {"calibration",
     " WHERE NOT EXISTS (SELECT 1 FROM main.calibration c WHERE c.device = " NEW(
	 device) " AND c.time_unix_ns ="
		 " t.time_unix_ns) AND t.device IN (SELECT old FROM temp.m_device)",
     {{"id", NULL}, {"device", NEW(device)}}},
};

static const char *value_of(const struct copy *copy, const char *column, int *is_special)
{
	for (size_t i = 0; i < sizeof(copy->columns) / sizeof(*copy->columns); i++)
		if (copy->columns[i][0] && strcmp(copy->columns[i][0], column) == 0) {
			*is_special = 1;
			return copy->columns[i][1];
		}
	*is_special = 0;
	return NULL;
}

/* The text of the statement; freed with sqlite3_free(). NULL: no memory. */
static char *statement_of(struct kc_store *s, const struct copy *copy)
{
	sqlite3_str *names = sqlite3_str_new(NULL), *values = sqlite3_str_new(NULL);
	char *columns, *from, *sql = NULL;
	sqlite3_stmt *row = NULL;

	sqlite3_prepare_v2(s->db, "SELECT name FROM pragma_table_info(?1)", -1, &row, NULL);
	sqlite3_bind_text(row, 1, copy->table, -1, SQLITE_STATIC);
	while (sqlite3_step(row) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(row, 0), *value;
		int is_special;

		value = value_of(copy, name, &is_special);
		if (is_special && !value)
			continue;
		sqlite3_str_appendf(names, "%s%s", sqlite3_str_length(names) ? ", " : "", name);
		sqlite3_str_appendf(values, "%s%s%s", sqlite3_str_length(values) ? ", " : "", value ? "" : "t.",
				    value ? value : name);
	}
	sqlite3_finalize(row);
	columns = sqlite3_str_finish(names);
	from = sqlite3_str_finish(values);
	if (columns && from)
		sql = sqlite3_mprintf("INSERT OR IGNORE INTO main.%s(%s) SELECT %s FROM other.%s t%s", copy->table,
				      columns, from, copy->table, copy->joined);
	sqlite3_free(columns);
	sqlite3_free(from);
	return sql;
}

static int copy_rows(struct kc_store *s, const struct copy *copy)
{
	char *sql = statement_of(s, copy);
	int rc = sql ? kc__errno(s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL)) : -ENOMEM;

	sqlite3_free(sql);
	return rc;
}

/* --- runs */

/* The run of ours that run ?1 of the other database is part of. */
static const char same_run[] = "SELECT m.id FROM main.run m JOIN other.run o ON o.token = m.token WHERE o.id = ?1";
#define SAME_PROCESS                                                                                                   \
	"f.boot_id = t.boot_id AND f.pid = t.pid AND f.pid_start = t.pid_start AND f.started_ns = t.started_ns"
static const char same_process[] =
    "SELECT f.run FROM other.process t JOIN main.process f ON " SAME_PROCESS " WHERE t.run = ?1 LIMIT 1";
#define SPAN(process)                                                                                                  \
	"min(" process ".started_unix_ns) AS first, max(" process ".started_unix_ns + max(0, coalesce(" process        \
	".ended_ns - " process ".started_ns, 0))) AS last"
static const char same_job[] = "WITH theirs AS (SELECT o.job, " SPAN(
    "o") " FROM other.process o WHERE o.run = ?1 AND o.job NOT NULL),"
	 " ours AS (SELECT p.run, " SPAN(
	     "p") " FROM main.process p WHERE p.job = (SELECT job FROM theirs) GROUP BY p.run)"
		  " SELECT ours.run FROM ours, theirs WHERE ours.first <= theirs.last + " SLACK_NS
		  " AND theirs.first <= ours.last + " SLACK_NS
		  " AND NOT EXISTS (SELECT 1 FROM main.process a JOIN other.process b ON a.rank = b.rank"
		  " WHERE a.run = ours.run AND b.run = ?1) ORDER BY abs(ours.first - theirs.first) LIMIT 1";

/* *id: 0: there is none. */
static int ask(struct kc_store *s, const char *sql, int64_t run, int64_t *id)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &row, NULL);

	*id = 0;
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(row, 1, run);
		rc = sqlite3_step(row);
	}
	if (rc == SQLITE_ROW)
		*id = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return kc__errno(s->db, rc);
}

static int add_run(struct kc_store *s, int64_t old, struct kc_merged *out)
{
	int64_t new;
	int rc = ask(s, same_run, old, &new);

	if (rc == 0 && !new)
		rc = ask(s, same_process, old, &new);
	if (rc == 0 && !new)
		rc = ask(s, same_job, old, &new);
	if (rc == 0 && new) {
		out->joined++;
		rc = kc__execute(
		    s,
		    "UPDATE main.run SET simulated = max(simulated, coalesce((SELECT simulated FROM other.run"
		    " WHERE id = %lld), 0)), started_unix_ns = min(started_unix_ns, coalesce((SELECT"
		    " started_unix_ns FROM other.run WHERE id = %lld), started_unix_ns)) WHERE id = %lld",
		    (long long)old, (long long)old, (long long)new);
	} else if (rc == 0) {
		rc = kc__execute(
		    s,
		    "INSERT INTO main.run(token, started_unix_ns, command_line, directory, simulated, source)"
		    " SELECT token, started_unix_ns, command_line, directory, simulated, source FROM"
		    " other.run WHERE id = %lld",
		    (long long)old);
		new = sqlite3_last_insert_rowid(s->db);
		if (rc == 0)
			rc = kc__execute(s, "INSERT INTO temp.m_added VALUES(%lld)", (long long)new);
	}
	return rc ? rc : kc__execute(s, "INSERT INTO temp.m_run VALUES(%lld, %lld)", (long long)old, (long long)new);
}

static int add_runs(struct kc_store *s, struct kc_merged *out)
{
	int64_t run = INT64_MIN, found = 1;
	int rc = 0;

	while (rc == 0 && found) {
		rc = kc__ask_number(s, &found, "SELECT EXISTS (SELECT 1 FROM other.run WHERE id > %lld)",
				    (long long)run);
		if (rc == 0 && found)
			rc = kc__ask_number(s, &run, "SELECT min(id) FROM other.run WHERE id > %lld", (long long)run);
		if (rc == 0 && found)
			rc = add_run(s, run, out);
	}
	return rc;
}

/* --- ids */

#define NEXT(table) "(SELECT coalesce(max(id), 0) FROM main." table ") + row_number() OVER (ORDER BY t.id)"

/* What a process stores adds to its ledger. */
#define LEDGER_OF(database, process) "(SELECT total(count) FROM " database ".ledger WHERE process = " process ".id)"
#define HAS_GROWN                                                                                                      \
	"coalesce(f.ended = '' AND t.ended <> '' OR " LEDGER_OF("other", "t") " > " LEDGER_OF("main", "f") ", 0)"
static const char number_processes[] = "INSERT INTO temp.m_process SELECT t.id, coalesce(f.id, " NEXT(
    "process") "), f.id IS NULL OR " HAS_GROWN ", f.id NOT NULL AND " HAS_GROWN " FROM other.process t"
	       " JOIN temp.m_run r ON r.old = t.run LEFT JOIN main.process f ON " SAME_PROCESS
	       " WHERE t.id BETWEEN 1 AND 8388607";
_Static_assert(KC_PROCESS_MAX == 8388607, "processes");
static const char number_kernels[] =
    "INSERT INTO temp.m_kernel SELECT t.id, f.id FROM other.kernel t JOIN main.kernel f ON f.mangled = t.mangled AND"
    " f.module = t.module AND f.code_hash = t.code_hash AND f.registers = t.registers AND f.static_shared_bytes ="
    " t.static_shared_bytes";
static const char number_shapes[] =
    "INSERT INTO temp.m_shape SELECT t.id, f.id FROM other.shape t JOIN main.shape f ON f.kernel = " NEW_OR_0(
	kernel) " AND f.device = " NEW_OR_0(device) " AND f.grid_x = t.grid_x AND f.grid_y = t.grid_y AND f.grid_z = "
						    "t.grid_z AND"
						    " f.block_x = t.block_x AND f.block_y = t.block_y AND f.block_z = "
						    "t.block_z AND f.dynamic_shared_bytes ="
						    " t.dynamic_shared_bytes AND f.blocks_per_sm = t.blocks_per_sm";
static const char number_streams[] =
    "INSERT INTO temp.m_stream SELECT t.id, " NEXT("stream") " FROM other.stream t" OF_COLUMN;

/* "f.uuid IS t.uuid AND …": all columns but the id. Freed with sqlite3_free(). NULL: no memory. */
static char *same_device(struct kc_store *s)
{
	sqlite3_stmt *row = NULL;
	char *same = NULL;

	sqlite3_prepare_v2(
	    s->db,
	    "SELECT group_concat('f.' || name || ' IS t.' || name, ' AND ') FROM pragma_table_info('device')"
	    " WHERE name <> 'id'",
	    -1, &row, NULL);
	if (sqlite3_step(row) == SQLITE_ROW)
		same = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	return same;
}

static int add_devices(struct kc_store *s)
{
	char *same = same_device(s), *joined = NULL;
	struct copy devices = {"device", NULL, {{"id", NULL}}};
	int rc = -ENOMEM;

	if (same)
		joined = sqlite3_mprintf(" WHERE NOT EXISTS (SELECT 1 FROM main.device f WHERE %s)", same);
	if (joined) {
		devices.joined = joined;
		rc = copy_rows(s, &devices);
	}
	if (rc == 0)
		rc = kc__execute(
		    s,
		    "INSERT INTO temp.m_device SELECT t.id, min(f.id) FROM other.device t JOIN main.device f"
		    " ON %s GROUP BY t.id",
		    same);
	sqlite3_free(same);
	sqlite3_free(joined);
	return rc;
}

static int add_shared(struct kc_store *s)
{
	int rc = add_devices(s);

	if (rc == 0)
		rc = copy_rows(s, &kernels);
	if (rc == 0)
		rc = kc__execute(s, "%s", number_kernels);
	if (rc == 0)
		rc = copy_rows(s, &shapes);
	return rc ? rc : kc__execute(s, "%s", number_shapes);
}

static int starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Deletes what is here of processes of which the other database has more. launches: rows deleted. */
static int delete_grown(struct kc_store *s, int64_t *launches)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(owned) / sizeof(*owned); i++) {
		const char *table = owned[i].table;

		if (starts_with(owned[i].joined, OF_ROWID))
			rc = kc__execute(s,
					 "DELETE FROM main.%s WHERE id IN (SELECT r.id FROM temp.m_process p CROSS JOIN"
					 " main.%s r ON r.id BETWEEN p.new << 40 AND p.new << 40 | 1099511627775"
					 " WHERE p.grown)",
					 table, table);
		else if (i == 0 || starts_with(owned[i].joined, OF_COLUMN))
			rc = kc__execute(s,
					 "DELETE FROM main.%s WHERE %s IN (SELECT new FROM temp.m_process WHERE grown)",
					 table, i == 0 ? "id" : "process");
		if (strcmp(table, "launch_row") == 0)
			*launches = sqlite3_changes(s->db);
	}
	return rc;
}

static int number_owned(struct kc_store *s, struct kc_merged *out)
{
	int64_t last = 0, fresh = 0, known = 0, grown = 0;
	int rc = kc__execute(s, "%s", number_processes);

	if (rc == 0)
		rc = kc__ask_number(s, &grown, "SELECT count(*) FROM temp.m_process WHERE grown");
	if (rc == 0)
		rc = kc__execute(s, "%s", number_streams);
	if (rc == 0)
		rc = kc__ask_number(s, &last, "SELECT coalesce(max(new), 0) FROM temp.m_process");
	if (rc == 0)
		rc = kc__ask_number(s, &fresh, "SELECT count(*) FROM temp.m_process WHERE fresh AND NOT grown");
	if (rc == 0)
		rc = kc__ask_number(s, &known, "SELECT count(*) FROM temp.m_process WHERE NOT fresh");
	out->processes = (uint64_t)fresh;
	out->known = (uint64_t)known;
	out->grown = (uint64_t)grown;
	return rc == 0 && last > KC_PROCESS_MAX ? -EOVERFLOW : rc;
}

/* A run of processes that are all known already is none. */
static int delete_empty_runs(struct kc_store *s)
{
	int rc = kc__execute(s, "DELETE FROM main.run WHERE id IN (SELECT new FROM temp.m_run) AND NOT EXISTS"
				" (SELECT 1 FROM main.process WHERE run = main.run.id)");

	return rc ? rc : kc__execute(s, "DELETE FROM temp.m_added WHERE run NOT IN (SELECT id FROM main.run)");
}

static int add_all(struct kc_store *s, struct kc_merged *out)
{
	static const char count_added[] = "SELECT count(*) FROM temp.m_added";
	int64_t before = 0, after = 0, deleted = 0, more = 0;
	int rc = kc__execute(s, "%s", forget_maps);

	if (rc == 0)
		rc = kc__ask_number(s, &before, count_added);
	if (rc == 0)
		rc = add_runs(s, out);
	if (rc == 0)
		rc = add_shared(s);
	if (rc == 0)
		rc = number_owned(s, out);
	if (rc == 0 && out->grown)
		rc = delete_grown(s, &deleted);
	for (size_t i = 0; rc == 0 && i < sizeof(owned) / sizeof(*owned); i++) {
		rc = copy_rows(s, owned + i);
		if (strcmp(owned[i].table, "launch_row") == 0)
			more = sqlite3_changes(s->db) - deleted;
	}
	out->launches = more > 0 ? (uint64_t)more : 0;
	if (rc == 0)
		rc = delete_empty_runs(s);
	if (rc == 0)
		rc = kc__ask_number(s, &after, count_added);
	out->runs = (uint64_t)(after - before);
	return rc;
}

static int in_transaction(struct kc_store *s, int (*work)(struct kc_store *s, struct kc_merged *out),
			  struct kc_merged *out)
{
	int rc = kc__execute(s, "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = work(s, out);
	if (rc == 0)
		rc = kc__execute(s, "COMMIT");
	if (rc && !sqlite3_get_autocommit(s->db))
		kc__execute(s, "ROLLBACK");
	return rc;
}

int kc_store_merge(struct kc_store *to, const char *path, struct kc_merged *out)
{
	int rc;

	*out = (struct kc_merged){0};
	rc = kc__execute(to, "%s", maps);
	if (rc == 0)
		rc = kc__execute(to, "ATTACH %Q AS other", path);
	if (rc)
		return rc;
	rc = in_transaction(to, add_all, out);
	kc__execute(to, "DETACH other");
	return rc;
}

#define ADDED_BY(order)                                                                                                \
	"(SELECT r.id, row_number() OVER (ORDER BY " order ") AS place FROM main.run r JOIN temp.m_added ON run = "    \
	"r.id)"

static int sort_runs(struct kc_store *s, struct kc_merged *unused)
{
	static const char *const statements[] = {
	    "DELETE FROM temp.m_place",
	    "INSERT INTO temp.m_place SELECT t.id, i.id FROM " ADDED_BY("r.started_unix_ns, r.id") " t JOIN " ADDED_BY(
		"r.id") " i USING (place)",
	    "UPDATE main.run SET id = -1 - (SELECT new FROM temp.m_place WHERE old = id)"
	    " WHERE id IN (SELECT old FROM temp.m_place)",
	    "UPDATE main.run SET id = -1 - id WHERE id IN (SELECT -1 - new FROM temp.m_place)",
	    "UPDATE main.process SET run = (SELECT new FROM temp.m_place WHERE old = run)"
	    " WHERE run IN (SELECT old FROM temp.m_place)",
	    "UPDATE main.rollup SET run = (SELECT new FROM temp.m_place WHERE old = run)"
	    " WHERE run IN (SELECT old FROM temp.m_place)",
	};
	int rc = 0;

	(void)unused;
	for (size_t i = 0; rc == 0 && i < sizeof(statements) / sizeof(*statements); i++)
		rc = kc__execute(s, "%s", statements[i]);
	return rc;
}

int kc_store_order_merged(struct kc_store *to)
{
	int rc = kc__execute(to, "%s", maps);

	return rc ? rc : in_transaction(to, sort_runs, NULL);
}
