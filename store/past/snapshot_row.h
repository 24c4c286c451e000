/*
 * Snapshots (snapshot.h) in the database: one of each process that has learned
 * something, in the table `learned`. A process writes its own anew while it runs.
 */
#ifndef KC_SNAPSHOT_ROW_H
#define KC_SNAPSHOT_ROW_H

#include "store/database/store.h"

#include <stddef.h>
#include <stdint.h>

#define KC_SNAPSHOTS_OF_A_PROGRAM 8u /* kept, the newest */

/* What a process writes beside what it has learned itself. */
struct kc_snapshot;
struct kc_cells;
struct kc_snapshot_carried {
	int64_t others_since; /* what processes of the program have written since this one wrote; 0: all. Such are
			       * the other ranks of its run, each on its own GPU */
	const struct kc_snapshot *before; /* what it began with; NULL: nothing */
	const struct kc_cells *cells;     /* NULL: none */
};

/* Writes what the maker was given, and frees the maker. Of the store's process: replaces what it has written before.
 * Removes older ones of the same program. 0, also where nothing was learned; or -errno. */
struct kc_snapshot_maker;
int kc_snapshot_store(struct kc_store *s, const struct kc_snapshot_carried *carried, struct kc_snapshot_maker *maker);

/* Of the newest process of this program that has ended, and that has one: its own may still change else. Of those of
 * one run that which was written last, as it has carried over what the others have learned but contexts. *process: 0:
 * there is none. 0 or -errno. */
int kc_snapshot_newest(struct kc_store *s, const char *executable, int64_t *process);

/* *bytes: where the snapshot is, which the caller frees; NULL: there is none. checksum 0: any, else that one alone. 0;
 * -ESTALE, -EBADMSG: kc_snapshot_open(); -ENOMEM: also where the store's bound does not allow so many; or another
 * -errno. */
int kc_snapshot_load(struct kc_store *s, int64_t process, uint64_t checksum, struct kc_snapshot *snapshot,
		     void **bytes);

#endif
