/* Retention: which runs a database keeps, and removing the others, oldest first. */
#ifndef KC_PRUNE_H
#define KC_PRUNE_H

#include "store/common/keep.h"
#include "store/database/store.h"

#include <stddef.h>
#include <stdint.h>

/* Why a run stays although the rules say otherwise. */
enum kc_pruned {
	KC_PRUNE_KEEP,     /* the rules keep it */
	KC_PRUNE_REMOVE,   /* they do not */
	KC_PRUNE_NEWEST,   /* it is its program's newest, which the next run begins with */
	KC_PRUNE_RUNNING,  /* one of its processes is alive, or is not imported yet */
	KC_PRUNE_IMPORTED, /* of another tool: only people delete these */
};

struct kc_prunable {
	int64_t run;
	int64_t ended_unix_ns; /* of its last process; the last launch of one that was killed */
	int64_t last_process;  /* the highest */
	uint64_t launches, rows;
	uint64_t bytes; /* its share of what the database uses, by its rows */
	char *command_line;
	enum kc_pruned what;
};

struct kc_prune_plan {
	struct kc_prunable *at; /* the oldest first */
	size_t count, removed;
};

/* now_unix_ns: ages count from there. weigh: whether launches, rows and bytes are asked for, which takes a look at
 * every row; a rule about the size needs them, too. is_busy: whether the run with this token has a journal. 0 or
 * -errno. */
int kc_prune_plan(struct kc_store *store, const struct kc_keep *keep, int64_t now_unix_ns, int weigh,
		  int (*is_busy)(const char *token, void *arg), void *arg, struct kc_prune_plan *plan);
void kc_prune_plan_free(struct kc_prune_plan *plan);

/* Removes what the plan says, and what an earlier call left when it was interrupted. A run that has got another process
 * since then becomes KC_PRUNE_RUNNING. The database is locked for some tens of milliseconds at a time. 0 or -errno:
 * what was removed until then stays removed, and is whole. */
int kc_prune(struct kc_store *store, struct kc_prune_plan *plan);

/* Bytes in use, and of the file. 0 or -errno. */
int kc_prune_size(struct kc_store *store, uint64_t *used, uint64_t *file);

/* Gives free pages back to the disk, if they are a sixteenth of the file or more, in a copy of the database. 0;
 * -ENOSPC: there is no room for it, and nothing was done; -EBUSY: the database is in use; or another -errno. */
int kc_prune_shrink(struct kc_store *store, const char *path);

#endif
