/*
 * Predictions for launches that were imported, which have none of their own: those of the replay. They are kept in a
 * temporary file, and handed out by the launches' ids.
 */
#ifndef KC_CHROME_REPLAY_H
#define KC_CHROME_REPLAY_H

#include "store/replay/replay_run.h"
#include "tools/report/export.h"

struct kc__replayed; /* NULL: nothing of it was imported */

struct kc__replayed_launch {
	int64_t id;               /* process and sequence */
	int64_t start_ns, end_ns; /* predicted */
	int64_t solo_ns, solo_low_ns, solo_high_ns;
	double slowdown;
	uint32_t model, concurrency_case, novelty;
	uint32_t unpredictable; /* enum kc_unpredictable; other than KC_PREDICTED, the rest means nothing */
};

/* Replays the imported processes of a selection as `kerncast replay` does. 0 or -errno; -ENOSPC: no room for temporary
 * files. */
int kc__replayed_new(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter,
		     struct kc__replayed **out, struct kc_export_replay *figures);
/* The launch with this process and sequence; NULL: it was not replayed. Fastest where they are asked for in order. */
const struct kc__replayed_launch *kc__replayed_find(struct kc__replayed *replayed, int64_t process, int64_t sequence);
void kc__replayed_free(struct kc__replayed *replayed);

#endif
