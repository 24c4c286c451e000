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

/*
 * The same in steps that hold the database's lock for a short time each. First the run, its processes and all of their
 * rows but those of the large tables: from then on nothing refers to these. 0 or -errno: nothing was deleted.
 */
int kc_store_drop_run(struct kc_store *store, int64_t run);
/* Then rows of the large tables whose process does not exist, whoever dropped it: at most so many in one transaction.
 * *rows: how many; fewer than at_most: there are no more. 0 or -errno: none was deleted. The highest process must not
 * be dropped, as the next one would get its rows. */
int kc_store_sweep(struct kc_store *store, uint32_t at_most, uint32_t *rows);

#endif
