/*
 * Which SQLite file this is: an export of Nsight Systems, a profile of nvprof
 * (.nvvp), or neither. A profile of nvprof gets views in the connection that have
 * the names and columns of an export, so that one reader reads both.
 */
#ifndef KC_SQLITE_EXPORT_H
#define KC_SQLITE_EXPORT_H

#include <sqlite3.h>
#include <stdint.h>

enum kc_sqlite_kind {
	KC_SQLITE_NSYS,   /* times count from the start of the session */
	KC_SQLITE_NVPROF, /* times are of no origin that is known */
};

/* A number; 0 where the file has no such table or column. */
int64_t kc_sqlite_ask(sqlite3 *db, const char *format, ...);
/* A table or view. */
int kc_sqlite_has_table(sqlite3 *db, const char *name);
int kc_sqlite_has_column(sqlite3 *db, const char *table, const char *column);

/* 0: it may have operations; -errno after a message. */
int kc_sqlite_recognise(const char *path, sqlite3 *db, enum kc_sqlite_kind *kind);
/* Says why the file has no operation, as far as it tells. Returns -errno. */
int kc_sqlite_say_nothing(const char *path, sqlite3 *db, enum kc_sqlite_kind kind);

/* nvprof_views.c. 0 or an SQLite result code. */
int kc__nvprof_views(sqlite3 *db);

#endif
