/*
 * What the processes of a run waited for its stragglers in collectives, as NCCL's.
 *
 * The launches of a collective are those of one kernel and launch shape with the same
 * number in the order of their calls, of processes that launched it equally often and
 * whose ends go together: from one to the next, by less than 100 us apart in half of
 * them, whatever the clocks. The process whose launch is the shortest came last; what
 * the others took longer than it they waited for it.
 */
#ifndef KC_SLOW_WAITS_H
#define KC_SLOW_WAITS_H

#include "stragglers.h"

#include "store/query/measured.h"

/* Fills waited_ns of the stragglers: not more than each other process's share of what they lost. 0 or -ENOMEM. */
int kc_slow_waits(const struct kc_measured_names *names, const struct kc_measured_run *run,
		  struct kc_slow_process *stragglers, size_t count);

#endif
