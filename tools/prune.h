/* Retention by `kerncast run --keep`: the rest of prune.c is a command. */
#ifndef KC_TOOLS_PRUNE_H
#define KC_TOOLS_PRUNE_H

#include "store/common/keep.h"

/* Removes old runs. Failures are said, and so is the number of runs unless quiet. */
void kc_prune_after_run(const char *path, const struct kc_keep *keep, int quiet);

#endif
