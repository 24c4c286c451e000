#ifndef KC_REPLAY_DELAY_H
#define KC_REPLAY_DELAY_H

#include <stdint.h>

/* When a measurement becomes known: ns after as many launches and copies have completed as are handed over at once;
 * batch 0 counts as 1. All zeros: as soon as the kernel has ended. */
struct kc_replay_delay {
	int64_t ns;
	uint64_t batch;
};

#endif
