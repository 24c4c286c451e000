#include "gap_rows.h"
#include "report_internal.h"
#include "store/journal/slot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_KEPT 64u

/* Names found before: each one is told apart from those of all other processes. */
struct names {
	int64_t ids[NAMES_KEPT];
	char *of[NAMES_KEPT];
	uint32_t count;
};

struct reader {
	struct kc_store *store;
	sqlite3_stmt *launch, *transfer, *graph, *stream;
	struct names streams, processes;
};

/* NULL: it was not found before. */
static const char *found_name(const struct names *names, int64_t id)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (names->ids[i] == id)
			return names->of[i];
	return NULL;
}

/* Keeps a copy, if there is room. */
static void keep_name(struct names *names, int64_t id, const char *name)
{
	char *copy = names->count < NAMES_KEPT ? strdup(name) : NULL;

	if (!copy)
		return;
	names->ids[names->count] = id;
	names->of[names->count++] = copy;
}

static void clear_names(struct names *names)
{
	while (names->count)
		free(names->of[--names->count]);
}

/* NULL: no memory. */
static char *stream_name(struct reader *r, int64_t stream)
{
	const char *found = found_name(&r->streams, stream);
	char *name = found ? strdup(found) : kc__row_name(r->stream, stream);

	if (!found && name)
		keep_name(&r->streams, stream, name);
	return name;
}

static int process_name(struct reader *r, int64_t process, char **name)
{
	const char *found = found_name(&r->processes, process);
	int rc;

	if (found) {
		*name = strdup(found);
		return *name ? 0 : -ENOMEM;
	}
	rc = kc__place_name(r->store, process, name);
	if (rc == 0)
		keep_name(&r->processes, process, *name);
	return rc;
}

/* The row has the name, the thread, the stream and the number of the call. */
static int read_side(struct reader *r, const struct kc_interval *interval, struct kc_gap_side *out)
{
	sqlite3_stmt *row = interval->is_graph ? r->graph : interval->is_copy ? r->transfer : r->launch;
	int rc;

	*out = (struct kc_gap_side){.thread = -1};
	sqlite3_bind_int64(row, 1, interval->row);
	rc = sqlite3_step(row);
	if (rc == SQLITE_ROW) {
		out->name = kc__column_text(row, 0);
		if (sqlite3_column_type(row, 1) != SQLITE_NULL)
			out->thread = sqlite3_column_int64(row, 1);
		out->stream = sqlite3_column_type(row, 2) != SQLITE_NULL ? stream_name(r, sqlite3_column_int64(row, 2))
									 : strdup("");
		if (sqlite3_column_type(row, 3) != SQLITE_NULL && sqlite3_column_int(row, 3) != KC_API_UNKNOWN)
			out->call = kc_api_name((uint32_t)sqlite3_column_int(row, 3));
	}
	sqlite3_reset(row);
	if (rc == SQLITE_ROW)
		return out->name && out->stream ? 0 : -ENOMEM;
	return rc == SQLITE_DONE ? -EBADMSG : kc__errno(r->store->db, rc);
}

int kc__place_name(struct kc_store *s, int64_t process, char **name)
{
	char text[KC_PROCESS_NAME_BYTES];
	int64_t pid;
	int rc = kc_process_name(s, process, &pid, text);

	*name = rc ? NULL : strdup(text);
	return rc || *name ? rc : -ENOMEM;
}

static int read_gap(struct reader *r, const struct kc_gap *gap, struct kc_gap_activity *out)
{
	int rc = read_side(r, &gap->before, &out->before);

	out->gap = *gap;
	if (rc == 0)
		rc = read_side(r, &gap->after, &out->after);
	return rc ? rc : process_name(r, out->process, &out->process_name);
}

static int prepare(struct reader *r, enum kc_stream_naming naming)
{
	static const char launch[] = "SELECT coalesce(k.name, ''), l.thread, l.stream, l.flags & 15 FROM launch_row l"
				     " LEFT JOIN shape s ON s.id = l.shape LEFT JOIN kernel k ON k.id = s.kernel"
				     " WHERE l.id = ?1";
	static const char transfer[] = "SELECT kind, thread, stream, NULL FROM transfer WHERE id = ?1";
	static const char graph[] = "SELECT 'graph', NULL, stream, NULL FROM stream_call WHERE id = ?1";
	const struct {
		const char *sql;
		sqlite3_stmt **to;
	} all[] = {{launch, &r->launch},
		   {transfer, &r->transfer},
		   {graph, &r->graph},
		   {kc__stream_name_sql(naming), &r->stream}};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(all) / sizeof(*all); i++)
		rc = sqlite3_prepare_v2(r->store->db, all[i].sql, -1, all[i].to, NULL);
	return kc__errno(r->store->db, rc);
}

int kc__gap_rows(struct kc_store *s, const struct kc_gaps *gaps, const int64_t *starts,
		 const struct kc_place_activity *places, const int64_t *devices, enum kc_stream_naming naming,
		 struct kc_activity *out)
{
	struct reader r = {.store = s};
	int rc = prepare(&r, naming);

	memcpy(out->gap_counts, gaps->count, sizeof(out->gap_counts));
	memcpy(out->gap_ns, gaps->ns, sizeof(out->gap_ns));
	out->gaps = calloc(gaps->kept + 1, sizeof(*out->gaps));
	if (!out->gaps)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < gaps->kept; i++) {
		const struct kc_gap *gap = gaps->longest + i;
		struct kc_gap_activity *at = out->gaps + out->gap_count++;

		at->at_ns = kc_minus_ns(gap->start_ns, starts[gap->clock - 1]);
		at->device = devices[gap->after.device - 1];
		at->process = places[gap->after.place - 1].process;
		rc = read_gap(&r, gap, at);
	}
	sqlite3_finalize(r.launch);
	sqlite3_finalize(r.transfer);
	sqlite3_finalize(r.graph);
	sqlite3_finalize(r.stream);
	clear_names(&r.streams);
	clear_names(&r.processes);
	return rc;
}

void kc_activity_keep_gaps(struct kc_activity *activity, size_t most)
{
	for (size_t i = most; i < activity->gap_count; i++) {
		free(activity->gaps[i].process_name);
		free(activity->gaps[i].before.name);
		free(activity->gaps[i].before.stream);
		free(activity->gaps[i].after.name);
		free(activity->gaps[i].after.stream);
	}
	if (activity->gap_count > most)
		activity->gap_count = most;
}
