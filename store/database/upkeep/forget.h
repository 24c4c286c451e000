/* Deleting what was recorded: for commands that repeat a run which did not end well. */
#ifndef KC_FORGET_H
#define KC_FORGET_H

#include "store/database/store.h"

/*
 * Deletes a run, its processes and every row of theirs; what other runs may
 * refer to as well (devices, kernels, launch shapes) stays. run: its row. May be
 * called inside a transaction of the caller's. 0; -ENOSPC or -EIO: nothing was
 * deleted.
 */
int kc_store_forget_run(struct kc_store *store, int64_t run);

#endif
