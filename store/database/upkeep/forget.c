#include "forget.h"
#include "store/database/internal.h"

#include <errno.h>

/* How the rows of a table name their process. */
enum owner {
	BY_COLUMN, /* the column "process" */
	BY_ROWID,  /* its upper bits */
	BY_RUN,    /* the column "run" */
};

/* Children before their parents. By what each names, there is an index. */
static const struct {
	const char *table;
	enum owner owner;
} tables[] = {
    {"ledger", BY_COLUMN},         {"call_site", BY_COLUMN}, {"arguments", BY_COLUMN},      {"stream", BY_COLUMN},
    {"process_kernel", BY_COLUMN}, {"rollup", BY_RUN},       {"process_device", BY_COLUMN}, {"work", BY_COLUMN},
    {"past", BY_COLUMN},           {"learned", BY_COLUMN},   {"engine_event", BY_COLUMN},   {"operator", BY_COLUMN},
    {"step", BY_COLUMN},           {"scope", BY_COLUMN},     {"process", BY_RUN},
};

/* Those with a row for each launch, transfer or call. The process is in the upper bits of the row's id. */
static const char *const large[] = {"launch_row", "lambda_row",  "transfer",   "stream_call",
				    "gpu_state",  "launched_by", "launched_in"};
enum { LARGE = sizeof(large) / sizeof(*large) };

static int delete_rows(struct kc_store *s, const char *table, enum owner owner, int64_t run)
{
	char key[32] = "process";

	if (owner == BY_RUN)
		return kc__execute(s, "DELETE FROM %s WHERE run = %lld", table, (long long)run);
	if (owner == BY_ROWID)
		sqlite3_snprintf(sizeof(key), key, "id >> %d", KC_SEQUENCE_BITS);
	return kc__execute(s, "DELETE FROM %s WHERE %s IN (SELECT id FROM process WHERE run = %lld)", table, key,
			   (long long)run);
}

static int delete_large(struct kc_store *s, int64_t run)
{
	int rc = 0;

	for (size_t i = 0; i < LARGE && rc == 0; i++)
		rc = delete_rows(s, large[i], BY_ROWID, run);
	return rc;
}

static int delete_run(struct kc_store *s, int64_t run)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && rc == 0; i++)
		rc = delete_rows(s, tables[i].table, tables[i].owner, run);
	return rc ? rc : kc__execute(s, "DELETE FROM run WHERE id = %lld", (long long)run);
}

/* What names a process and is found by a scan alone. Nobody can tell any more what other processes took from it when
 * they began. processes: a query for their ids, behind IN or NOT IN. */
static int delete_loose(struct kc_store *s, const char *processes)
{
	return kc__execute(s, "DELETE FROM message WHERE process %s; UPDATE past SET source = NULL WHERE source %s",
			   processes, processes);
}

static int delete_loose_of(struct kc_store *s, int64_t run)
{
	char processes[80];

	sqlite3_snprintf(sizeof(processes), processes, "IN (SELECT id FROM process WHERE run = %lld)", (long long)run);
	return delete_loose(s, processes);
}

int kc_store_forget_run(struct kc_store *store, int64_t run)
{
	int rc = kc__execute(store, "SAVEPOINT forget_run");

	if (rc == 0)
		rc = delete_large(store, run);
	if (rc == 0)
		rc = delete_loose_of(store, run);
	if (rc == 0)
		rc = delete_run(store, run);
	if (rc == 0)
		rc = kc__execute(store, "RELEASE forget_run");
	if (rc)
		kc__execute(store, "ROLLBACK TO forget_run; RELEASE forget_run");
	return rc;
}

/* In steps */

static int end(struct kc_store *s, int rc)
{
	if (rc == 0)
		rc = kc__execute(s, "COMMIT");
	if (rc && !sqlite3_get_autocommit(s->db))
		kc__execute(s, "ROLLBACK");
	return rc;
}

int kc_store_drop_run(struct kc_store *store, int64_t run, int64_t last_process)
{
	int64_t last = 0;
	int rc = kc__execute(store, "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = kc__ask_number(store, &last, "SELECT ifnull(max(id), %lld) FROM process WHERE run = %lld",
				    (long long)last_process, (long long)run);
	if (rc == 0 && last != last_process)
		rc = -ESTALE;
	if (rc == 0)
		rc = delete_run(store, run);
	return end(store, rc);
}

/* Where the sweep goes on: the process of the next row, if it does not exist, and then *lost is 1; else the next one
 * that does not. 0: there are no more rows. Processes begin with 1. */
static int next_process(struct kc_store *s, const char *table, int64_t *process, int *lost)
{
	int64_t row, existing, from = *process > 0 ? *process : 1;
	int rc = kc__ask_number(s, &row, "SELECT id FROM %s WHERE id >= %lld ORDER BY id LIMIT 1", table,
				(long long)(from << KC_SEQUENCE_BITS));

	*process = row >> KC_SEQUENCE_BITS;
	*lost = 0;
	if (rc || !row)
		return rc;
	rc = kc__ask_number(s, &existing, "SELECT id FROM process WHERE id = %lld", (long long)*process);
	*lost = !existing;
	if (rc || !existing)
		return rc;
	return kc__ask_number(s, process,
			      "SELECT id + 1 FROM process AS p WHERE id >= %lld AND NOT EXISTS"
			      " (SELECT 1 FROM process WHERE id = p.id + 1) ORDER BY id LIMIT 1",
			      (long long)*process);
}

static int delete_some(struct kc_store *s, const char *table, int64_t process, uint32_t at_most, uint32_t *rows)
{
	int64_t first = process << KC_SEQUENCE_BITS, last = first | KC_SEQUENCE_MASK;
	int rc =
	    kc__execute(s, "DELETE FROM %s WHERE id IN (SELECT id FROM %s WHERE id BETWEEN %lld AND %lld LIMIT %u)",
			table, table, (long long)first, (long long)last, at_most);

	*rows = rc ? 0 : (uint32_t)sqlite3_changes(s->db);
	return rc;
}

/* A look counts as a row, too. *done: nothing of the table is left to sweep. */
static int sweep_table(struct kc_store *s, const char *table, int64_t *process, uint32_t *left, int *done)
{
	int rc = 0;

	*done = 0;
	while (rc == 0 && *left && !*done) {
		uint32_t rows = 0;
		int lost;

		rc = next_process(s, table, process, &lost);
		(*left)--;
		*done = rc == 0 && (!*process || *process > KC_PROCESS_MAX);
		if (rc == 0 && lost && *left)
			rc = delete_some(s, table, *process, *left, &rows);
		*left -= rows;
	}
	return rc;
}

/* What is kept for the next run of programs that have no run any more. */
static int delete_unused_code(struct kc_store *s)
{
	return kc__execute(s, "DELETE FROM kernel_text WHERE kernel NOT IN (SELECT kernel FROM process_kernel);"
			      "DELETE FROM code_place WHERE code_hash NOT IN (SELECT k.code_hash FROM kernel k"
			      " JOIN process_kernel p ON p.kernel = k.id)");
}

static int sweep_tables(struct kc_store *s, struct kc_sweep *sweep, uint32_t left)
{
	int rc = sweep->begun ? 0 : delete_loose(s, "NOT IN (SELECT id FROM process)"), done;

	if (rc == 0 && !sweep->begun)
		rc = delete_unused_code(s);
	sweep->begun = 1;
	while (rc == 0 && left && sweep->table < LARGE) {
		rc = sweep_table(s, large[sweep->table], &sweep->process, &left, &done);
		if (rc || !done)
			continue;
		sweep->table++;
		sweep->process = 0;
	}
	return rc;
}

int kc_store_sweep(struct kc_store *store, struct kc_sweep *sweep, uint32_t at_most)
{
	struct kc_sweep next = *sweep;
	int rc = kc__execute(store, "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = sweep_tables(store, &next, at_most);
	rc = end(store, rc);
	if (rc == 0)
		*sweep = next;
	return rc ? rc : next.table < LARGE;
}
