/*
 * From a row of a trace to the store's slots. Times of a process count from KC_TRACE_ORIGIN_NS, where the zero of its
 * trace lies, so that those before it stay positive.
 */
#ifndef KC_TRACE_SLOT_H
#define KC_TRACE_SLOT_H

#include "trace_row.h"

#include "store/journal/journal.h"

#define KC_TRACE_ORIGIN_NS (INT64_C(1) << 51)

static inline int64_t kc_trace_known(int64_t value, int64_t otherwise)
{
	return value == KC_TRACE_UNKNOWN ? otherwise : value;
}

/* The row has a time or a launch time; without a time it is unmeasured. kernel, stream: ids in the process; 0: none. */
void kc_trace_fill_launch(struct kc_launch *launch, const struct kc_trace_row *row, uint32_t kernel, uint32_t stream);
void kc_trace_fill_transfer(struct kc_transfer *transfer, const struct kc_trace_row *row, uint32_t stream);

#endif
