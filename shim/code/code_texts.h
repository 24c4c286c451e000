/*
 * A piece of a module that the reader's thread has opened, and the memory that this
 * takes of KC__SHARE_CODE: what opening it and reading one kernel take, for a moment;
 * and the kernels' texts, until it is closed.
 */
#ifndef KC_SHIM_CODE_TEXTS_H
#define KC_SHIM_CODE_TEXTS_H

#include "loaded_code.h"

#include "predictor/code/code_reader.h"

struct kc__code_texts {
	struct kc_code_reader reader;
	size_t held_bytes; /* of the share */
};

/* Memory for a moment: what is not left to others; or all that there is. */
size_t kc__code_take_room(bool all);
/* kc_code_open(), in as much memory as there is, or memory_bytes, if that is less. */
int kc__texts_open_part(struct kc__code_texts *texts, const struct kc_code_part *part, size_t memory_bytes,
			struct kc_code_lack *lack);
int kc__texts_open(struct kc__code_texts *texts, struct kc__code *code, const struct kc__code_piece *piece,
		   size_t memory_bytes, struct kc_code_lack *lack);
void kc__texts_close(struct kc__code_texts *texts);
void kc__texts_account(struct kc__code_texts *texts); /* what they take has changed */

#endif
