/*
 * What `kerncast replay` prints, apart from its text.
 */
#ifndef KC_REPLAY_FORMS_H
#define KC_REPLAY_FORMS_H

#include "store/replay/replay_run.h"

/* Launches replayed per second of processor time; NAN: not measured. */
double kc_replay_per_s(const struct kc_replay *replay);

/* The whole document. Returns the exit status. */
int kc_replay_json(const struct kc_replay *replay, const struct kc_replay_options *options, const char *path);

#endif
