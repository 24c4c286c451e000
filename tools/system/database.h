/* Opening a database for a command: journals of ended processes are imported
 * first, and whatever is wrong is reported on stderr. */
#ifndef KC_DATABASE_H
#define KC_DATABASE_H

#include "store/database/store.h"
#include "store/query/query.h"
#include "tools/output/progress.h"

#include <pthread.h>
#include <stddef.h>

/* given, or else KERNCAST_DB, or else ./kerncast.db, which must be the user's own (kc_store_own()): else the command
 * ends. path: PATH_MAX bytes. */
const char *kc_database_path(const char *given, char *path, size_t size);
/* The same where none is given. 0; -EPERM: it is not the user's own, as why says. */
int kc_database_default(char *path, size_t size, char *why, size_t why_size);

/* The path without the working folder in front. */
const char *kc_database_shown(const char *path);

/* NULL after a message. */
struct kc_store *kc_database_read(const char *path);

/* Reads code that processes had no time to read, and says so. */
void kc_database_read_code(struct kc_store *store);

/* On a terminal: a thread tells for how long a database has been worked on, until the end. Nothing may be printed in
 * between. */
struct kc_database_working {
	struct kc_progress progress;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	int is_told, is_over;
};
/* doing: "replayed". is_told 0: nothing is told. working must stay where it is. */
void kc_database_working_begin(struct kc_database_working *working, const char *path, const char *doing, int is_told);
void kc_database_working_end(struct kc_database_working *working);

/* The runs of an open database, as for kc_query_select(). An exit status, after a message. */
int kc_database_select(struct kc_store *store, const char *path, const char *which, struct kc_selection *out);

/* Reports what is wrong with a database that was opened and cannot be read. rc: < 0. */
void kc_database_unreadable(const char *path, int rc);

#endif
