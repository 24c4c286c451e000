/*
 * Code that a process had no time to read before it ended. The process has noted in
 * `code_place` where it lies; the next command reads it, and `kernel` then says what
 * its own process would have said.
 */
#ifndef KC_WAITING_CODE_H
#define KC_WAITING_CODE_H

#include "store/database/store.h"

#include <stdint.h>

#define KC_WAITING_CODE_NS INT64_C(2000000000) /* of processor time, for the code of some hundred kernels */

struct kc_waiting_code {
	uint32_t read; /* kernels that have a formula now */
	uint32_t left; /* kernels that still wait, though their code is where it was */
};

/*
 * Reads the code of kernels that wait, the newest first, for limit_ns of processor time, four times as long at most,
 * and for one kernel at least. Only a regular file is read whose bytes are those that the process saw. Where the
 * database cannot be written to, nothing is read. 0 or -errno; what was read until then is kept.
 */
int kc_waiting_code_read(struct kc_store *s, int64_t limit_ns, struct kc_waiting_code *out);

#endif
