/* The processes of a run, on one of their GPUs each, that are slower than the others at the same, and what that costs.
 */
#ifndef KC_SLOW_STRAGGLERS_H
#define KC_SLOW_STRAGGLERS_H

#include "store/common/ids/intern.h"
#include "store/query/names.h"
#include "store/query/rows.h"

#include <stddef.h>
#include <stdint.h>

struct kc_slow_process {
	uint32_t process; /* row of the table process */
	uint32_t device;  /* kc_measured_moment */
	int64_t launch;   /* kc_measured_moment.id of one of its launches */
	uint32_t others;  /* that it is compared with */
	int is_whole;     /* it is slower in all that it does, not at single launch shapes */
	int64_t
	    since_ns; /* it became slower in all that it does: start of the first such launch; INT64_MAX: it did not */
	uint64_t launches, kernels;
	double took_ns, lost_ns; /* of these launches; lost_ns: by this cause */
	double waited_ns;        /* by the other processes, in collectives, for it (waits.h) */
};

/* Starts as zeros. */
struct kc_slow_stragglers {
	struct kc__list list; /* struct kc_slow_process */
	struct kc_intern ids, kernels;
};

/* What it is called. "": the database does not know it. */
struct kc_slow_straggler_names {
	int64_t pid;
	char process[KC_PROCESS_NAME_BYTES], gpu[KC_GPU_NAME_BYTES];
};

/* Counts launches of a process, of a kernel. 0 or -ENOMEM. */
int kc_slow_straggler_add(struct kc_slow_stragglers *stragglers, uint32_t kernel,
			  const struct kc_slow_process *launches);
/* Those that cost most first, in time lost and waited for them. None may be added afterwards. */
void kc_slow_stragglers_sort(struct kc_slow_stragglers *stragglers);
/* s: has the run. */
void kc_slow_straggler_name(struct kc_store *s, int64_t run, const struct kc_slow_process *straggler,
			    struct kc_slow_straggler_names *out);
void kc_slow_stragglers_free(struct kc_slow_stragglers *stragglers);

#endif
