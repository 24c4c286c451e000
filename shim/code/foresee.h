/*
 * Code that is read before a kernel of it is launched, by the reader while it has
 * nothing else to do: that of files which are mapped when recording begins, and of
 * every module as it is loaded.
 *
 *   kc__foreseen   a kernel's name and its formula, in a list of the code's
 *
 * Only PTX that the driver could compile for the first device is read ahead, and
 * texts of KC__FORESEEN_TEXT_BYTES at most; of a file without any, its headers are
 * walked over. A kernel takes its formula from the list when it is met. Formulas
 * that no kernel has taken are the first that give way.
 */
#ifndef KC_SHIM_FORESEE_H
#define KC_SHIM_FORESEE_H

#include "shim/shim.h"

#define KC__FORESEEN_TEXT_BYTES ((size_t)2 << 20) /* of one module: some 100 ms */
#define KC__FORESEEN_BYTES ((size_t)2 << 20)      /* of formulas in memory, past which no more are read ahead */
#define KC__FORESEEN_MAX 1024u                    /* kernels */
#define KC__FORESEEN_NS 300000000ll               /* of processor time, all together */

struct kc__foreseen {
	struct kc__foreseen *next;
	const char *name;
	struct kc__formula *formula;
};

/* cuInit: notes which files are mapped. Takes the loader's lock. */
void kc__foresee_files(void);
/* tables_lock held. The code has been loaded. */
void kc__foresee_loaded(struct kc__code *code);
/* Reader: reads one kernel ahead, or what leads there. 1: there may be more. */
int kc__foresee_step(void);
void kc__foresee_forget(void); /* fork child */

/* tables_lock held. The kernel is launched for the first time, so that it need not be read ahead any more: takes its
 * formula out of the list. NULL: there is none. */
struct kc__formula *kc__foreseen_take(struct kc__kernel *kernel);

#endif
