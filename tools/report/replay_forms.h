/*
 * What `kerncast replay` prints, apart from its text.
 */
#ifndef KC_REPLAY_FORMS_H
#define KC_REPLAY_FORMS_H

#include "store/replay/replay_run.h"

/* Launches replayed per second of processor time; NAN: not measured. */
double kc_replay_per_s(const struct kc_replay *replay);

/* One row for each launch; arg: the struct kc_csv. 0 or -EIO. */
struct kc_csv;
void kc_replay_csv_head(struct kc_csv *csv);
int kc_replay_csv_launch(const struct kc_replay_launch *launch, void *arg);

/* The whole document. Returns the exit status. */
int kc_replay_json(const struct kc_replay *replay, const struct kc_replay_options *options, const char *path);

#endif
