/*
 * From FINAL to STORED, on the worker thread: writes slots to the database. While it cannot be written, they stay in
 * the journal.
 *
 * While a process launches more than can be written, only so many slots are written at a time, so that records are
 * collected and journal segments prepared in between.
 */
#ifndef KC_SHIM_STORING_H
#define KC_SHIM_STORING_H

#include "shim/shim.h"

int kc__storing_start(void); /* any thread, before the worker runs: 0 or -ENOMEM */
void kc__storing_free(void);
void kc__storing_begin(int64_t now_ns);
/* The slot is final. */
void kc__storing_add(struct kc_slot *slot);
bool kc__storing_has_enough(void); /* for a while */
/* Writes a batch if enough has come together or waited for long enough. true: another one is due. */
bool kc__storing_step(int64_t now_ns);
/* Writes all that is final. 0: nothing final is left outside the database; else -errno. */
int kc__storing_all(void);
/* Writes what concerns the process as a whole. 0 or -errno. */
int kc__storing_end(void);
/* Writes a snapshot of what the process has learned, and frees the maker (kc_snapshot_store()). 0 or -errno. */
struct kc_snapshot_carried;
struct kc_snapshot_maker;
int kc__storing_learned(const struct kc_snapshot_carried *carried, struct kc_snapshot_maker *maker);
/* Says what is lost with the process, and stores the counts if the database still has room for a few rows. error: why
 * not everything could be written. */
void kc__storing_say_lost(int error);
void kc__storing_close(void);
void kc__storing_forget(bool list); /* fork child; list: the list of slots is its own copy, to be given up */

#endif
