/* Databases of one job, of several hosts or processes, as one. */
#ifndef KC_MERGE_H
#define KC_MERGE_H

#include "store/database/store.h"

#include <stdint.h>

struct kc_merged {
	uint64_t runs;      /* that the database did not have, and that have processes */
	uint64_t joined;    /* runs that became part of one that it had */
	uint64_t processes; /* added */
	uint64_t known;     /* processes that it had already, which are not added again */
	uint64_t grown;     /* processes that it had less of: what it had is replaced */
	uint64_t launches;  /* rows more than before */
};

/*
 * Adds the runs of the database at path, from kc_store_attachable(), which has this version and whose schema is
 * trusted, in one transaction. A run joins one with its token, or one of its job that went on within a minute of it,
 * without a rank of its own: of several, the one that began nearest to it. What both have (devices, kernels, launch
 * shapes) is found by what it is, all other ids are made anew; no id of path is more than a key. Sweeps over block
 * sizes and bases stay behind. 0 or -errno: nothing was added (-EBADMSG: path is damaged; -EOVERFLOW: too many
 * processes).
 */
int kc_store_merge(struct kc_store *to, const char *path, struct kc_merged *out);

/* When all are merged: the runs that have been added since to was opened are numbered in the order in which they began.
 * 0 or -errno: they have the numbers that they had. */
int kc_store_order_merged(struct kc_store *to);

#endif
