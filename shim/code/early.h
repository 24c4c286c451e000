/* Launches made before their kernel's code had been read. What they were given is kept, so that their measured time
 * counts as a known size. */
#ifndef KC_SHIM_EARLY_H
#define KC_SHIM_EARLY_H

#include "shim/shim.h"

/* tables_lock held. The first launch of a variant. */
void kc__early_keep(struct kc__variant *variant, const struct kc__given *given);
/* Its arguments cannot be kept: the driver does not tell how long they are, or they are too long. */
bool kc__early_is_lost(const struct kc__variant *variant);
/* The device's lock is held: a launch of it is predicted, the first of all if its kernel's code has not been read.
 * false: what launches of it were given is not kept. */
bool kc__early_made(struct kc__variant *variant, int64_t predicted_at_ns);
/* Worker: the launch predicted then was the first of the variant, and what it was given is kept. */
bool kc__early_is(const struct kc__variant *variant, int64_t predicted_at_ns);
/* The same launch, told by its arguments: NULL, or complete. tables_lock is not held. */
struct kc__variant *kc__early_successor(const struct kc__variant *variant);
/* Gets what the first launch of the variant was given. Returns false if that was not kept. */
bool kc__early_given(const struct kc__variant *variant, struct kc__packed *packed, struct kc__given *given);
/* Worker, formulas are held: the launch predicted then took so long, alone. true: its code is read, and
 * kc__early_teach() can follow. */
bool kc__early_measured(struct kc__variant *variant, int64_t predicted_at_ns, int64_t measured_ns);
/* Worker, tables_lock held: the time of the first launch teaches as if the code had told its work before. */
void kc__early_teach(struct kc__variant *variant);
/* The same for every variant of the kernel that has such a time, beginning with the one predicted last, as a replay
 * knows no other order. The device's lock is held, too. */
void kc__early_teach_all(struct kc__kernel *kernel);
/* The kernel's code has been read; launches do not know it yet. Returns the newest that has been prepared. */
const struct kc__early *kc__early_prepare(struct kc__kernel *kernel, struct kc__formula *formula);
/* tables_lock held: prepares the launches made since then. */
void kc__early_prepare_rest(struct kc__kernel *kernel, struct kc__formula *formula, const struct kc__early *prepared);
/* tables_lock and the device's lock held: what the launches taught that were predicted so far holds for their
 * successors. */
void kc__early_succeed(struct kc__kernel *kernel);
/* Reader: the kernel's code has been read, or never will be. */
void kc__early_settle(struct kc__kernel *kernel);

#endif
