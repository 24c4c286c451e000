/* Deleting what was recorded: for commands that repeat a run which did not end well. */
#ifndef KC_FORGET_H
#define KC_FORGET_H

#include "store/database/store.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Deletes a run, its processes and every row of theirs; what other runs may
 * refer to as well (devices, kernels, launch shapes) stays. run: its row. May be
 * called inside a transaction of the caller's. 0; -ENOSPC or -EIO: nothing was
 * deleted.
 */
int kc_store_forget_run(struct kc_store *store, int64_t run);

/*
 * The same in steps that hold the database's lock for a short time each. First the run, its processes and all of their
 * rows but those of the large tables and messages: from then on nothing refers to these. last_process: the run's
 * highest, as it was when this was decided. The highest of the database must not be dropped, as the next one would get
 * its rows. 0, also where somebody else has dropped it; -ESTALE: the run has got another process, and nothing was
 * deleted; or another -errno: likewise.
 */
int kc_store_drop_run(struct kc_store *store, int64_t run, int64_t last_process);

struct kc_sweep { /* how far it has come; zeros at first */
	int begun;
	size_t table;
	int64_t process;
};
/* Then the rows whose process does not exist, whoever dropped it: about at_most of them in one transaction. 1: there
 * may be more; 0: there were none behind where the sweep was; or -errno: this step has deleted none. */
int kc_store_sweep(struct kc_store *store, struct kc_sweep *sweep, uint32_t at_most);

#endif
