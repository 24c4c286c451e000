/*
 * A database is a file that somebody else may have written, so nothing that it
 * brings with it besides rows may run: this is how every connection to a file is
 * made, and what the schema of a database of ours must be.
 */
#ifndef KC_TRUST_H
#define KC_TRUST_H

#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct kc_store_bound; /* store.h */

/*
 * Opens a file; flags: SQLITE_OPEN_*. Its triggers do not run, expressions in its schema may call only functions
 * without side effects, and no row, statement or pattern may be longer than any of ours. A connection that may write
 * can attach one other database, no other connection can. *db may be set even where this fails and is always to be
 * closed. Returns an SQLite result code.
 */
int kc_database_connect(const char *path, int flags, struct sqlite3 **db);

/* Past the bound's times statements of db end with SQLITE_INTERRUPT. *bound stays the caller's and must outlive the
 * connection. */
void kc_database_within(struct sqlite3 *db, const struct kc_store_bound *bound);
/* 1: one of its times is over. */
int kc_database_is_late(const struct kc_store_bound *bound);

/*
 * Whether the tables, views and indexes of a database, of whatever version up to KC_SCHEMA_VERSION, are those that
 * kerncast makes. (The views of an older version may be any, as they are made anew.) Tables, views and plain indexes of
 * other names are the user's own and may be there. A trigger may not, and no index on a table of ours that is unique,
 * partial or of an expression: it would decide about our rows, or compute with them. 0; -EBADMSG: they are not, and
 * reason says in which way; -EPROTO: of a newer version; or another negative errno.
 */
int kc_schema_trusted(struct sqlite3 *db, char *reason, size_t reason_bytes);

/* A table, view or index as sqlite_schema tells of it, of a database of the current version. */
struct kc_schema_object {
	const char *type, *name, *table, *sql;
	int optional; /* a database may lack it */
};

/* Calls fn for each, for readers that compare for themselves. 0; -ENOMEM. */
int kc_schema_each(void (*fn)(const struct kc_schema_object *object, void *arg), void *arg);

#endif
