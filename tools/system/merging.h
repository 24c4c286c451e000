/* Several databases as one: for kerncast merge, and for commands that are given several. */
#ifndef KC_MERGING_H
#define KC_MERGING_H

#include "store/database/upkeep/merge.h"

#include <stddef.h>

/* Adds the database that a user gave, with what its journals hold, to the one at output. 0; < 0: it was refused, as a
 * line on stderr says. total: is added to. */
int kc_merging_add(struct kc_store *to, const char *output, const char *given, struct kc_merged *total);

/* Numbers the added runs in the order of time, when all are added. 0; < 0: it failed, as a line on stderr says. */
int kc_merging_end(struct kc_store *to, const char *output);

/* Merges databases into a temporary one that is deleted when the command ends, and returns its path.
 * kc_database_shown() calls it "a.db and 2 more". Where one is refused, the command ends with KC_EXIT_FAILED. Twice in
 * a command at most. */
const char *kc_merging_temporary(char *const *databases, size_t count);

/* What the temporary database at this path is called; NULL: it is none. */
const char *kc_merging_shown(const char *path);

#endif
