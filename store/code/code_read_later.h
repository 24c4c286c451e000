/*
 * The code of kernels, read from the files in which it lies after the process has
 * ended that launched them.
 *
 *   kc_later_kernel   a kernel, and what its code comes to
 *   kc_later_module   kernels of one module, on one architecture
 *
 * The library reads the same code in the same way while the process runs, with less
 * time and memory (shim/code/code_read.c).
 */
#ifndef KC_CODE_READ_LATER_H
#define KC_CODE_READ_LATER_H

#include "store/database/store.h"

#include "predictor/code/stored/code_file.h"

#include <stdbool.h>
#include <stdint.h>

struct kc_later_kernel {
	const char *name;
	uint64_t static_shared_bytes;
	struct kc_code_entry code;       /* .state: KC_CODE_WAITS, until it is known */
	char *text;                      /* the formula, or why there is none; NULL: nothing to tell */
	struct kc_kernel_text_entry ptx; /* of what is packed */
	void *packed;                    /* its PTX, for the next run: packed_text.h; NULL: it is too long */
};

struct kc_later_module {
	struct kc_later_kernel *kernels;
	uint32_t count;
	uint32_t cc_major, cc_minor;
};

#define KC_LATER_PIECES 16u

/* Reads the kernels that wait, from the module's pieces in their order. Returns 0; or -ETIME: the time was up, and some
 * kernels still wait. The caller frees each text and what is packed. */
int kc_code_read_later(struct kc_later_module *module, struct kc_code_file *pieces, uint32_t piece_count,
		       const struct kc_store_bound *bound);

#endif
