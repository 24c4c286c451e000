#ifndef KC_REPLAY_DELAY_H
#define KC_REPLAY_DELAY_H

#include <stdint.h>

/* When measurements become known: ns after the last of a batch of launches and copies has ended. batch 0 counts as 1.
 * All zeros: as soon as the kernel has ended. */
struct kc_replay_delay {
	int64_t ns;
	uint64_t batch;
};

#endif
