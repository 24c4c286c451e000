/* Launched kernels' code, read by the reader's thread (reader.h). */
#ifndef KC_SHIM_CODE_READ_H
#define KC_SHIM_CODE_READ_H

#include "loaded_code.h"

/* tables_lock held. The kernel has been launched: its code is to be read. */
void kc__code_wanted(struct kc__kernel *kernel);
/* A launching thread, without a lock: at the kernel's first launch its formula is known from here on, if it has been
 * read ahead; else its code is wanted. */
void kc__code_meet(struct kc__kernel *kernel);

/* The rest: the reader. Notes where code lies that is to be read, so that what this process does not read can be read
 * later. 1: there may be more. */
int kc__code_note_places(void);
/* Reads a kernel that is wanted, or what leads there. 1: there may be more. *rest_ns: for so long none is read unless a
 * launch waits for it; INT64_MAX: until it is called. */
int kc__code_step(int64_t *rest_ns);
/* As the process ends: what cannot be read in a moment is left, and marked as waiting. */
void kc__code_finish(void);
void kc__code_read_forget(void); /* fork child */

#endif
