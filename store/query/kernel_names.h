/*
 * `kernel.name` for people. What is preloaded into an application writes the
 * mangled name there and marks the row (name_pending); the first command that
 * opens the database makes it readable.
 */
#ifndef KC_KERNEL_NAMES_H
#define KC_KERNEL_NAMES_H

#include "store/database/store.h"

#include <stdint.h>

#define KC_NAMES_NS INT64_C(1000000000) /* for tens of thousands of names */

/*
 * Makes the pending names readable, in one transaction. Where the database cannot be written to, they become so in
 * this connection alone, for all queries but those through the database's own views. After limit_ns, and at least one
 * name, the others stay mangled until the next call. 0; 1: some are still pending; -errno: all are.
 */
int kc_kernel_names(struct kc_store *s, int64_t limit_ns);

#endif
