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

/* Of the store's process: replaces what it has written before. Removes older ones of the same program. 0 or -errno. */
int kc_snapshot_store(struct kc_store *s, const void *snapshot, size_t bytes);

/* Of the newest process of this program that has ended, and that has one: its own may still change else. Of those of
 * one run that which ended last, as it has carried over what the others have learned. *process: 0: there is none. 0 or
 * -errno. */
int kc_snapshot_newest(struct kc_store *s, const char *executable, int64_t *process);

/* Carries over what other processes of the program have learned that began after that one (0: any), such as the other
 * ranks of this run, each on its own GPU. 0 or -errno. */
struct kc_snapshot_maker;
int kc_snapshot_carry_others(struct kc_store *s, int64_t since, struct kc_snapshot_maker *maker);

/* *bytes: the caller frees them; NULL: there are none. checksum 0: any, else that one alone. 0 or -errno; -ENOMEM: also
 * where the store's bound does not allow so many. */
int kc_snapshot_load(struct kc_store *s, int64_t process, uint64_t checksum, void **bytes, size_t *size);

#endif
