#include "internal.h"
#include "store/common/job/shell_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* C11 has no atomic load through a pointer to const. */
#define LOAD(field) atomic_load_explicit((__typeof__(field) *)&(field), memory_order_acquire)

#define QUOTED_MAX (4 * sizeof(((struct kc_journal_header *)0)->command_line))

/* Arguments separated by NUL, quoted so that a shell reads them back. Of an imported process it is a name. */
static void command_line(const struct kc_journal_header *h, char out[QUOTED_MAX])
{
	size_t bytes = h->command_line_bytes, at = 0, n = 0;

	if (bytes > sizeof(h->command_line))
		bytes = sizeof(h->command_line);
	if (bytes && h->command_line[bytes - 1] == 0)
		bytes--;
	while (at < bytes) {
		size_t length = strnlen(h->command_line + at, bytes - at);

		if (n)
			out[n++] = ' ';
		if (h->source[0])
			memcpy(out + n, h->command_line + at, length);
		n += h->source[0] ? length : kc_shell_quote(h->command_line + at, length, out + n);
		at += length + 1;
	}
	out[n] = 0;
}

/* A process whose run has no name is a run of its own. */
static int find_run(struct kc_store *s, const struct kc_journal_header *h, const char *line, int64_t *run)
{
	char token[128];
	int rc;

	if (h->run_token[0])
		sqlite3_snprintf(sizeof(token), token, "%.64s", h->run_token);
	else
		sqlite3_snprintf(sizeof(token), token, "%.40s-%u-%llu-%lld", h->boot_id, h->pid,
				 (unsigned long long)h->pid_start, (long long)h->monotonic_ns);
	rc = kc__execute(s,
			 "INSERT OR IGNORE INTO run(token, started_unix_ns, command_line, directory, source)"
			 " VALUES(%Q, %lld, coalesce(nullif(%.4096Q, ''), %Q), %.1024Q, nullif(%.1024Q, ''))",
			 token, (long long)h->realtime_ns, h->run_command, line, h->directory, h->source);
	return rc ? rc : kc__ask_number(s, run, "SELECT id FROM run WHERE token = %Q", token);
}

static int find_process(struct kc_store *s, const struct kc_journal_header *h, int64_t *process)
{
	return kc__ask_number(s, process,
			      "SELECT id FROM process WHERE boot_id = %.40Q AND pid = %u AND pid_start = %lld"
			      " AND started_ns = %lld",
			      h->boot_id, h->pid, (long long)h->pid_start, (long long)h->monotonic_ns);
}

/* The number, or NULL. */
static const char *known(const struct kc_job *job, uint32_t what, uint32_t number, char out[16])
{
	sqlite3_snprintf(16, out, job->known & what ? "%u" : "NULL", number);
	return out;
}

static int add_job(struct kc_store *s, const struct kc_journal_header *h)
{
	const struct kc_job *job = &h->job;
	char rank[16], local_rank[16], world_size[16];

	return kc__execute(
	    s,
	    "UPDATE process SET host = nullif(%.64Q, ''), container = nullif(%.64Q, ''),"
	    " visible_devices = nullif(%.255Q, ''), job = nullif(%.127Q, ''), rank = %s, local_rank = %s,"
	    " world_size = %s WHERE boot_id = %.40Q AND pid = %u AND pid_start = %lld AND started_ns = %lld",
	    job->host, job->container, job->visible_devices, job->job, known(job, KC_JOB_RANK, job->rank, rank),
	    known(job, KC_JOB_LOCAL_RANK, job->local_rank, local_rank),
	    known(job, KC_JOB_WORLD_SIZE, job->world_size, world_size), h->boot_id, h->pid, (long long)h->pid_start,
	    (long long)h->monotonic_ns);
}

static int add_process(struct kc_store *s, const struct kc_journal_header *h, int64_t *process)
{
	char *line = malloc(QUOTED_MAX);
	int64_t run;
	int rc;

	if (!line)
		return -ENOMEM;
	command_line(h, line);
	rc = find_run(s, h, line, &run);
	if (rc == 0)
		rc = kc__execute(
		    s,
		    "INSERT OR IGNORE INTO process(run, pid, ppid, pid_start, boot_id, executable, command_line,"
		    " directory, measure, started_ns, started_unix_ns, source)"
		    " VALUES(%lld, %u, %u, %lld, %.40Q, %.1024Q, %Q, %.1024Q, %.16Q, %lld, %lld, nullif(%.1024Q, ''))",
		    (long long)run, h->pid, h->ppid, (long long)h->pid_start, h->boot_id, h->executable, line,
		    h->directory, h->measure, (long long)h->monotonic_ns, (long long)h->realtime_ns, h->source);
	if (rc == 0)
		rc = add_job(s, h);
	free(line);
	return rc ? rc : find_process(s, h, process);
}

static int begin_unless_inside(struct kc_store *s, int *inside)
{
	*inside = s->in_transaction;
	return *inside ? 0 : kc__run(s, kc__statement(s, KC__BEGIN));
}

static int end_unless_inside(struct kc_store *s, int inside, int rc)
{
	if (inside)
		return rc;
	if (rc == 0)
		rc = kc__run(s, kc__statement(s, KC__COMMIT));
	if (rc && !sqlite3_get_autocommit(s->db))
		kc__run(s, kc__statement(s, KC__ROLLBACK));
	return rc;
}

/* The ids of launch rows have it in their upper bits. */
static int is_process(int64_t row)
{
	return row > 0 && row <= KC_PROCESS_MAX;
}

/* Finds the row, or makes it. */
static int ensure_process(struct kc_store *s, const struct kc_journal_header *h, int64_t *process)
{
	int inside, rc = find_process(s, h, process);

	if (rc || *process)
		return rc || is_process(*process) ? rc : -EBADMSG;
	rc = begin_unless_inside(s, &inside);
	if (rc)
		return rc;
	rc = add_process(s, h, process);
	if (rc == 0 && !is_process(*process))
		rc = -EOVERFLOW;
	return end_unless_inside(s, inside, rc);
}

static int use_process(struct kc_store *s, const struct kc_journal_header *h, int64_t *process_row)
{
	int64_t process = 0, run = 0;
	int rc = ensure_process(s, h, &process);

	if (rc == 0 && process != s->process)
		rc = kc__ask_number(s, &run, "SELECT run FROM process WHERE id = %lld", (long long)process);
	if (rc)
		return rc;
	if (process != s->process) {
		kc__forget(s);
		s->process = process;
		s->run = run;
		s->base_ns = h->monotonic_ns;
	}
	*process_row = process;
	return 0;
}

int kc_store_process(struct kc_store *s, const struct kc_journal_header *h, int64_t *process_row)
{
	int rc;

	kc__enter();
	kc__held_lengthen(s);
	rc = use_process(s, h, process_row);
	kc__leave();
	return rc;
}

/* What was in memory alone. The process may have stored some of it before it ended. */
struct lost {
	uint64_t launches, transfers;
};

static int count_missing(struct kc_store *s, const char *table, int64_t first, uint32_t claimed, uint64_t *missing)
{
	int64_t rows = 0;
	int rc = kc__ask_number(s, &rows, "SELECT count(*) FROM %s WHERE id BETWEEN %lld AND %lld", table,
				(long long)first, (long long)(first + KC_SEGMENT_SLOTS - 1));

	if (rc == 0 && rows < (int64_t)claimed)
		*missing += claimed - (uint64_t)rows;
	return rc;
}

static int count_lost(struct kc_store *s, const struct kc_journal_header *h, struct lost *lost)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < KC_MEMORY_SEGMENTS_MAX; i++) {
		const struct kc_memory_segment *m = &h->memory[i];
		uint64_t number = LOAD(m->number);
		uint32_t launches = LOAD(m->launches), transfers = LOAD(m->transfers);
		int64_t first;

		if (!number || number > (UINT64_C(1) << KC_SEQUENCE_BITS) / KC_SEGMENT_SLOTS ||
		    launches > KC_SEGMENT_SLOTS || transfers > KC_SEGMENT_SLOTS - launches)
			continue;
		first = s->process << KC_SEQUENCE_BITS | (int64_t)((number - 1) * KC_SEGMENT_SLOTS);
		rc = count_missing(s, "launch_row", first, launches, &lost->launches);
		if (rc == 0)
			rc = count_missing(s, "transfer", first, transfers, &lost->transfers);
	}
	return rc;
}

/* Of the launches that are lost, how many had their record. */
static int count_lost_records(struct kc_store *s, const struct kc_journal_header *h, const struct lost *lost,
			      uint64_t *records)
{
	uint64_t matched = LOAD(h->counters[KC_COUNT_CUPTI_MATCHED]) - LOAD(h->counters[KC_COUNT_CUPTI_LOST]);
	int64_t measured = 0;
	int rc = 0;

	*records = 0;
	if (!lost->launches)
		return 0;
	rc = kc__ask_number(s, &measured,
			    "SELECT sum(count) FROM ledger WHERE process = %lld AND item IN ('measured',"
			    " 'elsewhere_measured')",
			    (long long)s->process);
	if (rc == 0 && matched > (uint64_t)measured)
		*records = matched - (uint64_t)measured;
	if (*records > lost->launches)
		*records = lost->launches;
	return rc;
}

static int set_counters(struct kc_store *s, const struct kc_journal_header *h, const struct lost *lost)
{
	uint64_t more[KC_COUNTERS] = {
	    [KC_COUNT_DROPPED] = lost->launches, [KC_COUNT_TRANSFERS_DROPPED] = lost->transfers};
	int rc = count_lost_records(s, h, lost, &more[KC_COUNT_CUPTI_LOST]);

	for (uint32_t i = 0; rc == 0 && i < KC_COUNTERS; i++) {
		sqlite3_stmt *stmt = kc__statement(s, KC__SET_COUNT);

		if (stmt) {
			sqlite3_bind_int64(stmt, 1, s->process);
			sqlite3_bind_text(stmt, 2, kc_counter_name(i), -1, SQLITE_STATIC);
			sqlite3_bind_text(stmt, 3, "", -1, SQLITE_STATIC);
			sqlite3_bind_int64(stmt, 4, (int64_t)(LOAD(h->counters[i]) + more[i]));
		}
		rc = kc__run(s, stmt);
	}
	return rc;
}

static int write_end(struct kc_store *s, const struct kc_journal_header *h, const char *how, int is_gone)
{
	struct lost lost = {0};
	int64_t row, ended_ns = LOAD(h->ended_ns);
	int inside, rc;

	rc = use_process(s, h, &row);
	if (rc == 0)
		rc = begin_unless_inside(s, &inside);
	if (rc)
		return rc;
	rc = is_gone ? count_lost(s, h, &lost) : 0;
	if (rc == 0)
		rc = set_counters(s, h, &lost);
	if (rc == 0)
		rc = kc__execute(s, "UPDATE process SET ended = %Q, ended_ns = nullif(%lld, 0) WHERE id = %lld", how,
				 (long long)ended_ns, (long long)row);
	if (rc == 0 && LOAD(h->simulated))
		rc = kc__say_simulated(s);
	return end_unless_inside(s, inside, rc);
}

int kc_store_process_end(struct kc_store *s, const struct kc_journal_header *h, const char *how)
{
	int rc;

	kc__enter();
	kc__held_lengthen(s);
	rc = write_end(s, h, how, 0);
	kc__leave();
	return rc;
}

int kc_store_process_gone(struct kc_store *s, const struct kc_journal_header *h, const char *how)
{
	int rc;

	kc__enter();
	kc__held_lengthen(s);
	rc = write_end(s, h, how, 1);
	kc__leave();
	return rc;
}
