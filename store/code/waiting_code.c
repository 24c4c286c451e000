#include "waiting_code.h"
#include "code_read_later.h"
#include "store/database/internal.h"
#include "store/database/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 1000 /* code is nothing to wait long for */
#define MODULES_MAX 1024u
#define KERNELS_MAX 4096u /* of one module */
#define PATIENCE 4        /* so many times the processor time, where the disk is slow */

struct waiting {
	struct kc_store *s;
	struct kc_store_bound bound;
	struct kc_waiting_code *out;
	int64_t modules[MODULES_MAX]; /* code_hash */
	uint32_t module_count;
	bool settled; /* something is known of a kernel that waited */
};

/* One that waits. */
struct module {
	int64_t hash;
	struct kc_code_file pieces[KC_LATER_PIECES];
	uint32_t piece_count;
	struct kc_later_kernel kernels[KERNELS_MAX];
	int64_t rows[KERNELS_MAX];
	struct kc_later_module later;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int prepare(struct kc_store *s, const char *sql, sqlite3_stmt **stmt)
{
	return kc__errno(s->db, sqlite3_prepare_v2(s->db, sql, -1, stmt, NULL));
}

/* The last step of a query: no more rows, or an error. */
static int finish(struct kc_store *s, sqlite3_stmt *stmt, int rc)
{
	int error = rc == SQLITE_ROW ? 0 : kc__errno(s->db, rc);

	sqlite3_finalize(stmt);
	return error;
}

static int list_modules(struct waiting *w)
{
	sqlite3_stmt *row;
	int rc = prepare(w->s,
			 "SELECT k.code_hash FROM kernel k WHERE k.code = 'waits'"
			 " AND EXISTS (SELECT 1 FROM code_place p WHERE p.code_hash = k.code_hash)"
			 " GROUP BY k.code_hash ORDER BY max(k.id) DESC",
			 &row);

	if (rc)
		return rc;
	while (w->module_count < MODULES_MAX && (rc = sqlite3_step(row)) == SQLITE_ROW)
		w->modules[w->module_count++] = sqlite3_column_int64(row, 0);
	return finish(w->s, row, rc);
}

/* 1: the piece is open; 0: it is not there any more, or not what it was. */
static int open_piece(struct kc_code_file *piece, sqlite3_stmt *row)
{
	const char *path = (const char *)sqlite3_column_text(row, 0);
	int64_t offset = sqlite3_column_int64(row, 1), length = sqlite3_column_int64(row, 2);
	uint64_t hash;

	if (!path || strlen(path) >= PATH_MAX || offset < 0 || length <= 0)
		return 0;
	if (kc_code_file_open(piece, path, (uint64_t)offset, (uint64_t)length))
		return 0;
	if (kc_code_file_hash(piece, &hash) == 0 && (int64_t)hash == sqlite3_column_int64(row, 3))
		return 1;
	close(piece->fd);
	return 0;
}

static void close_pieces(struct module *m)
{
	while (m->piece_count)
		close(m->pieces[--m->piece_count].fd);
}

/* 1: all pieces are open; 0: one is missing; -errno. */
static int open_pieces(struct kc_store *s, struct module *m)
{
	sqlite3_stmt *row;
	int64_t pieces = 0;
	int rc = prepare(
		s, "SELECT path, offset, length, hash, pieces FROM code_place WHERE code_hash = ?1 ORDER BY piece",
		&row),
	    is_open = 1;

	if (rc)
		return rc;
	sqlite3_bind_int64(row, 1, m->hash);
	while ((rc = sqlite3_step(row)) == SQLITE_ROW && is_open) {
		is_open = m->piece_count < KC_LATER_PIECES && open_piece(&m->pieces[m->piece_count], row);
		m->piece_count += (uint32_t)is_open;
		pieces = sqlite3_column_int64(row, 4);
	}
	rc = finish(s, row, rc);
	is_open = is_open && m->piece_count == pieces;
	if (rc || !is_open)
		close_pieces(m);
	return rc ? rc : is_open;
}

/* The device is the one that the kernel was launched on; of several, any. */
static const char kernels[] =
    "SELECT k.id, k.mangled, k.static_shared_bytes, d.cc_major, d.cc_minor FROM kernel k JOIN device d ON d.id ="
    " (SELECT device FROM shape WHERE kernel = k.id LIMIT 1)"
    " WHERE k.code = 'waits' AND k.code_hash = ?1 ORDER BY k.id DESC";

static int add_kernel(struct module *m, sqlite3_stmt *row)
{
	const char *name = (const char *)sqlite3_column_text(row, 1);
	struct kc_later_kernel *kernel = &m->kernels[m->later.count];

	kernel->name = name ? strdup(name) : NULL;
	if (!kernel->name)
		return -ENOMEM;
	kernel->static_shared_bytes = (uint64_t)sqlite3_column_int64(row, 2);
	kernel->code.state = KC_CODE_WAITS;
	m->rows[m->later.count++] = sqlite3_column_int64(row, 0);
	m->later.cc_major = (uint32_t)sqlite3_column_int(row, 3);
	m->later.cc_minor = (uint32_t)sqlite3_column_int(row, 4);
	return 0;
}

static int list_kernels(struct kc_store *s, struct module *m)
{
	sqlite3_stmt *row;
	int rc = prepare(s, kernels, &row), added = 0;

	if (rc)
		return rc;
	sqlite3_bind_int64(row, 1, m->hash);
	while (!added && m->later.count < KERNELS_MAX && (rc = sqlite3_step(row)) == SQLITE_ROW)
		added = add_kernel(m, row);
	rc = finish(s, row, rc);
	return rc ? rc : added;
}

static int store_kernel(struct waiting *w, sqlite3_stmt *set, const struct module *m, uint32_t i)
{
	const struct kc_later_kernel *kernel = &m->kernels[i];
	const char *text = kernel->text ? kernel->text : "";
	char code[KC__CODE_TEXT];
	int rc;

	if (kernel->code.state == KC_CODE_WAITS)
		return 0;
	kc__code_text(&kernel->code, text, code);
	sqlite3_bind_int64(set, 1, m->rows[i]);
	sqlite3_bind_text(set, 2, code, -1, SQLITE_TRANSIENT);
	if (kernel->code.state == KC_CODE_READ)
		sqlite3_bind_text(set, 3, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(set, 3);
	rc = kc__run(w->s, set);
	if (rc == 0 && kernel->packed)
		rc = kc__add_kernel_text(w->s, m->rows[i], &kernel->ptx, kernel->packed);
	return rc;
}

static void count(struct waiting *w, const struct module *m)
{
	for (uint32_t i = 0; i < m->later.count; i++) {
		w->settled |= m->kernels[i].code.state != KC_CODE_WAITS;
		w->out->read += m->kernels[i].code.state == KC_CODE_READ;
		w->out->left += m->kernels[i].code.state == KC_CODE_WAITS;
	}
}

static int store(struct waiting *w, const struct module *m)
{
	sqlite3_stmt *set = NULL;
	int rc = kc__execute(w->s, "BEGIN IMMEDIATE");

	if (rc == 0)
		rc = prepare(w->s, "UPDATE kernel SET code = ?2, cost_formula = ?3 WHERE id = ?1 AND code = 'waits'",
			     &set);
	for (uint32_t i = 0; rc == 0 && i < m->later.count; i++)
		rc = store_kernel(w, set, m, i);
	sqlite3_finalize(set);
	if (rc == 0)
		rc = kc__execute(w->s, "COMMIT");
	if (rc && !sqlite3_get_autocommit(w->s->db))
		kc__execute(w->s, "ROLLBACK");
	if (rc == 0)
		count(w, m);
	return rc;
}

/* The database is not locked while code is read. */
static int read_module(struct waiting *w, struct module *m)
{
	int rc = open_pieces(w->s, m);

	if (rc <= 0)
		return rc;
	m->later.kernels = m->kernels;
	rc = list_kernels(w->s, m);
	if (rc == 0 && !(w->settled && kc_database_is_late(&w->bound)))
		kc_code_read_later(&m->later, m->pieces, m->piece_count, &w->bound);
	if (rc == 0 && m->later.count)
		rc = store(w, m);
	for (uint32_t i = 0; i < m->later.count; i++) {
		free((char *)m->kernels[i].name);
		free(m->kernels[i].text);
		free(m->kernels[i].packed);
	}
	close_pieces(m);
	return rc;
}

static int read_modules(struct waiting *w)
{
	struct module *m;
	int rc = list_modules(w);

	for (uint32_t i = 0; rc == 0 && i < w->module_count; i++) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->hash = w->modules[i];
		rc = read_module(w, m);
		free(m);
	}
	return rc;
}

/* Whether there is anything to read, and what is read can be stored. */
static int is_wanted(struct kc_store *s)
{
	int64_t waits = 0;
	int rc = sqlite3_db_readonly(s->db, "main") ? -EACCES : 0;

	if (rc == 0)
		rc = kc__ask_number(s, &waits,
				    "SELECT 1 FROM kernel WHERE code = 'waits' AND code_hash IN"
				    " (SELECT code_hash FROM code_place) LIMIT 1");

	if (rc == 0 && waits)
		rc = kc__execute(s, "BEGIN IMMEDIATE; COMMIT");
	return rc ? rc : (int)waits;
}

int kc_waiting_code_read(struct kc_store *s, int64_t limit_ns, struct kc_waiting_code *out)
{
	struct waiting *w = calloc(1, sizeof(*w));
	int rc;

	*out = (struct kc_waiting_code){0};
	if (!w)
		return -ENOMEM;
	w->s = s;
	w->out = out;
	w->bound.processor_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + limit_ns;
	w->bound.until_ns = now_ns(CLOCK_MONOTONIC) + PATIENCE * limit_ns;
	kc__execute(s, "PRAGMA query_only = 0");
	sqlite3_busy_timeout(s->db, BUSY_MS);
	rc = is_wanted(s);
	if (rc > 0)
		rc = read_modules(w);
	sqlite3_busy_timeout(s->db, KC__BUSY_MS);
	if (s->mode != KC_STORE_WRITE)
		kc__execute(s, "PRAGMA query_only = 1");
	free(w);
	return rc;
}
