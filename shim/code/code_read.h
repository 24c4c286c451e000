/*
 * Launched kernels' code, read by the reader's thread (reader.h).
 *
 *   kc__code_texts   a piece of a module that is open, and what its texts take of
 *                    KC__SHARE_CODE
 */
#ifndef KC_SHIM_CODE_READ_H
#define KC_SHIM_CODE_READ_H

#include "loaded_code.h"

#include "predictor/code/code_reader.h"

/* tables_lock held. The kernel has been launched: its code is to be read. */
void kc__code_wanted(struct kc__kernel *kernel);
/* tables_lock held. The kernel is new. Returns the formula that has been read ahead, for kc__code_ready(); NULL: there
 * is none, and its code is wanted. */
struct kc__formula *kc__code_met(struct kc__kernel *kernel);
/* The launching thread, without a lock: from here on the kernel is predicted from that formula. */
void kc__code_ready(struct kc__kernel *kernel, struct kc__formula *formula);

/* The rest: the reader. Notes where code lies that is to be read, so that what this process does not read can be read
 * later. 1: there may be more. */
int kc__code_note_places(void);
/* Reads a kernel that is wanted, or what leads there. 1: there may be more. *rest_ns: for so long none is read unless a
 * launch waits for it; INT64_MAX: until it is called. */
int kc__code_step(int64_t *rest_ns);
/* As the process ends: what cannot be read in a moment is left, and marked as waiting. */
void kc__code_finish(void);
void kc__code_read_forget(void); /* fork child */

/* Memory for reading code: of its share, what is not left to others; or all of it. */
size_t kc__code_take_room(bool all);

struct kc__code_texts {
	struct kc_code_reader reader;
	size_t held_bytes;
};

/* kc_code_open() of a piece, in as much memory as there is, or memory_bytes, if that is less. */
int kc__texts_open(struct kc__code_texts *texts, struct kc__code *code, const struct kc__code_piece *piece,
		   size_t memory_bytes, struct kc_code_lack *lack);
void kc__texts_close(struct kc__code_texts *texts);
void kc__texts_account(struct kc__code_texts *texts); /* what they take has changed */

#endif
