/*
 * When measurements become known in a replay, as it is given on the command line:
 *
 *   0         as soon as a launch has ended
 *   10ms      10 ms after its end
 *   2ms,512   2 ms after 512 launches and copies have ended, all of them at once
 */
#ifndef KC_DELAY_SPEC_H
#define KC_DELAY_SPEC_H

#include "store/replay/replay_run.h"

/* 0 or -EINVAL. */
int kc_delay_spec(const char *text, struct kc_replay_delay *out);

#endif
