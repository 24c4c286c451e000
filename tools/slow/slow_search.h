/*
 * Finds out what was slow in a run of a database, compared with earlier runs of the same program: which runs these are,
 * reading them, kc_slow_find(), and where the launches that lost most are. What is wrong is reported on stderr, and
 * each function returns an exit status.
 */
#ifndef KC_SLOW_SEARCH_H
#define KC_SLOW_SEARCH_H

#include "tools/slow/forms/slow_forms.h"
#include "tools/diff/side.h"

struct kc_slow_asked {
	const char *run; /* NULL: the latest */
	const char *old; /* earlier runs, "1,2,3", or "none"; NULL: up to five of the same command line */
	const struct kc_filter_choice *filter;
	struct kc_diff_limits limits;
	uint64_t most; /* launches of all runs together, beyond which the older ones of those not named are left out; 0:
			  any */
	int with_steps; /* whether to tell which launches were made in steps */
};

/* Starts as zeros. */
struct kc_slow_search {
	struct kc_side earlier, this;
	struct kc_measured_names names;
	struct kc_slow_runs runs;
	struct kc_diff diff; /* of the earlier runs and this one, if there are any */
	struct kc_slow slow;
	struct kc_slow_gpu_states gpu_states;
	struct kc_slow_where *worst;
	size_t worst_count;
	int other_devices; /* earlier runs that were left out: they ran on other devices */
	int too_large;     /* and because of kc_slow_asked.most */
};

/* this->store must be open, or borrowed (side.h). */
int kc_slow_search(struct kc_slow_search *s, const struct kc_slow_asked *asked);
/* Fills s->worst: `most` of the found launches, at most so many `alike`, of a kernel and cause; 0: any number. */
int kc_slow_search_worst(struct kc_slow_search *s, size_t most, size_t alike);
void kc_slow_search_free(struct kc_slow_search *s);

#endif
