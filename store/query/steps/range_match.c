#include "range_match.h"

#include "store/common/ids/ids.h"
#include "store/database/internal.h"
#include "store/query/rows.h"

#include <errno.h>
#include <stdlib.h>

#define DEPTH_MOST 64u /* no more are kept in each other; parents of a damaged database may go round */
#define LOCAL_BITS 32

struct scope {
	int64_t parent; /* as of key_of(); 0: it is in none */
	int is_match;   /* by its own name */
};

struct kc_range_match {
	struct kc_store *store;
	const regex_t *name;
	struct kc_ids keys;     /* of process and scope.local: a number less 1 is a place in `scopes` */
	struct kc__list scopes; /* struct scope */
	sqlite3_stmt *launched_in;
};

/* 0: no scope that kerncast has written. */
static int64_t key_of(int64_t process, int64_t local)
{
	return process > 0 && process <= KC_PROCESS_MAX && local > 0 && local <= UINT32_MAX
		   ? process << LOCAL_BITS | local
		   : 0;
}

static int add_scope(sqlite3_stmt *row, void *arg)
{
	struct kc_range_match *m = arg;
	int64_t process = sqlite3_column_int64(row, 0), key = key_of(process, sqlite3_column_int64(row, 1));
	const char *name = (const char *)sqlite3_column_text(row, 4);
	struct scope *scope;

	if (!key || kc_ids_find(&m->keys, key))
		return 0;
	scope = kc__list_add(&m->scopes, sizeof(*scope));
	if (!scope || !kc_ids_number(&m->keys, key))
		return -ENOMEM;
	scope->parent = key_of(process, sqlite3_column_int64(row, 2));
	scope->is_match = sqlite3_column_int(row, 3) && name && !regexec(m->name, name, 0, NULL, 0);
	return 0;
}

int kc_range_match_new(struct kc_store *s, const regex_t *name, struct kc_range_match **out)
{
	struct kc_range_match *m = calloc(1, sizeof(*m));
	int rc = m ? 0 : -ENOMEM;

	*out = NULL;
	if (m) {
		*m = (struct kc_range_match){.store = s, .name = name};
		rc = kc__errno(s->db, sqlite3_prepare_v2(s->db, "SELECT scope FROM launched_in WHERE id = ?1", -1,
							 &m->launched_in, NULL));
	}
	if (rc == 0)
		rc =
		    kc__select(s, NULL, "SELECT process, local, parent, kind = 'range', name FROM scope", add_scope, m);
	if (rc) {
		kc_range_match_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

void kc_range_match_free(struct kc_range_match *m)
{
	if (!m)
		return;
	sqlite3_finalize(m->launched_in);
	kc_ids_free(&m->keys);
	free(m->scopes.at);
	free(m);
}

static int is_in_match(const struct kc_range_match *m, int64_t key)
{
	for (unsigned i = 0; key && i < DEPTH_MOST; i++) {
		uint32_t number = kc_ids_find(&m->keys, key);
		const struct scope *scope = (const struct scope *)m->scopes.at + number - 1;

		if (!number)
			return 0;
		if (scope->is_match)
			return 1;
		key = scope->parent;
	}
	return 0;
}

int kc_range_match(struct kc_range_match *m, int64_t id)
{
	int is_match = 0, rc;

	if (!id)
		return 0;
	sqlite3_bind_int64(m->launched_in, 1, id);
	rc = sqlite3_step(m->launched_in);
	if (rc == SQLITE_ROW)
		is_match = is_in_match(m, key_of(id >> KC_SEQUENCE_BITS, sqlite3_column_int64(m->launched_in, 0)));
	sqlite3_reset(m->launched_in);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? is_match : kc__errno(m->store->db, rc);
}
