#include "report_internal.h"

#include <errno.h>

#define SCAN                                                                                                           \
	"SELECT r.id, p.run, s.kernel, r.stream, r.flags, p.started_ns + r.launched - r.lead, r.span, "                \
	"r.measured_span,"                                                                                             \
	" p.started_ns + r.launched + r.measured_wait + r.measured_span, r.slowdown, r.shape, r.slowdown_waves,"       \
	" r.launched, s.device"                                                                                        \
	" FROM launch_row r LEFT JOIN shape s ON s.id = r.shape LEFT JOIN process p ON p.id = r.id >> ?3"              \
	" WHERE r.id BETWEEN ?1 AND ?2 ORDER BY r.id"

struct scan {
	struct kc_store *store;
	struct kc_filter *filter;
	struct kc__rollups *rollups;
	struct kc__solos *solos;
	sqlite3_stmt *row; /* SCAN */
};

static int64_t duration(sqlite3_stmt *row, int i)
{
	int64_t ns = sqlite3_column_int64(row, i);

	return sqlite3_column_type(row, i) == SQLITE_NULL ? 0 : ns > 0 ? ns : 1;
}

/* 1, 0 or -errno. */
static int matches(struct scan *scan, const struct kc__fact *fact, sqlite3_stmt *row)
{
	const struct kc_filter_launch launch = {
	    .process = fact->key.process,
	    .stream = fact->key.stream,
	    .kernel = fact->key.kernel,
	    .launched_ns = sqlite3_column_int64(row, 12),
	    .measured_ns = sqlite3_column_int64(row, 7),
	    .device = sqlite3_column_int64(row, 13),
	    .id = sqlite3_column_int64(row, 0),
	};

	return kc_filter_matches(scan->filter, &launch);
}

/* Slowdown is relative to launches that were measured alone, whether they match the filter or not. */
static int add_fact(struct scan *scan, const struct kc__fact *fact, int is_match)
{
	return is_match ? kc__rollups_add(scan->rollups, scan->solos, fact) : kc__solos_add(scan->solos, fact);
}

static int add_launch(struct scan *scan, sqlite3_stmt *row)
{
	int64_t flags = sqlite3_column_int64(row, 4);
	int predicted = KC_FLAG(flags, UNPREDICTABLE) == KC_PREDICTED, is_match;
	struct kc__fact fact = {
	    .key =
		{
		    .run = sqlite3_column_int64(row, 1),
		    .process = sqlite3_column_int64(row, 0) >> KC_SEQUENCE_BITS,
		    .kernel = sqlite3_column_int64(row, 2),
		    .stream = sqlite3_column_int64(row, 3),
		    .overlap = KC_FLAG(flags, OVERLAP),
		},
	    .shape = sqlite3_column_int64(row, 10),
	    .predicted_at_ns = sqlite3_column_int64(row, 5),
	    .predicted_ns = predicted ? duration(row, 6) : 0,
	    .measured_ns = duration(row, 7),
	    .measured_end_ns = sqlite3_column_int64(row, 8),
	    .slowdown = 1 + (double)sqlite3_column_int64(row, 9) / KC_SLOWDOWN_SCALE,
	    .slowdown_waves = 1 + (double)sqlite3_column_int64(row, 11) / KC_SLOWDOWN_SCALE,
	};

	if (predicted) {
		fact.key.model = KC_FLAG(flags, MODEL);
		fact.key.concurrency_case = KC_FLAG(flags, CASE) - 1;
		fact.key.novelty = KC_FLAG(flags, NOVELTY) - 1;
	}
	is_match = matches(scan, &fact, row);
	return is_match < 0 ? is_match : add_fact(scan, &fact, is_match);
}

/* The rows of a process are one range of rowids. */
static int scan_process(sqlite3_stmt *process, void *arg)
{
	struct scan *scan = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	sqlite3_stmt *row = scan->row;
	int rc, failed = 0;

	if (id < 1 || id > KC_PROCESS_MAX) /* launch rows cannot have such a process */
		return 0;
	sqlite3_bind_int64(row, 1, id << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(row, 2, id << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	sqlite3_bind_int(row, 3, KC_SEQUENCE_BITS);
	while (!failed && (rc = sqlite3_step(row)) == SQLITE_ROW)
		failed = add_launch(scan, row);
	if (!failed)
		failed = kc__errno(scan->store->db, rc);
	sqlite3_reset(row);
	return failed;
}

int kc__scan(struct kc_store *s, const struct kc_selection *selection, struct kc_filter *filter,
	     struct kc__rollups *rollups)
{
	struct scan scan = {.store = s, .filter = filter, .rollups = rollups, .solos = kc__solos_new(SIZE_MAX)};
	int rc;

	if (!scan.solos)
		return -ENOMEM;
	rollups->keep_errors = 1;
	rc = kc__errno(s->db, sqlite3_prepare_v2(s->db, SCAN, -1, &scan.row, NULL));
	if (rc == 0)
		rc = kc__select(s, selection, "SELECT id FROM process WHERE run BETWEEN ?1 AND ?2 ORDER BY id",
				scan_process, &scan);
	sqlite3_finalize(scan.row);
	kc__solos_free(scan.solos);
	return rc;
}
