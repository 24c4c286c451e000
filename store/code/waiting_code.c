#include "waiting_code.h"
#include "store/database/internal.h"
#include "store/database/trust.h"

#include "predictor/code/code_reader.h"
#include "predictor/code/stored/packed_text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 1000 /* code is nothing to wait long for */
#define MODULES_MAX 1024u
#define KERNELS_MAX 4096u /* of one module */
#define PIECES_MAX 16u
#define PATIENCE 4 /* so many times the processor time, where the disk is slow */

/* On the memory that a file can make a command use. A formula is no larger than in the library, so that the next run
 * does not know less. */
static const struct kc_code_limits limits = {
    .text_bytes = (size_t)256 << 20,
    .cut_bytes = (size_t)64 << 20,
    .formula_bytes = (size_t)1 << 20,
};
#define OPENING_BYTES ((size_t)128 << 20)
#define READING_BYTES ((size_t)128 << 20) /* of one kernel */
#define TEXT_BYTES 4096u

struct waiting {
	struct kc_store *s;
	struct kc_store_bound bound;
	struct kc_waiting_code *out;
	int64_t modules[MODULES_MAX]; /* code_hash */
	uint32_t module_count;
	bool settled; /* something is known of a kernel that waited */
};

struct kernel {
	char *name;
	int64_t row;
	uint64_t static_shared_bytes;
	struct kc_code_entry code;       /* .state: KC_CODE_WAITS, until it is known */
	char *text;                      /* the formula, or why there is none; NULL: nothing to tell */
	struct kc_kernel_text_entry ptx; /* of what is packed */
	void *packed;                    /* its PTX, for the next run: packed_text.h; NULL: it is too long */
};

/* One that waits. */
struct module {
	int64_t hash;
	struct kc_code_file pieces[PIECES_MAX];
	uint32_t piece_count, count;
	struct kernel kernels[KERNELS_MAX];
	struct kernel *looked_for[KC_CODE_READER_KERNELS]; /* as the reader has them */
	struct kc_code_reader reader;
	struct kc_code_lack lack;
	const struct kc_store_bound *bound;
	uint32_t done;
	bool is_late;
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
		is_open = m->piece_count < PIECES_MAX && open_piece(&m->pieces[m->piece_count], row);
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
	struct kernel *kernel = &m->kernels[m->count];

	kernel->name = name ? strdup(name) : NULL;
	if (!kernel->name)
		return -ENOMEM;
	kernel->row = sqlite3_column_int64(row, 0);
	kernel->static_shared_bytes = (uint64_t)sqlite3_column_int64(row, 2);
	kernel->code.state = KC_CODE_WAITS;
	m->count++;
	m->reader.cc_major = (uint32_t)sqlite3_column_int(row, 3);
	m->reader.cc_minor = (uint32_t)sqlite3_column_int(row, 4);
	return 0;
}

static int list_kernels(struct kc_store *s, struct module *m)
{
	sqlite3_stmt *row;
	int rc = prepare(s, kernels, &row), added = 0;

	if (rc)
		return rc;
	sqlite3_bind_int64(row, 1, m->hash);
	while (!added && m->count < KERNELS_MAX && (rc = sqlite3_step(row)) == SQLITE_ROW)
		added = add_kernel(m, row);
	rc = finish(s, row, rc);
	return rc ? rc : added;
}

static void settle(struct kernel *kernel, enum kc_code_state state, uint32_t sm, const char *text)
{
	kernel->code.state = (uint16_t)state;
	kernel->code.sm = (uint16_t)sm;
	kernel->text = text ? strdup(text) : NULL;
}

static void refuse(struct kernel *kernel, const struct kc_refusal *refusal)
{
	char text[sizeof(refusal->reason) + 32];

	snprintf(text, sizeof(text), "offset %zu: %s", refusal->offset, refusal->reason);
	settle(kernel, KC_CODE_REFUSED, 0, text);
}

/* One kernel at least is read, so that each command comes further. */
static bool look_at_clock(void *module)
{
	struct module *m = module;

	m->is_late = m->is_late || (m->done && kc_database_is_late(m->bound));
	return m->is_late;
}

/* The text of the kernel that was read last. */
static void pack(const struct module *m, struct kernel *kernel)
{
	size_t length;
	const char *text = kc_ptx_cut_text(&m->reader.cut, &length);
	void *packed = malloc(KC_PACKED_TEXT_BYTES);
	size_t packed_bytes = packed ? kc_text_pack(text, length, packed, KC_PACKED_TEXT_BYTES) : 0;

	if (!packed_bytes) {
		free(packed);
		return;
	}
	kernel->packed = packed;
	kernel->ptx = (struct kc_kernel_text_entry){
	    .architecture = m->reader.cc_major * 10 + m->reader.cc_minor,
	    .bytes = (uint32_t)length,
	    .packed_bytes = (uint32_t)packed_bytes,
	};
}

static void read_kernel(struct module *m, uint32_t i)
{
	struct kernel *kernel = m->looked_for[i];
	char text[TEXT_BYTES];
	struct kc_refusal refusal;
	struct kc_code_read read;
	int rc;

	m->done++;
	rc = kc_code_has(&m->reader, i)
		 ? kc_code_read(&m->reader, i, kernel->static_shared_bytes, READING_BYTES, &read, &refusal)
		 : -ENOMEM;
	if (rc == -ENOMEM)
		settle(kernel, KC_CODE_TOO_LARGE, 0, NULL);
	else if (rc == -EBADMSG)
		refuse(kernel, &refusal);
	if (rc)
		return;
	kc_cost_write(read.cost, text, sizeof(text));
	settle(kernel, KC_CODE_READ, m->reader.other_architecture ? m->reader.sm : 0, text);
	pack(m, kernel);
	kc_code_read_free(&read);
}

/* Up to KC_CODE_READER_KERNELS kernels that wait, from *next on. */
static void read_some(struct module *m, struct kc_code_file *piece, uint32_t *next)
{
	struct kc_code_reader *reader = &m->reader;

	for (reader->count = 0; *next < m->count && reader->count < KC_CODE_READER_KERNELS; (*next)++) {
		struct kernel *kernel = &m->kernels[*next];

		if (kernel->code.state != KC_CODE_WAITS)
			continue;
		reader->wanted[reader->count].name = kernel->name;
		m->looked_for[reader->count++] = kernel;
	}
	if (!reader->count ||
	    kc_code_open(reader, &(const struct kc_code_part){.file = piece}, OPENING_BYTES, &m->lack))
		return;
	for (uint32_t i = 0; i < reader->count && !look_at_clock(m); i++)
		if (reader->wanted[i].found)
			read_kernel(m, i);
	kc_code_close(reader);
}

/* The module has no PTX of those that still wait. */
static void give_up(struct module *m)
{
	int why = kc_code_lacks(&m->lack);

	for (uint32_t i = 0; i < m->count; i++) {
		struct kernel *kernel = &m->kernels[i];

		if (kernel->code.state != KC_CODE_WAITS)
			continue;
		if (why == -EBADMSG)
			refuse(kernel, &m->lack.refusal);
		else if (why == -ENOMEM)
			settle(kernel, KC_CODE_TOO_LARGE, 0, NULL);
		else
			settle(kernel, KC_CODE_NO_PTX, 0, m->lack.is_cubin ? KC_CODE_CUBIN_ALONE : NULL);
	}
}

static void read_code(struct module *m)
{
	m->reader.limits = &limits;
	m->reader.ends = look_at_clock;
	m->reader.user = m;
	for (uint32_t i = 0; i < m->piece_count && !m->is_late; i++)
		for (uint32_t next = 0; next < m->count && !m->is_late;)
			read_some(m, &m->pieces[i], &next);
	if (!m->is_late)
		give_up(m);
}

static int store_kernel(struct waiting *w, sqlite3_stmt *set, const struct kernel *kernel)
{
	const char *text = kernel->text ? kernel->text : "";
	char code[KC__CODE_TEXT];
	int rc;

	if (kernel->code.state == KC_CODE_WAITS)
		return 0;
	kc__code_text(&kernel->code, text, code);
	sqlite3_bind_int64(set, 1, kernel->row);
	sqlite3_bind_text(set, 2, code, -1, SQLITE_TRANSIENT);
	if (kernel->code.state == KC_CODE_READ)
		sqlite3_bind_text(set, 3, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(set, 3);
	rc = kc__run(w->s, set);
	if (rc == 0 && kernel->packed)
		rc = kc__add_kernel_text(w->s, kernel->row, &kernel->ptx, kernel->packed);
	return rc;
}

static void count(struct waiting *w, const struct module *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
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
	for (uint32_t i = 0; rc == 0 && i < m->count; i++)
		rc = store_kernel(w, set, &m->kernels[i]);
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
	m->bound = &w->bound;
	rc = list_kernels(w->s, m);
	if (rc == 0 && !(w->settled && kc_database_is_late(&w->bound)))
		read_code(m);
	if (rc == 0 && m->count)
		rc = store(w, m);
	for (uint32_t i = 0; i < m->count; i++) {
		free(m->kernels[i].name);
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
